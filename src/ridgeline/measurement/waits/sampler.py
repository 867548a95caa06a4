"""What goes on while threads wait: a thread that looks at all others at a steady rate and holds the interpreter's lock while it looks.

A thread whose CPU clock advances while somebody else holds the interpreter's lock works without it: native code that other threads could run beside.
One that stands still is asleep when a stopwatch is on it or when it has not run for a while, and otherwise wants the lock. A look that came late,
the run queue taken out, came late because somebody held the lock: that time is the interpreter's. Looks are weighed by the time since the last one.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from dataclasses import dataclass, field
from time import perf_counter  # bound before the target is loaded, which may replace it in its module
from types import FrameType

from .loops import PollLoop, poll_loops
from .tally import Place, Recorder, Tally

__all__ = ["Sampler", "SpinSum"]

_INTERVAL_S = 3e-3
#: How long the interpreter's lock is held while CPU clocks are read twice: far under the 5 ms after which others ask for it.
_WINDOW_S = 60e-6
#: A thread advances when its clock gets this part of the window.
_RUNS = 0.3
#: A thread that has had less than this part of the time since it was last seen running is asleep.
_ASLEEP_AFTER_S = 50e-3
#: Sleep returns this much late on its own.
_LATE_S = 150e-6
_real_sleep = time.sleep


@dataclass(slots=True)
class SpinSum:
    """Seconds of one polling loop in one thread, and of what went on in the other threads meanwhile."""

    total_s: float = 0.0
    native_s: float = 0.0
    asleep_s: float = 0.0


@dataclass(slots=True)
class _Thread:
    """What is known of a thread: CPU seconds at the last look, and when it was last seen to have run."""

    cpu_s: float = 0.0
    ran_at: float = 0.0
    busy: float = 1.0


@dataclass(slots=True)
class _Look:
    """One look: who ran without the interpreter's lock, who wants it, and how the time since the last look is dealt out."""

    native: set[int] = field(default_factory=set)
    wanting: set[int] = field(default_factory=set)
    interpreter_s: float = 0.0
    rest_s: float = 0.0


