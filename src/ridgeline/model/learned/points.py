"""A correction from a few measured points: the mean over those near in chosen features, as plain arrays.

This module decides how near is weighed: e^(−distance² ÷ 0.5) of features times `reach`, and a little for every point, so that far from all of them
their mean remains. For a device of which only some hundred operators are known; with more, `ridge` says more. Source: E. Nadaraya, "On estimating
regression", Theory of Probability and its Applications 9 (1964).
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import numpy as np
from numpy.typing import NDArray

from ridgeline.core import Column, UsageError

from .scaling import Scaling, checked_rows, damaged, scaling_of

__all__ = ["Points", "fit_points"]

Floats = NDArray[np.float64]

_WIDTH = 0.5
_ANYWHERE = 1e-4
_MOST_POINTS = 4096
_BLOCK = 2**20


class Points(msgspec.Struct, frozen=True, kw_only=True, tag_field="schema", tag="ridgeline.points/1"):
    """N points of P features with their values.

    Args:
        scaling: of the features (its range says what is outside; distances are taken in the features themselves).
        reach: of each feature in a distance, (P,), 0 where it does not count.
        points: (N, P) row by row; values: (N,). All float64.

    Raises:
        ReadError: lengths that do not fit, no point, or a number that is not finite.
    """

    scaling: Scaling
    reach: Column
    points: Column
    values: Column

    def __post_init__(self) -> None:
        width, count = len(self.scaling.features), len(self.values)
        if not 0 < count <= _MOST_POINTS or len(self.reach) != width or len(self.points) != width * count:
            raise damaged(f"{len(self.points)} numbers of {count} points with {width} features")
        for column in (self.reach, self.points, self.values):
            if column.values.dtype.kind != "f" or not np.isfinite(column.values).all():
                raise damaged("a number that is not finite")

    def predict(self, rows: Floats) -> Floats:
        """The weighted mean at rows of features, (n, P) → (n,)."""
        return self.ready()(checked_rows(rows, self.scaling.features))

    def ready(self) -> Callable[[Floats], Floats]:
        """`predict` for many calls with rows that have been checked."""
        used = np.flatnonzero(self.reach.values)
        points = self.points.values.reshape(len(self.values), -1)[:, used] * self.reach.values[used]
        step = max(1, _BLOCK // len(points))

        def at(rows: Floats) -> Floats:
            asked = rows[:, used] * self.reach.values[used]
            found = np.empty(len(asked))
            for start in range(0, len(asked), step):
                apart = ((asked[start : start + step, None, :] - points[None, :, :]) ** 2).sum(axis=2)
                weight = np.exp(-apart / _WIDTH) + _ANYWHERE
                found[start : start + step] = weight @ self.values.values / weight.sum(axis=1)
            return found

        return at


def fit_points(rows: Floats, target: Floats, features: tuple[str, ...], reach: dict[str, float]) -> Points:
    """The points themselves, at most 4096: every so many-th where there are more.

    Args:
        reach: feature → what a difference of 1 counts; those that are missing do not.

    Raises:
        UsageError: a feature that there is not, or no row.
    """
    unknown = [name for name in reach if name not in features]
    if unknown:
        raise UsageError(f"features of {', '.join(features)}", found=", ".join(unknown), remedy="leave them out")
    rows = checked_rows(rows, features)
    step = -(-len(rows) // _MOST_POINTS) or 1
    return Points(
        scaling=scaling_of(rows, features), reach=Column([reach.get(name, 0.0) for name in features], "1"),
        points=Column(rows[::step].ravel(), "1"), values=Column(np.asarray(target, np.float64)[::step], "1"),
    )  # fmt: skip
