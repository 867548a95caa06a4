"""Operators that were repeated outside the target (`Facts.relayouts`): which repetitions stand for the operator inside it, and their ratio."""

from __future__ import annotations

from collections.abc import Iterator

from ridgeline.core import Quantity, Relayout, quotient

from .case import Case

__all__ = ["IN_TILES", "standing"]

#: The layout of a repetition on one small part again and again.
IN_TILES = "in tiles"
#: A repetition stands for the operator in the target when both take about as long.
_AS_LONG = (0.4, 2.5)


def standing(case: Case) -> Iterator[tuple[Relayout, Quantity]]:
    """Repetitions that take about as long as their operator in the target, with the ratio of as-is to changed."""
    for tried in case.facts.relayouts or ():
        if not 0 <= tried.operator < len(case.judged) or tried.changed_s.low <= 0 or tried.as_is_s.low <= 0:
            continue
        taken = case.judged[tried.operator].row.total_s.value
        if taken > 0 and _AS_LONG[0] <= tried.as_is_s.value / taken <= _AS_LONG[1]:
            yield tried, quotient(tried.as_is_s, tried.changed_s, "1", origin=f"repeated outside the target, {tried.executions} executions")
