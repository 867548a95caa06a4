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

__all__ = ["LIMITS", "Limits", "bounded", "by_kind", "ranked"]

_MOST_KINDS = 100


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """At most so many characters a text, items a list, and operators with a line and a point of their own."""

    text: int
    items: int
    operators: int


#: Tried in this order until the document is small enough: only a record that somebody made to be large needs more than the first.
LIMITS = (Limits(text=600, items=300, operators=300), Limits(text=120, items=100, operators=100), Limits(text=40, items=30, operators=30))


def ranked(operators: Sequence[OperatorSummary], most: int) -> tuple[tuple[OperatorSummary, ...], tuple[OperatorSummary, ...]]:
    """The `most` operators that take the most time, and all others."""
    ordered = sorted(operators, key=lambda operator: -(operator.total_s if operator.total_s is not None and finite(operator.total_s) else -1.0))
    return tuple(ordered[:most]), tuple(ordered[most:])


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


def bounded(diagnosis: Diagnosis, limits: Limits = LIMITS[0]) -> tuple[Diagnosis, tuple[str, ...]]:
    """The diagnosis with long texts shortened in the middle and long lists cut, and what was done; operators are `ranked`'s business."""
    cut: dict[str, int] = {}
    shorter = _bounded(msgspec.structs.replace(diagnosis, operators=()), "", cut, limits)
    operators = tuple(_bounded(operator, "operators", cut, limits) for operator in diagnosis.operators)
    said = [
        f"{number} text{'s' if number != 1 else ''} of more than {limits.text} characters shortened"
        if name == "text"
        else f"{number} more under {name.replace('_', ' ')}"
        for name, number in cut.items()
    ]
    return msgspec.structs.replace(shorter, operators=operators), tuple(said)


def _bounded(value: Any, name: str, cut: dict[str, int], limits: Limits) -> Any:
    if isinstance(value, str):
        return _shortened(value, cut, limits.text)
    if isinstance(value, tuple):
        if len(value) > limits.items:
            cut[name] = cut.get(name, 0) + len(value) - limits.items
        return tuple(_bounded(item, name, cut, limits) for item in value[: limits.items])
    if isinstance(value, dict):
        if len(value) > limits.items:
            cut[name] = cut.get(name, 0) + len(value) - limits.items
        return {_bounded(key, name, cut, limits): _bounded(item, name, cut, limits) for key, item in list(value.items())[: limits.items]}
    if isinstance(value, msgspec.Struct):
        fields = {field: getattr(value, field) for field in value.__struct_fields__}
        after = {field: _bounded(before, field, cut, limits) for field, before in fields.items()}
        changed = {field: new for field, new in after.items() if new is not fields[field] and new != fields[field]}
        return msgspec.structs.replace(value, **changed) if changed else value
    return value


def _shortened(value: str, cut: dict[str, int], most: int) -> str:
    if len(value) <= most:
        return value
    cut["text"] = cut.get("text", 0) + 1
    half = (most - 1) // 2
    return f"{value[:half]}{ELLIPSIS}{value[-half:]}"
