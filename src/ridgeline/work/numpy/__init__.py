"""Work of numpy and scipy operations: FLOPs, engine and compulsory bytes from shapes alone."""

from .facts import ArrayFacts, NumpyWork, precision_of
from .work import work_of

__all__ = ["ArrayFacts", "NumpyWork", "precision_of", "work_of"]
