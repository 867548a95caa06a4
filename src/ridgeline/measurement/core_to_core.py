"""How long a cache line takes from one CPU to another: what threads pay that work together.

A virtual machine's CPUs are moved by its host, next to each other or to another socket, within minutes: what two threads share then costs several
times as much, while each alone is as fast as before. So it is measured where it is needed, in a millisecond, and not kept; beside what is measured it
is looked at again and again.
"""

from __future__ import annotations

import itertools
import os
import statistics
import time
from collections.abc import Callable, Sequence
from typing import Protocol

from ridgeline import _native
from ridgeline.core import CoreToCore

__all__ = ["ALONE", "NO_TURN", "ORIGIN", "CoreToCoreWatch", "core_to_core", "core_to_core_here"]

#: How it is measured, for a person.
ORIGIN = "a cache line, both threads spin"
#: Why it is not measured.
ALONE = "one CPU alone: there is no other to pass a cache line to"
NO_TURN = "busy threads left two CPUs no turn together"

#: Chunks of 64 passes of one pair; pairs of neighbours of which the median is taken.
_CHUNKS, _PAIRS = 24, 4
#: Beside neighbours a turn may come a little later; where looks follow, the next one has another.
_TRIES, _TRIES_OF_LOOK = 5, 2
#: Part of the time that looks may take: a quiet one takes less than a millisecond, one beside a busy program tens of them.
_PART = 0.05


class Native(Protocol):
    """The part of `ridgeline._native` that is used here."""

    def core_to_core(self, cpus: tuple[int, int], chunks: int, /) -> float:
        """Seconds a pass."""
        ...


def core_to_core(native: Native, cpus: Sequence[int], tries: int = _TRIES) -> float:
    """Seconds of one pass, the median of neighbouring CPUs; 0 with one CPU alone, or where neighbours leave no turn to play in so many tries."""
    pairs = list(itertools.pairwise(cpus))
    step = max(1, len(pairs) // _PAIRS)
    for _ in range(tries if pairs else 0):
        found = [seconds for pair in pairs[::step][:_PAIRS] if (seconds := native.core_to_core(pair, _CHUNKS)) > 0]
        if found:
            return statistics.median(found)
    return 0.0


def core_to_core_here() -> float:
    """`core_to_core` of the CPUs that this process may use."""
    return core_to_core(_native, sorted(os.sched_getaffinity(0)))


class CoreToCoreWatch:
    """Looks again and again while something else is measured, for a small part of the time; nothing where there is one CPU alone.

    Args:
        native: what measures; `ridgeline._native` if null.
        cpus: the CPUs in use, those this process may run on if null.
        clock: monotonic seconds.

    >>> watch = CoreToCoreWatch(cpus=[0])
    >>> watch.look()
    >>> watch.taken().missing
    'one CPU alone: there is no other to pass a cache line to'
    """

    def __init__(self, native: Native | None = None, cpus: Sequence[int] | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self._native: Native = _native if native is None else native
        self._cpus = sorted(os.sched_getaffinity(0) if cpus is None else cpus)
        self._clock = clock
        self._again = float("-inf")
        self._looks: list[float] = []
        #: Why there is no look; empty where nobody has tried yet.
        self._missing = ALONE if len(self._cpus) < 2 else ""
        self._cannot = bool(self._missing)

    def look(self) -> None:
        """Measure once, outside of a sample, unless the last look was too short ago for what it took."""
        began = self._clock()
        if self._cannot or began < self._again:
            return
        try:
            seconds = core_to_core(self._native, self._cpus, _TRIES_OF_LOOK)
        except (OSError, ValueError) as error:
            self._cannot, self._missing = True, str(error)
            return
        ended = self._clock()
        self._again = ended + (ended - began) / _PART
        if seconds > 0:
            self._looks.append(seconds)
        else:
            self._missing = NO_TURN

    def taken(self) -> CoreToCore:
        """The looks since this was asked before."""
        looks, self._looks = tuple(self._looks), []
        return CoreToCore(looks_s=looks, missing="" if looks else self._missing)
