"""What to do and what was tried: every promise as an interval on one axis, what was found beside it."""

from __future__ import annotations

from collections.abc import Sequence

from ridgeline.core import Action, Diagnosis, Tried
from ridgeline.core.units import format_quantity, format_speedup

from ..diagnosis_page import after_words, gain_words, title
from ..page import Column, Table, missing, speedup, words
from .bars import Interval, IntervalRow, interval_rows, interval_scale
from .labels import short_name
from .markup import NOTHING, Markup, join, tag, text
from .scale import finite

__all__ = ["actions_chart", "actions_table", "tried_chart"]

_PROMISED = "Promised speedup of the whole target, as an interval; the line marks no change."
_CAPTION = "Promised speedup of the whole target (outlined), and what a trial found (filled); the line marks no change."


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
            tag("p", text(_CAPTION if any(action.found for action in diagnosis.actions) else _PROMISED), class_="sub"),
            interval_rows(gains, "Promised speedup of each action"),
            tag("ol", *reasons, class_="reasons"),
        )
    )


def _action_row(action: Action, diagnosis: Diagnosis) -> IntervalRow:
    promised = _interval(action.speedup, "promised") if action.basis == "promised" else ()
    return IntervalRow(
        label=title(action, diagnosis),
        intervals=(*promised, *_interval(action.found, "found")),
        value=_factors(action.gain if action.recommended else action.speedup),
        note=_because(action),
    )


def _short(action: Action, row: IntervalRow) -> str:
    if action.combines or not action.on or not action.recommended:
        return row.label
    return f"{action.action}: {short_name(action.on, 28)}"


def _because(action: Action) -> str:
    why = "; ".join(part for part in (action.outcome, action.because) if part)
    after = after_words(action)
    return f"{why}. {after[:1].upper()}{after[1:]}: {_times(action.after_s)}; the gain is {gain_words(action)}."


def _times(span: Sequence[float] | None) -> str:
    return "—" if span is None else " – ".join(format_quantity(end, "s") if finite(end) else "—" for end in span)


def _factors(span: tuple[float, float] | None) -> str:
    return format_speedup(*span) if span is not None and all(finite(end) for end in span) else "—"


def _interval(span: tuple[float, float] | None, kind: str) -> tuple[Interval, ...]:
    if span is None or not all(finite(end) for end in span):
        return ()
    return (Interval(low=span[0], high=span[1], kind="found" if kind == "found" else "promised"),)


def actions_table(diagnosis: Diagnosis) -> Table:
    """The numbers behind the chart of actions."""
    titles = ("action", "speedup", "found", "time after", "of", "because")
    rows = tuple(
        (
            words(title(action, diagnosis)),
            speedup(action.speedup),
            speedup(action.found) if action.found else missing("not tried, or the trial failed"),
            words(_times(action.after_s)),
            words("time between results" if action.metric == "period" else "one call"),
            words("; ".join(part for part in (action.outcome, action.because) if part)),
        )
        for action in diagnosis.actions
    )
    columns = tuple(Column(title=name, right=name in {"speedup", "found", "time after"}) for name in titles)
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
