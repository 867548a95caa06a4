"""Features made comparable: centred, scaled, and held at the edge of what was seen.

This module decides what a trained model does with a query beyond its rows: the feature stays at `EDGE` standard deviations, and `outside` says so.
"""

from __future__ import annotations

import msgspec
import numpy as np
from numpy.typing import NDArray

from ridgeline.core import Column, ReadError, UsageError

__all__ = ["EDGE", "Scaling", "checked_rows", "damaged", "scaling_of"]

Floats = NDArray[np.float64]

#: Standard deviations beyond which a feature does not move an answer any more.
EDGE = 3.0
_LEAST_SCALE = 1e-6


class Scaling(msgspec.Struct, frozen=True, kw_only=True):
    """Of P features: names, and centre, scale, least and greatest value of the rows that a model was trained on, float64, shape (P,).

    Raises:
        ReadError: columns of other lengths, values that are not finite, or a scale that is not positive.
    """

    features: tuple[str, ...]
    centre: Column
    scale: Column
    low: Column
    high: Column

    def __post_init__(self) -> None:
        for column in (self.centre, self.scale, self.low, self.high):
            if len(column) != len(self.features) or column.values.dtype.kind != "f" or not np.isfinite(column.values).all():
                raise damaged(f"{len(column)} numbers in {column.dtype} for {len(self.features)} features, or one that is not finite")
        if len(self.features) == 0 or (self.scale.values <= 0).any():
            raise damaged("no features, or a scale that is not positive")

    def applied(self, rows: Floats) -> Floats:
        """Rows as deviations from the centre, at most `EDGE`, shape (n, P)."""
        return np.asarray(np.clip((rows - self.centre.values) / self.scale.values, -EDGE, EDGE))

    def outside(self, rows: Floats) -> NDArray[np.bool_]:
        """Which rows have a feature beyond all rows of the training and beyond the edge, shape (n,).

        Rows a little outside of what was seen are still near it; those beyond the edge are answered as if they stood there.
        """
        beyond = (rows < self.low.values) | (rows > self.high.values)
        far = np.abs(rows - self.centre.values) > EDGE * self.scale.values
        return np.asarray((beyond & far).any(axis=1))


def scaling_of(rows: Floats, features: tuple[str, ...]) -> Scaling:
    """The scaling that rows ask for, shape (n, P), n ≥ 1."""
    rows = checked_rows(rows, features)
    if not len(rows):
        raise UsageError("rows to train on", found="none", remedy="leave the group out")
    return Scaling(
        features=features, centre=Column(rows.mean(0), "1"), scale=Column(rows.std(0) + _LEAST_SCALE, "1"), low=Column(rows.min(0), "1"),
        high=Column(rows.max(0), "1"),
    )  # fmt: skip


def checked_rows(rows: Floats, features: tuple[str, ...]) -> Floats:
    """Rows as finite float64 of the right width.

    Raises:
        UsageError: another shape, or a value that is not finite, with its place.
    """
    rows = np.asarray(rows, np.float64)
    if rows.ndim != 2 or rows.shape[1] != len(features):
        raise UsageError(f"rows of {len(features)} features", found=f"shape {rows.shape}", remedy="give one column for each feature")
    finite = np.isfinite(rows)
    if not finite.all():
        row, column = np.argwhere(~finite)[0].tolist()
        raise UsageError("features to be finite", found=f"{rows[row, column]} for {features[column]} in row {row}", remedy="leave such rows out")
    return rows


def damaged(found: str) -> ReadError:
    """The error of a model file whose arrays do not fit together."""
    return ReadError("arrays of a trained model", found=found, remedy="train the model again, or take it from where it was kept")
