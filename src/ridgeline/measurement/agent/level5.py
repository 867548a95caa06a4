"""Level 5 in the child: sampled lines."""

from __future__ import annotations

from ridgeline.core import BackendUnavailable, HotSpots

from .. import stacks
from .target import held, inside

__all__ = ["hot_spots"]


def hot_spots(seconds: float) -> HotSpots:
    """Level 5: sampled lines of the calling thread, over calls of their own."""
    prepared = held()
    call = inside(prepared)
    if call is None:
        raise BackendUnavailable(
            "lines of a program that is not Python's", found="no instrument for it yet", remedy="give a Python function or script"
        )
    return stacks.sample_lines(call, synchronise=prepared.synchronise, seconds=seconds, user_files=prepared.user_files)
