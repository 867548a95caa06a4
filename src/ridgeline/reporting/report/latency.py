"""The latency of one call: a histogram over an ECDF on one axis, with the median and p99 marked through both.

Decides the bins and where the axis ends. The statistics are those of the diagnosis; nothing is estimated a second time here.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from ridgeline.core import GroundTruth, Samples
from ridgeline.core.budget import Budget
from ridgeline.core.units import format_quantity

from ..page import Column, Table, seconds, share
from .markup import NOTHING, Markup, join, tag, text
from .scale import Scale, finite, linear_scale

__all__ = ["Distribution", "distribution", "latency_chart", "quantile_table"]

_WIDTH, _LEFT, _RIGHT = 960.0, 64.0, 24.0
_TOP, _HISTOGRAM, _GAP, _ECDF, _BOTTOM = 44.0, 200.0, 26.0, 130.0, 40.0
_MOST_BINS, _FEWEST_BINS, _MOST_STEPS = 80, 8, 400
# The axis ends with the last call within 1.6 times this quantile's distance from the fastest: one call of a second must not press a thousand
# of a millisecond into one bin.
_AXIS_QUANTILE = 0.995
_NEAR = 1.6
_QUANTILES = (0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99, 0.999, 1.0)


class Distribution(msgspec.Struct, frozen=True, kw_only=True):
    """Samples as they are drawn.

    Args:
        edges_s: ends of the bins in seconds, shape (bins + 1,).
        counts: samples in each bin, shape (bins,).
        steps_s, shares: the ECDF: `shares[i]` of the samples took at most `steps_s[i]` seconds.
        samples: all of them.
        beyond: samples slower than the axis.
        slowest_s: the slowest of all, seconds.
    """

    edges_s: tuple[float, ...]
    counts: tuple[int, ...]
    steps_s: tuple[float, ...]
    shares: tuple[float, ...]
    samples: int
    beyond: int
    slowest_s: float


def distribution(samples: Samples | None) -> Distribution | None:
    """Bins and ECDF of the samples; `None` where fewer than two were taken.

    The width of a bin is 2·IQR·n^(−1/3) within 8 to 80 bins. Source: D. Freedman, P. Diaconis, "On the histogram as a density estimator",
    Zeitschrift für Wahrscheinlichkeitstheorie 57, 1981.
    """
    wall_s = np.sort(samples.wall_s.values.astype(float)) if samples is not None else np.array([])
    if len(wall_s) < 2:
        return None
    end = _axis_end(wall_s)
    inside = wall_s[wall_s <= end]
    counts, edges = np.histogram(inside, bins=_bins(inside))
    # At most so many steps, always with both ends; rank r of n is the share r ÷ n.
    ranks = np.unique(np.linspace(1, len(inside), min(len(inside), _MOST_STEPS)).round().astype(int))
    return Distribution(
        edges_s=tuple(edges.tolist()),
        counts=tuple(int(count) for count in counts),
        steps_s=tuple(inside[ranks - 1].tolist()),
        shares=tuple((ranks / len(wall_s)).tolist()),
        samples=len(wall_s),
        beyond=len(wall_s) - len(inside),
        slowest_s=float(wall_s[-1]),
    )


def quantile_table(samples: Samples) -> Table:
    """Order statistics of the samples, without intervals: what the curve shows, in numbers."""
    wall_s = samples.wall_s.values.astype(float)
    values = np.quantile(wall_s, _QUANTILES, method="inverted_cdf")
    rows = tuple((share(part), seconds(float(value))) for part, value in zip(_QUANTILES, values, strict=True))
    columns = (Column(title="share of samples", right=True), Column(title="took at most", right=True))
    return Table(caption=f"order statistics of {len(wall_s)} samples", columns=columns, rows=rows)


def _axis_end(wall_s: NDArray[np.float64]) -> float:
    most = float(np.quantile(wall_s, _AXIS_QUANTILE, method="higher"))
    reach = float(wall_s[0]) + _NEAR * (most - float(wall_s[0]))
    return float(wall_s[wall_s <= max(reach, most)][-1])


def _bins(wall_s: NDArray[np.float64]) -> int:
    spread = float(np.quantile(wall_s, 0.75) - np.quantile(wall_s, 0.25))
    width = 2.0 * spread / len(wall_s) ** (1 / 3)
    reach = float(wall_s[-1] - wall_s[0])
    if 0 < reach < 2 * _MOST_BINS * float(np.spacing(wall_s[-1])):
        return 1  # between neighbouring numbers there is no edge to put
    return min(_MOST_BINS, max(_FEWEST_BINS, math.ceil(reach / width))) if width > reach * 1e-6 else _FEWEST_BINS


def latency_chart(found: Distribution, truth: GroundTruth | None, budget: Budget | None = None) -> Markup:
    """Histogram and ECDF as one drawing; times in seconds are written with their unit."""
    x = linear_scale((found.edges_s[0], found.edges_s[-1], *_marked_times(found, truth)), _LEFT, _WIDTH - _RIGHT)
    height = _TOP + _HISTOGRAM + _GAP + _ECDF + _BOTTOM
    summary = f"Histogram and cumulative distribution of {found.samples} samples from {_time(found.edges_s[0])} to {_time(found.slowest_s)}."
    return tag(
        "svg",
        tag("title", text(summary)),
        _histogram(found, x),
        _ecdf(found, x),
        _marks(truth, budget, x),
        _time_axis(x, height - _BOTTOM),
        viewBox=f"0 0 {_WIDTH:.0f} {height:.0f}",
        role="img",
        aria_label=summary,
        class_="chart latency",
    )


def _marked_times(found: Distribution, truth: GroundTruth | None) -> list[float]:
    # The p99 is shown even where the axis would end before it, unless it is far out.
    reach = found.edges_s[0] + _NEAR * (found.edges_s[-1] - found.edges_s[0])
    return [truth.p99_s] if truth and truth.p99_s is not None and finite(truth.p99_s) and truth.p99_s <= reach else []


def _time(seconds: float) -> str:
    return format_quantity(seconds, "s") if finite(seconds) else "—"


def _histogram(found: Distribution, x: Scale) -> Markup:
    y = Scale(low=0.0, high=float(max(found.counts)), start=_TOP + _HISTOGRAM, end=_TOP)
    bins = [
        tag(
            "rect",
            tag("title", text(f"{count} samples from {_time(low)} to {_time(high)}")),
            x=x.at(low) + 0.5,
            y=y.at(count),
            width=max(x.at(high) - x.at(low) - 1.0, 0.5),
            height=y.start - y.at(count),
            class_="bin",
        )
        for low, high, count in zip(found.edges_s, found.edges_s[1:], found.counts, strict=False)
        if count
    ]
    title = tag("text", text("samples"), x=_LEFT - 8, y=_TOP + 4, class_="tick", text_anchor="end")
    most = tag("text", text(str(max(found.counts))), x=_LEFT - 8, y=_TOP + 20, class_="tick", text_anchor="end")
    return join((*bins, title, most, tag("line", x1=_LEFT, x2=_WIDTH - _RIGHT, y1=y.start, y2=y.start, class_="axis")))


def _ecdf(found: Distribution, x: Scale) -> Markup:
    top = _TOP + _HISTOGRAM + _GAP
    y = Scale(low=0.0, high=1.0, start=top + _ECDF, end=top)
    places = [f"M{x.at(found.steps_s[0]):.1f} {y.at(0.0):.1f}"]
    for step_s, reached in zip(found.steps_s, found.shares, strict=True):
        places.append(f"H{x.at(step_s):.1f}V{y.at(reached):.1f}")
    lines = [
        join(
            (
                tag("line", x1=_LEFT, x2=_WIDTH - _RIGHT, y1=y.at(share), y2=y.at(share), class_="grid"),
                tag("text", text(f"{share * 100:g} %"), x=_LEFT - 8, y=y.at(share) + 4, class_="tick", text_anchor="end"),
            )
        )
        for share in (0.0, 0.5, 0.99)
    ]
    return join((*lines, tag("path", d="".join(places), class_="ecdf")))


def _marks(truth: GroundTruth | None, budget: Budget | None, x: Scale) -> Markup:
    if truth is None:
        return NOTHING
    marks = [_mark("p50", truth.median_s, truth.median_ci_s, x, "main")]
    if truth.p99_s is not None:
        marks.append(_mark("p99", truth.p99_s, truth.p99_ci_s, x, ""))
    if budget is not None:
        marks.append(_mark("budget", budget.limit_s, None, x, "budget", above=26.0))
    return join(marks)


def _mark(name: str, seconds: float, interval: Sequence[float] | None, x: Scale, kind: str, above: float = 10.0) -> Markup:
    """A line through both charts with its name and time on top; one that lies beyond the axis is left out (the note says its time)."""
    if not finite(seconds) or not x.holds(seconds):
        return NOTHING
    place, bottom = x.at(seconds), _TOP + _HISTOGRAM + _GAP + _ECDF
    band = NOTHING
    if interval is not None and all(finite(end) for end in interval):
        left, right = x.clipped(interval[0]), x.clipped(interval[1])
        band = tag("rect", x=left, y=_TOP, width=max(right - left, 1.0), height=bottom - _TOP, class_=f"band {kind}")
    # The median is named on its left, the p99 on its right, so that the two never meet.
    anchor = "end" if place > _WIDTH * 0.85 or (kind == "main" and place > _LEFT + 110) else "start"
    label = tag("text", text(f"{name} {_time(seconds)}"), x=place + (-6 if anchor == "end" else 6), y=_TOP - above, text_anchor=anchor)
    return tag("g", band, tag("line", x1=place, x2=place, y1=_TOP - above - 12, y2=bottom, class_="mark"), label, class_=f"marked {kind}")


def _time_axis(x: Scale, y: float) -> Markup:
    ticks = [
        tag("text", text(format_quantity(value, "s") if value else "0 s"), x=x.at(value), y=y + 18, class_="tick", text_anchor="middle")
        for value in x.ticks(6)
    ]
    title = tag("text", text("time of one call"), x=_WIDTH - _RIGHT, y=y + 36, class_="title", text_anchor="end")
    return join((*ticks, title))
