"""Intervals for a device that nobody measured: how far off the answer was for each known device when it was left out.

This module decides that the unit of luck is the device: rows of one device err together, so that quantiles of all rows say nothing of the next
device. Within each bin of analytical time the low and high quantiles of every device are taken, and the bound is that of the next draw of such a
quantile: mean ± t · s · √(1 + 1 ÷ D) over D devices, but at most 1.2 times the largest that was seen. Where the host decides, under two launch
floors, hosts differ by more than devices do. Source: G. Hahn and W. Meeker, Statistical Intervals (1991), chapter 4 (prediction bound for one more
observation).
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
import numpy as np
from numpy.typing import NDArray

from ridgeline.core import Column, UsageError

from .scaling import damaged

__all__ = ["NEAR_FLOOR", "Reach", "bounds", "reach"]

Floats = NDArray[np.float64]

#: Ends of bins of the analytical time, s.
_EDGES_S = (35e-6, 50e-6, 80e-6, 150e-6, 300e-6, 800e-6, 3e-3, 20e-3)
#: Fewer rows of a device in a bin say too little: all of its rows count there.
_FEWEST = 50
#: A bound is exceeded by one device of twenty.
_SURE = 0.95
#: Below so many launch floors the host counts, and the slowest host that was recorded took e^0.65 times as long as most, the fastest e^−0.3.
NEAR_FLOOR = 2.0
_HOST_LOW, _HOST_HIGH = -0.3, 0.65
_LEAST = 0.02
#: With a handful of devices t is large: beyond so many times the worst device it only says that there are few.
_MOST_OF_WORST = 1.2


class Reach(msgspec.Struct, frozen=True, kw_only=True, tag_field="schema", tag="ridgeline.reach/1"):
    """Low and high end of log(measured ÷ predicted) by bin of analytical time.

    Args:
        level: share of the rows of a device that should lie inside.
        edges_s: K rising ends of bins, s; low, high: (K + 1,); devices: that were left out in turn.

    Raises:
        ReadError: columns of other lengths, or ends that are no numbers in order.
    """

    level: float
    edges_s: Column
    low: Column
    high: Column
    devices: int

    def __post_init__(self) -> None:
        edges, low, high = (column.values for column in (self.edges_s, self.low, self.high))
        if len(low) != len(edges) + 1 or len(high) != len(low) or not all(np.isfinite(values).all() for values in (edges, low, high)):
            raise damaged(f"{len(low)} and {len(high)} bounds of {len(edges)} edges, or one that is not finite")
        if (np.diff(edges) <= 0).any() or (low > 0).any() or (high < 0).any() or not 0 < self.level < 1:
            raise damaged("bounds that are not in order")


def reach(residuals: Mapping[str, tuple[Floats, Floats]], level: float = 0.9) -> Reach:
    """Bounds from what was left over when each device was left out.

    Args:
        residuals: device → log(measured ÷ predicted) and analytical seconds of its rows, (n,) each; at least two devices.
        level: of the interval, in (0, 1).

    Raises:
        UsageError: fewer than two devices with rows.
    """
    from scipy.special import stdtrit  # late: only training needs it

    given = {device: rows for device, rows in residuals.items() if len(rows[0])}
    if len(given) < 2:
        raise UsageError("rows of at least two devices", found=str(len(given)), remedy="measure another device, or do without an interval")
    factor = float(stdtrit(len(given) - 1, _SURE)) * np.sqrt(1 + 1 / len(given))
    ends = []
    for number in range(len(_EDGES_S) + 1):
        quantiles = np.array([_quantiles(*rows, number, level) for rows in given.values()])
        spread = factor * quantiles.std(axis=0, ddof=1)
        worst = _MOST_OF_WORST * max(-quantiles[:, 0].min(), quantiles[:, 1].max())
        low, high = quantiles[:, 0].mean() - spread[0], quantiles[:, 1].mean() + spread[1]
        ends.append((min(max(low, -worst), -_LEAST), max(min(high, worst), _LEAST)))
    low_ends, high_ends = np.array(ends).T
    return Reach(level=level, edges_s=Column(_EDGES_S, "s"), low=Column(low_ends, "1"), high=Column(high_ends, "1"), devices=len(given))


def _quantiles(logs: Floats, analytic_s: Floats, number: int, level: float) -> tuple[float, float]:
    inside = logs[np.digitize(analytic_s, _EDGES_S) == number]
    chosen = inside if len(inside) >= _FEWEST else logs
    low, high = np.quantile(chosen, ((1 - level) / 2, (1 + level) / 2)).tolist()
    return low, high


def bounds(known: Reach, analytic_s: Floats, floors: Floats) -> tuple[Floats, Floats]:
    """Low and high end of log(measured ÷ predicted) of each row, (n,) each.

    Args:
        analytic_s: of the rows, s; floors: seconds of the kernel ÷ the least that a host needs to launch it.
    """
    bins = np.digitize(analytic_s, known.edges_s.values)
    low, high = known.low.values[bins], known.high.values[bins]
    near = floors < NEAR_FLOOR
    return np.where(near, np.minimum(low, _HOST_LOW), low), np.where(near, np.maximum(high, _HOST_HIGH), high)
