"""Level 5 for Python: which line, from the calling thread's frames at a steady rate, in this process.

A thread that wants to look at frames needs the interpreter's lock, so a sample taken during native code that keeps the lock lands on the line
that called it once it
returns: the line is right, the instant is late. While the caller sleeps or has released the lock the instant is right as well.
"""

from __future__ import annotations

import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable
from time import perf_counter  # bound before the target is loaded, which may replace it in its module
from types import CodeType, FrameType
from typing import Any

from ridgeline.core import HotSpot, HotSpots, Site

from .again import Again, AgainBy
from .one_call import OneCall

__all__ = ["SWITCH_INTERVAL_S", "Watcher", "sample_lines"]

_INTERVAL_S = 2e-3
_SHOWN = 20
#: A line is one call where at least this part of the looks at it found that call in progress.
_MOSTLY = 0.8
#: While sampling, a thread that waits for the interpreter's lock asks for it after this long. With the usual 5 ms it would be given the lock at
# the next #: native call that releases it, and pure Python between two such calls would never be seen.
SWITCH_INTERVAL_S = 2e-5


def sample_lines(
    call: Callable[[], Any],
    *,
    synchronise: Callable[[Any], None] | None = None,
    seconds: float = 1.5,
    user_files: Iterable[str] = (),
    at_least: int = 1,
) -> HotSpots:
    """Sample the calling thread's Python line while it runs the call for about `seconds`.

    Args:
        call: the workload, warmed up.
        user_files: files that belong to the user; the innermost frame in one of them is the place. Without any, the innermost frame that is
            neither in the standard library nor in site-packages.

    Returns:
        Lines by number of samples, the first 20.
    """
    watcher = Watcher(threading.get_ident(), frozenset(user_files))
    thread = threading.Thread(target=watcher.run, daemon=True, name="ridgeline-lines")
    thread.start()
    before = perf_counter()
    made = 0
    switch_interval = sys.getswitchinterval()
    sys.setswitchinterval(SWITCH_INTERVAL_S)
    try:
        while made < at_least or perf_counter() - before < seconds:
            result = call()
            if synchronise is not None:
                synchronise(result)
            made += 1
    finally:
        watcher.stop.set()
        thread.join()
        sys.setswitchinterval(switch_interval)
    spots = [
        HotSpot(site=site, samples=count, state=state, call=watcher.call_at(site), again=watcher.again_at(site))
        for (site, state), count in watcher.counts.most_common(_SHOWN)
    ]
    return HotSpots(
        spots=tuple(spots), samples=sum(watcher.counts.values()), interval_s=_INTERVAL_S, instrument="frames of the calling thread, in process"
    )


class Watcher:
    """Looks at one thread's frames until it is told to stop."""

    def __init__(self, watched: int, user_files: frozenset[str]) -> None:
        self.stop = threading.Event()
        self.counts: Counter[tuple[Site, str]] = Counter()
        self._calls: dict[Site, Counter[str]] = {}
        self._one_call = OneCall(self._is_user)
        self._came: dict[Site, set[AgainBy]] = {}
        self._again = Again(self._is_user, self._one_call)
        self._watched = watched
        self._files = user_files
        self._known: dict[CodeType, bool] = {}
        self._cpu = _ThreadCpu(watched)

    def run(self) -> None:
        """Sample until `stop` is set."""
        while not self.stop.wait(_INTERVAL_S):
            frame = sys._current_frames().get(self._watched)
            if frame is None:
                continue
            working = self._cpu.advanced()
            own = self._innermost(frame)
            if own is not None:
                place = self._site(own)
                self.counts[place, "interpreter" if working else "blocked"] += 1
                self._calls.setdefault(place, Counter())[self._one_call.of(own)] += 1
                self._came.setdefault(place, set()).add(self._again.by(own))
            del frame, own  # a kept frame would keep the target's locals alive

    def place(self, frame: FrameType) -> Site | None:
        """The innermost frame that is the user's, `None` where there is none."""
        own = self._innermost(frame)
        return None if own is None else self._site(own)

    def call_at(self, site: Site) -> str:
        """The one library call that a line was found in, as it is written; empty where it was found in several, or in a loop."""
        calls = self._calls.get(site, Counter())
        name, count = max(calls.items(), key=lambda found: found[1], default=("", 0))
        return name if count >= _MOSTLY * sum(calls.values()) else ""

    def again_at(self, site: Site) -> AgainBy:
        """How the program comes to a line again: what any look at it found, `no` only if all of them did."""
        found = self._came.get(site, {""})
        order: tuple[AgainBy, ...] = ("loop", "recursion", "")
        return next((way for way in order if way in found), "no")

    def _innermost(self, frame: FrameType) -> FrameType | None:
        walker: FrameType | None = frame
        while walker is not None and not self._is_user(walker.f_code):
            walker = walker.f_back
        return walker

    @staticmethod
    def _site(walker: FrameType) -> Site:
        line = walker.f_lineno or _line_before(walker.f_code, walker.f_lasti)
        return Site(file=walker.f_code.co_filename, line=line, function=walker.f_code.co_qualname)

    def _is_user(self, code: CodeType) -> bool:
        if code not in self._known:
            name = code.co_filename
            if self._files:
                self._known[code] = name in self._files
            else:
                self._known[code] = not name.startswith("<") and "/ridgeline/" not in name and "site-packages" not in name and not _standard(name)
        return self._known[code]


def _standard(name: str) -> bool:
    return name.startswith(tuple({sys.base_prefix + "/lib", sys.prefix + "/lib"}))


def _line_before(code: CodeType, instruction: int) -> int:
    """The last line that began before an instruction: the jump at the end of a loop's body, where the lock is given away, has none of its own."""
    line = code.co_firstlineno
    for start, _, number in code.co_lines():
        if start > instruction:
            break
        line = number or line
    return line


class _ThreadCpu:
    """Whether the watched thread has used its CPU since the last look."""

    def __init__(self, ident: int) -> None:
        self._clock = time.pthread_getcpuclockid(ident)
        self._wall = time.monotonic()
        self._last = time.clock_gettime(self._clock)

    def advanced(self) -> bool:
        now, wall = time.clock_gettime(self._clock), time.monotonic()
        busy = now - self._last > 0.3 * (wall - self._wall)
        self._last, self._wall = now, wall
        return busy
