"""Joins by one sort: for each query the latest or the next item of its group. Sweeps, never products; O((n + k) log (n + k))."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["Groups"]

Ints = NDArray[np.int64]


class Groups:
    """Items in groups, each at a point in time.

    Args:
        group, time: shape (n,); items of one group and time keep the order in which they are given.
    """

    def __init__(self, group: Ints, time: Ints) -> None:
        self.order = np.lexsort((time, group))
        self._group, self._time = group[self.order], time[self.order]

    def latest(self, group: Ints, time: Ints) -> Ints:
        """The last item of the group at each time or before, as an index; −1 for none. Shape (k,)."""
        return self._item(self._before(group, time, True) - 1, group)

    def next(self, group: Ints, time: Ints) -> Ints:
        """The first item of the group at each time or later, as an index; −1 for none. Shape (k,)."""
        return self._item(self._before(group, time, False), group)

    def latest_or_first(self, group: Ints, time: Ints) -> Ints:
        """As `latest`; the first of the group where all are later."""
        place = np.maximum(self._before(group, time, True) - 1, np.searchsorted(self._group, group))
        return self._item(place, group)

    def _item(self, place: Ints, group: Ints) -> Ints:
        n = len(self.order)
        if not n:
            return np.full(len(place), -1)
        inside = np.clip(place, 0, n - 1)
        return np.where((place >= 0) & (place < n) & (self._group[inside] == group), self.order[inside], -1)

    def _before(self, group: Ints, time: Ints, also_now: bool) -> Ints:
        """How many items come before each query; both sequences are merged by one sort, as pairs do not compare in a search."""
        n = len(self.order)
        query = np.concatenate([np.full(n, not also_now), np.full(len(group), also_now)])
        by = np.lexsort((query, np.concatenate([self._time, time]), np.concatenate([self._group, group])))
        asked = by >= n
        rank = np.empty(len(group), np.int64)
        rank[by[asked] - n] = np.cumsum(~asked)[asked]
        return rank
