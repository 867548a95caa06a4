"""The report as one HTML file: the page of the diagnosis in its order, charts before the numbers, everything inlined, nothing ever requested.

Decides what stands where; what the file may do is decided in `shell`. The drawings are left to the modules beside, the words and
tables to `diagnosis_page`: a section that is new there appears here without a change.
"""

from __future__ import annotations

from collections.abc import Sequence

from ridgeline.core import Diagnosis, Facts, Run

from ..blocks import block_html
from ..diagnosis_page import page
from ..html import html
from ..measured import disturbed, operator_table, partition_blocks
from ..page import Block, Section
from ..pages import run_page
from .actions import actions_chart, actions_table, tried_chart
from .limits import LIMITS, Limits, bounded, by_kind, ranked
from .markup import NOTHING, Markup, join, tag, text
from .roofline import plotted, roofline_chart
from .roofs import memory_roofs, peak_roofs, roof_table
from .shell import anchor, asset, contents, document, wide
from .times import latency_section, latency_table, operator_bars, where_section
from .tuned import tuned_report_html
from .verdict import figures, masthead, shrink_chart

__all__ = ["MOST_BYTES", "html_report", "run_report"]

#: No report is larger, however many operators there are.
MOST_BYTES = 5_000_000


def run_report(run: Run) -> str:
    """The report of a stored run; a run without a diagnosis gets the plain page of what was measured."""
    if run.diagnosis is None and run.tuned is not None:
        return tuned_report_html(run.tuned, run.trials)
    return html_report(run.diagnosis, run.facts, at=run.at) if run.diagnosis is not None else html(run_page(run))


def html_report(diagnosis: Diagnosis, facts: Facts | None = None, *, at: str = "") -> str:
    """The whole report of a diagnosis.

    Args:
        diagnosis: what is shown; more than `limits` allows is left out, and the report says so.
        facts: what it stands on, for the samples and the ceilings of the roofline; charts that need them are left out without.
        at: when it was measured, ISO 8601.
    """
    for limits in LIMITS:
        written = _written(diagnosis, facts, at, limits)
        if len(written.encode()) < MOST_BYTES:
            break
    return written


def _written(diagnosis: Diagnosis, facts: Facts | None, at: str, limits: Limits) -> str:
    shown, cut = bounded(diagnosis, limits)
    found = page(shown)
    sections = [_section(section, shown, facts, limits) for section in found.sections]
    left_out = _left_out(len(diagnosis.operators) - limits.operators, cut)
    return document(found, masthead(found, shown, at), [sections[0], contents(found.sections), *sections[1:], left_out], asset("report.js"))


def _section(section: Section, diagnosis: Diagnosis, facts: Facts | None, limits: Limits) -> Markup:
    """A section: its chart, and its blocks behind it; without a chart the blocks stand open."""
    chart, blocks = _parts(section, diagnosis, facts, limits)
    written = Markup("".join(block_html(block) for block in blocks))
    behind = tag("details", tag("summary", text("Numbers")), written) if chart and blocks else written
    return tag("section", tag("h2", text(section.title), id=anchor(section.title)), chart, behind, aria_labelledby=anchor(section.title))


def _parts(section: Section, diagnosis: Diagnosis, facts: Facts | None, limits: Limits) -> tuple[Markup, Sequence[Block]]:
    match section.title:
        case "Verdict":
            return join((figures(diagnosis), shrink_chart(diagnosis))), section.blocks
        case "What to do":
            return actions_chart(diagnosis), (actions_table(diagnosis),) if diagnosis.actions else section.blocks
        case "What was tried":
            return tried_chart(diagnosis), section.blocks
        case "How long it really takes" if diagnosis.ground_truth is not None:
            return latency_section(diagnosis, facts), (*section.blocks, *latency_table(facts))
        case "Where the time goes":
            return where_section(diagnosis), section.blocks
        case "Operators" if diagnosis.operators:
            return _operators(diagnosis, facts, limits.operators)
        case _:
            return NOTHING, section.blocks


def _operators(diagnosis: Diagnosis, facts: Facts | None, most: int) -> tuple[Markup, Sequence[Block]]:
    first, rest = ranked(diagnosis.operators, most)
    points = plotted(first)
    main = diagnosis.bottleneck.where.operator if diagnosis.bottleneck else None
    device = facts.device if facts is not None else None
    missing = main is not None and all(point.operator.name != main for point in points)
    said = _roofline_note(len(first), len(points), len(rest), roofs=device is not None, missing=missing)
    drawn = (
        tag("figure", tag("figcaption", text("roofline")), tag("p", text(said), class_="sub"), wide(roofline_chart(points, device, main)))
        if points
        else tag("p", text("No operator has a place on a roofline: none is known with arithmetic, bytes and time together."), class_="sub")
    )
    tables: list[Block] = [*disturbed(diagnosis), operator_table(first, most)]
    if points and device is not None:
        tables.append(roof_table((*peak_roofs(device, [point.operator for point in points]), *memory_roofs(device))))
    if rest:
        tables.append(by_kind(rest))
    return join((drawn, operator_bars(first, main))), [*tables, *partition_blocks(diagnosis)]


def _roofline_note(shown: int, points: int, summed: int, *, roofs: bool, missing: bool) -> str:
    parts = ["Area is the share of the time; the arrow leads to the roof that limits the operator. Point at one, or focus it and use the arrow keys."]
    if not roofs:
        parts.append("The roofs of the machine are not part of this diagnosis.")
    named = ", among them the one that the verdict names" if missing else ""
    if points < shown:
        parts.append(f"{shown - points} of {shown} operators have no place here: they only move data, or their work or time is not known{named}.")
    if summed:
        parts.append(f"{summed} more that take less time are summed by kind in the table.")
    return " ".join(parts)


def _left_out(summed: int, cut: Sequence[str]) -> Markup:
    notes = [*cut, *([f"{summed} operators summed by kind"] if summed > 0 else [])]
    if not notes:
        return NOTHING
    said = f"To stay small this page leaves out: {'; '.join(notes)}. The JSON of the run has all of it."
    return tag("section", tag("h2", text("Left out")), tag("p", text(said)))
