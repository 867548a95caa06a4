"""The report of a validation as one HTML file: predicted against measured drawn, its numbers beside, everything inlined, nothing requested.

Both axes have one scale, so that the diagonal is where a prediction is right; the lines beside it are off by two. Decides what is drawn; the words
and tables are those of `validation_page`.
"""

from __future__ import annotations

import math

from ridgeline.core import ValidationReport
from ridgeline.core.units import format_quantity

from ..blocks import block_html
from ..page import Page, Section
from ..text import shorten
from ..validation_page import validation_page
from .markup import NOTHING, Markup, join, tag, text
from .scale import Scale, finite, log_scale
from .shell import anchor, asset, contents, document, wide
from .verdict import headline

__all__ = ["validation_chart", "validation_report_html"]

_WIDTH, _HEIGHT = 760.0, 640.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 92.0, 24.0, 40.0, 56.0
_RADIUS, _WORST_RADIUS = 2.4, 4.5
_OFF = 2.0


def validation_report_html(report: ValidationReport) -> str:
    """The whole file; every point that is drawn is in the document of the report, the figures stand in tables."""
    found = validation_page(report)
    first, *rest = found.sections
    chart = tag(
        "figure", tag("figcaption", text("predicted against measured")), tag("p", text(_said(report)), class_="sub"), wide(validation_chart(report))
    )
    sections = [_section(first), contents(found.sections, first.title), _drawn(chart), *(_section(section) for section in rest)]
    return document(found, _masthead(found, report), sections, asset("report.js"))


def validation_chart(report: ValidationReport) -> Markup:
    """The drawing: a point for each row (thinned as the report says), the worst cases in the accent colour with their names."""
    points = [
        (float(measured), float(predicted)) for measured, predicted in zip(report.measured_s.values, report.predicted_s.values, strict=True)
        if _drawable(float(measured)) and _drawable(float(predicted))
    ]  # fmt: skip
    worst = [case for case in report.worst if _drawable(case.measured_s) and _drawable(case.predicted_s)]
    values = [value for point in points for value in point] + [value for case in worst for value in (case.measured_s, case.predicted_s)]
    x = log_scale(values, _LEFT, _WIDTH - _RIGHT, margin=1.3)
    y = log_scale(values, _HEIGHT - _BOTTOM, _TOP, margin=1.3)
    seen = [tag("circle", cx=x.at(measured), cy=y.at(predicted), r=_RADIUS, class_="bin", fill_opacity=0.55) for measured, predicted in points]
    summary = f"Predicted against measured seconds of {len(points)} rows, both logarithmic; {len(worst)} worst cases are marked."
    return tag(
        "svg", tag("title", text(summary)), _axes(x, y), _diagonals(x, y), tag("g", *seen), _marked(report, x, y),
        viewBox=f"0 0 {_WIDTH:.0f} {_HEIGHT:.0f}", role="img", aria_label=summary, class_="chart",
    )  # fmt: skip


def _drawable(value: float) -> bool:
    return finite(value) and 1e-200 < value < 1e200


def _axes(x: Scale, y: Scale) -> Markup:
    right, bottom = _WIDTH - _RIGHT, _HEIGHT - _BOTTOM
    parts = []
    for value in x.ticks(8):
        parts.append(tag("line", x1=x.at(value), x2=x.at(value), y1=_TOP, y2=bottom, class_="grid"))
        parts.append(tag("text", text(_tick(value)), x=x.at(value), y=bottom + 20, text_anchor="middle", class_="tick"))
        parts.append(tag("line", x1=_LEFT, x2=right, y1=y.at(value), y2=y.at(value), class_="grid"))
        parts.append(tag("text", text(_tick(value)), x=_LEFT - 8, y=y.at(value) + 4, text_anchor="end", class_="tick"))
    parts.append(tag("text", text("measured"), x=right, y=_HEIGHT - 12, text_anchor="end", class_="title"))
    parts.append(tag("text", text("predicted"), x=12.0, y=_TOP - 16, class_="title"))
    return tag("g", *parts, class_="axes")


def _tick(value: float) -> str:
    return format_quantity(value, "s", 3).replace(".00", "").replace("0.0 ", "0 ")


def _diagonals(x: Scale, y: Scale) -> Markup:
    """Where a prediction is right, and where it is off by two."""
    lines = []
    for factor, kind, label in ((1.0, "roof", ""), (_OFF, "roof fewest", "twice"), (1 / _OFF, "roof fewest", "half")):
        low, high = max(x.low, y.low / factor), min(x.high, y.high / factor)
        if high <= low:
            continue
        line = tag("line", x1=x.at(low), y1=y.at(low * factor), x2=x.at(high), y2=y.at(high * factor))
        end = math.exp(math.log(low) + 0.94 * (math.log(high) - math.log(low)))
        aside, anchored = (-8.0, "end") if factor > 1 else (8.0, "start")
        name = tag("text", text(label), x=x.at(end) + aside, y=y.at(end * factor) + aside, text_anchor=anchored) if label else NOTHING
        lines.append(tag("g", line, name, class_=kind))
    return tag("g", *lines, class_="roofs")


def _marked(report: ValidationReport, x: Scale, y: Scale) -> Markup:
    """The worst cases, the first of them with its name."""
    parts = []
    for rank, case in enumerate(report.worst):
        if not (_drawable(case.measured_s) and _drawable(case.predicted_s)):
            continue
        cx, cy = x.at(case.measured_s), y.at(case.predicted_s)
        spoken = f"{case.what}, {case.device}: predicted {format_quantity(case.predicted_s, 's')}, measured {format_quantity(case.measured_s, 's')}"
        circle = tag("circle", tag("title", text(spoken)), cx=cx, cy=cy, r=_WORST_RADIUS)
        left = cx > (x.start + x.end) / 2
        label = shorten(case.what, 36) if rank == 0 else ""
        name = tag("text", text(label), x=cx + (-8 if left else 8), y=cy + 4, text_anchor="end" if left else "start", class_="label")
        parts.append(tag("g", circle, name if label else NOTHING, class_="op main"))
    return tag("g", *parts)


def _said(report: ValidationReport) -> str:
    drawn = len(report.measured_s)
    part = f"{drawn} of {report.test_rows} rows, evenly in the order of their times" if drawn < report.test_rows else f"all {drawn} rows"
    return f"Each point is a row that the model had not seen ({part}). On the line the prediction is right; the dashed lines are off by two."


def _drawn(chart: Markup) -> Markup:
    title = "Predicted against measured"
    return tag("section", tag("h2", text(title), id=anchor(title)), chart, aria_labelledby=anchor(title))


def _section(section: Section) -> Markup:
    blocks = join(Markup(block_html(block)) for block in section.blocks)
    return tag("section", tag("h2", text(section.title), id=anchor(section.title)), blocks, aria_labelledby=anchor(section.title))


def _masthead(found: Page, report: ValidationReport) -> Markup:
    switch = tag("button", text("Dark"), type="button", id="theme", aria_pressed="false", hidden=True)
    line = tag("div", tag("span", text("ridgeline"), class_="brand"), switch, class_="line")
    where = " · ".join(part for part in (f"held out by {report.held_out}", report.data_version) if part)
    return tag("header", line, tag("h1", text(report.model), dir="auto"), tag("p", text(where), class_="sub"), headline(found))
