"""Scales: from a value to a place on the page, and where the ticks stand. Knows nothing of what is drawn."""

from __future__ import annotations

import math
from collections.abc import Iterable

import msgspec

__all__ = ["Scale", "finite", "linear_scale", "log_scale"]


def finite(value: float | None) -> bool:
    """Whether there is a number that can be drawn; value in any unit."""
    return value is not None and math.isfinite(value)


class Scale(msgspec.Struct, frozen=True, kw_only=True):
    """A linear or logarithmic map from [low, high] in the unit of the data to [start, end] in units of the drawing.

    Args:
        low, high: ends of the data, low < high; above 0 where logarithmic.
        start, end: their places; end < start turns it round, as for a vertical axis.
        logarithmic: equal factors take equal room.
    """

    low: float
    high: float
    start: float
    end: float
    logarithmic: bool = False

    def at(self, value: float) -> float:
        """The place of a value, in units of the drawing; outside [low, high] it goes on."""
        part = (value - self.low) / (self.high - self.low)
        if self.logarithmic:
            part = (math.log(value) - math.log(self.low)) / (math.log(self.high) - math.log(self.low))
        return self.start + part * (self.end - self.start)

    def holds(self, value: float) -> bool:
        """Whether a value in the unit of the data lies on the axis."""
        return self.low <= value <= self.high

    def clipped(self, value: float) -> float:
        """The place of the nearest value on the axis, in units of the drawing."""
        return self.at(min(max(value, self.low), self.high))

    def ticks(self, about: int = 6) -> tuple[float, ...]:
        """Round values on the axis: powers of ten (thinned to `about`) where logarithmic, else multiples of 1, 2 or 5 × 10ⁿ; a count."""
        return _decades(self.low, self.high, about) if self.logarithmic else _multiples(self.low, self.high, about)


def linear_scale(values: Iterable[float], start: float, end: float) -> Scale:
    """A linear scale that just holds `values` (any unit); a single value gets room on both sides."""
    low, high = _ends(values)
    if high <= low:
        margin = abs(low) * 0.05 or 1.0
        low, high = low - margin, high + margin
    return Scale(low=low, high=high, start=start, end=end)


def log_scale(values: Iterable[float], start: float, end: float, *, margin: float = 1.0) -> Scale:
    """A logarithmic scale over the positive ones among `values` (any unit), `margin` (a factor ≥ 1) wider at both ends."""
    low, high = _ends(value for value in values if value > 0)
    low, high = (low, high) if low > 0 else (1.0, 10.0)
    low, high = max(low / margin, 1e-300), min(high * margin, 1e300)
    if high < low * 10:
        # Less than a decade would have no two ticks.
        middle = math.sqrt(low) * math.sqrt(high)
        low, high = middle / math.sqrt(10), middle * math.sqrt(10)
    return Scale(low=low, high=high, start=start, end=end, logarithmic=True)


def _ends(values: Iterable[float]) -> tuple[float, float]:
    known = [value for value in values if finite(value)]
    return (min(known), max(known)) if known else (0.0, 0.0)


def _decades(low: float, high: float, about: int) -> tuple[float, ...]:
    first, last = math.ceil(math.log10(low) - 1e-9), math.floor(math.log10(high) + 1e-9)
    step = max(1, math.ceil((last - first + 1) / max(1, about)))
    return tuple(10.0**power for power in range(first, last + 1, step))


def _multiples(low: float, high: float, about: int) -> tuple[float, ...]:
    rough = (high - low) / max(1, about)
    power = 10.0 ** math.floor(math.log10(rough))
    step = next((factor * power for factor in (1.0, 2.0, 5.0) if factor * power >= rough), 10 * power)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return tuple(index * step for index in range(first, last + 1))
