"""How long a cache line takes from one CPU to another: what threads pay that work together.

A virtual machine's CPUs are moved by its host, next to each other or to another socket, within minutes: what two threads share then costs several
times as much, while each alone is as fast as before. So it is measured where it is needed, in a millisecond, and not kept.
"""

from __future__ import annotations

import itertools
import os
import statistics
from collections.abc import Sequence
from typing import Protocol

from ridgeline import _native

__all__ = ["ORIGIN", "core_to_core", "core_to_core_here"]

#: How it is measured, for a person.
ORIGIN = "a cache line, both threads spin"

#: Chunks of 64 passes of one pair; pairs of neighbours of which the median is taken.
_CHUNKS, _PAIRS = 24, 4
#: Beside neighbours a turn may come a little later.
_TRIES = 5


class Native(Protocol):
    """The part of `ridgeline._native` that is used here."""

    def core_to_core(self, cpus: tuple[int, int], chunks: int, /) -> float:
        """Seconds a pass."""
        ...


def core_to_core(native: Native, cpus: Sequence[int]) -> float:
    """Seconds of one pass, the median of neighbouring CPUs; 0 with one CPU alone, or where neighbours leave no turn to play."""
    pairs = list(itertools.pairwise(cpus))
    step = max(1, len(pairs) // _PAIRS)
    for _ in range(_TRIES if pairs else 0):
        found = [seconds for pair in pairs[::step][:_PAIRS] if (seconds := native.core_to_core(pair, _CHUNKS)) > 0]
        if found:
            return statistics.median(found)
    return 0.0


def core_to_core_here() -> float:
    """`core_to_core` of the CPUs that this process may use."""
    return core_to_core(_native, sorted(os.sched_getaffinity(0)))
