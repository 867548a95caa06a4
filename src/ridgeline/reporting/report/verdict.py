"""The top of the report: what the verdict is, in one sentence and a few large numbers."""

from __future__ import annotations

import contextlib

from ridgeline.core import Diagnosis, GroundTruth, UsageError, parse_budget
from ridgeline.core.units import format_quantity, format_share

from ..page import Cell, Page, format_cell, seconds
from .bars import Bar, bars
from .markup import NOTHING, Markup, tag, text
from .scale import finite

__all__ = ["figures", "headline", "masthead", "shrink_chart"]

# A sign and a word each, so that colour is never the only carrier.
_SIGNS = {"bad": ("▲", "Bottleneck found"), "good": ("✓", "Healthy"), "unsure": ("?", "Inconclusive"), "plain": ("·", "Report")}


def masthead(found: Page, diagnosis: Diagnosis, at: str = "") -> Markup:
    """What was diagnosed and where, the switch of the theme, and the verdict."""
    where = " · ".join(part for part in (diagnosis.machine, at[:16].replace("T", " "), f"run {diagnosis.run}" if diagnosis.run else "") if part)
    # Shown by the script, since without it the switch would do nothing.
    switch = tag("button", text("Dark"), type="button", id="theme", aria_pressed="false", hidden=True)
    line = tag("div", tag("span", text("ridgeline"), class_="brand"), switch, class_="line")
    return tag("header", line, tag("h1", text(diagnosis.target or "no target"), dir="auto"), tag("p", text(where), class_="sub"), headline(found))


def headline(found: Page) -> Markup:
    """The verdict as a sign, a word and the sentence."""
    sign, word = _SIGNS[found.tone]
    return tag(
        "div",
        tag("p", tag("span", text(sign), aria_hidden="true", class_="sign"), text(f" {word}"), class_="state"),
        tag("p", text(found.headline), class_="headline", dir="auto"),
        class_=f"verdict {found.tone}",
    )


def figures(diagnosis: Diagnosis) -> Markup:
    """The numbers to remember: median, p99, the share and the bound of the bottleneck, and whether it is confirmed."""
    shown = [*_times(diagnosis.ground_truth)]
    found = diagnosis.bottleneck
    if found is not None:
        of = f", {found.operators} operators together" if found.operators > 1 else ""
        shown.append(("of the time", format_share(found.share) if finite(found.share) else "—", f"end to end{of}"))
        shown.append(("bound", found.bound, found.cause))
        shown.append(("the cause is", "confirmed" if found.confirmed else "suspected", _surety(confirmed=found.confirmed)))
    else:
        shown.append(
            ("bound", diagnosis.bound, "inconclusive: see what is missing" if diagnosis.bound == "inconclusive" else "nothing left to delete")
        )
    shown += _budget(diagnosis)
    return tag("dl", *(_figure(*figure) for figure in shown), class_="figures")


def _surety(*, confirmed: bool) -> str:
    return "an intervention moved the time as predicted" if confirmed else "no intervention has moved the time yet"


def _figure(label: str, value: str, note: str) -> Markup:
    return tag("div", tag("dt", text(label)), tag("dd", text(value)), tag("dd", text(note), class_="note"))


def _times(truth: GroundTruth | None) -> list[tuple[str, str, str]]:
    if truth is None:
        return [("median", "—", "not measured")]
    median = seconds(truth.median_s, truth.median_ci_s)
    shown = [("median of a call", format_cell(median, interval=False), _interval(median))]
    if truth.p99_s is not None:
        tail = seconds(truth.p99_s, truth.p99_ci_s)
        shown.append(("p99", format_cell(tail, interval=False), _interval(tail)))
    return shown


def _interval(cell: Cell) -> str:
    """The interval alone, as the cell writes it."""
    _, opened, ends = format_cell(cell).partition(" [")
    return f"[{ends}" if opened else ""


def _budget(diagnosis: Diagnosis) -> list[tuple[str, str, str]]:
    judged = diagnosis.budget_state
    if judged is not None:
        limit = f"{_seconds(judged.limit_s)} at {judged.at}"
        beyond = [("to lose", judged.excess_s), ("to spare", judged.slack_s)]
        return [("budget", judged.state, ", ".join([limit, *(f"{_seconds(value)} {what}" for what, value in beyond if value is not None)]))]
    with contextlib.suppress(UsageError):
        if diagnosis.budget:
            budget = parse_budget(diagnosis.budget)
            state = budget.state(diagnosis.ground_truth) if diagnosis.ground_truth is not None else "undecided"
            return [("budget", state, str(budget))]
    return []


def shrink_chart(diagnosis: Diagnosis) -> Markup:
    """What a missed budget asks of each place alone: the bar is the part of its time that must go; nothing where it is kept."""
    ways = diagnosis.budget_state.shrink if diagnosis.budget_state is not None else ()
    longest = max((way.now_s for way in ways if finite(way.now_s)), default=0.0)
    if longest <= 0:
        return NOTHING
    rows = []
    for way in ways:
        target = way.target_s if way.target_s is not None and finite(way.target_s) else None
        kept = max(0.0, (target or 0.0) / longest)
        need = f"{_seconds(way.now_s)} → {_seconds(target)}" if target is not None else f"{_seconds(way.now_s)}: even nothing is not enough"
        value = f"−{format_share(way.part)}" if way.part is not None and finite(way.part) else "—"
        rows.append(Bar(label=way.name, start=kept, length=way.now_s / longest - kept, value=value, note=need))
    title = tag("figcaption", text("to meet the budget, any one of these must lose the part that is drawn"))
    return tag("figure", title, bars(rows, "What must shrink"))


def _seconds(value: float) -> str:
    return format_quantity(value, "s") if finite(value) else "—"