class Sampler:
    """Looks at all threads until it is stopped; what it sees of waits goes into the recorder's sums.

    Attributes:
        spins: (thread, loop's place, condition) → seconds.
        looked_s: seconds that were looked at.
        wanting_s: seconds × threads that ran or wanted to run Python.
    """

    def __init__(self, recorder: Recorder) -> None:
        self.spins: dict[tuple[int, Place, str], SpinSum] = {}
        self.looked_s = 0.0
        self.wanting_s = 0.0
        self._recorder = recorder
        self._loops: dict[str, list[PollLoop]] = {}
        self._threads: dict[int, _Thread] = {}
        self._stop = False
        self._thread = threading.Thread(target=self._run, daemon=True, name="ridgeline-waits")

    def start(self) -> None:
        """Begin to look."""
        self._thread.start()

    def stop(self) -> None:
        """Look no more."""
        self._stop = True
        self._thread.join()

    def _run(self) -> None:
        me = threading.get_ident()
        queue_before, last = _run_queue_s(), perf_counter()
        while not self._stop:
            before = perf_counter()
            _real_sleep(_INTERVAL_S)
            now, queue_now = perf_counter(), _run_queue_s()
            late = max(0.0, now - before - _INTERVAL_S - _LATE_S - (queue_now - queue_before))
            queue_before = queue_now
            if self._recorder.recording:
                self._look(me, now, now - last, late)
            last = now

    def _look(self, me: int, now: float, since: float, late: float) -> None:
        frames = sys._current_frames()
        frames.pop(me, None)
        ids = {thread.ident: thread.native_id for thread in list(threading._active.values())}  # type: ignore[attr-defined]
        clocks = {ident: _clock_id(ids[ident]) for ident in frames if ids.get(ident)}
        first = {ident: _cpu_s(clock) for ident, clock in clocks.items()}
        until = perf_counter() + _WINDOW_S
        while perf_counter() < until:
            pass
        second = {ident: _cpu_s(clock) for ident, clock in clocks.items()}
        tallies = {tally.ident: tally for tally in list(self._recorder.tallies)}
        look = _Look(interpreter_s=min(since, late), rest_s=max(0.0, since - late))
        for ident in clocks:
            self._state(ident, first[ident], second[ident], now, since, tallies.get(ident), look)
        self.looked_s += since
        self.wanting_s += since * len(look.wanting)
        self._waits(tallies, clocks.keys() & frames.keys(), look)
        self._spins(frames, tallies, look)
        del frames

    def _state(self, ident: int, first: float, second: float, now: float, since: float, tally: Tally | None, look: _Look) -> None:
        known = self._threads.setdefault(ident, _Thread(cpu_s=first, ran_at=now))
        known.busy = (first - known.cpu_s) / since if since > 0 else 0.0
        if first - known.cpu_s > 20e-6:
            known.ran_at = now
        known.cpu_s = second
        if second - first >= _RUNS * _WINDOW_S:
            look.native.add(ident)
        elif (tally is None or tally.key is None) and now - known.ran_at < _ASLEEP_AFTER_S:
            look.wanting.add(ident)

    def _waits(self, tallies: dict[int, Tally], threads: set[int], look: _Look) -> None:
        """Deal the time out to whoever waits: by the holder for a lock, by any other thread for the rest."""
        for ident, tally in tallies.items():
            key = tally.key
            if key is None or key[2] is None:
                continue
            others = {key[1].owner} & threads if key[0] == "lock" else threads - {ident}
            found = tally.sum_of(key)
            found.sampled_s += look.interpreter_s + look.rest_s
            if others & look.native:
                found.native_s += look.rest_s
            elif not others & look.wanting:
                found.asleep_s += look.rest_s

    def _spins(self, frames: dict[int, FrameType], tallies: dict[int, Tally], look: _Look) -> None:
        for ident, frame in frames.items():
            tally = tallies.get(ident)
            known = self._threads.get(ident)
            if (tally is not None and tally.key is not None) or known is None or known.busy < 0.05:
                continue
            place = self._recorder.place(frame)
            loop = self._loop_at(place) if place is not None else None
            if place is None or loop is None:
                continue
            found = self.spins.setdefault((ident, (place[0], loop.first), loop.asks), SpinSum())
            found.total_s += look.interpreter_s + look.rest_s
            others = self._threads.keys() - {ident}
            if others & look.native:
                found.native_s += look.interpreter_s + look.rest_s
            elif not others & look.wanting:
                found.asleep_s += look.interpreter_s + look.rest_s

    def _loop_at(self, place: Place) -> PollLoop | None:
        """The innermost polling loop around a line."""
        file = place[0].co_filename
        if file not in self._loops:
            self._loops[file] = poll_loops(_source(file))
        around = [loop for loop in self._loops[file] if loop.first <= place[1] <= loop.last]
        return around[-1] if around else None


def _source(file: str) -> str:
    try:
        with open(file, encoding="utf-8", errors="replace") as stream:
            return stream.read()
    except OSError:
        return ""


def _clock_id(thread: int | None) -> int:
    """The CPU clock of a thread by its kernel id (clock_getcpuclockid(3) for a thread: the complement of the id, three bits of kind below)."""
    return (~(thread or 0) << 3) | 6


def _cpu_s(clock: int) -> float:
    try:
        return time.clock_gettime(clock)
    except OSError:  # the thread has ended
        return 0.0


def _run_queue_s() -> float:
    """Seconds the calling thread was runnable and did not run; 0 where the kernel does not tell."""
    try:
        file = os.open("/proc/thread-self/schedstat", os.O_RDONLY)
    except OSError:
        return 0.0
    try:
        return int(os.read(file, 64).split()[1]) / 1e9
    except (OSError, ValueError, IndexError):
        return 0.0
    finally:
        os.close(file)
