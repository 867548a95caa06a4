"""What each thread waited for so far: the accumulators that wrappers, watched locks and the sampler write into.

Every thread writes into a tally of its own, the sampler only into fields that nobody else writes, so that no lock is taken while timing locks. A
wait inside another one (a condition inside a queue inside a future) belongs to the outermost: that is the one the user's line asked for.
"""

from __future__ import annotations

import resource
import sys
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from time import perf_counter  # bound before the target is loaded, which may replace it in its module
from types import CodeType, FrameType
from typing import Any

from ridgeline.core import Site
from ridgeline.targets.source import is_own_file

__all__ = ["Place", "Recorder", "Tally", "WaitSum", "site_of"]

#: A line of the user's source: its code object and line number.
Place = tuple[CodeType, int]
#: Kind, what was waited for (a name, or a watched lock), and the place; the place is null in a library's own thread.
Key = tuple[str, Any, Place | None]

#: Less than this is the cost of asking something that was free.
_FREE_S = 5e-6
#: Files of the standard library whose conditions are what futures are made of.
_FUTURES = ("/concurrent/futures/_base.py", "/multiprocessing/pool.py")
get_ident = threading.get_ident


@dataclass(slots=True)
class WaitSum:
    """Sums of one key in one thread, in seconds.

    `longest_s` is that of this call, `longest_sum_s` the sum of those of the calls before. What begins with `sampled_s` is the sampler's.
    """

    calls: int = 0
    total_s: float = 0.0
    longest_s: float = 0.0
    longest_sum_s: float = 0.0
    in_flight: int = 0
    capacity: int = 0
    moved_bytes: int = 0
    child_cpu_s: float = 0.0
    holders: Counter[Place] = field(default_factory=Counter)
    sampled_s: float = 0.0
    native_s: float = 0.0
    asleep_s: float = 0.0
    interpreted_s: float = 0.0


class Tally:
    """One thread's waits; `key` is what it waits for now."""

    __slots__ = ("children_s", "ident", "key", "since", "sums")

    def __init__(self, ident: int) -> None:
        self.ident = ident
        self.key: Key | None = None
        self.since = 0.0
        self.children_s = 0.0
        self.sums: dict[Key, WaitSum] = {}

    def sum_of(self, key: Key) -> WaitSum:
        """The sums of a key, made when they are needed."""
        found = self.sums.get(key)
        if found is None:
            found = self.sums[key] = WaitSum()
        return found


class Recorder:
    """Where everything that waits reports to.

    Args:
        user_files: files that belong to the user; those outside of libraries count as well.
        clock: seconds.
    """

    def __init__(self, user_files: tuple[str, ...] = (), clock: Callable[[], float] = perf_counter) -> None:
        self.recording = False
        self.caller = 0
        self.tallies: list[Tally] = []
        self.contended: dict[int, Any] = {}
        self.clock = clock
        self._files = frozenset(user_files)
        self._local = threading.local()
        self._user: dict[CodeType, bool] = {}

    def __enter__(self) -> Recorder:
        """Begin anew; the calling thread is the one that makes the calls."""
        self.caller = get_ident()
        self.tallies, self.contended, self._local = [], {}, threading.local()
        self.recording = True
        return self

    def __exit__(self, *exc: object) -> None:
        self.recording = False

    def next_call(self) -> None:
        """The target's next call begins: the longest wait is that of one call."""
        for tally in self.tallies:
            for found in list(tally.sums.values()):
                found.longest_sum_s += found.longest_s
                found.longest_s = 0.0

    def begin(self, kind: str, on: Any, frame: FrameType | None) -> Tally | None:
        """A wait begins; `None` where it is not to be counted: nothing is recorded, or it is part of another wait."""
        if not self.recording:
            return None
        tally = self.tally()
        if tally.key is not None:
            return None
        place, inside_future = self._place(frame)
        tally.key = ("future" if inside_future and kind == "condition" else kind, on, place)
        if kind == "process":
            tally.children_s = _children_cpu_s()
        tally.since = self.clock()
        return tally

    def begin_lock(self, lock: Any, frame: FrameType | None) -> Tally | None:
        """A wait for a held lock begins: its holder's line is looked up now, while it holds it."""
        tally = self.begin("lock", lock, frame)
        if tally is None or tally.key is None:
            return None
        self.contended[id(lock)] = lock
        holder = sys._current_frames().get(lock.owner) if lock.owner else None
        place = self._place(holder)[0] if holder is not None else None
        if place is not None:
            tally.sum_of(tally.key).holders[place] += 1
        return tally

    def end(self, tally: Tally | None) -> None:
        """The wait that `begin` returned is over."""
        if tally is None or tally.key is None:
            return
        key, tally.key = tally.key, None
        took = self.clock() - tally.since
        if took < _FREE_S and key[0] != "transfer":
            return
        found = tally.sum_of(key)
        found.calls += 1
        found.total_s += took
        found.longest_s = max(found.longest_s, took)
        if key[0] == "process":
            found.child_cpu_s += _children_cpu_s() - tally.children_s

    def tally(self) -> Tally:
        """The calling thread's own."""
        found: Tally | None = getattr(self._local, "tally", None)
        if found is None:
            found = self._local.tally = Tally(get_ident())
            self.tallies.append(found)
        return found

    def place(self, frame: FrameType | None) -> Place | None:
        """The innermost line of the user's source on a stack."""
        return self._place(frame)[0]

    def _place(self, frame: FrameType | None) -> tuple[Place | None, bool]:
        inside_future = False
        while frame is not None and not self._is_user(frame.f_code):
            inside_future = inside_future or frame.f_code.co_filename.endswith(_FUTURES)
            frame = frame.f_back
        return ((frame.f_code, frame.f_lineno or frame.f_code.co_firstlineno) if frame is not None else None), inside_future

    def _is_user(self, code: CodeType) -> bool:
        found = self._user.get(code)
        if found is None:
            name = code.co_filename
            found = self._user[code] = name in self._files or (not name.startswith("<") and is_own_file(name, "/"))
        return found


def _children_cpu_s() -> float:
    """CPU seconds of the children that have ended and were waited for (getrusage(2))."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def site_of(place: Place) -> Site:
    """A place as the facts name it."""
    code, line = place
    return Site(file=code.co_filename, line=line, function=code.co_qualname)
