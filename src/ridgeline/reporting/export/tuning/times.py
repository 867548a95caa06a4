"""Seconds as the milliseconds of other tools, such that reading them gives the same seconds where there is such a number."""

from __future__ import annotations

import math
from collections.abc import Iterable

__all__ = ["exact_in", "in_unit"]


def in_unit(seconds: float, per_s: float) -> float:
    """The number that, divided by `per_s`, is these seconds; where no number is, the nearest.

    >>> in_unit(0.0123, 1000.0)
    12.3
    """
    near = seconds * per_s
    return next((each for each in (near, math.nextafter(near, 0.0), math.nextafter(near, math.inf)) if each / per_s == seconds), near)


def exact_in(seconds: Iterable[float], per_s: float) -> bool:
    """Whether reading gives the same seconds of all of them."""
    return all(in_unit(each, per_s) / per_s == each for each in seconds)
