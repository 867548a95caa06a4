"""The report of a tuning as one HTML file: the curve of the best so far, every trial as a line over the parameters, what each is worth.

Everything is inlined, nothing requested. Decides what is drawn; the words and tables are those of `tuned_page`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from ridgeline.core import Trial, TuneReport
from ridgeline.core.units import format_quantity

from ..blocks import block_html
from ..page import Page, Section
from ..text import shorten
from ..tuned_page import tuned_page, value_text
from .markup import NOTHING, Markup, join, tag, text
from .scale import Scale, linear_scale, log_scale
from .shell import anchor, asset, contents, document, wide
from .verdict import headline

__all__ = ["curve_chart", "front_chart", "importance_chart", "parallel_chart", "tuned_report_html"]

_WIDTH, _LEFT, _RIGHT, _TOP, _BOTTOM = 760.0, 92.0, 24.0, 28.0, 48.0
_CURVE_HEIGHT, _PARALLEL_HEIGHT, _BAR = 320.0, 380.0, 26.0
#: Lines that are drawn: the best, and of the others evenly over their order; values that an axis names.
_MOST_LINES, _MOST_NAMED = 400, 12
_MOST_BARS = 14
_STYLE = Markup(
    ".trial { fill: none; stroke: var(--fill); stroke-width: 1; stroke-opacity: .35; }\n"
    ".trial.good { stroke: var(--ink); stroke-opacity: .55; }\n"
    ".trial.best { stroke: var(--accent); stroke-width: 2.6; stroke-opacity: 1; }\n"
    ".steps { fill: none; stroke: var(--accent); stroke-width: 2; }\n"
    ".span { stroke: var(--ink); stroke-width: 1.4; }\n"
)


def tuned_report_html(report: TuneReport, trials: Sequence[Trial] = ()) -> str:
    """The whole file.

    Args:
        trials: of the record, in the order of their ends; without them the curve has no points and no lines are drawn.
    """
    found = tuned_page(report)
    drawn = {
        "Front": _figure("every configuration that ran, and the front", front_chart(report, trials)),
        "Search": join(
            (_figure("best so far", curve_chart(report, trials)), _figure("every configuration that ran", parallel_chart(report, trials)))
        ),
        "Importance": _figure("what each parameter is worth", importance_chart(report)),
    }
    first, *rest = found.sections
    sections = [_section(first, NOTHING), contents(found.sections, first.title), *(_section(each, drawn.get(each.title, NOTHING)) for each in rest)]
    return document(found, _masthead(found, report), sections, asset("report.js"), _STYLE)


def curve_chart(report: TuneReport, trials: Sequence[Trial] = ()) -> Markup:
    """Best so far over the number of trials, a point for each trial."""
    points = [
        (float(place + 1), trial.objective.value)
        for place, trial in enumerate(trials)
        if trial.objective is not None and _drawable(trial.objective.value)
    ]
    lowest, steps = math.inf, list[tuple[float, float]]()
    for at, value in points or [(float(each.evaluations), each.objective) for each in report.curve]:
        lowest = min(lowest, value)
        steps.append((at, lowest))
    if not steps:
        return NOTHING
    values = [value for _, value in (*points, *steps)]
    x = linear_scale([0.0, max(1.0, steps[-1][0])], _LEFT, _WIDTH - _RIGHT)
    y = _objective_scale(values, _CURVE_HEIGHT - _BOTTOM, _TOP)
    first, last = (format_quantity(value, report.unit) for value in (steps[0][1], lowest))
    summary = f"Best so far over {len(points) or len(report.curve)} trials, from {first} to {last}."
    dots = [tag("circle", cx=x.at(at), cy=y.clipped(value), r=2.2, class_="bin", fill_opacity=0.6) for at, value in points]
    corners = [(x.at(steps[0][0]), y.clipped(steps[0][1]))]
    for at, value in steps[1:]:
        corners += [(x.at(at), corners[-1][1]), (x.at(at), y.clipped(value))]
    line = tag("polyline", points=" ".join(f"{a:.1f},{b:.1f}" for a, b in corners), class_="steps")
    axes = [_across(y, report.unit, _WIDTH - _RIGHT), *_below(x, _CURVE_HEIGHT - _BOTTOM)]
    names = tag("text", text("trials"), x=_WIDTH - _RIGHT, y=_CURVE_HEIGHT - 10, text_anchor="end", class_="title")
    return _svg(_CURVE_HEIGHT, summary, tag("g", *axes, names, class_="axes"), tag("g", *dots), line)


def front_chart(report: TuneReport, trials: Sequence[Trial] = ()) -> Markup:
    """The second objective over the first: a dot for each trial, the front as steps with its points; nothing with one objective."""
    front = report.front
    if front is None or not front.points:
        return NOTHING
    metric = {"time": "time_s", "memory": "peak_memory_bytes", "energy": "energy_j"}.get(front.objectives[1], "")
    seen = [(trial.objective.value, trial.metrics[metric]) for trial in trials if trial.objective is not None and metric in trial.metrics]
    seen = [(a, b) for a, b in seen if _drawable(a) and _drawable(b)]
    corners = sorted((point.values[0], point.values[1]) for point in front.points)
    x = _objective_scale([a for a, _ in (*seen, *corners)], _LEFT, _WIDTH - _RIGHT)
    y = _objective_scale([b for _, b in (*seen, *corners)], _CURVE_HEIGHT - _BOTTOM, _TOP)
    dots = [tag("circle", cx=x.clipped(a), cy=y.clipped(b), r=2.2, class_="bin", fill_opacity=0.6) for a, b in seen]
    marks = [tag("circle", cx=x.clipped(a), cy=y.clipped(b), r=4.0, class_="bin main") for a, b in corners]
    steps = [(x.clipped(corners[0][0]), y.clipped(corners[0][1]))]
    for a, b in corners[1:]:
        steps += [(x.clipped(a), steps[-1][1]), (x.clipped(a), y.clipped(b))]
    # Three objectives have points that lie above the steps of two.
    line = tag("polyline", points=" ".join(f"{a:.1f},{b:.1f}" for a, b in steps), class_="steps") if len(front.objectives) == 2 else NOTHING
    at = _CURVE_HEIGHT - _BOTTOM + 20
    below = [
        tag("text", text(format_quantity(value, front.units[0], 3)), x=x.at(value), y=at, text_anchor="middle", class_="tick") for value in x.ticks(6)
    ]
    names = [
        tag("text", text(front.objectives[0]), x=_WIDTH - _RIGHT, y=_CURVE_HEIGHT - 10, text_anchor="end", class_="title"),
        tag("text", text(front.objectives[1]), x=_LEFT, y=_TOP - 12, text_anchor="start", class_="title"),
    ]
    summary = f"{front.objectives[1]} over {front.objectives[0]}: {len(seen)} trials, {len(corners)} configurations on the front."
    axes = tag("g", _across(y, front.units[1], _WIDTH - _RIGHT), *below, *names, class_="axes")
    return _svg(_CURVE_HEIGHT, summary, axes, tag("g", *dots), line, *marks)


def parallel_chart(report: TuneReport, trials: Sequence[Trial]) -> Markup:
    """Each configuration that ran as a line over the parameters and its objective; the best in the accent colour."""
    lowest = _lowest_of_each(trials)
    if len(lowest) < 2:
        return NOTHING
    parameters = report.space.parameters
    ordered = sorted(lowest, key=lambda each: each[1])
    kept = [*ordered[:20], *ordered[20 :: max(1, -(-(len(ordered) - 20) // _MOST_LINES))]]
    top, bottom = _TOP + 22, _PARALLEL_HEIGHT - 24.0
    y = _objective_scale([value for _, value in lowest], bottom, top)
    step = (_WIDTH - _LEFT - 40.0) / len(parameters)
    width = max(_WIDTH, _LEFT + 40.0 + 64.0 * len(parameters))
    step = max(step, 64.0)
    places = {each.name: {(type(value), value): place for place, value in enumerate(each.values)} for each in parameters}
    lines = []
    for trial, value in reversed(kept):
        corners = [f"{_LEFT:.1f},{y.clipped(value):.1f}"]
        for number, parameter in enumerate(parameters, 1):
            there = parameter.name in trial.config
            at = places[parameter.name].get((type(trial.config[parameter.name]), trial.config[parameter.name])) if there else None
            if at is not None:
                corners.append(f"{_LEFT + number * step:.1f},{_at(at, len(parameter.values), top, bottom):.1f}")
        best = report.best is not None and trial.config == report.best.config
        kind = "trial best" if best else "trial good" if value <= 1.1 * ordered[0][1] else "trial"
        lines.append(tag("polyline", points=" ".join(corners), class_=kind))
    axes = [_across(y, report.unit, _LEFT)]
    for number, parameter in enumerate(parameters, 1):
        axes.append(_axis(parameter.name, [value_text(value) for value in parameter.values], _LEFT + number * step, top, bottom))
    summary = (
        f"{len(kept)} of {len(lowest)} configurations that ran as lines over {len(parameters)} parameters; dark ones are within a tenth of the best."
    )
    return _svg(_PARALLEL_HEIGHT, summary, tag("g", *lines), tag("g", *axes, class_="axes"), width=width)


def importance_chart(report: TuneReport) -> Markup:
    """A bar for each parameter and pair with its interval."""
    shares = report.importance.shares[:_MOST_BARS]
    if not shares:
        return NOTHING
    left = 230.0
    height = _TOP + _BAR * len(shares) + 34.0
    x = linear_scale([0.0, max(each.high for each in shares)], left, _WIDTH - _RIGHT)
    rows = []
    for place, each in enumerate(shares):
        middle = _TOP + _BAR * (place + 0.5)
        rows.append(tag("text", text(shorten(" × ".join(each.parameters), 30)), x=left - 10, y=middle + 4, text_anchor="end", class_="tick"))
        rows.append(
            tag("rect", x=left, y=middle - 8, width=max(0.5, x.at(each.share) - left), height=16.0, class_="bar main" if place == 0 else "bar")
        )
        rows.append(tag("line", x1=x.at(each.low), x2=x.at(each.high), y1=middle, y2=middle, class_="span"))
    ticks = [tag("text", text(f"{100 * value:.3g} %"), x=x.at(value), y=height - 12, text_anchor="middle", class_="tick") for value in x.ticks(6)]
    return _svg(height, "Share of the variance that each parameter accounts for, with intervals at 90 %.", tag("g", *rows, *ticks, class_="axes"))


def _lowest_of_each(trials: Sequence[Trial]) -> list[tuple[Trial, float]]:
    found: dict[str, tuple[Trial, float]] = {}
    for trial in trials:
        if trial.objective is not None and _drawable(trial.objective.value):
            key = repr(sorted(trial.config.items()))
            # The latest: that of the finals, which is not the lucky one.
            found[key] = (trial, trial.objective.value)
    return list(found.values())


def _drawable(value: float) -> bool:
    return math.isfinite(value) and 1e-200 < value < 1e200


def _objective_scale(values: Sequence[float], start: float, end: float) -> Scale:
    """Linear where all lie within a factor of three, else logarithmic."""
    return linear_scale(values, start, end) if max(values) < 3.0 * min(values) else log_scale(values, start, end, margin=1.05)


def _across(y: Scale, unit: str, right: float) -> Markup:
    parts = []
    for value in y.ticks(6):
        parts.append(tag("line", x1=_LEFT, x2=right, y1=y.at(value), y2=y.at(value), class_="grid"))
        parts.append(tag("text", text(format_quantity(value, unit, 3)), x=_LEFT - 8, y=y.at(value) + 4, text_anchor="end", class_="tick"))
    return join(parts)


def _below(x: Scale, bottom: float) -> list[Markup]:
    return [tag("text", text(f"{value:g}"), x=x.at(value), y=bottom + 20, text_anchor="middle", class_="tick") for value in x.ticks(8)]


def _at(place: int, count: int, top: float, bottom: float) -> float:
    return (top + bottom) / 2 if count < 2 else bottom - (bottom - top) * place / (count - 1)


def _axis(name: str, values: Sequence[str], x: float, top: float, bottom: float) -> Markup:
    parts = [
        tag("line", x1=x, x2=x, y1=top, y2=bottom, class_="grid"),
        tag("text", tag("title", text(name)), text(shorten(name, 12)), x=x, y=top - 12, text_anchor="middle", class_="title"),
    ]
    every = max(1, -(-len(values) // _MOST_NAMED))
    for place in range(0, len(values), every):
        parts.append(tag("text", text(shorten(values[place], 9)), x=x + 5, y=_at(place, len(values), top, bottom) + 4, class_="tick"))
    return join(parts)


def _svg(height: float, summary: str, *parts: Markup, width: float = _WIDTH) -> Markup:
    return tag("svg", tag("title", text(summary)), *parts, viewBox=f"0 0 {width:.0f} {height:.0f}", role="img", aria_label=summary, class_="chart")


def _figure(title: str, chart: Markup) -> Markup:
    return tag("figure", tag("figcaption", text(title)), wide(chart)) if chart else NOTHING


def _section(section: Section, chart: Markup) -> Markup:
    written = join(Markup(block_html(block)) for block in section.blocks)
    behind = tag("details", tag("summary", text("Numbers")), written) if chart else written
    return tag("section", tag("h2", text(section.title), id=anchor(section.title)), chart, behind, aria_labelledby=anchor(section.title))


def _masthead(found: Page, report: TuneReport) -> Markup:
    switch = tag("button", text("Dark"), type="button", id="theme", aria_pressed="false", hidden=True)
    line = tag("div", tag("span", text("ridgeline"), class_="brand"), switch, class_="line")
    return tag("header", line, tag("h1", text(report.target), dir="auto"), tag("p", text(report.machine), class_="sub"), headline(found))
