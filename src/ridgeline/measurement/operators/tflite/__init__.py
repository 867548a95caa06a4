"""LiteRT's operator times and the cut of the graph between its delegate and its own kernels."""

from .dispatch import fit_dispatch
from .table import Profiled, partitions, profile

__all__ = ["Profiled", "fit_dispatch", "partitions", "profile"]
