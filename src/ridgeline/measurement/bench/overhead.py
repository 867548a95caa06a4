"""What measuring costs, found out in the process that is measured: of a kept sample, of a bare timer pair and append, of an iteration in a batch.

All are of an empty call. What that call itself costs is taken off the first two; the third keeps it, so that it is an upper bound.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from ridgeline import _native

from .middle import median
from .report import SAMPLE_INTS, OverheadTimes

__all__ = ["measured_overhead", "synchronising_s"]

_REPEATS = 7
_SAMPLES = 100
_BATCH = 2000
_WAITS = 5


def measured_overhead() -> OverheadTimes:
    """The costs in this process at the moment, medians of several; about half a millisecond."""
    rows, nowhere = bytearray(8 * SAMPLE_INTS * _SAMPLES), bytearray()
    samples, bare, batched, timer = [], [], [], []
    for _ in range(_REPEATS):
        before = time.perf_counter_ns()
        _native.take_samples(_native.nothing, None, None, rows, nowhere, 1, _SAMPLES, 2**62)
        samples.append((time.perf_counter_ns() - before) / _SAMPLES)
        bare.append(_bare_ns())
        start, end = _native.take_batch(_native.nothing, None, _BATCH)
        batched.append((end - start) / _BATCH)
        values = memoryview(rows).cast("q")
        timer.append(median(values[SAMPLE_INTS * i + 1] - values[SAMPLE_INTS * i] for i in range(_SAMPLES)))
    call = median(batched)
    return OverheadTimes(
        sample_s=max(0.0, median(samples) - call) / 1e9,
        bare_s=max(0.0, median(bare) - call) / 1e9,
        batched_iteration_s=call / 1e9,
        timer_s=max(1.0, median(timer) - call) / 1e9,
    )


def _bare_ns() -> float:
    """What anyone would write: two readings of the clock and an append to a list."""
    clock, call = time.perf_counter_ns, _native.nothing
    kept: list[int] = []
    append = kept.append
    began = clock()
    for _ in range(_SAMPLES):
        before = clock()
        call()
        after = clock()
        append(after - before)
    return (clock() - began) / _SAMPLES


def synchronising_s(call: Callable[[], Any], synchronise: Callable[[Any], Any]) -> float:
    """Seconds of one synchronisation with nothing to wait for: the second right after the first; the median of several."""
    found = []
    for _ in range(_WAITS):
        result = call()
        synchronise(result)
        before = time.perf_counter_ns()
        synchronise(result)
        found.append((time.perf_counter_ns() - before) / 1e9)
    return median(found)
