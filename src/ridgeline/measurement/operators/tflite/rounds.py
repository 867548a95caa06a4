"""Rounds of clean and profiled calls, so that what disturbs one disturbs the other.

In each round a call of the interpreter, a run of it, and a run under the profiler are timed, each behind one that is not counted: the two runtimes
hold weights of their own, and the first call after the other finds them out of the cache. Rounds in which another process took the CPU are left out
where enough others stand.
"""

from __future__ import annotations

import resource
import time
from collections.abc import Callable
from typing import Any

import msgspec

from .litert import ProfiledModel, ProfiledRun

__all__ = ["Round", "rounds"]

_WARM_UP = 3
_MOST_ROUNDS = 300


class Round(msgspec.Struct, frozen=True, kw_only=True):
    """One round: seconds of a clean call and of a clean run in it, the profiled run, and how often the process was made to wait for a CPU."""

    call_s: float
    run_s: float
    profiled: ProfiledRun
    switches: int


def rounds(call: Callable[[], Any], run: Callable[[], Any], profiled: ProfiledModel, at_least: int, seconds: float) -> list[Round]:
    """The counted rounds.

    Args:
        call: a clean call, which sets inputs and reads outputs.
        run: its run alone.
        at_least: rounds, at least 1.
        seconds: about how long further rounds may take.
    """
    for _ in range(_WARM_UP):
        profiled.run()
    found: list[Round] = []
    started = time.perf_counter()
    while len(found) < max(1, at_least) or (len(found) < _MOST_ROUNDS and time.perf_counter() - started < seconds):
        call()
        before = _switches()
        call_s, run_s = _timed(call), _timed(run)
        profiled.run()
        found.append(Round(call_s=call_s, run_s=run_s, profiled=profiled.run(), switches=_switches() - before))
    quiet = [one for one in found if one.switches == 0]
    return quiet if len(quiet) >= max(1, at_least) else found


def _timed(call: Callable[[], Any]) -> float:
    before = time.perf_counter()
    call()
    return time.perf_counter() - before


def _switches() -> int:
    """Involuntary context switches of the whole process, its workers included."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_nivcsw
