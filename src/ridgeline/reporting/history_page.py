"""The page of `ridgeline history`: each line drawn as text with its numbers beside, and what changed between which commits."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

import numpy as np

from ridgeline.core import HistoryChange, HistoryLine, HistoryReport
from ridgeline.core.units import format_quantity

from .page import Block, Cell, Column, Item, Items, Page, Pair, Pairs, Paragraph, Section, Table, missing, number, share, words

__all__ = ["history_page", "sparkline"]

_LEVELS = "▁▂▃▄▅▆▇█"
_NOTHING, _CHANGE = "·", "│"
_WIDEST = 80
_RUNS_SHOWN = 10
_COMMIT = 10


def history_page(report: HistoryReport) -> Page:
    """What became of a target."""
    sections = [_section(line, report.split_by) for line in report.lines]
    if report.warnings:
        items = tuple(Item(title=f"{caution.code}: {caution.message}", detail=caution.effect) for caution in report.warnings)
        sections.append(Section(title="Warnings", blocks=(Items(items=items),)))
    return Page(title="ridgeline history", headline=_headline(report), tone=_tone(report), sections=tuple(sections))


def _headline(report: HistoryReport) -> str:
    runs = f"{report.target}: {report.runs} run{'s' * (report.runs != 1)}"
    return f"{runs}; {report.lines[0].metric}: {report.lines[0].because}" if report.lines else f"{runs}, none with a value"


def _tone(report: HistoryReport) -> Literal["good", "bad", "plain"]:
    if not report.lines or not report.lines[0].changes:
        return "plain"
    return "bad" if report.lines[0].changes[-1].word == "slower" else "good"


def sparkline(line: HistoryLine, widest: int = _WIDEST) -> str:
    """The runs, oldest first, one character each, or the median of several where there are more than `widest`; `·` has no value, `│` is a change.

    From the 2nd to the 98th percentile: one outlier would make a flat line of all others.
    """
    values = np.array([math.nan if point.value is None else point.value for point in line.points], np.float64)
    known = values[np.isfinite(values)]
    if not known.size:
        return _NOTHING * min(len(values), widest)
    low, high = (float(end) for end in np.quantile(known, [0.02, 0.98]))
    groups = np.array_split(np.arange(len(values)), min(len(values), widest))
    starts = {change.index for change in line.changes}
    drawn = []
    for group in groups:
        if starts & set(group.tolist()):
            drawn.append(_CHANGE)
        inside = values[group][np.isfinite(values[group])]
        drawn.append(_level(float(np.median(inside)), low, high) if inside.size else _NOTHING)
    return "".join(drawn)


def _level(value: float, low: float, high: float) -> str:
    part = 0.5 if high <= low else min(1.0, max(0.0, (value - low) / (high - low)))
    return _LEVELS[round(part * (len(_LEVELS) - 1))]


def _section(line: HistoryLine, split_by: Sequence[str]) -> Section:
    values = [point.value for point in line.points if point.value is not None]
    title = ", ".join([line.metric, *(line.keys[key] for key in split_by if key in line.keys)])
    span = f" from {format_quantity(min(values), line.unit)} to {format_quantity(max(values), line.unit)}" if values else ""
    runs = f"{sparkline(line)}  {len(line.points)} runs, oldest first{span}"
    blocks: list[Block] = [Paragraph(text=runs), Pairs(rows=_numbers(line)), _changes(line), _runs(line)]
    return Section(title=title, blocks=tuple(blocks))


def _numbers(line: HistoryLine) -> tuple[Pair, ...]:
    few = "under five runs since the last change"
    expected = _how_sure(line)
    pairs = [
        Pair(
            label="level now", cell=number(line.level, line.unit), note=f"{line.level_runs} run{'s' * (line.level_runs != 1)} since the last change"
        ),
        Pair(
            label="the next run is expected at",
            cell=number(line.level if line.expected else None, line.unit, line.expected, reason=few),
            note=expected,
        ),
        Pair(label="spread from run to run", cell=share(line.spread, few), note="steps and drift taken out"),
    ]
    if line.drift_per_run is not None:
        pairs.append(Pair(label="drift", cell=words(f"{100 * line.drift_per_run:+.2g} % a run")))
    if line.left_out:
        reasons = ", ".join(dict.fromkeys(point.reason for point in line.points if point.value is None))
        pairs.append(Pair(label="left out", cell=words(f"{line.left_out} of {len(line.points)}"), note=reasons))
    return tuple(pairs)


def _how_sure(line: HistoryLine) -> str:
    """What the interval of the next run rests on."""
    sure = f"{100 * line.confidence:g} % of runs"
    if line.assured is None:
        return f"{sure}, if they scatter around it like a normal sample"
    if line.assured >= line.confidence:
        return f"{sure}, however they scatter"
    return f"{sure} if they scatter like a normal sample, {100 * line.assured:.0f} % however they scatter: {line.level_runs} runs are few"


def _changes(line: HistoryLine) -> Table:
    columns = (
        Column(title="change", weight=20),
        Column(title="before", right=True, weight=14),
        Column(title="after", right=True, weight=15),
        Column(title="after the commit", weight=17),
        Column(title="up to", weight=18),
        Column(title="run", weight=10),
        Column(title="chance", right=True, weight=9),
    )
    rows = tuple(_change(change, line.unit) for change in line.changes)
    note = "chance: of so large a step where nothing changed" if rows else ""
    return Table(caption="changes", columns=columns, rows=rows, empty="none beyond noise", note=note)


def _change(change: HistoryChange, unit: str) -> tuple[Cell, ...]:
    size = f" {100 * (change.ratio - 1):+.2g} %" if change.ratio is not None else ""
    chance = missing("a change of slope is chosen, not tested") if change.chance is None else words(f"{change.chance:.2g}")
    return (
        words(f"{change.word}{size}"), number(change.before, unit), number(change.after, unit), _commit(change.from_commit),
        _commit(change.to_commit), words(change.first_after), chance,
    )  # fmt: skip


def _commit(commit: str | None) -> Cell:
    if not commit:
        return missing("outside of a repository")
    name, plus, dirty = commit.partition("+")
    return words(f"{name[:_COMMIT]}{plus}{dirty}")


def _runs(line: HistoryLine) -> Table:
    columns = (
        Column(title="run", weight=20),
        Column(title="at", weight=10),
        Column(title="commit", weight=15),
        Column(title=line.metric, right=True, weight=19),
    )
    newest = line.points[::-1][:_RUNS_SHOWN]
    rows = tuple((words(point.run), words(point.at), _commit(point.commit), number(point.value, line.unit, reason=point.reason)) for point in newest)
    more = len(line.points) - len(newest)
    return Table(caption="runs, newest first", columns=columns, rows=rows, note=f"{more} more are in --json" if more else "")
