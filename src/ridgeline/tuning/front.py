"""Several objectives, all to be made small: which configurations nothing else beats, and how much of what is possible they cover.

A configuration is on the front where no other one is as low in every objective and lower in one. How good a front is, is the volume that it dominates
up to a reference point (E. Zitzler, L. Thiele, "Multiobjective Evolutionary Algorithms: A Comparative Case Study", IEEE TEC 3(4), 1999), here in
logarithms and as a share of the box between the best and the worst of each objective, so that it has no unit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["covered", "hypervolume", "non_dominated", "untold"]

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]


def non_dominated(values: NDArray[Any]) -> Mask:
    """Which rows are on the front, (n,); of equal ones all are, and one with NaN never is.

    Args:
        values: (n, objectives).

    >>> non_dominated(np.array([[1.0, 3.0], [2.0, 2.0], [2.0, 4.0], [np.nan, 0.0]])).tolist()
    [True, True, False, False]
    """
    values = np.asarray(values, np.float64)
    on = ~np.isnan(values).any(axis=1)
    # What is lowest in sum is dominated by nothing, so that few rows are left to compare with.
    for place in np.argsort(np.where(on, values.sum(axis=1), np.inf), kind="stable"):
        if on[place]:
            beaten = (values >= values[place]).all(axis=1) & (values > values[place]).any(axis=1)
            on &= ~beaten
    return np.asarray(on)


def hypervolume(values: NDArray[Any], reference: NDArray[Any]) -> float:
    """The volume that rows dominate up to a reference point, exact.

    Args:
        values: (n, objectives), one objective to three; rows that are not below the reference in everything count for nothing.

    >>> hypervolume(np.array([[1.0, 2.0], [2.0, 1.0]]), np.array([3.0, 3.0]))
    3.0
    """
    values, reference = np.asarray(values, np.float64), np.asarray(reference, np.float64)
    inside = values[(values < reference).all(axis=1)]
    return _volume(inside[non_dominated(inside)], reference) if len(inside) else 0.0


def _volume(front: Floats, reference: Floats) -> float:
    """Slices along the last objective, each as thick as the step to the next one."""
    if front.shape[1] == 1:
        return float(reference[0] - front.min())
    front = front[np.argsort(front[:, -1], kind="stable")]
    steps = np.diff(np.append(front[:, -1], reference[-1]))
    return float(sum(step * _volume(front[: place + 1, :-1], reference[:-1]) for place, step in enumerate(steps.tolist()) if step))


def covered(front: NDArray[Any], best: NDArray[Any], worst: NDArray[Any]) -> float:
    """The share of the box from the best to the worst of each objective, in logarithms, that a front dominates: 0 to 1.

    Args:
        front: (n, objectives), above 0; best, worst: (objectives,). An objective in which both are equal is left out.

    >>> round(covered(np.array([[1.0, 10.0], [10.0, 1.0]]), np.array([1.0, 1.0]), np.array([100.0, 100.0])), 3)
    0.75
    """
    differs = np.asarray(worst) > np.asarray(best)
    if not len(front):
        return 0.0
    if not differs.any():
        return 1.0
    low, high = np.log(np.asarray(best, np.float64)[differs]), np.log(np.asarray(worst, np.float64)[differs])
    scaled = (np.log(np.asarray(front, np.float64)[:, differs]) - low) / (high - low)
    return hypervolume(scaled, np.ones(int(differs.sum())))


def untold(intervals: Sequence[Sequence[tuple[float, float]]]) -> list[tuple[int, ...]]:
    """Of each point of a front, the others that may beat it: those that may be as low in every objective, as far as the intervals tell.

    Args:
        intervals: of each point the interval [lo, hi] of each objective.

    >>> untold([[(1.0, 2.0), (5.0, 6.0)], [(1.5, 2.5), (3.0, 4.0)], [(7.0, 8.0), (1.0, 1.0)]])
    [(1,), (), ()]
    """
    if not intervals:
        return []
    low, high = (np.array([[interval[side] for interval in each] for each in intervals], np.float64) for side in (0, 1))
    # Objectives of one run or of equal runs have intervals of no width: lower is lower there.
    may = np.asarray((low[None, :, :] <= high[:, None, :]).all(axis=2))
    np.fill_diagonal(may, val=False)
    return [tuple(np.flatnonzero(line).tolist()) for line in may]
