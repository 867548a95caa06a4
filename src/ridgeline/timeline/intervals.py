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

__all__ = ["merge", "union_length"]


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
