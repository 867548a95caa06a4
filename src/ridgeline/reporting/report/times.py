"""Where the time goes: latency of a call, parts of the wall, stages, operators, and the gap between operators and wall, as charts."""

from __future__ import annotations

import contextlib

from ridgeline.core import Diagnosis, Facts, OperatorSummary, StageSummary, UsageError, parse_budget
from ridgeline.core.budget import Budget
from ridgeline.core.units import format_quantity, format_share

from ..measured import SPLIT_DISTURBED, WALL_WORDS
from ..page import Table
from .bars import Bar, bars
from .labels import short_name
from .latency import distribution, latency_chart, quantile_table
from .markup import NOTHING, Markup, join, tag, text
from .scale import finite

__all__ = ["latency_section", "latency_table", "operator_bars", "where_section"]

#: Operators with a bar; the table has more.
_OPERATOR_BARS = 12


def latency_section(diagnosis: Diagnosis, facts: Facts | None) -> Markup:
    """Histogram and ECDF where the samples are at hand."""
    found = distribution(facts.samples if facts is not None else None)
    if found is None:
        return tag("p", text("The samples themselves are not part of this page, only what was worked out from them."), class_="sub")
    said = f"{found.samples} samples"
    if found.beyond:
        slower = f"{found.beyond} sample{'s' if found.beyond != 1 else ''}"
        said += f"; {slower} beyond the axis, the slowest {format_quantity(found.slowest_s, 's')}"
    below = "Above: how many samples took so long. Below: which share took at most so long. Shaded: the interval of the median and of p99."
    chart = latency_chart(found, diagnosis.ground_truth, _budget(diagnosis))
    return join((tag("p", text(f"{said}. {below}"), class_="sub"), tag("div", chart, class_="scroll")))


def latency_table(facts: Facts | None) -> tuple[Table, ...]:
    """The numbers behind the curve; none without samples."""
    samples = facts.samples if facts is not None else None
    return (quantile_table(samples),) if samples is not None and len(samples) > 1 else ()


def _budget(diagnosis: Diagnosis) -> Budget | None:
    with contextlib.suppress(UsageError):
        return parse_budget(diagnosis.budget) if diagnosis.budget else None
    return None


def where_section(diagnosis: Diagnosis) -> Markup:
    """Parts of the wall, then stages, then the gap outside any operator."""
    parts = (_wall(diagnosis), _stages(diagnosis), _overhead(diagnosis))
    return join(part for part in parts if part)


def _titled(title: str, chart: Markup) -> Markup:
    return tag("figure", tag("figcaption", text(title)), chart)


def _wall(diagnosis: Diagnosis) -> Markup:
    if diagnosis.wall_split is None:
        return NOTHING
    shares = {name: getattr(diagnosis.wall_split, name) for name in WALL_WORDS}
    largest = max(shares.values(), key=lambda part: part if finite(part) else 0.0)
    start, rows = 0.0, []
    for name, part in shares.items():
        rows.append(Bar(label=name, start=start, length=part, value=_share(part), note=WALL_WORDS[name], main=part is largest))
        start += part if finite(part) else 0.0
    return _titled(SPLIT_DISTURBED if diagnosis.wall_split.perturbed else "the wall of one call, split", bars(rows, "Shares of the wall"))


def _share(value: float | None) -> str:
    return format_share(value) if value is not None and finite(value) else "—"


def _stages(diagnosis: Diagnosis) -> Markup:
    if not diagnosis.stages:
        return NOTHING
    where = diagnosis.bottleneck.where.stage if diagnosis.bottleneck else None
    parents = {stage.name: stage.parent for stage in diagnosis.stages}
    rows = [
        Bar(
            label=stage.name,
            length=stage.share,
            value=_share(stage.share),
            note=_stage_note(stage),
            main=stage.name == where,
            depth=_depth(stage.name, parents),
        )
        for stage in diagnosis.stages
    ]
    return _titled("stages, as shares of the wall; those that overlap or are nested add up to more than the whole", bars(rows, "Stages"))


def _stage_note(stage: StageSummary) -> str:
    overlapped = stage.overlapped_s
    beside = f"{format_quantity(overlapped, 's')} of it beside others" if overlapped is not None and finite(overlapped) and overlapped > 0 else ""
    models = f"of which in models: {stage.models_share:.0%}" if finite(stage.models_share) and stage.models_share else ""
    return " · ".join(part for part in (_seconds(stage.median_s), models, beside) if part)


def _depth(name: str, parents: dict[str, str | None]) -> int:
    """How deep a stage is nested; at most 8, since a record by hand may hold a circle."""
    depth = 0
    while depth < 8 and (above := parents.get(name)) is not None:
        name, depth = above, depth + 1
    return depth


def _seconds(value: float | None) -> str:
    return format_quantity(value, "s") if value is not None and finite(value) else "—"


def _overhead(diagnosis: Diagnosis) -> Markup:
    gap = diagnosis.overhead
    if gap is None or not (finite(gap.wall_s) and finite(gap.operators_s) and finite(gap.gap_s)) or gap.wall_s <= 0:
        return NOTHING
    inside = gap.operators_s / gap.wall_s
    # Never clamped: below zero the operators ran side by side, or one of the two clocks is wrong.
    remark = "outside any operator: overhead" if gap.gap_s >= 0 else "below zero: the operators took more than the wall"
    rows = (
        Bar(label="inside operators", length=inside, value=_seconds(gap.operators_s), note=_share(inside)),
        Bar(
            label="gap", start=min(inside, 1.0), length=max(gap.gap_share, 0.0), value=_seconds(gap.gap_s), note=f"{_share(gap.gap_share)}, {remark}"
        ),
    )
    return _titled("overhead: the wall of the instrumented call, inside and outside operators", bars(rows, "Overhead gap"))


def operator_bars(operators: tuple[OperatorSummary, ...], main: str | None) -> Markup:
    """The operators that take the most time and one bar for all others; nothing where none has a share."""
    timed = [operator for operator in operators if operator.share is not None and finite(operator.share)]
    if not timed:
        return NOTHING
    shown, rest = timed[:_OPERATOR_BARS], timed[_OPERATOR_BARS:]
    rows = [
        Bar(
            label=short_name(operator.name, 28),
            length=operator.share or 0.0,
            value=_share(operator.share),
            note=f"{_seconds(operator.total_s)} · {operator.kind} · {operator.bound}",
            main=operator.name == main,
        )
        for operator in shown
    ]
    if rest:
        left = sum(operator.share or 0.0 for operator in rest)
        rows.append(Bar(label=f"{len(rest)} more", length=left, value=_share(left), note=_seconds(sum(other.total_s or 0.0 for other in rest))))
    return _titled("operators, as shares of one call", bars(rows, "Operators by time"))
