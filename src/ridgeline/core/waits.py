"""What threads waited for: locks, queues, futures, devices and other processes, who held them up, and what went on meanwhile."""

from __future__ import annotations

from typing import Literal

import msgspec

from .quantity import Quantity
from .site import Site

__all__ = ["BusyLine", "Wait", "WaitKind", "WaitTable"]

WaitKind = Literal["lock", "condition", "queue", "future", "join", "device", "transfer", "process", "sleep", "socket", "file", "spin", "other"]


class Wait(msgspec.Struct, frozen=True, kw_only=True):
    """Waits of one kind at one place, per call of the target, all threads together.

    What went on meanwhile is told by three shares of the waiting time; what they leave is not clear.

    Args:
        kind: what was waited for; `spin`: the thread was busy asking whether something had happened; `transfer`: a copy to or from a device.
        on: name of the object, such as `threading.Lock made at pool.py:12`; for `spin` the condition that was asked.
        site: the line that waits.
        holder: the line that held it, for a lock.
        calls: waits in one call of the target, those that found it free left out; for `spin` not counted and 1.
        total_s: seconds waited, all threads together.
        caller_s: seconds of them on the thread that makes the call.
        threads: threads that waited here.
        acquisitions: times it was taken in one call of the target, contended or not; null if not counted.
        held_s: seconds in which the lock was held; null for what is no lock.
        longest_s: the longest single wait of a call, its mean over the calls; null if not timed one by one.
        native: share of the waiting in which the holder (of a lock) or any other thread worked without the interpreter's lock; null if not sampled.
        asleep: share of the waiting in which the holder or every other thread slept; null if not sampled.
        interpreted: share of the waiting in which the holder or another thread ran or wanted to run Python, and the interpreter's lock was taken.
        in_flight: tasks that the pool of a future had not finished when its wait began, on average; null if not counted.
        capacity: workers of that pool; null if there is none.
        child_cpu_s: CPU seconds of the child processes that were waited for, in one call of the target; null if not counted.
        moved_bytes: bytes that a transfer moved in one call of the target; null if not known.
        until: whether the line lies where a wait follows from what the one before found: in a `while` loop, a `for` loop that may end early, or
            the handling of an error; null if its source was not read.
    """

    kind: WaitKind
    calls: float
    total_s: Quantity
    caller_s: Quantity
    on: str = ""
    site: Site | None = None
    holder: Site | None = None
    threads: int = 1
    acquisitions: float | None = None
    held_s: Quantity | None = None
    longest_s: float | None = None
    native: float | None = None
    asleep: float | None = None
    interpreted: float | None = None
    in_flight: float | None = None
    capacity: int | None = None
    child_cpu_s: float | None = None
    moved_bytes: float | None = None
    until: bool | None = None


class BusyLine(msgspec.Struct, frozen=True, kw_only=True):
    """A line that ran or wanted to run Python: seconds of one call of the target, all threads together."""

    site: Site
    seconds: float


class WaitTable(msgspec.Struct, frozen=True, kw_only=True):
    """Waits of one call of the target, the longest first.

    Args:
        waits: the waits.
        wall_s: wall of the calls in which they were timed.
        instrument: how they were taken.
        interpreted_threads: threads that ran or wanted to run Python at the same time, on average; null if not sampled.
        python_lines: lines of threads that ran or wanted to run Python while the interpreter's lock was taken, the longest first.
        iterations: calls of the target that were timed.
    """

    waits: tuple[Wait, ...]
    wall_s: Quantity
    instrument: str
    interpreted_threads: float | None = None
    python_lines: tuple[BusyLine, ...] = ()
    iterations: int = 0
