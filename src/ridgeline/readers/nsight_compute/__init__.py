"""Nsight Compute's CSV: counters of kernels, whatever page, version and locale wrote them."""

from .reader import NsightCompute

__all__ = ["NsightCompute"]
