"""From the readings of one number to its Quantity: the best that is sustained, not the average of what the neighbours left.

Disturbance only ever takes away, so a ceiling lies at the good end of the readings. The value is the second best of five or more readings (one lucky
reading does not make a ceiling), else the best. The interval runs from the median to the best; its confidence is that of the distribution-free
interval for the better quartile: with B ~ Binomial(n, 3/4) readings below it, the order statistics k and n enclose it with probability
P(k ≤ B ≤ n − 1) (David and Nagaraja, Order Statistics, 3rd ed., section 7.1).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ridgeline.core import Quantity

__all__ = ["AGREEMENT", "Summary", "agree", "summarise"]

#: Readings agree when the better half of them lies within this share of the best.
AGREEMENT = 0.10
_QUARTILE = 0.75


@dataclass(frozen=True, kw_only=True)
class Summary:
    """The quantity, the relative spread (max − min) ÷ median of all readings, and whether the better half agrees."""

    quantity: Quantity
    spread: float
    stable: bool


def summarise(readings: Sequence[float], *, unit: str, lower_is_better: bool, origin: str) -> Summary:
    """Summarise n ≥ 1 positive, finite readings in `unit`.

    >>> summarise([9.0, 10.0, 10.1, 4.0, 10.2], unit="B/s", lower_is_better=False, origin="").quantity.value
    10.1
    """
    best_last = sorted(readings, reverse=lower_is_better)
    count = len(best_last)
    value = best_last[-2] if count >= 5 else best_last[-1]
    # The worse of the two middle readings where n is even: the interval errs to the wide side.
    middle = (count + 1) // 2
    ends = sorted((best_last[middle - 1], best_last[-1]))
    quantity = Quantity(
        value=value,
        low=ends[0],
        high=ends[1],
        confidence=_coverage(middle, count),
        unit=unit,
        source="measured",
        origin=f"{origin}; {count} readings" if origin else f"{count} readings",
    )
    return Summary(quantity=quantity, spread=_spread(best_last), stable=agree(readings, lower_is_better=lower_is_better))


def agree(readings: Sequence[float], *, lower_is_better: bool) -> bool:
    """Whether at least two readings were taken and the better half of them lies within `AGREEMENT` of the best."""
    best_last = sorted(readings, reverse=lower_is_better)
    if len(best_last) < 2:
        return False
    best, middle = best_last[-1], best_last[(len(best_last) - 1) // 2]
    return abs(best - middle) <= AGREEMENT * max(best, middle)


def _spread(ordered: Sequence[float]) -> float:
    median = (ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]) / 2
    return abs(ordered[-1] - ordered[0]) / median


def _coverage(lowest: int, count: int) -> float:
    """P(lowest ≤ B ≤ count − 1), B ~ Binomial(count, 3/4); a single reading encloses nothing, which is written as 1 %."""
    chance = math.fsum(math.comb(count, below) * _QUARTILE**below * (1 - _QUARTILE) ** (count - below) for below in range(lowest, count))
    return min(1.0, max(0.01, chance))
