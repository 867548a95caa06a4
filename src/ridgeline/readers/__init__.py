"""Bytes that other tools wrote, turned into the nouns of core."""

from .reading import ProfileReader, read_profile, recognised
from .source import PIECE, Damaged, Limits, Source

__all__ = ["PIECE", "Damaged", "Limits", "ProfileReader", "Source", "read_profile", "recognised"]
