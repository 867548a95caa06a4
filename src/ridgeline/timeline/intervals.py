"""Unions of time intervals: how long at least one of several events was running.

This module decides the arithmetic of half-open intervals [start, end) in integer ticks (or any one unit of time); what an interval stands for is
left to the caller. The union is the sweep over sorted starts with a running maximum of ends: O(n log n).
Source: Preparata and Shamos, Computational Geometry (1985), section 8.3, measure of a union of intervals (Klee's problem).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ridgeline.core import UsageError

__all__ = [
    "covered_before",
    "grouped_merge",
    "grouped_union",
    "intersect",
    "merge",
    "order_of",
    "overlap_length",
    "subtract",
    "twice_covered",
    "union_length",
]

Ticks = NDArray[np.int64]
#: Above this a sum of spans could leave 64 bits; far below 2⁶³, since it is watched as a float.
_ROOM = 2.0**61


def merge(starts: ArrayLike, ends: ArrayLike) -> tuple[NDArray[Any], NDArray[Any]]:
    """Disjoint, sorted, non-touching intervals that cover the same points.

    Args:
        starts, ends: shape (n,), one unit; ends[i] ≥ starts[i]. Intervals of no length are dropped: they cover nothing.

    Returns:
        (starts, ends) of the merged intervals, shape (m,), m ≤ n, dtype as numpy joins the two given.

    Raises:
        UsageError: shapes that differ, not one-dimensional, not finite, or an end before its start.

    >>> [part.tolist() for part in merge([5, 0, 2, 9], [7, 3, 4, 9])]
    [[0, 5], [4, 7]]
    """
    low, high = _checked(starts, ends)
    keep = high > low
    low, high = low[keep], high[keep]
    if len(low) == 0:
        return low, high
    order = np.argsort(low, kind="stable")
    low, high = low[order], high[order]
    reach = np.maximum.accumulate(high)
    # A new block begins where a start lies past everything before it.
    begins = np.concatenate(([True], low[1:] > reach[:-1]))
    closes = np.concatenate((begins[1:], [True]))
    return low[begins], reach[closes]


def union_length(starts: ArrayLike, ends: ArrayLike) -> int | float:
    """Length of the union of the intervals [starts[i], ends[i]): overlaps count once, gaps not at all.

    Args:
        starts, ends: shape (n,), as for `merge`.

    Returns:
        A whole number for integer input, 0 for no intervals; 0 ≤ union ≤ min(sum of lengths, last end − first start).

    Raises:
        UsageError: as `merge`.

    >>> union_length([0, 2, 10], [4, 6, 11])
    7
    """
    low, high = merge(starts, ends)
    total = (high - low).sum().item() if len(low) else 0
    return float(total) if low.dtype.kind == "f" else int(total)


def intersect(a: tuple[Ticks, Ticks], b: tuple[Ticks, Ticks]) -> tuple[Ticks, Ticks]:
    """What two merged sets of intervals have in common.

    Args:
        a, b: (starts, ends) as `merge` returns them.

    >>> one, other = merge([0, 8], [5, 12]), merge([3, 9], [8, 10])
    >>> [part.tolist() for part in intersect(one, other)]
    [[3, 9], [5, 10]]
    """
    first = np.searchsorted(b[1], a[0], side="right")
    last = np.searchsorted(b[0], a[1], side="left")
    counts = np.maximum(last - first, 0)
    mine = np.repeat(np.arange(len(counts)), counts)
    theirs = np.arange(len(mine)) - np.repeat(np.cumsum(counts) - counts, counts) + np.repeat(first, counts)
    return np.maximum(a[0][mine], b[0][theirs]), np.minimum(a[1][mine], b[1][theirs])


def subtract(a: tuple[Ticks, Ticks], b: tuple[Ticks, Ticks]) -> tuple[Ticks, Ticks]:
    """What the merged intervals `a` have without the merged intervals `b`.

    >>> [part.tolist() for part in subtract(merge([0], [10]), merge([2, 8], [4, 20]))]
    [[0, 4], [2, 8]]
    """
    if not len(a[0]):
        return a
    low, high = min(a[0][0], b[0][0]) if len(b[0]) else a[0][0], max(a[1][-1], b[1][-1]) if len(b[0]) else a[1][-1]
    starts, ends = np.concatenate(([low], b[1])), np.concatenate((b[0], [high]))
    keep = ends > starts
    return intersect(a, (starts[keep], ends[keep]))


def covered_before(merged: tuple[Ticks, Ticks], ticks: ArrayLike) -> Ticks:
    """How much of merged intervals lies before each tick, shape of `ticks`.

    >>> covered_before(merge([0, 10], [4, 20]), [-1, 2, 7, 12]).tolist()
    [0, 2, 4, 6]
    """
    starts, ends = merged
    at = np.asarray(ticks, dtype=np.int64)
    whole = np.concatenate(([0], np.cumsum(ends - starts))).astype(np.int64)
    index = np.searchsorted(starts, at, side="right")
    if not len(starts):
        return np.zeros(at.shape, dtype=np.int64)
    last = np.maximum(index - 1, 0)
    # The interval that was entered last counts up to the tick, or to its end.
    missing = np.where(index > 0, np.maximum(ends[last] - at, 0), 0)
    return np.asarray(whole[index] - missing, dtype=np.int64)


def overlap_length(a: tuple[Ticks, Ticks], b: tuple[Ticks, Ticks]) -> int:
    """Length of what two merged sets have in common."""
    starts, ends = intersect(a, b)
    return int((ends - starts).sum())


def twice_covered(starts: Ticks, ends: Ticks) -> tuple[Ticks, Ticks]:
    """The merged times at which two or more of the intervals run at once.

    Whoever is there with another began, in order of starts, before the end of one that began before; so it is the union of each interval up to the
    reach of those before it.

    >>> [part.tolist() for part in twice_covered(np.array([0, 2, 3]), np.array([10, 4, 12]))]
    [[2], [10]]
    """
    keep = ends > starts
    order = np.argsort(starts[keep], kind="stable")
    low, high = starts[keep][order], ends[keep][order]
    if len(low) < 2:
        return low[:0], high[:0]
    reach = np.minimum(np.maximum.accumulate(high)[:-1], high[1:])
    both = reach > low[1:]
    return merge(low[1:][both], reach[both])


def order_of(groups: NDArray[Any], starts: Ticks) -> NDArray[np.intp]:
    """The stable order by (group, start); groups ≥ 0, shape (n,) each."""
    if not len(starts):
        return np.zeros(0, dtype=np.intp)
    low = int(starts.min())
    span = int(starts.max()) - low + 1
    if (float(groups.max()) + 1) * span < _ROOM:
        return np.argsort(groups.astype(np.int64) * span + (starts - low), kind="stable")
    return np.lexsort((starts, groups))


def grouped_merge(groups: NDArray[Any], starts: Ticks, ends: Ticks) -> tuple[NDArray[Any], Ticks, Ticks]:
    """`merge` of each group on its own: (groups, starts, ends), sorted by group and start.

    Args:
        groups: index ≥ 0 of the group of each interval, shape (n,); starts, ends: shape (n,).

    >>> [part.tolist() for part in grouped_merge(np.array([1, 0, 1]), np.array([0, 5, 2]), np.array([3, 6, 9]))]
    [[0, 1], [5, 0], [6, 9]]
    """
    keep = ends > starts
    if not keep.all():
        groups, starts, ends = groups[keep], starts[keep], ends[keep]
    if not len(starts):
        return groups, starts, ends
    order = order_of(groups, starts)
    group, low, high = groups[order], starts[order], ends[order]
    first = np.flatnonzero(np.concatenate(([True], group[1:] != group[:-1])))
    least, most = low[first], np.maximum.reduceat(high, first)
    if float((most.astype(np.float64) - least.astype(np.float64)).sum()) + len(first) > _ROOM:
        return _merged_by_rank(groups, starts, ends)
    # Every group is moved past the one before it, so that one running maximum serves them all.
    sizes = np.diff(np.concatenate((first, [len(low)])))
    shift = np.repeat(np.concatenate(([0], np.cumsum(most - least + 1)[:-1])) - least, sizes)
    reach = np.maximum.accumulate(high + shift)
    begins = np.concatenate(([True], (low + shift)[1:] > reach[:-1]))
    closes = np.concatenate((begins[1:], [True]))
    return group[begins], low[begins], (reach - shift)[closes]


def _merged_by_rank(groups: NDArray[Any], starts: Ticks, ends: Ticks) -> tuple[NDArray[Any], Ticks, Ticks]:
    """The same with the places of the times among all times, which are small, in their stead."""
    times, places = np.unique(np.concatenate((starts, ends)), return_inverse=True)
    group, low, high = grouped_merge(groups, places[: len(starts)], places[len(starts) :])
    return group, times[low], times[high]


def grouped_union(groups: NDArray[Any], starts: Ticks, ends: Ticks, count: int) -> Ticks:
    """Length of the union of each group, shape (count,).

    >>> grouped_union(np.array([2, 0, 2]), np.array([0, 5, 2]), np.array([3, 6, 9]), 3).tolist()
    [1, 0, 9]
    """
    group, low, high = grouped_merge(groups, starts, ends)
    out = np.zeros(count, dtype=np.int64)
    if len(group):
        first = np.flatnonzero(np.concatenate(([True], group[1:] != group[:-1])))
        out[group[first]] = np.add.reduceat(high - low, first)
    return out


def _checked(starts: ArrayLike, ends: ArrayLike) -> tuple[NDArray[Any], NDArray[Any]]:
    try:
        low, high = np.asarray(starts), np.asarray(ends)
    except ValueError as error:
        raise UsageError("intervals as two arrays of numbers", found=str(error), remedy="give starts and ends of shape (n,)") from error
    if low.ndim != 1 or low.shape != high.shape:
        raise UsageError("as many starts as ends", found=f"shapes {low.shape} and {high.shape}", remedy="give one end for each start")
    if low.size == 0:
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    if low.dtype.kind not in "iuf" or high.dtype.kind not in "iuf":
        raise UsageError("intervals as numbers", found=f"{low.dtype} and {high.dtype}", remedy="give ticks or seconds")
    if low.dtype.kind != "f" and high.dtype.kind != "f":
        # Signed on both sides: the difference of unsigned ticks would wrap, and int64 with uint64 would turn into floats.
        low, high = _ticks(low), _ticks(high)
    elif not (np.isfinite(low).all() and np.isfinite(high).all()):
        raise UsageError("finite intervals", found="NaN or infinity", remedy="leave unfinished events out and say so")
    if bool((high < low).any()):
        at = int(np.argmax(high < low))
        raise UsageError("ends at or after their starts", found=f"[{low[at]}, {high[at]}) at index {at}", remedy="exclude the event and say so")
    return low, high


def _ticks(values: NDArray[Any]) -> NDArray[np.int64]:
    if values.dtype == np.uint64 and int(values.max()) > np.iinfo(np.int64).max:
        raise UsageError("ticks below 2**63", found=str(values.max()), remedy="subtract an origin first")
    return values.astype(np.int64)
