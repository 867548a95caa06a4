"""The page of a `ValidationReport`: how far off a model is on rows that it has not seen, for which groups, and the worst cases by name.

The headline holds what a reader would ask first; a mean alone never stands there. Drawing is left to `report.validated`.
"""

from __future__ import annotations

from itertools import groupby
from typing import Literal

from ridgeline.core import ErrorGroup, ErrorSummary, ValidationReport, WorstCase
from ridgeline.core.units import format_share

from .page import (
    Block,
    Cell,
    Column,
    Item,
    Items,
    Page,
    Pair,
    Pairs,
    Paragraph,
    Section,
    Table,
    count,
    missing,
    number,
    quantity,
    seconds,
    share,
    words,
)

__all__ = ["validation_page"]

#: Rows of the table of one grouping; the rest is in `--json`.
_MOST_GROUPS = 40
_NO_INTERVALS = "the predictions had no intervals"
_NO_ORDER = "too few rows, or all equal"


def validation_page(report: ValidationReport) -> Page:
    """What held-out rows say of a model."""
    sections = [Section(title="Errors", blocks=(Pairs(rows=_overall(report)),))]
    sections += [_groups(by, tuple(found)) for by, found in groupby(report.groups, key=lambda group: group.by)]
    sections += [Section(title="Worst cases", blocks=(_worst(report.worst),)), Section(title="How", blocks=_how(report))]
    return Page(title="ridgeline model validate", headline=_headline(report), tone=_tone(report), sections=tuple(sections))


def _headline(report: ValidationReport) -> str:
    found = report.overall
    errors = f"off by {_percent(found.mape)} in the mean, {_percent(found.p90)} at the 90th percentile, {_percent(found.largest)} at worst"
    covered = "" if found.coverage is None else f"; {format_share(found.coverage.value)} inside their interval{_nominal(report)}"
    return f"{report.model}, held out by {report.held_out}: {errors} ({found.rows} rows){covered}"


def _nominal(report: ValidationReport) -> str:
    return "" if report.level is None else f" (promised {format_share(report.level)})"


def _tone(report: ValidationReport) -> Literal["unsure", "plain"]:
    return "unsure" if report.warnings else "plain"


def _percent(value: float) -> str:
    """An error as a percentage with three figures; beyond ten times as a factor, since thousands of per cent are read by nobody."""
    return f"{100 * value:.3g} %" if value < 9.995 else f"{value:.3g} times"


def _overall(report: ValidationReport) -> tuple[Pair, ...]:
    found = report.overall
    covered = quantity(found.coverage, _NO_INTERVALS)
    return (
        Pair(label="rows", cell=count(found.rows), note=f"learned from {report.train_rows} others{_folds(report)}"),
        Pair(label="mean absolute error (MAPE)", cell=words(_percent(found.mape))),
        Pair(label="median", cell=words(_percent(found.median))),
        Pair(label="90th percentile", cell=words(_percent(found.p90))),
        Pair(label="largest", cell=words(_percent(found.largest)), note="see the worst cases"),
        Pair(label="root mean square", cell=seconds(found.rmse_s), note=f"of ln (predicted ÷ measured): {found.rmse_log:.3g}"),
        Pair(label="bias", cell=words(f"{found.bias:+.3g}"), note=_bias(found.bias)),
        Pair(label="rank correlation", cell=_order(found.spearman), note="Spearman: whether it says which of two is faster"),
        Pair(label="rank correlation, pairs", cell=_order(found.kendall), note="Kendall's τ_b"),
        Pair(label="inside their interval", cell=_as_share(covered), note=_nominal(report).strip(" ()")),
        Pair(label="width of the intervals", cell=share(found.mean_width, _NO_INTERVALS), note="mean, of the prediction"),
    )


def _folds(report: ValidationReport) -> str:
    return f" (mean of {report.folds} models)" if report.folds > 1 else ""


