"""What to do and what was tried: every promise as an interval on one axis, what was found beside it."""

from __future__ import annotations

from collections.abc import Sequence

from ridgeline.core import Action, Diagnosis, Tried
from ridgeline.core.units import format_quantity, format_speedup

from ..page import Column, Table, speedup, words
from .bars import Interval, IntervalRow, interval_rows, interval_scale
from .labels import short_name
from .markup import NOTHING, Markup, join, tag, text
from .scale import finite

__all__ = ["actions_chart", "actions_table", "tried_chart"]

_METRIC = {"latency": "for one call", "period": "between results; one call gets no shorter"}


def actions_chart(diagnosis: Diagnosis) -> Markup:
    """The actions, best first, each with its promised gain, the time that would result, and why; nothing where there are none."""
    if not diagnosis.actions:
        return NOTHING
    rows = [_action_row(action, diagnosis) for action in diagnosis.actions]
    reasons = [tag("li", tag("strong", text(row.label)), tag("div", text(row.note)), dir="auto") for row in rows]
    gains = [
        IntervalRow(label=f"{index}. {_short(action, row)}", intervals=row.intervals, value=row.value)
        for index, (action, row) in enumerate(zip(diagnosis.actions, rows, strict=True), 1)
    ]
    return join(
        (
            tag("p", text("Promised speedup of the whole target, as an interval; the line marks no change."), class_="sub"),
            interval_rows(gains, "Promised speedup of each action"),
            tag("ol", *reasons, class_="reasons"),
        )
    )


def _action_row(action: Action, diagnosis: Diagnosis) -> IntervalRow:
    return IntervalRow(
        label=_title(action, diagnosis), intervals=_interval(action.speedup, "promised"), value=_factors(action.speedup), note=_because(action)
    )


def _short(action: Action, row: IntervalRow) -> str:
    return row.label if action.combines or not action.on else f"{action.action}: {short_name(action.on, 28)}"


def _title(action: Action, diagnosis: Diagnosis) -> str:
    if action.combines:
        names = {other.id: other.action for other in diagnosis.actions}
        return "together: " + " + ".join(names.get(part, part) for part in action.combines)
    return f"{action.action}: {action.on}" if action.on else action.action


def _because(action: Action) -> str:
    return f"{action.because}. Median after: {_times(action.median_after_s)}, {_METRIC.get(action.metric, action.metric)}."


def _times(span: Sequence[float]) -> str:
    return " – ".join(format_quantity(end, "s") if finite(end) else "—" for end in span)


def _factors(span: tuple[float, float] | None) -> str:
    return format_speedup(*span) if span is not None and all(finite(end) for end in span) else "—"


def _interval(span: tuple[float, float] | None, kind: str) -> tuple[Interval, ...]:
    if span is None or not all(finite(end) for end in span):
        return ()
    return (Interval(low=span[0], high=span[1], kind="found" if kind == "found" else "promised"),)


def actions_table(diagnosis: Diagnosis) -> Table:
    """The numbers behind the chart of actions."""
    titles = ("action", "speedup", "median after", "metric", "because")
    rows = tuple(
        (words(_title(action, diagnosis)), speedup(action.speedup), words(_times(action.median_after_s)), words(action.metric), words(action.because))
        for action in diagnosis.actions
    )
    columns = tuple(Column(title=title, right=title in {"speedup", "median after"}) for title in titles)
    return Table(caption="what to do, best first", columns=columns, rows=rows)


def tried_chart(diagnosis: Diagnosis) -> Markup:
    """Promised above found for every change that was tried, on one axis; nothing where none was."""
    if not diagnosis.tried:
        return NOTHING
    rows = [_tried_row(trial) for trial in diagnosis.tried]
    key = tag(
        "p",
        tag("span", class_="key promised", aria_hidden="true"),
        text(" promised (outlined, above) "),
        tag("span", class_="key found", aria_hidden="true"),
        text(" found (filled, below); the line marks no change."),
        class_="sub",
    )
    return join((key, interval_rows(rows, "Promised and found speedup of each change", interval_scale(rows))))


def _tried_row(trial: Tried) -> IntervalRow:
    found = f"found {_factors(trial.speedup)}" if trial.speedup is not None else "failed"
    promised = f"promised {_factors(trial.promised)}" if trial.promised is not None else "a control, nothing promised"
    output = "" if trial.output_ok else {"differs": "output CHANGED", "unknown": "output not compared"}.get(trial.output, "")
    notes = [trial.verdict, f"promise {trial.promise}" if trial.promise else "", "recommended" if trial.kept else "not recommended", output]
    return IntervalRow(
        label=trial.change or trial.action,
        intervals=(*_interval(trial.promised, "promised"), *_interval(trial.speedup, "found")),
        value=found,
        note=" · ".join(part for part in (promised, *notes) if part),
    )
