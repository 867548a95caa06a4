"""What threads waited for: locks, queues, futures, devices and other processes, and who held them up."""

from __future__ import annotations

from typing import Literal

import msgspec

from .quantity import Quantity
from .site import Site

__all__ = ["Wait", "WaitKind", "WaitTable"]

WaitKind = Literal["lock", "condition", "queue", "future", "join", "device", "process", "sleep", "socket", "file", "spin", "other"]


class Wait(msgspec.Struct, frozen=True, kw_only=True):
    """Waits of one kind at one place, per call of the target, all threads together.

    Args:
        kind: what was waited for; `spin`: the thread was busy asking whether something had happened.
        on: name of the object, such as `threading.Lock made at pool.py:12`.
        site: the line that waits.
        holder: the line that held it, for a lock.
        calls: waits in one call of the target, those that found it free left out.
        total_s: seconds waited, all threads together.
        caller_s: seconds of them on the thread that makes the call.
        threads: threads that waited here.
        acquisitions: times it was taken in one call of the target, contended or not; null if not counted.
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


class WaitTable(msgspec.Struct, frozen=True, kw_only=True):
    """Waits of one call of the target, the longest first.

    Args:
        waits: the waits.
        wall_s: wall of the calls in which they were timed.
        instrument: how they were taken.
    """

    waits: tuple[Wait, ...]
    wall_s: Quantity
    instrument: str
