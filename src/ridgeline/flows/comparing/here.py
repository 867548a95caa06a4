"""Two callables that only this process has, by turns in blocks (A B B A …): all that can be said of a lambda or a closure.

What differs from process to process is not in these numbers, which is said. A block is reduced to its median: calls of one block share the moment.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median
from typing import Any

import msgspec
import numpy as np

from ridgeline.core import Caution, Column, Comparison, CoreToCore, OutputCheck, Series, UsageError
from ridgeline.diagnosis.comparison import compare_series
from ridgeline.diagnosis.cores import others_work
from ridgeline.measurement.core_to_core import CoreToCoreWatch
from ridgeline.measurement.outputs import compare as compare_outputs
from ridgeline.measurement.outputs import leaves
from ridgeline.stats import steady_start
from ridgeline.targets import adapter_for

from .live import Amount
from .watching import Enough

__all__ = ["ONE_PROCESS", "compared_here", "outputs_here"]

Call = Callable[[], Any]
Report = Callable[[str, float | None], None]
_BLOCK_S = 0.01
_MOST_CALLS = 10_000
_WARMUP_LEAST, _WARMUP_MOST = 5, 300
#: Part of the time that both warm-ups together may take.
_WARMUP_PART = 0.2
_MOST_BLOCKS = 100_000

ONE_PROCESS = Caution(
    code="one-process",
    message="both callables ran in this process: a fresh one cannot find them by a name",
    effect="what differs from process to process, such as where memory lies, is not in the interval",
)


def compared_here(calls: tuple[Call, Call], name: str, amount: Amount, report: Report, clock: Callable[[], int] = time.perf_counter_ns) -> Comparison:
    """Compare two callables in this process.

    Args:
        calls: without arguments.
        name: of the comparison.
        amount: `processes` is the number of blocks of each; `samples` is the number of calls in a block.
        report: progress.
        clock: monotonic nanoseconds, a fake one in tests.

    Raises:
        Exception: whatever a callable raises.
    """
    waits = tuple(_waits(call) for call in calls)
    blocks = [_Blocks(call, wait, clock) for call, wait in zip(calls, waits, strict=True)]
    for side in blocks:
        side.warm(amount.time_budget_s * _WARMUP_PART / 2, amount.samples)
    enough = Enough(
        confidence=amount.confidence, budget_s=amount.time_budget_s * (1 - _WARMUP_PART), processes=amount.processes,
        announce=lambda text: report(text.replace("processes", "blocks"), None), clock=lambda: clock() / 1e9,
    )  # fmt: skip

    cores = _Cores()

    def judged(confidence: float) -> Comparison:
        a, b = (cores.beside(_series(side.medians, name)) for side in blocks)
        return compare_series(a, b, margin=amount.margin, confidence=confidence, changing=amount.changing, versions_differ=True)

    for index in range(min(_MOST_BLOCKS, amount.processes or _MOST_BLOCKS)):
        cores.watch.look()
        # A B B A: what drifts slowly falls on both sides alike.
        for side in blocks if index % 2 == 0 else reversed(blocks):
            side.take()
        report("comparing", None)
        if enough(index + 1, judged):
            break
    found = enough.certain or judged(enough.final_confidence)
    # One word for both sides, with the reason.
    others = tuple(caution for caution in found.warnings if caution.code != ONE_PROCESS.code)
    return msgspec.structs.replace(found, warnings=(ONE_PROCESS, *others), reasons=(*found.reasons, enough.told.replace("processes", "blocks")))


def outputs_here(calls: tuple[Call, Call], tolerance: float) -> OutputCheck:
    """Whether both return the same, of two calls each."""
    results = [[leaves(call()) for _ in range(2)] for call in calls]
    return compare_outputs(results[0], results[1], tolerance, any_float=True)


def _waits(call: Call) -> Callable[[Any], None] | None:
    """How to wait for the results of a call, which is made once."""
    return adapter_for(call())


class _Blocks:
    """Blocks of one callable: the median of each."""

    def __init__(self, call: Call, wait: Callable[[Any], None] | None, clock: Callable[[], int]) -> None:
        self._call, self._wait, self._clock = call, wait, clock
        self._size = 1
        self.medians: list[float] = []

    def warm(self, seconds: float, size: int | None) -> None:
        """Call until steady, for at most so many seconds; then the size of a block is known."""
        began, walls = self._clock(), list[float]()
        while len(walls) < _WARMUP_MOST and (len(walls) < _WARMUP_LEAST or self._clock() - began < seconds * 1e9):
            walls.append(self._once())
            if len(walls) >= _WARMUP_LEAST and steady_start(np.array(walls)) is not None and self._clock() - began > _BLOCK_S * 1e9:
                break
        typical = median(walls[-_WARMUP_LEAST:])
        self._size = size or max(1, min(_MOST_CALLS, round(_BLOCK_S / max(typical, 1e-9))))

    def take(self) -> None:
        """One more block."""
        self.medians.append(median(self._once() for _ in range(self._size)))

    def _once(self) -> float:
        before = self._clock()
        result = self._call()
        if self._wait is not None:
            self._wait(result)
        return max(1, self._clock() - before) / 1e9


class _Cores:
    """How far apart the cores are while both run by turns, and whether threads beside the caller work then: the same for both."""

    def __init__(self) -> None:
        self.watch = CoreToCoreWatch()
        self._found: CoreToCore | None = None
        self._began = self._seconds()

    def beside(self, series: Series) -> Series:
        """The series with what was seen so far."""
        self._found = CoreToCore.joined([self._found, self.watch.taken()])
        process_s, caller_s, wall_s = (now - then for now, then in zip(self._seconds(), self._began, strict=True))
        return msgspec.structs.replace(series, core_to_core=self._found, side_by_side=others_work(process_s, caller_s, wall_s))

    @staticmethod
    def _seconds() -> tuple[float, float, float]:
        return time.process_time(), time.thread_time(), time.perf_counter()


def _series(medians: list[float], name: str) -> Series:
    if not medians:
        raise UsageError("blocks of calls to compare", found="none", remedy="give a longer time budget")
    return Series(
        name=name,
        values=Column(np.array(medians), "s"),
        process=Column(np.zeros(len(medians), np.int32), "count"),
        processes_known=False,
    )
