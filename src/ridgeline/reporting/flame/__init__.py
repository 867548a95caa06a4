"""A flame graph for HTML pages: stacks as nested bars to zoom into, search and turn round. Self-contained; nothing here prints or reads a file."""

from .block import flame_block, flame_script, flame_style
from .drawn import Drawn, drawn

__all__ = ["Drawn", "drawn", "flame_block", "flame_script", "flame_style"]
