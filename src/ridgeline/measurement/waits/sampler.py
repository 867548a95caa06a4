"""What goes on while threads wait: a thread that looks at all others at a steady rate and holds the interpreter's lock while it looks.

Each look is a timer's instant. If the sampler had to wait for the interpreter's lock (it came late, its own run queue taken out), somebody held the
lock at that instant. If not, whatever the kernel shows as running now works without the lock: native code that other threads could run beside. A
thread inside a timed wait, or one that has not run for a while, sleeps. Looks are weighed by the time since the last one.

While it looks, threads take shorter turns at the interpreter's lock than they would: with the usual 5 ms a shorter piece of Python is never seen,
only its end. So its shares are used, and no time of the calls it looks at.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from time import perf_counter  # bound before the target is loaded, which may replace it in its module
from types import FrameType

from .loops import PollLoop, poll_loops
from .tally import Place, Recorder, Tally

__all__ = ["INTERVAL_S", "Sampler", "SpinSum", "source_of"]

INTERVAL_S = 3e-3
#: A turn at the interpreter's lock while looking.
_TURN_S = 5e-4
#: Sleep and the kernel are this much late on their own; beyond, somebody held the interpreter's lock.
_LATE_S = 200e-6
#: A thread that wants the interpreter's lock gets it within a few of the 5 ms turns; one that has not run for this long is asleep.
_ASLEEP_AFTER_S = 50e-3
#: Two threads that share the interpreter's lock have the time of one CPU together; from here on they do not share it.
_MORE_THAN_ONE = 1.3
_HARDLY = 0.05
_real_sleep = time.sleep


@dataclass(slots=True)
class SpinSum:
    """Seconds of one polling loop in one thread, and of what went on in the other threads meanwhile."""

    total_s: float = 0.0
    native_s: float = 0.0
    asleep_s: float = 0.0
    interpreted_s: float = 0.0


@dataclass(slots=True)
class _Thread:
    """What is known of a thread: CPU seconds at the last look, when it was last seen to have run, and CPUs it kept busy since the last look."""

    cpu_s: float
    ran_at: float
    busy: float = 0.0


@dataclass(slots=True)
class _Look:
    """One look: seconds since the last one, who worked without the interpreter's lock, who ran or wanted to run Python, who is
    just waking up, and whether the interpreter's lock was taken."""

    seconds: float
    taken: bool
    native: set[int] = field(default_factory=set)
    wanting: set[int] = field(default_factory=set)
    waking: set[int] = field(default_factory=set)


