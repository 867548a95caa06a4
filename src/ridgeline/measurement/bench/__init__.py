"""The benchmark harness: processes × samples × inner iterations, versions interleaved, every call kept."""

from .plan import LEAST_PROCESSES, BenchPlan, Version
from .rounds import run_benchmarks

__all__ = ["LEAST_PROCESSES", "BenchPlan", "Version", "run_benchmarks"]
