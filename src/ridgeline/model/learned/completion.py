"""Factors with side information: log values of pairs that nobody measured, from other rows and other columns of the same matrix.

This module decides ln t[i, j] = mean + aᵢ + bⱼ + Uᵢ · Vⱼ, every row of factors pulled to a linear function of what is known of it (device, runtime,
family, features), so that one with few measurements falls back on its kind. What is no product of a row and a column is left to trees on what
remains, intervals to whoever has residuals. A row or column without any measurement gets its prior alone: `counts` says so.

Sources: alternating least squares: Y. Koren, R. Bell, C. Volinsky, "Matrix factorization techniques for recommender systems", IEEE Computer 42(8),
2009; shrinkage to side information: D. Agarwal and B.-C. Chen, "Regression-based latent factor models", KDD 2009; weights: P. Huber, Annals of
Mathematical Statistics 35(1), 1964.
"""

from __future__ import annotations

from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from ridgeline.core import Column, UsageError

from .scaling import damaged

__all__ = ["Completion", "Factors", "Side", "fit_factors"]

Floats = NDArray[np.float64]
Indexes = NDArray[np.int64]

#: Main effects are hardly pulled: this share of the ridge.
_MAIN = 0.05
#: Rows of nothing that keep a main effect of one measurement from being all of it.
_FAINT = 0.1
_ROUNDS = 3


class Side(NamedTuple):
    """What is known of rows (R, p) and of columns (C, q): dimensionless, a constant column first."""

    row: Floats
    column: Floats


class Completion(NamedTuple):
    """How factors are fitted.

    Attributes:
        rank: number of products.
        ridge: pull to the side information, in rows; side_ridge: that of the linear function itself.
        sweeps: of alternating regressions.
        robust: residual in logs beyond which the weight of a measurement falls as 1 ÷ |r|.
        seed: of the first factors.
    """

    rank: int = 24
    ridge: float = 0.7
    side_ridge: float = 1.0
    sweeps: int = 12
    robust: float = 0.08
    seed: int = 0


class Factors(msgspec.Struct, frozen=True, kw_only=True, tag_field="schema", tag="ridgeline.factors/1"):
    """Fitted factors of R rows and C columns; the first two of each carry the main effects.

    Args:
        mean: of the log values.
        width: factors of a row, rank + 2.
        row, column: factors one row after the other, float64, R × width and C × width.
        row_counts, column_counts: measurements of each, int64.

    Raises:
        ReadError: factors that do not fit together.
    """

    mean: float
    width: int
    row: Column
    column: Column
    row_counts: Column
    column_counts: Column

    def __post_init__(self) -> None:
        for factors, counts in ((self.row, self.row_counts), (self.column, self.column_counts)):
            if self.width < 2 or len(factors) != self.width * len(counts) or factors.values.dtype.kind != "f" or counts.values.dtype.kind not in "iu":
                raise damaged(f"{len(factors)} factors in {factors.dtype} for {len(counts)} rows of {self.width}")

    def factors(self, *, of_rows: bool) -> Floats:
        """Factors of rows, or of columns, (R or C, width)."""
        column = self.row if of_rows else self.column
        return np.asarray(column.values.reshape(-1, self.width))

    def predict(self, rows: Indexes, columns: Indexes) -> Floats:
        """Log value of each pair, shape (n,).

        Raises:
            UsageError: an index that there is not.
        """
        for index, counts in ((rows, self.row_counts), (columns, self.column_counts)):
            if len(index) and not 0 <= int(index.min()) <= int(index.max()) < len(counts):
                found = f"{index.min()} to {index.max()}"
                raise UsageError(f"indexes under {len(counts)}", found=found, remedy="ask only about what the factors were fitted for")
        left, right = self.factors(of_rows=True), self.factors(of_rows=False)
        return np.asarray(self.mean + np.einsum("nk,nk->n", left[rows], right[columns]))


def fit_factors(rows: Indexes, columns: Indexes, log_value: Floats, side: Side, how: Completion | None = None) -> Factors:
    """Factors by alternating ridge regressions, three times, each with weights from the residuals of the one before.

    Args:
        rows, columns: indexes of measured pairs, shape (n,); log_value: natural log of the measurement, shape (n,).
        side: what is known of rows and columns; it says how many there are.

    Raises:
        UsageError: no measurements, lengths that differ, an index that there is not, or numbers that are not finite.
    """
    how = how or Completion()
    value = _checked(rows, columns, log_value, side)
    pairs = _Pairs(rows, columns, value - float(value.mean()), side, how)
    weight = np.ones(len(value))
    for _ in range(_ROUNDS):
        left, right = pairs.fitted(weight)
        rest = np.einsum("nk,nk->n", left[rows], right[columns]) - pairs.value
        weight = 1.0 / np.maximum(1.0, np.abs(rest) / how.robust)
    return Factors(
        mean=float(value.mean()), width=how.rank + 2, row=Column(left.ravel(), "1"), column=Column(right.ravel(), "1"),
        row_counts=Column(np.bincount(rows, minlength=len(side.row)), "1", "<i8"),
        column_counts=Column(np.bincount(columns, minlength=len(side.column)), "1", "<i8"),
    )  # fmt: skip