def _bias(bias: float) -> str:
    if abs(bias) < 0.005:
        return "mean of ln (predicted ÷ measured): it leans to neither side"
    return f"mean of ln (predicted ÷ measured): it says too {'much' if bias > 0 else 'little'}"


def _order(value: float | None) -> Cell:
    return missing(_NO_ORDER) if value is None else words(f"{value:.3f}")


def _as_share(cell: Cell) -> Cell:
    return (
        number(cell.value, "share", (cell.low, cell.high))
        if isinstance(cell.value, float) and cell.low is not None and cell.high is not None
        else cell
    )


def _groups(by: str, found: tuple[ErrorGroup, ...]) -> Section:
    columns = (
        Column(title=by, flexible=True, weight=20),
        Column(title="rows", right=True, weight=15),
        Column(title="mean", right=True, weight=19),
        Column(title="median", right=True, weight=12),
        Column(title="90th percentile", right=True, weight=18),
        Column(title="largest", right=True, weight=17),
        Column(title="bias", right=True, weight=11),
        Column(title="Spearman", right=True, weight=10),
        Column(title="inside", right=True, weight=16),
    )
    # Tenths and folds have an order of their own; of kinds and devices the worst come first.
    ordered = found if "decile" in by or by == "fold" else tuple(sorted(found, key=lambda group: (-group.errors.mape, group.name)))
    more = len(ordered) - _MOST_GROUPS
    note = f"{more} more, with smaller errors, are in --json" if more > 0 else ""
    rows = tuple(_group(group) for group in ordered[:_MOST_GROUPS])
    return Section(title=f"By {by}", blocks=(Table(caption=f"errors by {by}", columns=columns, rows=rows, note=note),))


def _group(group: ErrorGroup) -> tuple[Cell, ...]:
    found: ErrorSummary = group.errors
    inside = missing(_NO_INTERVALS) if found.coverage is None else share(found.coverage.value)
    return (
        words(group.name, "not named"), count(found.rows), words(_percent(found.mape)), words(_percent(found.median)), words(_percent(found.p90)),
        words(_percent(found.largest)), words(f"{found.bias:+.3f}"), _order(found.spearman), inside,
    )  # fmt: skip


def _worst(cases: tuple[WorstCase, ...]) -> Table:
    columns = (
        Column(title="work", flexible=True, weight=20),
        Column(title="device", flexible=True, weight=12),
        Column(title="predicted", right=True, weight=17),
        Column(title="measured", right=True, weight=18),
        Column(title="predicted ÷ measured", right=True, weight=19),
        Column(title="from", flexible=True, weight=10),
    )
    rows = tuple(
        (
            words(case.what), words(case.device, "not named"), seconds(case.predicted_s, _interval(case)), seconds(case.measured_s),
            words(f"{case.ratio:.3g}"), words(case.place, "not known"),
        )
        for case in cases
    )  # fmt: skip
    return Table(caption="worst cases, by |ln (predicted ÷ measured)|", columns=columns, rows=rows)


def _interval(case: WorstCase) -> tuple[float, float] | None:
    return None if case.low_s is None or case.high_s is None else (case.low_s, case.high_s)


def _how(report: ValidationReport) -> tuple[Block, ...]:
    drawn = f"Split {report.how}; seed {report.seed}. No row, no {_kept_apart(report)} of the test is in what the model learned from."
    version = f" Data and model: {report.data_version}." if report.data_version else ""
    lines = [f"{caution.code}: {caution.message}; {caution.effect}" for caution in report.warnings]
    lines += [f"left out: {entry.events} × {entry.reason}" for entry in report.excluded]
    items: tuple[Block, ...] = (Items(items=tuple(Item(title=line) for line in lines)),) if lines else ()
    return (Paragraph(text=drawn + version), *items)


def _kept_apart(report: ValidationReport) -> str:
    return "measurement" if report.held_out == "row" else report.held_out
