"""Whether work is left when a result counts as done: told by the time that a wait which is known to wait still takes, against the same once more."""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median
from typing import Any

from ridgeline.core import Caution

__all__ = ["left_over", "left_over_caution"]

_CALLS = 5
#: Work is left where the wait takes so many times as long as one with nothing to wait for, and this part of the call, or more.
_TIMES, _PART = 5, 0.01


def left_over(
    call: Callable[[], Any],
    synchronise: Callable[[Any], Any] | None,
    check: Callable[[Any], Any],
    clock: Callable[[], int] = time.perf_counter_ns,
) -> bool:
    """Whether work goes on after a call whose result was waited for as the person asked; five calls.

    Args:
        synchronise: how the person waits; null for not at all.
        check: a wait that is known to wait.
        clock: monotonic nanoseconds.
    """
    calls, first, second = [], [], []
    for _ in range(_CALLS):
        began = clock()
        result = call()
        if synchronise is not None:
            synchronise(result)
        returned = clock()
        check(result)
        checked = clock()
        check(result)
        again = clock()
        calls.append(returned - began)
        first.append(checked - returned)
        second.append(again - checked)
    left = median(first) - median(second)
    return median(first) > _TIMES * median(second) and left > _PART * (median(calls) + left)


def left_over_caution(asked: bool) -> Caution:
    """What is said of it; `asked`: whether a function was given to wait."""
    what = "the function given to wait has returned" if asked else "a call has returned"
    return Caution(
        code="unsynchronised", message=f"work goes on after {what}: seen by waiting once more", effect="that work is not in the times of the calls"
    )
