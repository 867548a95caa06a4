"""Sizes from numbers between 0 and 1: evenly in the logarithm, and half of them as networks have them, which loops of a runtime fit.

A point of a space-filling sequence is read one number after the other; what needs a choice takes one, so that choices are spread like sizes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeVar

__all__ = ["Point"]

T = TypeVar("T")
#: Multiples on which numbers of channels and features stand, as often as here; below 0 numbers of so many binary digits behind the first.
_MULTIPLES = (1, 4, 8, 16, 16, 32, 32, 64, -1, -1, -1, -1, -2, -2)


class Point:
    """A point of the unit cube, read from its first coordinate to its last."""

    def __init__(self, values: Sequence[float]) -> None:
        self._values, self._next = values, 0

    def number(self) -> float:
        """The next coordinate, in [0, 1)."""
        value = self._values[self._next]
        self._next += 1
        return min(float(value), math.nextafter(1.0, 0.0))

    def pick(self, *choices: T) -> T:
        """One of the choices."""
        return choices[int(self.number() * len(choices))]

    def size(self, low: int, high: int) -> int:
        """A whole number, even in its logarithm."""
        return min(high, max(low, round(low * math.exp(math.log(high / low) * self.number()))))

    def width(self, low: int, high: int) -> int:
        """A number of channels or features: on a multiple, of which it takes a second coordinate."""
        value, multiple = self.size(low, high), self.pick(*_MULTIPLES)
        if multiple < 0:
            return min(high, max(low, _digits(value, -multiple)))
        return max(multiple if multiple <= high else 1, value // multiple * multiple)

    def usual(self, low: int, high: int) -> int:
        """A whole number, every other one of two binary digits, such as 64, 96, 128; of which it takes a second coordinate."""
        value, digits = self.size(low, high), self.pick(0, 1)
        return min(high, max(low, _digits(value, digits))) if digits else value

    def blocked(self, low: int, high: int, block: int = 16) -> int:
        """A number of channels that fills blocks, every other one of two or three binary digits; of which it takes a second coordinate."""
        value, digits = self.size(low, high), self.pick(0, 0, 0, 1, 1, 2)
        return max(1, round((_digits(value, digits) if digits else value) / block)) * block

    def side(self, high: int = 320) -> int:
        """A side of an image: those that halvings of usual inputs lead to, or any."""
        return self.pick(7, 14, 28, 56, 112, 13, 26, 52, 10, 20, 40, 80, 12, 24, 48, 160, *((self.size(1, high),) * 6))


def _digits(value: int, behind: int) -> int:
    """The nearest number of so many binary digits behind the first."""
    step = 1 << max(0, value.bit_length() - 1 - behind)
    return round(value / step) * step