class Sampler:
    """Looks at all threads until it is stopped; what it sees of waits goes into the recorder's sums.

    Attributes:
        spins: (thread, loop's place, condition) → seconds.
        looked_s: seconds that were looked at.
        wanting_s: seconds × threads that ran or wanted to run Python.
        lines: their lines → seconds.
    """

    def __init__(self, recorder: Recorder) -> None:
        self.spins: dict[tuple[int, Place, str], SpinSum] = {}
        self.looked_s = 0.0
        self.wanting_s = 0.0
        self.lines: dict[Place, float] = defaultdict(float)
        self._recorder = recorder
        self._loops: dict[str, list[PollLoop]] = {}
        self._threads: dict[int, _Thread] = {}
        self._stop = False
        self._thread = threading.Thread(target=self._run, daemon=True, name="ridgeline-waits")

    def __enter__(self) -> Sampler:
        self._turn = sys.getswitchinterval()
        sys.setswitchinterval(_TURN_S)
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._stop = True
        self._thread.join()
        sys.setswitchinterval(self._turn)

    def _run(self) -> None:
        me = threading.get_ident()
        queue_before, last = _run_queue_s(), perf_counter()
        while not self._stop:
            before = perf_counter()
            _real_sleep(INTERVAL_S)
            now, queue_now = perf_counter(), _run_queue_s()
            late = now - before - INTERVAL_S - (queue_now - queue_before)
            queue_before = queue_now
            if self._recorder.recording:
                self._look(me, now, now - last, late > _LATE_S)
            last = now

    def _look(self, me: int, now: float, since: float, taken: bool) -> None:
        frames = sys._current_frames()
        frames.pop(me, None)
        ids = {thread.ident: thread.native_id for thread in list(threading._active.values())}  # type: ignore[attr-defined]
        threads = {ident: ids[ident] for ident in frames if ids.get(ident)}
        running = set() if taken else {ident for ident, native in threads.items() if _runs(native)}
        tallies = {tally.ident: tally for tally in list(self._recorder.tallies)}
        waiting = {ident for ident, tally in tallies.items() if tally.key is not None}
        look = _Look(seconds=since, taken=taken, native=running - waiting, waking=running & waiting)
        for ident, native in threads.items():
            self._follow(ident, _cpu_s(native), now, since)
            if ident not in waiting and ident not in look.native and now - self._threads[ident].ran_at < _ASLEEP_AFTER_S:
                look.wanting.add(ident)
        self.looked_s += since
        self.wanting_s += since * len(look.wanting) if taken else 0.0
        for ident in look.wanting if taken else ():
            place = self._recorder.place(frames[ident])
            if place is not None:
                self.lines[place] += since
        self._waits(tallies, threads.keys(), look)
        self._spins(frames, tallies, look, now)
        del frames  # kept frames would keep the target's locals alive

    def _follow(self, ident: int, cpu_s: float, now: float, since: float) -> None:
        known = self._threads.setdefault(ident, _Thread(cpu_s=cpu_s, ran_at=now))
        known.busy = (cpu_s - known.cpu_s) / since if since > 0 else 0.0
        if known.busy > 0:
            known.ran_at = now
        known.cpu_s = cpu_s

    def _waits(self, tallies: dict[int, Tally], threads: AbstractSet[int], look: _Look) -> None:
        """Deal the time out to whoever waits: by the holder for a lock, by any other thread for the rest."""
        for ident, tally in tallies.items():
            key = tally.key
            if key is None or key[2] is None:
                continue
            others = {key[1].owner} & threads if key[0] == "lock" else threads - {ident}
            if key[0] == "lock" and not others:
                continue  # given back, and not taken yet
            if others & look.waking and not others & look.native:
                continue  # on its way to a CPU: neither asleep nor at work
            found = tally.sum_of(key)
            found.sampled_s += look.seconds
            if others & look.native:
                found.native_s += look.seconds
            elif not others & look.wanting:
                found.asleep_s += look.seconds
            elif look.taken:
                found.interpreted_s += look.seconds

    def _spins(self, frames: dict[int, FrameType], tallies: dict[int, Tally], look: _Look, now: float) -> None:
        for ident, frame in frames.items():
            tally, known = tallies.get(ident), self._threads.get(ident)
            if (tally is not None and tally.key is not None) or known is None or now - known.ran_at > _ASLEEP_AFTER_S:
                continue
            place = self._recorder.place(frame)
            loop = self._loop_at(place) if place is not None else None
            if place is None or loop is None:
                continue
            found = self.spins.setdefault((ident, (place[0], loop.first), loop.asks), SpinSum())
            found.total_s += look.seconds
            # The spinning thread has the interpreter's lock nearly always, so the looks are late; CPU time tells who worked beside it.
            beside = max((self._threads[other].busy for other in frames if other != ident and other in self._threads), default=0.0)
            if beside + known.busy > _MORE_THAN_ONE:
                found.native_s += look.seconds
            elif beside < _HARDLY and not look.wanting - {ident}:
                found.asleep_s += look.seconds
            else:
                found.interpreted_s += look.seconds

    def _loop_at(self, place: Place) -> PollLoop | None:
        """The innermost polling loop around a line."""
        file = place[0].co_filename
        if file not in self._loops:
            self._loops[file] = poll_loops(source_of(file))
        around = [loop for loop in self._loops[file] if loop.first <= place[1] <= loop.last]
        return around[-1] if around else None


def source_of(file: str) -> str:
    """The text of a source file, empty where it cannot be read."""
    try:
        with open(file, encoding="utf-8", errors="replace") as stream:
            return stream.read()
    except OSError:
        return ""


def _runs(thread: int | None) -> bool:
    """Whether the kernel shows a thread as running or runnable (proc(5), field `state` of `stat`, after the last bracket)."""
    return _read(f"/proc/self/task/{thread}/stat").rpartition(b") ")[2][:1] == b"R"


def _cpu_s(thread: int | None) -> float:
    """CPU seconds of a thread by its kernel id: its clock is the complement of the id with the kind in three bits below (clock_getcpuclockid(3))."""
    try:
        return time.clock_gettime((~(thread or 0) << 3) | 6)
    except OSError:  # the thread has ended
        return 0.0


def _run_queue_s() -> float:
    """Seconds the calling thread was runnable and did not run; 0 where the kernel does not tell."""
    words = _read("/proc/thread-self/schedstat").split()
    return int(words[1]) / 1e9 if len(words) > 1 and words[1].isdigit() else 0.0


def _read(path: str) -> bytes:
    try:
        file = os.open(path, os.O_RDONLY)
    except OSError:
        return b""
    try:
        return os.read(file, 1024)
    except OSError:
        return b""
    finally:
        os.close(file)
