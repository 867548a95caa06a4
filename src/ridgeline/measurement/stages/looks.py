"""A closer look at what each stage is: CPUs kept busy, share in the interpreter, and the lines that run in it.

Taken over calls of their own, since the CPU clocks and the samplers cost more than a stage may: their times never become the stages' times. Program
counters come from the sampler on the calling thread's CPU clock, each stage knowing how many had been taken when it began and ended; lines come
from a thread that looks at the calling thread's frames and notes when.

The CPU clock of a process knows of its other threads what the scheduler has booked: Linux books a thread that runs at every tick and when it stops.
At each end of an entry up to a tick of every other CPU may be booked too early or too late, but never more in all than the other threads have taken.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ridgeline import _native
from ridgeline.core import Site, StageLine

from ..mappings import interpreter_flags, read_mappings
from ..stacks import SWITCH_INTERVAL_S, Watcher
from .device import DeviceTimes
from .recorder import Recording, recording
from .rows import parent_index, rows_of

__all__ = ["Look", "Looks", "looked_at"]

_CPU_INTERVAL_S = 1e-3
_LINE_INTERVAL_S = 2e-3
_MOST_LINES = 20
#: Of entries shorter than this on the mean the CPU clocks say mostly what reading them costs.
_SHORT_NS = 20e3
#: CPUs busy that are known no better than this to either side are not said.
_MOST_DOUBT = 0.5
#: `CLOCK_MONOTONIC_COARSE` of Linux, whose resolution is the scheduler's tick.
_COARSE_CLOCK = 6
#: The longest tick in use, where the kernel does not say its own.
_LONGEST_TICK_S = 0.010
#: Entries of one pass: their fields are twice as many.
_MOST_EVENTS = 1 << 18

#: A line sample: instant in ns, thread, place.
Seen = tuple[int, int, Site]


@dataclass(frozen=True, kw_only=True)
class Look:
    """What one stage is; see `core.Stage`."""

    busy_cpus: float | None = None
    busy_range: tuple[float, float] | None = None
    interpreter: float | None = None
    lines: tuple[StageLine, ...] = ()


@dataclass
class Looks:
    """What all stages are, by their path of names.

    Attributes:
        found: by path.
        samples: line samples taken.
    """

    found: dict[tuple[str, ...], Look] = field(default_factory=dict)
    samples: int = 0

    def of(self, path: tuple[str, ...]) -> Look | None:
        """The look at one stage, `None` where it was not seen."""
        return self.found.get(path)


class _Lines(Watcher):
    """Looks at the frames of all threads and keeps the instant of every sample."""

    def __init__(self, watched: int, user_files: frozenset[str]) -> None:
        super().__init__(watched, user_files)
        self.seen: list[Seen] = []
        self.cpu_ns = 0

    def run(self) -> None:
        """Sample until `stop` is set."""
        own = threading.get_ident()
        while not self.stop.wait(_LINE_INTERVAL_S):
            self._look(own)
        self.cpu_ns = time.thread_time_ns()

    def _look(self, own: int) -> None:
        # A function of its own: frames that were kept between two looks would keep the target's locals alive.
        now = _native.clock_ns()
        for ident, frame in sys._current_frames().items():
            if ident != own and (place := self.place(frame)) is not None:
                self.seen.append((now, ident, place))


def looked_at(
    call: Callable[[], Any],
    *,
    synchronise: Callable[[Any], None] | None,
    seconds: float,
    user_files: Iterable[str],
    devices: DeviceTimes | None = None,
) -> Looks:
    """Make calls for about `seconds`, at least one, and look closely at their stages."""
    watcher = _Lines(threading.get_ident(), frozenset(user_files))
    thread = threading.Thread(target=watcher.run, daemon=True, name="ridgeline-lines")
    switch_interval = sys.getswitchinterval()
    counters: bytes = b""
    tick_s, others_ns = _tick_s(), -_others_ns()
    with recording(resources=True, most=_MOST_EVENTS, devices=devices) as found:
        _native.sampler_start(_CPU_INTERVAL_S, 1 << 16)
        try:
            thread.start()
            sys.setswitchinterval(SWITCH_INTERVAL_S)
            before, made = perf_counter(), 0
            while made < 1 or perf_counter() - before < seconds:
                result = call()
                if synchronise is not None:
                    synchronise(result)
                made += 1
        finally:
            counters, _ = _native.sampler_stop()
            watcher.stop.set()
            with contextlib.suppress(RuntimeError):
                thread.join()
            sys.setswitchinterval(switch_interval)
    time.sleep(tick_s)  # whatever ran until now is booked then
    booking = _Booking(len(os.sched_getaffinity(0)), tick_s * 1e9, others_ns + _others_ns() - watcher.cpu_ns)
    flags = interpreter_flags(np.frombuffer(counters, np.uint64), read_mappings())
    return _looks(found, flags, watcher.seen, threading.get_ident(), booking)


@dataclass(frozen=True)
class _Booking:
    """How the CPU clock of the process is kept: CPUs, length of a tick, and what all threads but the calling one took meanwhile."""

    cpus: int
    tick_ns: float
    others_ns: float

    def doubt_ns(self, entries: int) -> float:
        """What so many entries together may have too much or too little; one CPU is the thread's own, which is booked when it asks."""
        return min(entries * (self.cpus - 1) * self.tick_ns, max(0.0, self.others_ns))


