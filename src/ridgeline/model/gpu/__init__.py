"""Kernels of GPUs from a data sheet: matrix products and streams, in many shapes at once."""

from .kernels import Kernels, kernels
from .sheet import GpuSheet, sheet

__all__ = ["GpuSheet", "Kernels", "kernels", "sheet"]
