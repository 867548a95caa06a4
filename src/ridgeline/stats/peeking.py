"""Looking before the end: at which numbers of processes a comparison may be judged, and how strictly, so that the whole keeps its error rate.

Who stops a benchmark as soon as it looks significant is wrong far more often than the level says. Here the error rate is an amount to be spent:
each look costs the part by which the spending has risen since the look before, and the parts add up to the whole. That bound needs nothing of how
the looks depend on each other (Bonferroni), so it holds for any test. Source: K. Lan, D. DeMets, "Discrete sequential boundaries", Biometrika 70,
1983; the power family of spending functions: K. Kim, D. DeMets, Biometrika 74, 1987.
"""

from __future__ import annotations

import math

import msgspec

from ..core.errors import UsageError
from ._checks import confidence_level

__all__ = ["Look", "looks"]

#: Under 1 the early looks get most of the error rate, above it the last one; 1.5 stops soon on a large effect and loses little on a small one.
_POWER = 1.5
#: Sizes grow by this factor: a look between would cost error rate and tell little.
_GROWTH = 1.4
#: The last look but one leaves at least this factor to the last.
_ROOM = 1.2


class Look(msgspec.Struct, frozen=True, kw_only=True):
    """One time at which the processes so far are judged.

    Args:
        processes: of each side.
        confidence: of the interval that is read now; it is narrower than nothing only if the sizes allow such a confidence.
    """

    processes: int
    confidence: float


def looks(most: int, least: int = 5, confidence: float = 0.97) -> tuple[Look, ...]:
    """When to look, up to `most` processes a side; the chance of one false alarm over all looks is at most 1 − confidence.

    Args:
        most: processes of each side at the last look.
        least: processes of each side at the first look, 1 ≤ least ≤ most.
        confidence: of the whole, in (0, 1).

    Raises:
        UsageError: sizes out of order, or a confidence out of range.

    >>> [(look.processes, round(look.confidence, 4)) for look in looks(10)]
    [(5, 0.9894), (7, 0.993), (10, 0.9876)]
    """
    confidence_level(confidence)
    if not 1 <= least <= most:
        raise UsageError("1 ≤ least ≤ most processes", found=f"{least} and {most}", remedy="give sizes in order")
    sizes = [least]
    while sizes[-1] < most:
        larger = max(sizes[-1] + 1, math.floor(sizes[-1] * _GROWTH))
        # A look just before the last one would leave next to nothing for it.
        sizes.append(larger if larger * _ROOM < most else most)
    whole = 1 - confidence
    spent = [whole * (size / most) ** _POWER for size in sizes]
    return tuple(Look(processes=size, confidence=1 - (now - before)) for size, now, before in zip(sizes, spent, [0.0, *spent[:-1]], strict=True))
