"""The benchmark harness: processes × samples × inner iterations, versions interleaved, every call kept."""

from typing import TYPE_CHECKING

from ridgeline.core.face import lazy_names

if TYPE_CHECKING:
    from .plan import LEAST_PROCESSES, BenchPlan, Version
    from .rounds import run_benchmarks

_HOMES = {
    "plan": "LEAST_PROCESSES BenchPlan Version",
    "rounds": "run_benchmarks",
}

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy_names(__name__, _HOMES)

__all__ = ["LEAST_PROCESSES", "BenchPlan", "Version", "run_benchmarks"]
