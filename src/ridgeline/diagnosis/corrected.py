"""Times of operators under a profile that costs about the same for each of them: what it added to the wall, taken off again in equal parts.

An instrument that wraps every operator makes the small ones look dear and hardly touches the large ones. Where it added no more than the call
itself takes, the cost of one record is (instrumented wall − ground truth) ÷ operators, and each operator's time lies between its profile minus
twice that and its profile. A small operator's interval then reaches zero, which is the truth about it; a large one's hardly widens.
"""

from __future__ import annotations

import msgspec

from ridgeline.core import Facts, OperatorRow, Quantity

__all__ = ["corrected_rows", "cost_of_a_record"]

#: Beyond twice the ground truth the profile is mostly its own cost, and nothing can be taken off it.
_LARGEST_RATIO = 2.0


def cost_of_a_record(facts: Facts, wall_s: float) -> float | None:
    """Seconds that the profile added for each operator; `None` where it added nothing or too much.

    Args:
        facts: with operators.
        wall_s: median wall of the ground truth, seconds.
    """
    table = facts.operators
    calls = sum(row.calls for row in table.rows) if table is not None else 0.0
    if table is None or calls <= 0 or not 0 < wall_s < table.wall_s.value <= _LARGEST_RATIO * wall_s:
        return None
    return (table.wall_s.value - wall_s) / calls


def corrected_rows(facts: Facts, wall_s: float) -> tuple[OperatorRow, ...] | None:
    """The operator rows without the cost of their records, in the same order; `None` where that cost is not known."""
    cost_s = cost_of_a_record(facts, wall_s)
    if cost_s is None or facts.operators is None:
        return None
    return tuple(_without(row, cost_s * row.calls) for row in facts.operators.rows)


def _without(row: OperatorRow, cost_s: float) -> OperatorRow:
    time = row.total_s
    # A record can cost a small operator no more than it was seen to take; a twentieth keeps the time above zero.
    value = max(time.value - cost_s, time.value / 20)
    return msgspec.structs.replace(
        row,
        total_s=Quantity(
            value=value,
            low=min(value, max(time.low - 2 * cost_s, time.low / 20)),
            high=max(value, time.high),
            confidence=time.confidence,
            unit="s",
            source=time.source,
            origin=f"{time.origin}, less the cost of its record",
        ),
    )
