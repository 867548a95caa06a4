"""Recorded spaces and kernels in the formats of other tuners: caches of Kernel Tuner, T4 results, T1 problems. A file is there as a whole or not."""

from .kernel_tuner import cache_text, write_cache
from .t1 import problem_text, write_problem
from .t4 import results_text, write_results

__all__ = ["cache_text", "problem_text", "results_text", "write_cache", "write_problem", "write_results"]
