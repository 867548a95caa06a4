"""The parts of `bench`: the record that grows with its processes, functions as targets, what an earlier run says beforehand, going on with one."""

from .earlier import Earlier, detectable_before, earlier_run
from .functions import callable_target
from .record import BenchRecord, bench_run

__all__ = ["BenchRecord", "Earlier", "bench_run", "callable_target", "detectable_before", "earlier_run"]
