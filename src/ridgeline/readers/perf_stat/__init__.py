"""Counts of `perf stat`: as it prints them, with a separator (`-x`), and as JSON (`-j`)."""

from .reader import PerfStat

__all__ = ["PerfStat"]
