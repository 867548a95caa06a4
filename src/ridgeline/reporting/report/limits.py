"""What a report leaves out so that it stays small, and what it says about it: nothing goes missing without a word.

The whole is always in the JSON. Operators are ranked by time, the first are shown, the rest is summed by kind.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from ridgeline.core import Diagnosis, OperatorSummary

from ..page import Column, Table, count, seconds, share, words
from ..text import ELLIPSIS
from .scale import finite

__all__ = ["OPERATORS_SHOWN", "bounded", "by_kind", "ranked"]

#: Operators with a line and a point of their own.
OPERATORS_SHOWN = 300
_MOST_TEXT = 600
_MOST_ITEMS = 300
_MOST_KINDS = 100


def ranked(operators: Sequence[OperatorSummary]) -> tuple[tuple[OperatorSummary, ...], tuple[OperatorSummary, ...]]:
    """The operators that take the most time, and all others."""
    ordered = sorted(operators, key=lambda operator: -(operator.total_s if operator.total_s is not None and finite(operator.total_s) else -1.0))
    return tuple(ordered[:OPERATORS_SHOWN]), tuple(ordered[OPERATORS_SHOWN:])


def by_kind(operators: Sequence[OperatorSummary]) -> Table:
    """The operators without a line of their own, summed by kind, the longest first."""
    kinds: dict[str, list[OperatorSummary]] = {}
    for operator in operators:
        kinds.setdefault(operator.kind, []).append(operator)
    totals = sorted(((kind, len(own), _sum(own, "calls"), _sum(own, "total_s"), _sum(own, "share")) for kind, own in kinds.items()), key=_longest)
    titles = ("kind", "operators", "calls", "time", "share")
    return Table(
        caption=f"the {len(operators)} operators that take less, summed by kind",
        columns=tuple(Column(title=title, right=title != "kind") for title in titles),
        rows=tuple(
            (words(kind), count(number), count(calls), seconds(time, reason="not timed"), share(part, "not timed"))
            for kind, number, calls, time, part in totals[:_MOST_KINDS]
        ),
        note=f"{len(totals) - _MOST_KINDS} more kinds in the JSON." if len(totals) > _MOST_KINDS else "",
    )


def _longest(total: tuple[str, int, float | None, float | None, float | None]) -> float:
    return -(total[3] or 0.0)


def _sum(operators: Sequence[OperatorSummary], field: str) -> float | None:
    known = [value for operator in operators if finite(value := getattr(operator, field))]
    return sum(known) if known else None


def bounded(diagnosis: Diagnosis) -> tuple[Diagnosis, tuple[str, ...]]:
    """The diagnosis with long texts shortened in the middle and long lists cut, and what was done; operators are `ranked`'s business."""
    cut: dict[str, int] = {}
    shorter = _bounded(msgspec.structs.replace(diagnosis, operators=()), "", cut)
    operators = tuple(_bounded(operator, "operators", cut) for operator in diagnosis.operators)
    said = [
        f"{number} text{'s' if number != 1 else ''} of more than {_MOST_TEXT} characters shortened"
        if name == "text"
        else f"{number} more under {name.replace('_', ' ')}"
        for name, number in cut.items()
    ]
    return msgspec.structs.replace(shorter, operators=operators), tuple(said)


def _bounded(value: Any, name: str, cut: dict[str, int]) -> Any:
    if isinstance(value, str):
        return _shortened(value, cut)
    if isinstance(value, tuple):
        if len(value) > _MOST_ITEMS:
            cut[name] = cut.get(name, 0) + len(value) - _MOST_ITEMS
        return tuple(_bounded(item, name, cut) for item in value[:_MOST_ITEMS])
    if isinstance(value, dict):
        if len(value) > _MOST_ITEMS:
            cut[name] = cut.get(name, 0) + len(value) - _MOST_ITEMS
        return {_bounded(key, name, cut): _bounded(item, name, cut) for key, item in list(value.items())[:_MOST_ITEMS]}
    if isinstance(value, msgspec.Struct):
        fields = {field: getattr(value, field) for field in value.__struct_fields__}
        changed = {field: after for field, before in fields.items() if (after := _bounded(before, field, cut)) is not before and after != before}
        return msgspec.structs.replace(value, **changed) if changed else value
    return value


def _shortened(value: str, cut: dict[str, int]) -> str:
    if len(value) <= _MOST_TEXT:
        return value
    cut["text"] = cut.get("text", 0) + 1
    half = (_MOST_TEXT - 1) // 2
    return f"{value[:half]}{ELLIPSIS}{value[-half:]}"
