"""LiteRT's operator times and the cut of the graph between its delegate and its own kernels."""

from .table import Profiled, partitions, profile

__all__ = ["Profiled", "partitions", "profile"]
