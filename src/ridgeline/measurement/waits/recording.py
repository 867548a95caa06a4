"""Time the waits of a target: loads it anew with watched locks in place and records a number of its calls."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import perf_counter  # bound before the target is loaded, which may replace it in its module
from typing import Any

from ridgeline.core import WaitTable
from ridgeline.targets.source import imported_anew

from ..medians import median_of
from .sampler import Sampler
from .table import table_of
from .tally import Recorder
from .wrapping import Wrapping

__all__ = ["observe"]

_MOST_CALLS = 2000
#: Part of the time in which the sampler looks and the stopwatches are not used.
_LOOKING = 0.4
_INSTRUMENT = "stopwatches on Python's waits; before them, a sampler of all threads"


def observe(
    load: Callable[[], Callable[[], Any]],
    *,
    synchronise: Callable[[Any], None] | None = None,
    seconds: float = 2.0,
    user_files: Sequence[str] = (),
) -> WaitTable:
    """Record the waits of about `seconds` of calls, at least one call.

    Args:
        load: loads the user's modules anew and returns the workload; what it makes uses the watched locks.
        synchronise: waits for a call's result.
        user_files: files that belong to the user.

    Raises:
        Exception: whatever the target raises.
    """
    recorder = Recorder(tuple(user_files))
    # Locks that the user's modules made before are not watched.
    with imported_anew(user_files), Wrapping(recorder) as wrapping:
        call = load()
        _once(call, synchronise)
        wrapping.cover()
        sampler = Sampler(recorder)
        with recorder, sampler:
            _calls(recorder, call, synchronise, _LOOKING * seconds)
        looked = recorder.tallies
        wrapping.locks.mark()
        with recorder:
            walls = _calls(recorder, call, synchronise, (1.0 - _LOOKING) * seconds)
        wall_s = median_of(walls, "calls with their waits timed")
        return table_of(recorder, sampler, looked, walls=walls, wall_s=wall_s, instrument=_INSTRUMENT)


def _calls(recorder: Recorder, call: Callable[[], Any], synchronise: Callable[[Any], None] | None, seconds: float) -> list[float]:
    """Walls of calls for about that long, at least one."""
    walls: list[float] = []
    while not walls or (sum(walls) < seconds and len(walls) < _MOST_CALLS):
        before = perf_counter()
        _once(call, synchronise)
        walls.append(perf_counter() - before)
        recorder.next_call()
    return walls


def _once(call: Callable[[], Any], synchronise: Callable[[Any], None] | None) -> None:
    result = call()
    if synchronise is not None:
        synchronise(result)
