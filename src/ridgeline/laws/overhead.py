"""Time outside the operators: the gap between wall clock and operators, and costs that come once an operator.

Nothing is clamped: operators that overlap sum to more than the wall, and the gap is then negative and says so. Which intervals count as
operators (their union, not their sum, where they run side by side) is the caller's business.
"""

from __future__ import annotations

from ._checks import non_negative, positive

__all__ = ["gap", "gap_share", "per_operator_cost", "per_operator_share"]


def gap(*, wall: float, operators: float) -> float:
    """wall − operators in s.

    Args:
        wall: wall clock of the same calls from which the operators were taken, s, > 0.
        operators: union of the operator intervals, s, ≥ 0.

    Raises:
        UsageError: a number out of its range.

    >>> round(gap(wall=11.4e-3, operators=6.2e-3) * 1e3, 1)
    5.2
    """
    positive(wall=wall)
    non_negative(operators=operators)
    return wall - operators


def gap_share(*, wall: float, operators: float) -> float:
    """(wall − operators) ÷ wall.

    >>> round(gap_share(wall=11.4e-3, operators=6.2e-3), 2)
    0.46
    """
    return gap(wall=wall, operators=operators) / wall


def per_operator_cost(*, operators: float, cost: float) -> float:
    """n × c in s: what n dispatches, hand-offs or instrumented operators cost together.

    Args:
        operators: n per call, ≥ 0.
        cost: seconds for each, ≥ 0.

    Raises:
        UsageError: a number out of its range.

    >>> round(per_operator_cost(operators=300, cost=20e-6) * 1e3, 6)
    6.0
    """
    non_negative(operators=operators, cost=cost)
    return operators * cost


def per_operator_share(*, operators: float, cost: float, wall: float) -> float:
    """n × c ÷ wall, relative to a wall clock without that cost; above 1 it more than doubles the time.

    >>> round(per_operator_share(operators=300, cost=10e-6, wall=8e-3), 3)
    0.375
    """
    positive(wall=wall)
    return per_operator_cost(operators=operators, cost=cost) / wall
