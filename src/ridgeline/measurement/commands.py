"""Level 1 and 2 of a target that is a process of its own: one run is one sample, split from what the kernel counted about it.

The calling thread's counters say nothing here: it only waits. What is inside the process (interpreter or native code) is not visible from
outside; for a Python script the same source is run in this process under the samplers, and its share is carried over.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import numpy as np

from ridgeline.core import Column, Quantity, Samples, WallSplit
from ridgeline.stats import wilson_interval
from ridgeline.targets import CommandSample

from .harness import GroundTruthResult, Plan

__all__ = ["measure_command", "samples_of", "split_command"]

#: A run beyond this part of the budget is not repeated to warm up: the first call has warmed the page cache.
_WARMUP_PART = 0.1


def measure_command(
    run: Callable[[], CommandSample],
    *,
    plan: Plan,
    sentinel: Callable[[], None] | None = None,
    report: Callable[[str, float], None] | None = None,
    keep: Callable[[Samples], None] | None = None,
    clock: Callable[[], float] = time.perf_counter,
) -> tuple[GroundTruthResult, tuple[CommandSample, ...]]:
    """Run a command until the budget is spent; every run is kept.

    Args:
        run: one run of the command, already run once.
        plan: budgets; `at_least` runs are made even when the budget is spent.
        keep: given the samples so far every `plan.keep_every_s`.
    """
    started = clock()
    taken: list[CommandSample] = []
    starts: list[float] = []
    warm = 0
    next_sentinel, next_keep = 0.0, plan.keep_every_s
    while len(taken) < plan.samples and (len(taken) < plan.at_least or clock() - started < plan.budget_s):
        if sentinel is not None and clock() - started >= next_sentinel:
            sentinel()
            next_sentinel = clock() - started + plan.sentinel_every_s
        starts.append(clock() - started)
        taken.append(run())
        if warm == 0 and len(taken) == 1 and taken[0].wall_s < _WARMUP_PART * plan.budget_s:
            warm = 1
            taken.clear()
            starts.clear()
            continue
        if keep is not None and clock() - started >= next_keep:
            keep(samples_of(taken, starts))
            next_keep = clock() - started + plan.keep_every_s
        if report is not None:
            report("ground truth", min(1.0, max(len(taken) / plan.samples, (clock() - started) / plan.budget_s)))
    result = GroundTruthResult(
        samples=samples_of(taken, starts), warmup=1 + warm, steady=None, batched_s=None, overhead_s=0.0, noise_floor=None, sentinel_runs=0
    )
    return result, tuple(taken)


def samples_of(runs: Sequence[CommandSample], starts_s: Sequence[float]) -> Samples:
    """The runs as columns; CPU and system time are of the whole process tree."""

    def counts(name: str) -> Column:
        return Column(np.array([getattr(run, name) for run in runs], np.int64), "count")

    queue = [run.run_queue_s for run in runs]
    return Samples(
        wall_s=Column(np.array([run.wall_s for run in runs], np.float64), "s"),
        start_s=Column(np.array(starts_s, np.float64) - (starts_s[0] if starts_s else 0.0), "s"),
        process=Column(np.arange(len(runs), dtype=np.int32), "count"),
        inner=Column(np.ones(len(runs), np.int32), "count"),
        process_cpu_s=Column(np.array([run.user_s + run.system_s for run in runs], np.float64), "s"),
        run_queue_s=None if any(value is None for value in queue) else Column(np.array(queue, np.float64), "s"),
        system_s=Column(np.array([run.system_s for run in runs], np.float64), "s"),
        involuntary_switches=counts("involuntary_switches"),
        voluntary_switches=counts("voluntary_switches"),
        minor_faults=counts("minor_faults"),
        major_faults=counts("major_faults"),
        method="one process a sample, rusage of the process tree",
    )


def split_command(runs: Sequence[CommandSample], inside: tuple[int, int] | None) -> WallSplit:
    """Shares of the wall of one run, summed over all runs.

    Args:
        runs: at least one.
        inside: (program counters in the interpreter, all) from a run of the same source in this process; `None` for a command that is not Python's.

    The time in which no thread was running or runnable is blocked; the rest is dealt out by the CPU times. Threads that wait for a CPU at the
    same time wait side by side, so the run-queue delay is divided by the threads that were busy.
    """
    wall = sum(run.wall_s for run in runs)
    blocked = sum(run.blocked_s or 0.0 for run in runs)
    cpu = sum(run.user_s + run.system_s for run in runs)
    busy = max(0.0, wall - blocked)
    beside = max(1.0, cpu / busy) if busy else 1.0
    waiting = min(busy, sum(run.run_queue_s or 0.0 for run in runs) / beside)
    working = busy - waiting
    system = working * (sum(run.system_s for run in runs) / cpu if cpu else 0.0)
    user = working - system
    hits, taken = inside or (0, 0)
    share = hits / taken if taken else 0.0
    low, high = wilson_interval(hits, taken, confidence=0.95) if taken else (0.0, 0.0 if inside is None else 1.0)
    looks = sum(run.looks for run in runs)
    blocked_low, blocked_high = wilson_interval(round(looks * blocked / wall), looks, confidence=0.95) if looks and wall else (0.0, 1.0)

    def quantity(value: float, low: float, high: float, origin: str) -> Quantity:
        value, low, high = (min(1.0, max(0.0, x / wall)) if wall else 0.0 for x in (value, low, high))
        return Quantity(value=value, low=min(low, value), high=max(high, value), confidence=0.95, unit="1", source="measured", origin=origin)

    inside_origin = "program counters of the same source in this process" if inside else "not Python"
    return WallSplit(
        blocked=quantity(blocked, wall * blocked_low, wall * blocked_high, "no thread running or runnable, by looks at /proc"),
        waiting=quantity(waiting, waiting, waiting, "schedstat of every thread seen"),
        system=quantity(system, system, system, "rusage"),
        interpreter=quantity(user * share, user * low, user * high, inside_origin),
        kernels=quantity(user * (1 - share), user * (1 - high), user * (1 - low), "the rest of user time"),
        python_samples=taken,
        how=f"rusage and {looks} looks at the process tree" + (f", {taken} program counters in process" if taken else ""),
    )
