"""The page of a `CalibrationReport`: which levels moved and what may have moved them, and the corrections of the version that is asked for."""

from __future__ import annotations

from ridgeline.model.calibration.report import CalibrationReport
from ridgeline.model.calibration.state import LevelChange

from .page import Block, Cell, Column, Item, Items, Page, Pair, Pairs, Section, Table, count, number, words

__all__ = ["calibration_page"]


def calibration_page(report: CalibrationReport) -> Page:
    """What became of predictions and measurements."""
    sections = [Section(title="Levels that moved", blocks=(_changes(report),)), Section(title="Corrections", blocks=_corrections(report))]
    if report.passed_over:
        lines = tuple(Item(title=f"{number} × {reason}") for reason, number in sorted(report.passed_over.items()))
        sections.append(Section(title="Passed over", blocks=(Items(items=lines),)))
    return Page(
        title="ridgeline model calibrate", headline=_headline(report), tone="unsure" if report.found else "plain", sections=tuple(sections)
    )  # fmt: skip


def _headline(report: CalibrationReport) -> str:
    taken = f"{report.taken} new pairs, {report.pairs} in all"
    if not report.pairs:
        return f"{taken}: nothing is corrected yet"
    if not report.found:
        return f"{taken}: no level moved; version {report.newest} is in use"
    said = "; ".join(_said(change) for change in report.found[-2:])
    more = f" (and {len(report.found) - 2} before)" if len(report.found) > 2 else ""
    return f"{taken}: {said}{more}; version {report.newest} is in use"


def _said(change: LevelChange) -> str:
    moved = change.after.value / change.before.value - 1
    way = "slower" if moved > 0 else "faster"
    return f"{change.group or 'everything'} became {abs(100 * moved):.3g} % {way} than before ({_cause(change)})"


def _cause(change: LevelChange) -> str:
    return "cause not known" if change.cause == "unknown" else f"cause proposed: {change.cause}"


def _changes(report: CalibrationReport) -> Table:
    columns = (
        Column(title="what", flexible=True, weight=20),
        Column(title="kind", weight=9),
        Column(title="at pair", right=True, weight=12),
        Column(title="began after", right=True, weight=8),
        Column(title="before", right=True, weight=16),
        Column(title="after", right=True, weight=17),
        Column(title="cause proposed", weight=18),
        Column(title="because", flexible=True, weight=15, lines=2),
        Column(title="version", right=True, weight=10),
    )
    rows = tuple(_change(change) for change in report.changes)
    return Table(caption="actual ÷ predicted, before and after", columns=columns, rows=rows, empty="no level moved")


def _change(change: LevelChange) -> tuple[Cell, ...]:
    before, after = change.before, change.after
    return (
        words(change.group or "everything"), words(change.kind), count(change.number), count(change.since),
        number(before.value, "fraction", (before.low, before.high)), number(after.value, "fraction", (after.low, after.high)),
        words(change.cause), words(change.because), count(change.version),
    )  # fmt: skip


def _corrections(report: CalibrationReport) -> tuple[Block, ...]:
    columns = (
        Column(title="group", flexible=True, weight=20),
        Column(title="factor", right=True, weight=19),
        Column(title="from", flexible=True, weight=10),
    )
    rows = tuple(
        (words(group), number(found.factor.value, "fraction", (found.factor.low, found.factor.high)), words(found.factor.origin))
        for group, found in report.corrections.items()
    )
    which = "the one in use" if report.version == report.newest else f"an earlier one; {report.newest} is in use"
    pairs = (
        Pair(label="model", cell=words(report.model)), Pair(label="version", cell=count(report.version), note=which),
        Pair(label="because", cell=words(report.why)), Pair(label="digest", cell=words(report.digest[:16])),
    )  # fmt: skip
    return (Pairs(rows=pairs), Table(caption="predictions are multiplied by", columns=columns, rows=rows))
