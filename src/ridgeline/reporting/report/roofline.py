"""The log-log roofline: operators by arithmetic intensity and achieved rate, sized by their share, under the roofs of the machine.

An operator's arrow leads to the roof that the diagnosis judged it by: achieved ÷ f_c is its own arithmetic ceiling, achieved ÷ f_b what its own
bandwidth would allow at its intensity, and the lower of the two limits it. So the drawing cannot disagree with the verdict.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec

from ridgeline.core import Device, OperatorSummary, Quantity
from ridgeline.core.units import format_quantity, format_share

from ..text import shorten, width
from .labels import NAME_CHARACTER, ROOF_CHARACTER, Places, short_name
from .markup import NOTHING, Markup, tag, text
from .roofs import Roof, memory_roofs, peak_roofs
from .scale import Scale, finite, log_scale

__all__ = ["Point", "limiting_roof", "plotted", "roofline_chart"]

WIDTH, HEIGHT = 960.0, 560.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 84.0, 24.0, 64.0, 52.0
_LARGEST, _SMALLEST = 30.0, 3.5
#: Operators that get a name of their own where there is room.
_NAMED = 5
_NAME_COLUMNS = 30


class Point(msgspec.Struct, frozen=True, kw_only=True):
    """An operator as it is drawn: intensity in FLOP/B, rate and limit in FLOP/s, share in 0…1 or null."""

    operator: OperatorSummary
    intensity: float
    rate: float
    share: float | None
    limit: float | None


def limiting_roof(operator: OperatorSummary) -> float | None:
    """The rate in FLOP/s that the nearest of its own ceilings allows: achieved ÷ max(f_c, f_b); `None` where neither is known."""
    achieved = operator.achieved_flop_per_s
    known = [fraction.value for fraction in (operator.f_c, operator.f_b) if fraction is not None]
    fractions = [fraction for fraction in known if finite(fraction) and fraction > 0]
    return achieved.value / max(fractions) if achieved is not None and fractions else None


def plotted(operators: Sequence[OperatorSummary]) -> list[Point]:
    """The operators that have a place on logarithmic axes, the largest share first: those whose arithmetic, bytes and time are known."""
    points = []
    for operator in operators:
        rate = operator.achieved_flop_per_s.value if operator.achieved_flop_per_s is not None else None
        if rate is None or operator.intensity is None or not (_drawable(rate) and _drawable(operator.intensity)):
            continue
        share = operator.share if finite(operator.share) else None
        points.append(Point(operator=operator, intensity=operator.intensity, rate=rate, share=share, limit=limiting_roof(operator)))
    return sorted(points, key=lambda point: -(point.share or 0.0))


def _drawable(value: float) -> bool:
    return finite(value) and 1e-200 < value < 1e200


def roofline_chart(points: Sequence[Point], device: Device | None, main: str | None) -> Markup:
    """The drawing; `main` is the name of the operator that the verdict names, drawn in the accent colour."""
    peaks = peak_roofs(device, [point.operator for point in points]) if device else ()
    memories = memory_roofs(device) if device else ()
    x, y = _scales(points, peaks, memories)
    first = next((point for point in points if point.operator.name == main), None)
    ordered = [point for point in points if point is not first]
    taken = Places(left=_LEFT, top=_TOP, right=WIDTH - _RIGHT, bottom=HEIGHT - _BOTTOM)
    for point in points:
        taken.avoid(x.at(point.intensity), y.at(point.rate))
    named = [point for point in (first, *ordered) if point is not None][:_NAMED]
    for point in named:
        taken.block(x.at(point.intensity), y.at(point.rate), _radius(point))
    # The one that matters chooses its place before the roofs, the others take what is left.
    names = {id(point): _name(point, x, y, taken) for point in named[:1]}
    roofs = _roofs(peaks, memories, x, y, taken)
    names |= {id(point): _name(point, x, y, taken) for point in named[1:]}
    stop = first or (ordered[0] if ordered else None)
    # The large ones first, so that the small ones lie on top and can be pointed at.
    shown = [_operator(point, x, y, names.get(id(point), NOTHING), main=point is first, stop=point is stop) for point in points]
    summary = f"Roofline of {len(points)} operators: arithmetic intensity from left to right, achieved FLOP/s from bottom to top, both logarithmic."
    return tag(
        "svg",
        tag("title", text(summary)),
        _axes(x, y),
        roofs,
        tag("g", *shown, class_="ops"),
        viewBox=f"0 0 {WIDTH:.0f} {HEIGHT:.0f}",
        role="group",
        aria_label=summary,
        class_="chart roofline",
    )


def _scales(points: Sequence[Point], peaks: Sequence[Roof], memories: Sequence[Roof]) -> tuple[Scale, Scale]:
    ridges = [peak.rate / memory.rate for peak in peaks for memory in memories]
    x = log_scale([*(point.intensity for point in points), *ridges], _LEFT, WIDTH - _RIGHT, margin=2.5)
    rates = [*(point.rate for point in points), *(point.limit for point in points[:1] if point.limit)]
    # The slowest memory at the left edge tells the roofs apart; without operators it is all there is.
    lowest = [min(memory.rate for memory in memories) * x.low] if memories and not points else []
    y = log_scale([*rates, *(peak.rate for peak in peaks), *lowest], HEIGHT - _BOTTOM, _TOP, margin=2.2)
    return x, y


def _axes(x: Scale, y: Scale) -> Markup:
    right, bottom = WIDTH - _RIGHT, HEIGHT - _BOTTOM
    parts = []
    for value in x.ticks(9):
        parts.append(tag("line", x1=x.at(value), x2=x.at(value), y1=_TOP, y2=bottom, class_="grid"))
        parts.append(tag("text", text(_plain(value)), x=x.at(value), y=bottom + 20, text_anchor="middle", class_="tick"))
    for value in y.ticks(8):
        parts.append(tag("line", x1=_LEFT, x2=right, y1=y.at(value), y2=y.at(value), class_="grid"))
        parts.append(tag("text", text(_bare(value)), x=_LEFT - 8, y=y.at(value) + 4, text_anchor="end", class_="tick"))
    parts.append(tag("text", text("arithmetic intensity, FLOP/B"), x=right, y=HEIGHT - 8, text_anchor="end", class_="title"))
    parts.append(tag("text", text("achieved, FLOP/s"), x=_LEFT - 76, y=_TOP - 12, class_="title"))
    return tag("g", *parts, class_="axes")


def _plain(value: float) -> str:
    return f"{value:g}"


def _bare(value: float) -> str:
    """A rate on the axis: `100 G`; the axis says the unit."""
    return format_quantity(value, "FLOP/s", 3).removesuffix("FLOP/s").replace(".00", "").replace("0.0 ", "0 ").strip()


def _roofs(peaks: Sequence[Roof], memories: Sequence[Roof], x: Scale, y: Scale, taken: Places) -> Markup:
    highest = {fewest: max((peak.rate for peak in peaks if peak.fewest == fewest), default=y.high) for fewest in (False, True)}
    # The roofs of all threads choose the places of their labels first.
    ordered = sorted(memories, key=lambda memory: memory.fewest)
    parts = [_diagonal(memory, highest[memory.fewest], x, y, taken) for memory in ordered]
    slowest = {fewest: [memory.rate for memory in memories if memory.fewest == fewest] for fewest in (False, True)}
    parts += [_horizontal(peak, max(slowest[peak.fewest] or [0.0]), x, y, taken) for peak in peaks]
    return tag("g", *parts, class_="roofs")


def _horizontal(peak: Roof, fastest: float, x: Scale, y: Scale, taken: Places) -> Markup:
    """A peak, from where the fastest memory of the same threads reaches it."""
    start = x.clipped(peak.rate / fastest) if fastest > 0 else x.start
    height = y.at(peak.rate)
    places = [(x.end - 4 - step, height + offset, "end") for offset in (-6, 15) for step in (0, 90, 180, 270)]
    place = taken.find(peak.label, places, ROOF_CHARACTER, anyway=True)
    return _line(start, height, x.end, height, peak, place)


def _diagonal(memory: Roof, peak: float, x: Scale, y: Scale, taken: Places) -> Markup:
    """A bandwidth, within the plot and up to the peak of the same threads."""
    low = max(x.low, y.low / memory.rate)
    high = min(x.high, peak / memory.rate)
    if high <= low:
        return NOTHING
    x1, y1, x2, y2 = x.at(low), y.at(low * memory.rate), x.at(high), y.at(high * memory.rate)
    place = taken.along(memory.label, (x1, y1), (x2, y2))
    return _line(x1, y1, x2, y2, memory, place)


def _line(x1: float, y1: float, x2: float, y2: float, roof: Roof, label: Markup) -> Markup:
    kind = "roof fewest" if roof.fewest else "roof"
    return tag("g", tag("title", text(roof.label)), tag("line", x1=x1, y1=y1, x2=x2, y2=y2), label, class_=kind)


def _radius(point: Point) -> float:
    # The area is the share, so that twice the time is twice the ink.
    return max(_SMALLEST, _LARGEST * math.sqrt(min(1.0, max(0.0, point.share or 0.0))))


def _name(point: Point, x: Scale, y: Scale, taken: Places) -> Markup:
    radius = _radius(point)
    label = short_name(point.operator.name, _NAME_COLUMNS)
    left, right = x.at(point.intensity) - radius - 5, x.at(point.intensity) + radius + 5
    # Centred below, as far as the edge of the plot allows.
    centre = min(x.at(point.intensity) + width(label) * NAME_CHARACTER / 2, x.end - 2)
    middle, below = y.at(point.rate) + 4, y.at(point.rate) + radius + 15
    beside = [(right, middle, "start"), (left, middle, "end"), *([(right, below, "start")] if radius < 10 else [])]
    return taken.find(label, [*beside, *((centre, below + step, "end") for step in (0, 14, 28)), (left, below, "end")], NAME_CHARACTER)


def _operator(point: Point, x: Scale, y: Scale, name: Markup, *, main: bool, stop: bool) -> Markup:
    spoken = f"{point.operator.name}: {readout(point)}"
    cx, cy = x.at(point.intensity), y.at(point.rate)
    circle = tag("circle", tag("title", text(spoken)), cx=cx, cy=cy, r=_radius(point))
    said = tag(
        "g",
        tag("text", text(shorten(point.operator.name, 100)), x=_LEFT + 60, y=18.0, class_="name"),
        tag("text", text(readout(point)), x=_LEFT + 60, y=36.0),
        class_="readout",
    )
    # One stop of the tab key for all of them; the arrow keys go on from there.
    return tag(
        "g",
        circle,
        _arrow(point, cx, cy, y),
        name,
        said,
        class_="op main" if main else "op",
        tabindex="0" if stop else "-1",
        role="img",
        aria_label=spoken,
    )


def _arrow(point: Point, cx: float, cy: float, y: Scale) -> Markup:
    """From the operator to its limiting roof; only the roof's mark where the operator already touches it or lies above."""
    if point.limit is None or not _drawable(point.limit):
        return NOTHING
    top = min(max(y.at(point.limit), _TOP), HEIGHT - _BOTTOM)
    mark = tag("line", x1=cx - 9, x2=cx + 9, y1=top, y2=top, class_="cap")
    if cy - top < 14:
        return tag("g", mark, class_="arrow")
    head = tag("path", d=f"M{cx:.1f} {top + 1:.1f}l-5 9h10z", class_="head")
    return tag("g", tag("line", x1=cx, x2=cx, y1=cy, y2=top + 8), mark, head, class_="arrow")


def readout(point: Point) -> str:
    """What is said of an operator that is pointed at: its share of the time, and what it reached in FLOP/s and of its ceilings."""
    operator = point.operator
    parts = [
        f"{format_share(point.share)} of the time" if point.share is not None else "share not known",
        f"{point.intensity:.3g} FLOP/B",
        format_quantity(point.rate, "FLOP/s"),
        *(f"{name} {_fraction(value)}" for name, value in (("f_c", operator.f_c), ("f_b", operator.f_b)) if value is not None),
        f"bound: {operator.bound}",
    ]
    return " · ".join(parts)


def _fraction(value: Quantity) -> str:
    return f"{value.value:.2f} [{value.low:.2f}, {value.high:.2f}]" if finite(value.value) else "—"
