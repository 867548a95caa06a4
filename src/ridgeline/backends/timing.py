"""Timed runs of a kernel: warm, each sample kept, many runs in a sample where one is too short for the clock, and those that something outside held
up known by the counters that the harness reads.

Seconds are the kernel's own where it has a clock, else the wall's. What the times are worth is decided elsewhere.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from ridgeline.core import Column
from ridgeline.core.samples import FLAG_STOLEN, FLAG_THROTTLED
from ridgeline.machine.control import ThrottleWatch
from ridgeline.machine.control.throttle import Why
from ridgeline.measurement.harness import columns_of, inner_calls, timer_cost, warm_up
from ridgeline.measurement.thread_counters import CounterRows, ready_threads_s

from .base import Kernel

__all__ = ["Timed", "first_run_s", "timed"]

#: Seconds of warm-up: a run that takes longer was its own. Part of a second, so that it costs less than starting a worker.
_WARM_S = 0.05
#: `warm_up` takes at most this part of what it is given.
_WARM_PART = 0.25
#: A first run is slower than later ones, and any run may be held up: only beyond this many times what is too slow one is enough to tell.
_CLEARLY = 5.0
#: Reading counters leaves caches behind that are not the kernel's any more: a run that is shorter has one more before each sample, as in the harness.
_SHORT_S = 1e-3
#: Samples at most where more than asked for are taken to fill a time.
_MOST_SAMPLES = 64
#: Of samples that nothing held up so many are waited for, so many seconds longer: the others say how busy the machine was. Held up is one whose
#: threads waited for a CPU for more than a twentieth of it, as in `Samples.disturbed`.
_CLEAN, _PATIENCE_S, _WAITED = 3, 0.3, 0.05
_STOLEN: tuple[Why, ...] = ("stolen",)


class Timed(NamedTuple):
    """Seconds of each run, the indices of those that were disturbed, whether any was throttled, and whether it was given up."""

    runs: tuple[float, ...]
    disturbed: tuple[int, ...]
    throttled: bool
    given_up: bool


def first_run_s(kernel: Kernel, slow_s: float | None) -> tuple[float, bool]:
    """Seconds of the first run, and whether it is clearly slower than `slow_s`.

    What only a first run pays (pages, threads, code) may be most of a short one: that is given a second chance by the caller, in `timed`.
    """
    before_s = ready_threads_s()
    seconds = _Clock(kernel).run(1)
    own_s = seconds - max(0.0, ready_threads_s() - before_s)
    return seconds, slow_s is not None and own_s > max(_CLEARLY * slow_s, _WARM_S)


def timed(
    kernel: Kernel, runs: int, *, first_s: float, slow_s: float | None = None, least_s: float = 0.0,
    within: Callable[[int], None] = lambda inner: None,
) -> Timed:  # fmt: skip
    """Warm up, then time.

    Args:
        runs: samples wanted, ≥ 1; least_s: seconds that they fill, with up to 64 of them: a few runs of microseconds are one moment of the machine.
        first_s: of the run before.
        slow_s: as soon as two runs took longer by themselves, without what threads waited for a CPU, the first one of a long kernel counted, no
            further one is made.
        within: told before each stretch of runs how many there are, to limit their time.
    """
    clock, timer_s = _Clock(kernel), timer_cost(time.perf_counter_ns)
    typical_s = first_s if first_s > _WARM_S else _warmed_s(clock, within)
    inner = inner_calls(typical_s, timer_s)
    taken, witnesses = _Taken(max(runs, _MOST_SAMPLES)), 1 if slow_s is not None and first_s > max(slow_s, _WARM_S) else 2
    with ThrottleWatch() as watch:
        watch.look(time.perf_counter())
        while not taken.enough(runs, least_s) and not taken.slower(slow_s, witnesses):
            within(inner)
            if typical_s < _SHORT_S:
                clock.run(1)
            taken.take(clock, inner)
            watch.look(time.perf_counter())
    disturbed, throttled = taken.judged(watch, inner, timer_s)
    return Timed(tuple(taken.seconds), tuple(int(index) for index in np.flatnonzero(disturbed)), throttled, taken.slower(slow_s, witnesses))


class _Taken:
    """Samples, with what the kernel counted beside them."""

    def __init__(self, capacity: int) -> None:
        self.seconds: list[float] = []
        self._rows = CounterRows(2 * capacity)
        self._capacity, self._own_s = capacity, list[float]()
        self._starts, self._walls, self._queue_s = np.zeros(capacity, np.int64), np.zeros(capacity, np.int64), np.zeros(capacity)

    def take(self, clock: _Clock, inner: int) -> None:
        """One more sample of `inner` runs."""
        index = len(self.seconds)
        # A kernel of several threads waits for the last of them.
        queue_s = ready_threads_s()
        self._rows.read()
        before = time.perf_counter_ns()
        self.seconds.append(clock.run(inner))
        after = time.perf_counter_ns()
        self._rows.read()
        self._starts[index], self._walls[index] = before, after - before
        self._queue_s[index] = max(0.0, ready_threads_s() - queue_s)
        self._own_s.append(self.seconds[-1] - self._queue_s[index] / inner)

    def enough(self, runs: int, least_s: float) -> bool:
        """Whether no more samples are wanted; by the wall, which a kernel's own clock may be a small part of."""
        count = len(self.seconds)
        if count < runs:
            return False
        walls_s = self._walls[:count] / 1e9
        clean = int(np.count_nonzero(self._queue_s[:count] <= _WAITED * walls_s))
        filled = count >= _MOST_SAMPLES or walls_s.sum() >= least_s
        return count >= self._capacity or (filled and (clean >= min(runs, _CLEAN) or walls_s.sum() >= least_s + _PATIENCE_S))

    def slower(self, slow_s: float | None, witnesses: int) -> bool:
        """Whether so many samples took longer by themselves."""
        return slow_s is not None and len(self._own_s) >= witnesses and min(self._own_s) > slow_s

    def judged(self, watch: ThrottleWatch, inner: int, timer_s: float) -> tuple[NDArray[np.bool_], bool]:
        """Which samples were disturbed, shape (n,), and whether any was throttled."""
        count = len(self.seconds)
        starts, walls = self._starts[:count], self._walls[:count]
        samples = columns_of(self._rows, starts, walls, np.zeros(count, np.int64), inner, timer_s)
        throttled = watch.marked(starts / 1e9, (starts + walls) / 1e9)
        stolen = watch.marked(starts / 1e9, (starts + walls) / 1e9, _STOLEN)
        flags = (0 if samples.flags is None else samples.flags.values) | FLAG_THROTTLED * throttled | FLAG_STOLEN * stolen
        own = 0.0 if samples.run_queue_s is None else samples.run_queue_s.values
        queue = Column(np.maximum(own, self._queue_s[:count]), "s")
        held_up = msgspec.structs.replace(samples, flags=Column(flags.astype(np.int32), "count"), run_queue_s=queue)
        return held_up.disturbed(), bool(throttled.any())


class _Clock:
    """Runs a kernel and takes the time."""

    def __init__(self, kernel: Kernel) -> None:
        self._run = kernel.run
        #: Seconds of a run, of each stretch so far.
        self.taken: list[float] = []

    def run(self, count: int) -> float:
        """Seconds of one of `count` runs in a row."""
        run = self._run
        before = time.perf_counter_ns()
        if count == 1:
            own = run()
        else:
            own = 0.0
            for _ in range(count):
                one = run()
                own = None if one is None or own is None else own + one
        wall = (time.perf_counter_ns() - before) / 1e9
        seconds = (wall if own is None else own) / count
        self.taken.append(seconds)
        return seconds


def _warmed_s(clock: _Clock, within: Callable[[int], None]) -> float:
    """Run until it is steady, or the time is up; seconds of a run at its end."""
    within(1)
    clock.taken.clear()
    warm_up(lambda: clock.run(1), None, time.perf_counter_ns, _WARM_S / _WARM_PART)
    return float(np.median(clock.taken[-max(3, len(clock.taken) // 3) :]))
