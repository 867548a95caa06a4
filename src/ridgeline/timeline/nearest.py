"""For each element of a sequence the nearest one before or after it that is great enough: the search that a stack does, without one.

All that are not there yet jump at once, each to where the one that it points to points: whatever lies in between is known to be too small, so a jump
never misses the answer, and runs of elements that are all too small halve with each one. Elements that have to climb many steps one by one (an event
after very deep nesting) are few; they go through the steps alone, which are no more than there are elements, as each is passed once.
Source: Berkman, Schieber and Vishkin, Journal of Algorithms 14 (1993), "all nearest larger values", for the problem.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["earlier_at_least", "later_above"]

Ints = NDArray[np.int64]
#: Rounds in which all jump at once, and how few may be left before.
_ROUNDS, _FEW = 32, 200


def earlier_at_least(values: Ints, need: Ints) -> Ints:
    """The last j < i with values[j] ≥ need[i] for each i, −1 for none; O(n log n).

    Args:
        values: shape (n,).
        need: shape (n,), need[i] ≥ values[i]; what is too little for one, values[j] < need[i] with j < i, asks for no more: need[j] ≤ need[i]. So
            it is for need = values, and for need = values + 1.

    >>> earlier_at_least(np.array([9, 4, 2, 4, 7]), np.array([9, 4, 2, 4, 7])).tolist()
    [-1, 0, 1, 1, 0]
    """
    # A sentinel in front is great enough for all.
    reach = np.concatenate(([np.iinfo(np.int64).max], values))
    before = np.arange(-1, len(values))
    # Nothing before is great enough for what is greater than all before.
    before[1:][need > np.maximum.accumulate(np.concatenate(([np.iinfo(np.int64).min], values))[:-1])] = 0
    before[0] = 0
    short = np.flatnonzero(reach[before[1:]] < need)
    for _ in range(_ROUNDS):
        if len(short) <= _FEW:
            break
        onward = before[before[short + 1]]
        before[short + 1] = onward
        short = short[reach[onward] < need[short]]
    _climb(short.tolist(), reach, np.ascontiguousarray(need), before)
    return before[1:] - 1


def _climb(short: list[int], reach: Ints, need: Ints, before: Ints) -> None:
    """The rest, in order: what all before them point to is final, and leads over what a stack would hold."""
    reaching, needing, pointing = reach.data, need.data, before.data
    for each in short:
        least, at = needing[each], each
        while reaching[at] < least:
            at = pointing[at]
        pointing[each + 1] = at


def later_above(values: Ints) -> Ints:
    """The first j > i with values[j] > values[i] for each i, n for none; O(n log n).

    >>> later_above(np.array([3, 3, 5, 1])).tolist()
    [2, 2, 4, 4]
    """
    return len(values) - 1 - earlier_at_least(values[::-1], values[::-1] + 1)[::-1]
