"""`ValidationReport`: how far a model's predictions are from measurements that it has not seen, and how that was made sure.

This module decides how the figures are kept; how they are computed is decided in `model.validation`.
"""

from __future__ import annotations

import msgspec

from .caution import Caution
from .column import Column
from .display import shown_inline
from .errors import UsageError
from .profile import Excluded
from .quantity import Quantity

__all__ = ["ErrorGroup", "ErrorSummary", "ValidationReport", "WorstCase"]


class ErrorSummary(msgspec.Struct, frozen=True, kw_only=True):
    """Errors of some predictions.

    Args:
        rows: how many.
        mape, median, p90, largest: mean, median, 90th percentile and largest of |predicted − measured| ÷ measured.
        rmse_s: root of the mean squared difference, in seconds.
        rmse_log: the same of ln (predicted ÷ measured).
        bias: mean of ln (predicted ÷ measured): above 0 the model says too much.
        spearman, kendall: rank correlation in −1…1, ties accounted for; null where all values of a side are equal, or under two rows.
        coverage: share of measurements inside their interval, with a Wilson interval of its own; null without intervals.
        mean_width: mean of (high − low) ÷ predicted.
    """

    rows: int
    mape: float
    median: float
    p90: float
    largest: float
    rmse_s: float
    rmse_log: float
    bias: float
    spearman: float | None = None
    kendall: float | None = None
    coverage: Quantity | None = None
    mean_width: float | None = None


class ErrorGroup(msgspec.Struct, frozen=True, kw_only=True):
    """Errors of the rows that are alike in something.

    Args:
        by: in what: `kind`, `device`, `size decile`, `fold`.
        name: of the group.
        errors: of its rows.
    """

    by: str
    name: str
    errors: ErrorSummary


class WorstCase(msgspec.Struct, frozen=True, kw_only=True):
    """A row whose prediction is far off.

    Args:
        what: the work in words; device: where it ran; place: file and row.
        predicted_s, measured_s: seconds; low_s, high_s: the interval of the prediction, null without one.
        ratio: predicted ÷ measured.
    """

    what: str
    device: str
    place: str
    predicted_s: float
    measured_s: float
    ratio: float
    low_s: float | None = None
    high_s: float | None = None


class ValidationReport(msgspec.Struct, frozen=True, kw_only=True, tag_field="schema", tag="ridgeline.validation/1"):
    """Predictions held against measurements that the model did not learn from.

    Args:
        model: its name; data_version: of the measurements and the model.
        held_out: by what rows were held out: `row`, `shape`, `family`, `device`, or a column.
        how: the split in one sentence.
        seed: of the split; folds: how many times a model was trained; 1 for a single hold-out.
        train_rows: rows that the models learned from, the mean over the folds; test_rows: rows that were predicted.
        level: nominal coverage of the intervals; null without intervals.
        overall: errors of all test rows; groups: by kind, device, size and fold.
        worst: the largest |ln ratio|, the worst first.
        predicted_s, measured_s: points for a drawing, thinned evenly in the order of measured times where there are many.
        point_kind: code into `point_kinds`, of each point.
        excluded: rows that were neither learned nor predicted, and why.
        warnings: what could change how the figures are read.
    """

    model: str
    held_out: str
    how: str
    test_rows: int
    train_rows: int
    overall: ErrorSummary
    groups: tuple[ErrorGroup, ...]
    worst: tuple[WorstCase, ...]
    predicted_s: Column
    measured_s: Column
    point_kind: Column
    point_kinds: tuple[str, ...]
    data_version: str = ""
    seed: int = 0
    folds: int = 1
    level: float | None = None
    excluded: tuple[Excluded, ...] = ()
    warnings: tuple[Caution, ...] = ()

    def __post_init__(self) -> None:
        lengths = {len(self.predicted_s), len(self.measured_s), len(self.point_kind)}
        if len(lengths) > 1:
            raise UsageError("a ValidationReport with columns of one length", found=f"lengths {sorted(lengths)}", remedy="give a point in all three")

    def _repr_html_(self) -> str | None:
        """Its fragment for a notebook."""
        return shown_inline(self)
