"""Work of numpy and scipy operations: FLOPs, engine and compulsory bytes from shapes alone."""

from ridgeline.work.work import Work

from .facts import ArrayFacts, precision_of
from .work import work_of

__all__ = ["ArrayFacts", "Work", "precision_of", "work_of"]
