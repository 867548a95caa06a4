"""Timeline: what follows from events on tracks by arithmetic alone."""

from .intervals import merge, union_length

__all__ = ["merge", "union_length"]
