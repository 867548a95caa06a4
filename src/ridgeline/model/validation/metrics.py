"""How far predictions are from measurements: errors of all rows, of groups of them, and the worst.

Relative errors are of the measurement: |predicted − measured| ÷ measured, so that a prediction of nothing has an error of 1 and one of far too much
has no bound; ln (predicted ÷ measured) is symmetric, and both are given. Source of the measures: the specification of performance models (MAPE,
RMSE); A. Tofallis, "A better measure of relative prediction accuracy", JORS 66, 2015, for the log ratio.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ridgeline.core import ErrorGroup, ErrorSummary, UsageError
from ridgeline.stats import kendall, share_quantity, spearman

__all__ = ["Floats", "checked_times", "deciles", "errors", "errors_by", "worst_rows"]

Floats = NDArray[np.float64]


def errors(predicted_s: Floats, measured_s: Floats, low_s: Floats | None = None, high_s: Floats | None = None) -> ErrorSummary:
    """The errors of all rows.

    Args:
        predicted_s, measured_s: seconds, > 0, shape (n,), n ≥ 1.
        low_s, high_s: ends of the interval of each prediction, shape (n,); none if not given.

    Raises:
        UsageError: no rows, unequal lengths, a time that is not positive and finite, an interval whose ends are in the wrong order.

    >>> found = errors(np.array([1.1, 1.8]), np.array([1.0, 2.0]))
    >>> round(found.mape, 3), round(found.rmse_s, 4), found.spearman
    (0.1, 0.1581, 1.0)
    """
    predicted, measured = checked_times(predicted_s, measured_s)
    relative = np.abs(predicted - measured) / measured
    logs = np.log(predicted / measured)
    inside = _inside(predicted, measured, low_s, high_s)
    coverage = mean_width = None
    if inside is not None and low_s is not None and high_s is not None:
        coverage = share_quantity(int(inside.sum()), len(inside), origin="measurements inside their interval ÷ measurements")
        mean_width = float(np.mean((np.asarray(high_s) - np.asarray(low_s)) / predicted))
    return ErrorSummary(
        rows=len(predicted), mape=float(relative.mean()), median=float(np.median(relative)), p90=float(np.quantile(relative, 0.9)),
        largest=float(relative.max()), rmse_s=math.sqrt(float(np.mean((predicted - measured) ** 2))), rmse_log=math.sqrt(float(np.mean(logs**2))),
        bias=float(logs.mean()), spearman=spearman(predicted, measured), kendall=kendall(predicted, measured), coverage=coverage,
        mean_width=mean_width,
    )  # fmt: skip


def errors_by(
    by: str, names: Sequence[str], predicted_s: Floats, measured_s: Floats, low_s: Floats | None = None, high_s: Floats | None = None
) -> tuple[ErrorGroup, ...]:  # fmt: skip
    """The errors of each group, in the order of their names, times in seconds.

    Args:
        by: what the groups are of; names: of the group of each row, shape (n,).

    Raises:
        UsageError: as `errors`, or as many names as rows are missing.
    """
    predicted, measured = checked_times(predicted_s, measured_s)
    if len(names) != len(predicted):
        raise UsageError(f"a group for each of {len(predicted)} rows", found=f"{len(names)}", remedy="give one name a row")
    known, codes = np.unique(np.asarray(names, dtype=str), return_inverse=True)
    order = np.argsort(codes, kind="stable")
    found = []
    for name, at in zip(known.tolist(), np.split(order, np.cumsum(np.bincount(codes))[:-1]), strict=True):
        ends = [None if end is None else np.asarray(end)[at] for end in (low_s, high_s)]
        found.append(ErrorGroup(by=by, name=name, errors=errors(predicted[at], measured[at], *ends)))
    return tuple(found)


def deciles(size: Floats) -> list[str]:
    """The tenth of the rows that each belongs to by its size: `01 of 10` … `10 of 10`; equal sizes share theirs, a count.

    >>> deciles(np.arange(10.0))[0], deciles(np.ones(3))
    ('01 of 10', ['05 of 10', '05 of 10', '05 of 10'])
    """
    from ridgeline.stats import ranks

    part = np.clip(np.ceil((ranks(size) - 0.5) / len(size) * 10), 1, 10).astype(int)
    return [f"{number:02d} of 10" for number in part.tolist()]


def worst_rows(predicted_s: Floats, measured_s: Floats, most: int = 10) -> list[int]:
    """Indexes of the rows with the largest |ln (predicted ÷ measured)| of times in seconds, the worst first; of equals the first."""
    predicted, measured = checked_times(predicted_s, measured_s)
    return [int(index) for index in np.argsort(-np.abs(np.log(predicted / measured)), kind="stable")[:most]]


def checked_times(predicted_s: Floats, measured_s: Floats) -> tuple[Floats, Floats]:
    """Both as float64 arrays of seconds; `UsageError` unless they are of one length, not empty, positive and finite."""
    predicted, measured = np.asarray(predicted_s, np.float64), np.asarray(measured_s, np.float64)
    if predicted.ndim != 1 or predicted.shape != measured.shape or not predicted.size:
        found = f"shapes {predicted.shape} and {measured.shape}"
        raise UsageError("a prediction for each of at least one measurement", found=found, remedy="give both in one length")
    for name, values in (("predicted_s", predicted), ("measured_s", measured)):
        wrong = ~(np.isfinite(values) & (values > 0))
        if wrong.any():
            at = int(np.argmax(wrong))
            raise UsageError(f"{name} > 0 and finite", found=f"{values[at]} at row {at}", remedy="leave such rows out and say so")
    return predicted, measured


def _inside(predicted: Floats, measured: Floats, low_s: Floats | None, high_s: Floats | None) -> NDArray[np.bool_] | None:
    if low_s is None or high_s is None:
        return None
    low, high = np.asarray(low_s, np.float64), np.asarray(high_s, np.float64)
    if low.shape != predicted.shape or high.shape != predicted.shape or not (low <= high).all():
        raise UsageError("an interval for each prediction, low ≤ high", found=f"shapes {low.shape} and {high.shape}", remedy="sort the ends")
    return np.asarray((low <= measured) & (measured <= high))
