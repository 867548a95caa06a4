"""The median of a few numbers, for processes that cannot afford to import `statistics`: with its fractions and random numbers it takes longer to
load than everything else that a measured process needs of ours."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["median"]


def median(values: Iterable[float]) -> float:
    """The middle of the values, the mean of both where they are even in number.

    Raises:
        IndexError: there are none.

    >>> median([3, 1, 2]), median([4, 1])
    (2.0, 2.5)
    """
    ordered = sorted(values)
    half = len(ordered) // 2
    return float(ordered[half]) if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2
