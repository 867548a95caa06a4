"""How a slow first call disappears in an average, and how many calls that takes.

The average is honest only for a program that really makes that many calls; one call per session has the first call as its latency.
Formula: Σ = first + (n − 1) steady.
"""

from __future__ import annotations

from fractions import Fraction
from math import floor

from ..core.errors import OutOfRange
from ._checks import counting, positive

__all__ = ["average_time", "calls_until_below"]


def average_time(*, first: float, steady: float, calls: int) -> float:
    """(first + (n − 1) steady) ÷ n in s.

    Args:
        first: time of the first call, s, > 0.
        steady: time of each later call, s, > 0.
        calls: n ≥ 1.

    Raises:
        UsageError: a number out of its range.

    >>> average_time(first=0.340, steady=0.012, calls=1)
    0.34
    """
    positive(first=first, steady=steady)
    counting(calls=calls)
    return (first + (calls - 1) * steady) / calls


def calls_until_below(*, first: float, steady: float, below: float) -> int:
    """The smallest n whose average lies strictly below a limit: the first whole n > (first − steady) ÷ (limit − steady).

    Args:
        first, steady: as `average_time`.
        below: the limit, s.

    Raises:
        OutOfRange: the average never gets there: the steady time is not below the limit (nor the first call).
        UsageError: a number out of its range.

    >>> calls_until_below(first=0.340, steady=0.012, below=0.015)
    110
    """
    positive(first=first, steady=steady, below=below)
    if first < below:
        return 1
    if steady >= below:
        raise OutOfRange(f"a limit above the steady {steady:.4g} s", found=f"{below:.4g} s", remedy="no number of calls averages below it")
    # In decimals, as people write them: (0.340 − 0.012) ÷ (0.020 − 0.012) is 41 exactly, which binary floats put on either side.
    start, level, limit = (Fraction(repr(float(number))) for number in (first, steady, below))
    return floor((start - level) / (limit - level)) + 1
