"""The registry of changes: options that can be applied to a target without touching its source, each with a precondition and a tolerance.

A change is an entry point of group `ridgeline.changes`. Whether one is worth applying is decided elsewhere.
"""

from .base import EXACT, REORDERED, Applied, Change, Situation
from .registry import Broken, find, registry

__all__ = ["EXACT", "REORDERED", "Applied", "Broken", "Change", "Situation", "find", "registry"]