def _checked(rows: Indexes, columns: Indexes, log_value: Floats, side: Side) -> Floats:
    value = np.asarray(log_value, np.float64)
    if not (rows.shape == columns.shape == value.shape) or value.ndim != 1 or not len(value):
        raise UsageError("pairs with a value each", found=f"shapes {rows.shape}, {columns.shape}, {value.shape}", remedy="give one value a pair")
    fits = rows.min() >= 0 and rows.max() < len(side.row) and columns.min() >= 0 and columns.max() < len(side.column)
    if not fits or not np.isfinite(value).all() or not all(np.isfinite(known).all() for known in side):
        raise UsageError("finite values of pairs that `side` knows", found="an index beyond it, or NaN or infinity", remedy="leave such pairs out")
    return value


class _Pairs:
    """Measured pairs in order of their rows and of their columns."""

    def __init__(self, rows: Indexes, columns: Indexes, value: Floats, side: Side, how: Completion) -> None:
        self.value, self._how = value, how
        self._sides = [
            _Half(rows, columns, side.row, fixed=1, side_ridge=how.side_ridge), _Half(columns, rows, side.column, fixed=0, side_ridge=how.side_ridge)
        ]  # fmt: skip

    def fitted(self, weight: Floats) -> tuple[Floats, Floats]:
        draw = np.random.default_rng(self._how.seed)
        main = self._main_effects()
        left, right = (
            np.concatenate((first[:, None], second[:, None], 0.1 * draw.standard_normal((len(first), self._how.rank))), axis=1)
            for first, second in ((main[0], np.ones(len(main[0]))), (np.ones(len(main[1])), main[1]))
        )
        for sweep in range(self._how.sweeps):
            for half, ours, theirs in ((self._sides[0], left, right), (self._sides[1], right, left)):
                prior = half.prior(ours) if sweep else np.zeros_like(ours)
                half.solve(ours, theirs, prior, self.value, weight, self._how.ridge)
        return left, right

    def _main_effects(self) -> tuple[Floats, Floats]:
        rows, columns = (half.index for half in self._sides)
        counts = [np.bincount(half.index, minlength=half.count) + _FAINT for half in self._sides]
        row, column = np.zeros(self._sides[0].count), np.zeros(self._sides[1].count)
        for _ in range(10):
            row = np.bincount(rows, self.value - column[columns], len(row)) / counts[0]
            column = np.bincount(columns, self.value - row[rows], len(column)) / counts[1]
        return row, column


class _Half:
    """Rows, or columns, with what is known of them, and which measurements are whose."""

    def __init__(self, index: Indexes, other: Indexes, known: Floats, fixed: int, side_ridge: float) -> None:
        self.index, self.count, self._other, self._known, self._fixed = index, len(known), other, known, fixed
        self._order = np.argsort(index, kind="stable")
        self._bound = np.searchsorted(index[self._order], np.arange(len(known) + 1))
        # A row without measurements is where its prior put it, and must not pull the prior to itself.
        measured = known * (np.diff(self._bound) > 0)[:, None]
        self._to_side = np.linalg.solve(measured.T @ measured + side_ridge * np.eye(known.shape[1]), measured.T)

    def prior(self, ours: Floats) -> Floats:
        return np.asarray(self._known @ (self._to_side @ ours))

    def solve(self, ours: Floats, theirs: Floats, prior: Floats, value: Floats, weight: Floats, ridge: float) -> None:
        """One ridge regression a row, into `ours`."""
        free = np.delete(np.arange(ours.shape[1]), self._fixed)
        pull = np.full(len(free), ridge)
        pull[0] *= _MAIN
        for one in range(self.count):
            at = self._order[self._bound[one] : self._bound[one + 1]]
            seen = theirs[self._other[at]]
            target = value[at] - seen[:, self._fixed] * ours[one, self._fixed] - seen[:, free] @ prior[one, free]
            weighted = seen[:, free] * weight[at][:, None]
            ours[one, free] = prior[one, free] + np.linalg.solve(weighted.T @ seen[:, free] + np.diag(pull), weighted.T @ target)
