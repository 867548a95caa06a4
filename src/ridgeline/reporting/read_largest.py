"""What takes most in a profile that no finding is about: functions of stacks, operators of a timeline without devices, rows of a table.

Words only; what it is worth to change, a diagnosis of the program says.
"""

from __future__ import annotations

from ridgeline.core import OperatorUse, ProfileTable, ReadReport
from ridgeline.core.units import format_quantity, format_share

from .text import shorten

__all__ = ["largest_part", "outside_rows"]

#: Columns of a name in the headline, and rows that are work of a model or functions.
_NAME, _WORK = 72, ("operators", "layers", "kernels", "functions")
#: Less than this of the wall outside the rows is not worth a word.
_LEAST_OUTSIDE = 0.1


def largest_part(report: ReadReport) -> str:
    """`NAME takes most: …` with its share and its own time; empty where devices, counters of kernels or nothing at all was recorded."""
    if report.devices or (report.kernels is not None and report.kernels.replayed):
        return ""
    if report.frames and report.frames[0].own > 0:
        return _function(report)
    return _operator(report) or _row(report)


def outside_rows(report: ReadReport) -> str:
    """The part of the wall of a call that no row of its table has, in words; empty where that is little, or no wall is known."""
    walls = [table for table in report.tables if table.per_call and not table.nested and table.wall_s]
    table = max(walls, key=lambda one: one.wall_s or 0.0, default=None)
    if table is None or not table.wall_s:
        return ""
    left_s = table.wall_s - sum(row.total_s for row in table.rows)
    if left_s / table.wall_s < _LEAST_OUTSIDE:
        return ""
    took = f"{format_share(left_s / table.wall_s)} of the wall of a call ({format_quantity(left_s, 's')} of {format_quantity(table.wall_s, 's')})"
    return f"{took} lies outside the rows of its table, and they do not show why"


def _function(report: ReadReport) -> str:
    top = report.frames[0]
    of = "time" if report.unit == "s" else "bytes" if report.unit == "B" else report.measure or "samples"
    took = f" ({format_quantity(top.own, report.unit)})" if report.unit in ("s", "B") else ""
    return (
        f"{shorten(top.function, _NAME)} takes most: {format_share(top.own_share)} of the {of}{took} {'ends' if of == 'time' else 'end'} in it itself"
    )


def _operator(report: ReadReport) -> str:
    """Of a timeline; where its first iterations are judged apart, typical calls are compared and not their sum."""
    kinds = {use.kind for use in report.operators}
    chosen = [use for use in report.operators if use.kind == ("operator" if "operator" in kinds else use.kind) and use.kind != "wait"]
    own = {use: _typical_s(use) if report.judged else use.own_s for use in chosen}
    whole_s = sum(own.values())
    if whole_s <= 0:
        return ""
    top = max(chosen, key=lambda use: own[use])
    what = "all operators" if top.kind == "operator" else "all events"
    took = f"{format_quantity(top.median_s, 's')} a call" if report.judged else format_quantity(top.own_s, "s")
    which = "the typical time of " if report.judged else "the own time of "
    return f"{shorten(top.name, _NAME)} takes most: {format_share(own[top] / whole_s)} of {which}{what} ({took})"


def _typical_s(use: OperatorUse) -> float:
    """As if every call took what the one in the middle takes, of which its own part counts."""
    return use.median_s * use.calls * (use.own_s / use.total_s if use.total_s > 0 else 0.0)


def _row(report: ReadReport) -> str:
    tables = [table for table in report.tables if table.of in _WORK and not table.within and table.rows]
    if not tables:
        return ""
    table = max(tables, key=lambda one: len(one.rows))
    own = _own_s(table)
    whole_s, top = sum(own), max(range(len(own)), key=lambda index: own[index])
    if whole_s <= 0:
        return ""
    row = table.rows[top]
    kind = f" ({row.kind})" if row.kind and row.kind not in row.name else ""
    took = f"{format_quantity(own[top], 's')}{' of a call' if table.per_call else ''}"
    return f"{shorten(row.name, _NAME)}{kind} takes most: {format_share(own[top] / whole_s)} of the {len(own)} rows ({took})"


def _own_s(table: ProfileTable) -> list[float]:
    return [row.own_s if table.nested and row.own_s is not None else row.total_s for row in table.rows]