def _others_ns() -> int:
    return time.clock_gettime_ns(time.CLOCK_PROCESS_CPUTIME_ID) - time.clock_gettime_ns(time.CLOCK_THREAD_CPUTIME_ID)


def _tick_s() -> float:
    try:
        tick_s = time.clock_getres(_COARSE_CLOCK)
    except OSError:
        return _LONGEST_TICK_S
    return tick_s if tick_s >= 1e-4 else _LONGEST_TICK_S  # a kernel without ticks to go by says a nanosecond


def _looks(found: Recording, interpreted: NDArray[np.bool_], seen: list[Seen], ident: int, booking: _Booking) -> Looks:
    """Sums by row. Pure arithmetic.

    Args:
        found: the recording, with resources.
        interpreted: of each program counter in order, whether it lies in the interpreter.
        seen: lines of all threads.
        ident: the calling thread, whose program counters these are.
        booking: how the CPU clock of the process is kept.
    """
    rows = rows_of([found])
    of, events = rows.of[0], found.events
    before = np.concatenate(([0], np.cumsum(interpreted)))
    wall = (events["end_ns"] - events["start_ns"]).astype(np.float64)
    here = np.array([other == ident for other in found.idents] or [False])[events["lane"]] if len(events) else np.zeros(0, bool)
    taken = np.minimum(events["sample_to"], len(interpreted)) - np.minimum(events["sample_from"], len(interpreted))
    hits = before[np.minimum(events["sample_to"], len(interpreted))] - before[np.minimum(events["sample_from"], len(interpreted))]
    lines = _lines(found, of, seen)
    looks = Looks(samples=len(seen))
    for row in range(len(rows.names)):
        part = of == row
        own = part & here
        share = None
        if own.any() and taken[own].sum() > 0 and wall[own].sum() > 0:
            share = min(1.0, float(hits[own].sum() / taken[own].sum() * events["cpu_ns"][own].sum() / wall[own].sum()))
        elif own.any() and wall[own].sum() > 0 and events["cpu_ns"][own].sum() < 0.05 * wall[own].sum():
            share = 0.0  # asleep: nothing was sampled because nothing ran
        busy, busy_range = _busy(events[part], booking)
        common = tuple(StageLine(site=site, samples=count) for site, count in lines.get(row, Counter()).most_common(_MOST_LINES))
        looks.found[rows.path(row)] = Look(busy_cpus=busy, busy_range=busy_range, interpreter=share, lines=common)
    return looks


def _busy(entries: NDArray[Any], booking: _Booking) -> tuple[float | None, tuple[float, float] | None]:
    """CPUs that the process kept busy in some entries, `None` where that is known too roughly, and within which bounds for certain."""
    wall = float((entries["end_ns"] - entries["start_ns"]).sum())
    if wall <= _SHORT_NS * len(entries):
        return None, None
    booked, doubt = float(entries["process_cpu_ns"].sum()), booking.doubt_ns(len(entries))
    own = min(1.0, float(entries["cpu_ns"].sum()) / wall)
    low = min(float(booking.cpus), max(own, (booked - doubt) / wall))
    high = min(float(booking.cpus), max(low, (booked + doubt) / wall))
    return (min(high, max(low, booked / wall)) if doubt <= _MOST_DOUBT * wall else None), (low, high)


def _lines(found: Recording, of: NDArray[np.int64], seen: list[Seen]) -> dict[int, Counter[Site]]:
    """Samples of each line by the row of the innermost entry of its thread that was running then."""
    counts: dict[int, Counter[Site]] = {}
    parents = parent_index(found.events)
    by_thread: dict[int, list[Seen]] = {}
    for sample in seen:
        by_thread.setdefault(sample[1], []).append(sample)
    for lane, ident in enumerate(found.idents):
        if ident not in by_thread:
            continue
        own = np.flatnonzero(found.events["lane"] == lane)
        own = own[np.argsort(found.events["start_ns"][own], kind="stable")]
        for instant, _, site in by_thread[ident]:
            row = int(of[index]) if (index := _running(found.events, parents, own, instant)) >= 0 else -1
            if row >= 0:
                counts.setdefault(row, Counter())[site] += 1
    return counts


def _running(events: NDArray[Any], parents: NDArray[np.int64], own: NDArray[np.int64], instant: int) -> int:
    """Index of the innermost entry of one thread at an instant, −1 for none; `own` are its entries by their start."""
    at = int(np.searchsorted(events["start_ns"][own], instant, side="right")) - 1
    index = int(own[at]) if at >= 0 else -1
    # The latest to begin has ended already: what runs is around it, or nothing.
    while index >= 0 and events["end_ns"][index] < instant:
        index = int(parents[index])
    return index
