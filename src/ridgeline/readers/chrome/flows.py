"""Arrows between events: the spans that flow events are bound to.

A start (and a step, or an end with `bp: "e"`) is bound to the span of its thread that encloses it, the innermost one; an end without `bp` to the next
span that begins. Source: Google, Trace Event Format (the public document of 2016), "Flow Events".
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .matching import Groups

__all__ = ["Spans"]

Ints = NDArray[np.int64]


class Spans:
    """Spans on lanes, to look up which one a point in time is in.

    Args:
        lane, start, end: shape (n,).
    """

    def __init__(self, lane: Ints, start: Ints, end: Ints) -> None:
        self._order = np.lexsort((start - end, start, lane))
        self._groups = Groups(lane[self._order], start[self._order])
        self._end = end[self._order]
        self._outer = _outer(lane[self._order], self._end)

    def enclosing(self, lane: Ints, time: Ints) -> Ints:
        """The innermost span of the lane that holds each point in time, its ends included; −1 for none. Shape (k,)."""
        place = self._groups.latest(lane, time)
        while True:
            short = np.flatnonzero((place >= 0) & (self._end[np.maximum(place, 0)] < time)) if len(self._end) else place[:0]
            if not len(short):
                return self._named(place)
            place[short] = self._outer[place[short]]

    def next(self, lane: Ints, time: Ints) -> Ints:
        """The first span of the lane that begins at each point in time or later; −1 for none. Shape (k,)."""
        return self._named(self._groups.next(lane, time))

    def _named(self, place: Ints) -> Ints:
        return np.where(place >= 0, self._order[np.maximum(place, 0)], -1) if len(self._order) else place


def _outer(lane: Ints, end: Ints) -> Ints:
    """The nearest earlier span of the lane that ends later, −1 for none: pointers that double their reach."""
    outer = np.arange(len(lane)) - 1
    if len(lane):
        outer[np.flatnonzero(np.diff(lane, prepend=lane[0] - 1))] = -1
    while True:
        short = np.flatnonzero((outer >= 0) & (end[np.maximum(outer, 0)] <= end))
        if not len(short):
            return outer
        outer[short] = outer[outer[short]]
