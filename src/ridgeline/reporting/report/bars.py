"""Bars that stand in lines of text: a label, a bar on a common axis, its number. Text stays text, so that it wraps, prints and is read aloud.

Two forms: parts of a whole, each beginning where the one before ended, and intervals beside a line that marks no change.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

import msgspec

from .markup import NOTHING, Markup, join, tag, text
from .scale import Scale, log_scale

__all__ = ["Bar", "Interval", "IntervalRow", "bars", "gain_drawing", "interval_axis", "interval_rows", "interval_scale"]

# Units of the drawing; the page stretches it to the room there is.
_WIDTH = 1000.0
_HEIGHT = 20.0


class Bar(msgspec.Struct, frozen=True, kw_only=True):
    """One bar.

    Args:
        label: its name.
        length: of the bar, a share of the axis in 0…1.
        value: its number as text.
        start: where it begins, a share of the axis.
        note: a remark behind it.
        main: whether it is the one to look at.
        depth: how far its label is set in, as for nested stages.
    """

    label: str
    length: float
    value: str
    start: float = 0.0
    note: str = ""
    main: bool = False
    depth: int = 0


class Interval(msgspec.Struct, frozen=True, kw_only=True):
    """A gain from `low` to `high` as factors, promised (drawn hollow) or found (drawn filled)."""

    low: float
    high: float
    kind: Literal["promised", "found"]


class IntervalRow(msgspec.Struct, frozen=True, kw_only=True):
    """A label, one or two intervals on the common axis, and a number with remarks as text."""

    label: str
    intervals: tuple[Interval, ...]
    value: str
    note: str = ""


def bars(rows: Sequence[Bar], label: str) -> Markup:
    """A list of bars on one axis from 0 to 1."""
    return tag("ul", *(_bar(row) for row in rows), class_="bars", aria_label=label)


def _bar(row: Bar) -> Markup:
    start, end = (min(max(_number(value), 0.0), 1.0) for value in (row.start, row.start + row.length))
    # A sliver stays visible: what is not nothing must not look like nothing.
    width = max((end - start) * _WIDTH, 2.0 if row.length > 0 else 0.0)
    rect = tag("rect", x=min(start * _WIDTH, _WIDTH - width), y=0.0, width=width, height=_HEIGHT, class_="bar main" if row.main else "bar")
    track = tag("line", x1=0.0, x2=_WIDTH, y1=_HEIGHT - 0.5, y2=_HEIGHT - 0.5, class_="track")
    return tag(
        "li",
        tag("bdi", text(row.label), class_="label", title=row.label, style=f"padding-left:{row.depth}em" if row.depth else None),
        _drawing(track, rect),
        tag("span", text(row.value), class_="value"),
        tag("span", text(row.note), class_="note"),
        class_="main" if row.main else None,
    )


def _number(value: float) -> float:
    return value if math.isfinite(value) else 0.0


def _drawing(*children: Markup) -> Markup:
    return tag("svg", *children, viewBox=f"0 0 {_WIDTH:.0f} {_HEIGHT:.0f}", preserveAspectRatio="none", aria_hidden="true")


def interval_scale(rows: Sequence[IntervalRow]) -> Scale:
    """The common axis of gains: logarithmic factors around 1, so that twice as fast and half as fast lie equally far from no change."""
    ends = [end for row in rows for interval in row.intervals for end in (interval.low, interval.high) if 1e-6 < end < 1e6]
    low, high = min([*ends, 1.0]), max([*ends, 1.0])
    scale = log_scale((low, high), 0.0, _WIDTH)
    room = (high / low) ** 0.06 * 1.02
    return Scale(low=low / room, high=high * room, start=scale.start, end=scale.end, logarithmic=True)


def interval_axis(scale: Scale) -> Markup:
    """The ticks of the gains, as a line of the list."""
    ticks = [factor for factor in _factors(scale) if scale.holds(factor)]
    labels = join(
        tag("span", text(f"{factor:g}×"), style=f"left:{scale.at(factor) / _WIDTH * 100:.1f}%", class_="one" if factor == 1 else None)
        for factor in ticks
    )
    return tag("li", tag("span"), tag("span", labels, class_="ticks"), tag("span"), tag("span"), class_="axis", aria_hidden="true")


def _factors(scale: Scale) -> tuple[float, ...]:
    span = scale.high / scale.low
    if span > 30:
        return (0.01, 0.1, 1.0, 10.0, 100.0, 1000.0, 10000.0)
    if span > 4:
        return (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0)
    return (0.6, 0.8, 1.0, 1.25, 1.5, 2.0, 2.5, 3.0, 4.0) if span > 1.3 else (0.9, 0.95, 1.0, 1.05, 1.1, 1.2)


def interval_rows(rows: Sequence[IntervalRow], label: str, scale: Scale | None = None) -> Markup:
    """A list of gains on one axis, with its ticks below."""
    scale = scale or interval_scale(rows)
    return tag("ul", *(_interval_row(row, scale) for row in rows), interval_axis(scale), class_="bars gains", aria_label=label)


def _interval_row(row: IntervalRow, scale: Scale) -> Markup:
    return tag(
        "li",
        tag("bdi", text(row.label), class_="label", title=row.label),
        gain_drawing(row.intervals, scale),
        tag("span", text(row.value), class_="value"),
        tag("span", text(row.note), class_="note"),
    )


def gain_drawing(intervals: Sequence[Interval], scale: Scale) -> Markup:
    """Intervals one below the other beside the line of no change."""
    one = tag("line", x1=scale.at(1.0), x2=scale.at(1.0), y1=0.0, y2=_HEIGHT, class_="one")
    # What was found stands in the lower half, with or without a promise above it; promises alone take the whole height.
    shared = any(interval.kind == "found" for interval in intervals)
    room = _HEIGHT / 2 if shared else _HEIGHT
    drawn = [_interval(one, scale, room * (0.15 + (one.kind == "found")), room * 0.7) for one in intervals]
    return _drawing(one, *drawn)


def _interval(interval: Interval, scale: Scale, top: float, height: float) -> Markup:
    if not (interval.low > 0 and interval.high >= interval.low):
        return NOTHING
    left, right = scale.clipped(interval.low), scale.clipped(interval.high)
    width = max(right - left, 3.0)
    return tag("rect", x=min(left, _WIDTH - width), y=top, width=width, height=height, class_=interval.kind)
