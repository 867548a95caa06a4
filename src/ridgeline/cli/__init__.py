"""The command line: parse, call, print, exit."""

from .app import cli
from .main import main

__all__ = ["cli", "main"]
