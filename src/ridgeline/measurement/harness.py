"""Level 1: the ground truth. Warm up until steady, then keep every sample, undisturbed by any instrument.

The loop reads the thread's counters outside the timed interval and the clock inside it, and makes nothing of the numbers until it is over.
Sentinels run between samples, never inside one. What the samples mean is decided in `diagnosis`.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ridgeline.core import Column, Quantity, Samples
from ridgeline.core.samples import FLAG_GC, FLAG_PREEMPTED
from ridgeline.stats import noise_floor, steady_start

from .medians import median_of
from .thread_counters import CounterRows

__all__ = ["GroundTruthResult", "Plan", "Warm", "columns_of", "inner_calls", "measure", "timer_cost", "warm_up"]

Call = Callable[[], Any]
Synchronise = Callable[[Any], None]

#: A timer pair must stay under this part of a sample.
_TIMER_PART = 0.01
_WARMUP_LEAST = 5
_WARMUP_MOST = 300
#: After a sentinel has run, the caches are not the target's any more: this many calls are made and thrown away.
_RETURN_CALLS = 1


@dataclass(frozen=True, kw_only=True)
class Plan:
    """How long to measure.

    Attributes:
        budget_s: wall seconds for warm-up and samples together.
        samples: stop at this many.
        at_least: take this many even when the budget is spent.
        sentinel_every_s: seconds between sentinels.
        keep_every_s: seconds between hand-overs of what has been taken so far.
        batched: whether calls are also timed many at once, after the samples.
    """

    budget_s: float = 8.0
    samples: int = 2000
    at_least: int = 3
    sentinel_every_s: float = 0.7
    keep_every_s: float = 2.0
    batched: bool = True


@dataclass(kw_only=True)
class GroundTruthResult:
    """What level 1 found: see the fields of the same names in `core.Facts`."""

    samples: Samples
    warmup: int
    steady: bool | None
    batched_s: Quantity | None
    overhead_s: float
    noise_floor: float | None
    synchronise_s: float = 0.0
    sentinel_runs: int = field(default=0)


def measure(
    call: Call,
    *,
    synchronise: Synchronise | None = None,
    plan: Plan | None = None,
    sentinel: Callable[[], None] | None = None,
    report: Callable[[str, float], None] | None = None,
    keep: Callable[[Samples], None] | None = None,
    clock: Callable[[], int] = time.perf_counter_ns,
) -> GroundTruthResult:
    """Measure a prepared call.

    Args:
        call: the workload; its first call has already been made and timed apart by the caller.
        synchronise: waits for the call's result; the work is not done until it returns.
        plan: budgets.
        sentinel: run between samples every `plan.sentinel_every_s`.
        report: told a label and a fraction, for progress.
        keep: given the samples so far every `plan.keep_every_s`, between two samples, so that an interrupted run keeps them.
        clock: monotonic nanoseconds, a fake one in tests.

    Returns:
        Samples with every call kept, per-call and batched.
    """
    plan = plan or Plan()
    started = clock()

    def elapsed() -> float:
        return (clock() - started) / 1e9

    timer_s = timer_cost(clock)
    warm = warm_up(call, synchronise, clock, plan.budget_s)
    typical_s = float(np.median(warm.seconds[-max(3, len(warm.seconds) // 3) :])) if warm.seconds else 0.0
    inner = inner_calls(typical_s, timer_s)
    samples, sentinel_runs = _sample(call, synchronise, plan, inner, elapsed, clock, sentinel, report, keep, timer_s)
    batched = _batched(call, synchronise, clock, typical_s, min(1.0, plan.budget_s / 5)) if plan.batched else None
    wall = samples.wall_s.values
    return GroundTruthResult(
        samples=samples,
        warmup=len(warm.seconds),
        steady=warm.steady if len(wall) < 30 else steady_start(wall) is not None,
        batched_s=batched,
        overhead_s=timer_s / inner,
        noise_floor=noise_floor(wall) if len(wall) >= 20 else None,
        sentinel_runs=sentinel_runs,
    )


@dataclass(frozen=True)
class Warm:
    """Seconds of each warm-up call, and whether they settled; null where there were too few to tell."""

    seconds: list[float]
    steady: bool | None


def warm_up(call: Call, synchronise: Synchronise | None, clock: Callable[[], int], budget_s: float) -> Warm:
    """Call until the series has settled, at most a quarter of `budget_s` seconds; a call longer than that is its own warm-up."""
    seconds: list[float] = []
    limit = budget_s / 4
    while len(seconds) < _WARMUP_MOST and sum(seconds) < limit:
        before = clock()
        result = call()
        if synchronise is not None:
            synchronise(result)
        seconds.append((clock() - before) / 1e9)
        # Settled: at least as many calls after the last change as before it, and the least number made.
        if len(seconds) >= 2 * _WARMUP_LEAST and len(seconds) % _WARMUP_LEAST == 0:
            start = steady_start(np.asarray(seconds))
            if start is not None and start <= len(seconds) // 2 and (sum(seconds) > 0.2 or len(seconds) >= 50):
                return Warm(seconds, True)
    return Warm(seconds, None if len(seconds) < 2 * _WARMUP_LEAST else steady_start(np.asarray(seconds)) is not None)


def timer_cost(clock: Callable[[], int]) -> float:
    """Seconds of one timer pair: the smallest of several runs of pairs back to back."""
    best = float("inf")
    for _ in range(5):
        before = clock()
        for _ in range(100):
            clock()
            clock()
        best = min(best, (clock() - before) / 100 / 1e9)
    return best


def inner_calls(typical_s: float, timer_s: float) -> int:
    """Iterations inside one sample so that the timer stays under its part; 1 for anything longer than a few microseconds."""
    if typical_s <= 0 or timer_s / typical_s <= _TIMER_PART:
        return 1
    return min(10_000, int(timer_s / (_TIMER_PART * typical_s)) + 1)


def _sample(
    call: Call,
    synchronise: Synchronise | None,
    plan: Plan,
    inner: int,
    elapsed: Callable[[], float],
    clock: Callable[[], int],
    sentinel: Callable[[], None] | None,
    report: Callable[[str, float], None] | None,
    keep: Callable[[Samples], None] | None,
    timer_s: float,
) -> tuple[Samples, int]:
    rows = CounterRows(2 * plan.samples)
    starts, walls, collected = np.zeros(plan.samples, np.int64), np.zeros(plan.samples, np.int64), np.zeros(plan.samples, np.int64)
    count, sentinels, next_sentinel, next_keep = 0, 0, elapsed(), elapsed() + plan.keep_every_s
    collections = _Collections()
    with collections:
        while count < plan.samples and (count < plan.at_least or elapsed() < plan.budget_s):
            if sentinel is not None and elapsed() >= next_sentinel:
                sentinel()
                sentinels += 1
                next_sentinel = elapsed() + plan.sentinel_every_s
                _return_to_target(call, synchronise, plan, elapsed, count)
            gc_before = collections.count
            rows.read()
            before = clock()
            if synchronise is None:
                for _ in range(inner):
                    call()
            else:
                for _ in range(inner):
                    synchronise(call())
            after = clock()
            rows.read()
            starts[count], walls[count], collected[count] = before, after - before, collections.count - gc_before
            count += 1
            if keep is not None and elapsed() >= next_keep:
                keep(columns_of(rows, starts[:count], walls[:count], collected[:count], inner, timer_s))
                next_keep = elapsed() + plan.keep_every_s
            if report is not None and count % 16 == 0:
                report("ground truth", min(1.0, max(count / plan.samples, elapsed() / plan.budget_s)))
    return columns_of(rows, starts[:count], walls[:count], collected[:count], inner, timer_s), sentinels


def _return_to_target(call: Call, synchronise: Synchronise | None, plan: Plan, elapsed: Callable[[], float], count: int) -> None:
    # A call that takes a good part of the budget brings its own caches back; do not spend seconds on that.
    if count == 0 or elapsed() / count > plan.budget_s / 20:
        return
    for _ in range(_RETURN_CALLS):
        result = call()
        if synchronise is not None:
            synchronise(result)


class _Collections:
    """Counts garbage collections while it is entered."""

    def __init__(self) -> None:
        self.count = 0

    def __enter__(self) -> _Collections:
        gc.callbacks.append(self._seen)
        return self

    def __exit__(self, *exc: object) -> None:
        gc.callbacks.remove(self._seen)

    def _seen(self, phase: str, info: dict[str, int]) -> None:
        if phase == "start":
            self.count += 1


def columns_of(
    rows: CounterRows, starts: np.ndarray[Any, Any], walls: np.ndarray[Any, Any], collected: np.ndarray[Any, Any], inner: int, timer_s: float
) -> Samples:
    """Samples from two readings of the counters a sample.

    Args:
        starts, walls: in nanoseconds, shape (n,).
        collected: garbage collections in each, shape (n,).
        inner: calls of a sample.
        timer_s: of a timer pair.
    """
    deltas = rows.deltas()

    def seconds(name: str) -> Column | None:
        values = deltas[name]
        return None if values is None else Column(values / 1e9, "s")

    def counts(name: str) -> Column | None:
        values = deltas[name]
        return None if values is None else Column(values, "count")

    involuntary = deltas["involuntary_switches"]
    preempted = np.zeros(len(walls), np.int64) if involuntary is None else np.where(involuntary > 0, FLAG_PREEMPTED, 0)
    flags = preempted | np.where(collected > 0, FLAG_GC, 0)
    return Samples(
        wall_s=Column(walls / inner / 1e9, "s"),
        start_s=Column((starts - starts[0]) / 1e9 if len(starts) else [], "s", dtype=np.float64),
        process=Column(np.zeros(len(walls), np.int32), "count"),
        inner=Column(np.full(len(walls), inner, np.int32), "count"),
        thread_cpu_s=seconds("thread_cpu_ns"),
        process_cpu_s=seconds("process_cpu_ns"),
        run_queue_s=seconds("run_queue_ns"),
        system_s=seconds("system_ns"),
        involuntary_switches=counts("involuntary_switches"),
        voluntary_switches=counts("voluntary_switches"),
        minor_faults=counts("minor_faults"),
        major_faults=counts("major_faults"),
        gc_collections=Column(collected, "count"),
        flags=Column(flags.astype(np.int32), "count"),
        method=f"one process, {inner} call{'s' if inner > 1 else ''} a sample, counters read outside the timed interval",
        timer_s=timer_s,
    )


def _batched(call: Call, synchronise: Synchronise | None, clock: Callable[[], int], typical_s: float, budget_s: float) -> Quantity | None:
    """Seconds of a call when many are issued and waited for once: throughput, not latency. `None` when a batch does not fit the budget."""
    size = max(2, min(1000, int(0.05 / typical_s))) if typical_s > 0 else 1000
    if typical_s * size * 3 > budget_s:
        return None
    times: list[float] = []
    spent = 0.0
    while len(times) < 20 and (spent < budget_s or len(times) < 5):
        before = clock()
        for _ in range(size):
            result = call()
        if synchronise is not None:
            synchronise(result)
        times.append((clock() - before) / 1e9 / size)
        spent += times[-1] * size
    return median_of(times, f"{size} calls between two readings of the clock, {len(times)} times")
