"""`Quantity`: a number that knows its unit, its interval and where it came from.

Ceilings, evidence, predictions, f_c and f_b are all Quantities. This module decides how intervals go through a quotient, product or
sum; which interval a measurement has is decided in `stats`.
"""

from __future__ import annotations

import math
from typing import Literal, get_args

import msgspec

from .errors import UsageError
from .units import BASE_UNITS, format_quantity

__all__ = ["Quantity", "Source", "product", "quotient", "total"]

Source = Literal["measured", "counted", "simulated", "analytic", "learned", "spec", "assumed"]

#: From the surest to the least sure: a combined quantity is only as sure as its weakest part.
_WEAKNESS: tuple[str, ...] = ("measured", "counted", "simulated", "analytic", "spec", "learned", "assumed")

#: Relative error of a few floating-point operations.
_ROUNDING = 1e-12


class Quantity(msgspec.Struct, frozen=True, kw_only=True):
    """A value with unit, interval, confidence, source and origin.

    Args:
        value: the point estimate, finite, in `unit`.
        low, high: ends of the interval, low ≤ value ≤ high (up to rounding, which is taken out). Equal to `value` for an exact count.
        confidence: coverage of the interval in (0, 1]; 1.0 for an exact count or a hard bound.
        unit: one of `ridgeline.core.units.BASE_UNITS`.
        source: how the number was obtained.
        origin: where from, for a person: an instrument, a document, a formula.

    Raises:
        UsageError: a number that is not finite, ends in the wrong order, an unknown unit or source.

    >>> str(Quantity(value=0.0046, low=0.0045, high=0.0048, confidence=0.95, unit="s", source="measured", origin="wall clock"))
    '4.60 ms [4.50 ms, 4.80 ms]'
    """

    value: float
    low: float
    high: float
    confidence: float
    unit: str
    source: Source
    origin: str = ""

    def __post_init__(self) -> None:
        for name in ("value", "low", "high"):
            number = getattr(self, name)
            if not math.isfinite(number):
                raise UsageError(f"Quantity.{name} to be finite", found=repr(number), remedy="leave the quantity out where nothing is known")
        # Ends and value come by different roundings of the same numbers: an end that misses the value by that much is the value.
        slack = _ROUNDING * abs(self.value)
        if self.value < self.low <= self.value + slack:
            msgspec.structs.force_setattr(self, "low", self.value)
        if self.value - slack <= self.high < self.value:
            msgspec.structs.force_setattr(self, "high", self.value)
        if not self.low <= self.value <= self.high:
            raise UsageError(
                "a Quantity with low ≤ value ≤ high", found=f"low={self.low!r} value={self.value!r} high={self.high!r}", remedy="sort the ends"
            )
        if not 0 < self.confidence <= 1:
            raise UsageError("Quantity.confidence to lie in (0, 1]", found=repr(self.confidence), remedy="give the coverage of the interval")
        if self.unit not in BASE_UNITS:
            raise UsageError(f"Quantity.unit to be one of {sorted(BASE_UNITS)}", found=repr(self.unit), remedy="convert to SI first")
        if self.source not in get_args(Source):
            raise UsageError(f"Quantity.source to be one of {get_args(Source)}", found=repr(self.source), remedy="say how the number was obtained")

    @classmethod
    def exact(cls, value: float, unit: str, *, source: Source = "analytic", origin: str = "") -> Quantity:
        """A count or a definition: an interval of no width, confidence 1."""
        return cls(value=value, low=value, high=value, confidence=1.0, unit=unit, source=source, origin=origin)

    def scaled(self, factor: float) -> Quantity:
        """The same quantity times a plain positive number, such as a count of calls."""
        if not factor > 0:
            raise UsageError("Quantity.scaled with a positive factor", found=repr(factor), remedy="negate or drop the quantity instead")
        return msgspec.structs.replace(self, value=self.value * factor, low=self.low * factor, high=self.high * factor)

    def straddles(self, threshold: float) -> bool:
        """Whether the interval lies on both sides of `threshold`, so that a rule must name both."""
        return self.low < threshold <= self.high

    def __str__(self) -> str:
        text = format_quantity(self.value, self.unit)
        if self.low == self.high:
            return text
        return f"{text} [{format_quantity(self.low, self.unit)}, {format_quantity(self.high, self.unit)}]"


def quotient(numerator: Quantity, denominator: Quantity, unit: str, *, origin: str = "") -> Quantity:
    """numerator ÷ denominator, the interval from the extreme quotients (both must be positive; numerator may be 0).

    The result's confidence is max(0, p + q − 1), the Bonferroni lower bound for two intervals holding at once.

    Raises:
        UsageError: a denominator whose interval touches zero.
    """
    if denominator.low <= 0 or numerator.low < 0:
        raise UsageError("a quotient of positive quantities", found=f"{numerator} ÷ {denominator}", remedy="leave the ratio out")
    return Quantity(
        value=numerator.value / denominator.value,
        low=numerator.low / denominator.high,
        high=numerator.high / denominator.low,
        confidence=_joint(numerator, denominator),
        unit=unit,
        source=_weakest(numerator, denominator),
        origin=origin or f"{numerator.origin} ÷ {denominator.origin}",
    )


def product(left: Quantity, right: Quantity, unit: str, *, origin: str = "") -> Quantity:
    """left × right for non-negative quantities; confidence as in `quotient`."""
    if left.low < 0 or right.low < 0:
        raise UsageError("a product of non-negative quantities", found=f"{left} × {right}", remedy="leave the product out")
    return Quantity(
        value=left.value * right.value,
        low=left.low * right.low,
        high=left.high * right.high,
        confidence=_joint(left, right),
        unit=unit,
        source=_weakest(left, right),
        origin=origin or f"{left.origin} × {right.origin}",
    )


def total(parts: list[Quantity], unit: str, *, origin: str = "") -> Quantity:
    """Sum of quantities of one unit. The ends add, as for errors that all lean one way (the careful choice for one machine's noise)."""
    if any(part.unit != unit for part in parts):
        raise UsageError(f"a sum of quantities in {unit}", found=", ".join(sorted({part.unit for part in parts})), remedy="convert first")
    if not parts:
        return Quantity.exact(0.0, unit, origin=origin)
    return Quantity(
        value=math.fsum(part.value for part in parts),
        low=math.fsum(part.low for part in parts),
        high=math.fsum(part.high for part in parts),
        confidence=min(part.confidence for part in parts),
        unit=unit,
        source=_weakest(*parts),
        origin=origin or "sum",
    )


def _joint(left: Quantity, right: Quantity) -> float:
    # Quantity refuses a confidence of 0; two even bets say nothing together, which is written as 1 %.
    # Rounding must not make the pair surer than its weaker part.
    return max(0.01, min(left.confidence, right.confidence, left.confidence + right.confidence - 1.0))


def _weakest(*parts: Quantity) -> Source:
    return max((part.source for part in parts), key=_WEAKNESS.index)
