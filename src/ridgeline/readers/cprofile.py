"""The statistics of cProfile and profile: calls and times of every Python function, and of each from each of its callers.

This module decides what the numbers are: calls with recursion and without, own time, time with everything called. The file is a marshalled dictionary
(Lib/pstats.py of CPython). How calls become stacks is `call_graph`'s business; the table is exact.
"""

from __future__ import annotations

import math
from typing import Any

from ridgeline.core import Caution, Profile, ProfileRow, ProfileTable, Stacks

from .call_graph import CallGraph
from .marshalled import MarshalError, unmarshalled
from .source import Source
from .stacking import LeftOut

__all__ = ["CProfile"]

_Site = tuple[str, int, str]
_BUILT_IN = "~"


class CProfile:
    """Reads `python -m cProfile -o FILE`."""

    format = "cprofile"
    title = "cProfile statistics (pstats)"

    def recognises(self, source: Source) -> int:
        """By a marshalled dictionary whose first key is a tuple of file, line and function."""
        head = source.head
        if head[:1] not in (b"{", b"\xfb") or head[1:2] not in (b"(", b")", b"\xa8", b"\xa9"):
            return 0
        try:
            first = unmarshalled(head[1:])
        except (MarshalError, ValueError):
            return 0
        return 95 if _is_site(first) else 0

    def read(self, source: Source) -> Profile:
        """Read all functions.

        Raises:
            ReadError: damaged (with the byte), or no function in it.
        """
        try:
            found = unmarshalled(source.data)
        except (MarshalError, ValueError) as error:
            raise source.damaged("statistics of cProfile", str(error)) from error
        left_out = LeftOut()
        rows = _checked(found, left_out)
        if not rows:
            raise source.damaged("statistics of cProfile", "no function in them")
        stacks = _stacks(source, rows, left_out)
        effect = "own times and totals of functions are exact; shares of their callers in the graph are an estimate"
        split = Caution(
            code="split-by-calls", message="the file has calls, not stacks: times are split between callers by their calls", effect=effect
        )
        return Profile(
            format=self.format, files=(source.name,), tool="cProfile", tables=(_table(rows),), stacks=(stacks,) if stacks else (),
            excluded=left_out.listed, warnings=(split,) if stacks else (),
        )  # fmt: skip


class _Row:
    """One function: primitive calls, all calls, own time, total time, and its callers."""

    def __init__(self, values: tuple[Any, ...], callers: dict[Any, Any]) -> None:
        self.primitive, self.calls, self.own_s, self.total_s = int(values[0]), int(values[1]), float(values[2]), float(values[3])
        self.callers = callers


def _is_site(value: Any) -> bool:
    return (
        isinstance(value, tuple) and len(value) == 3 and isinstance(value[0], str) and isinstance(value[2], str)
        and isinstance(value[1], int) and not isinstance(value[1], bool)
    )  # fmt: skip


def _is_numbers(values: Any) -> bool:
    return (
        isinstance(values, tuple) and len(values) >= 4
        and all(isinstance(value, int | float) and math.isfinite(value) and 0 <= value < 2**62 for value in values[:4])
    )  # fmt: skip


def _checked(found: Any, left_out: LeftOut) -> dict[_Site, _Row]:
    rows: dict[_Site, _Row] = {}
    for place, (site, values) in enumerate(found.items() if isinstance(found, dict) else ()):
        if _is_site(site) and _is_numbers(values) and len(values) == 5 and isinstance(values[4], dict):
            rows[site] = _Row(values, values[4])
        else:
            left_out.add("functions whose numbers are none", f"entry {place}")
    return rows


def _table(rows: dict[_Site, _Row]) -> ProfileTable:
    made = [
        ProfileRow(
            name=function, kind="built-in" if file == _BUILT_IN else "python", calls=float(row.calls), total_s=row.total_s, own_s=row.own_s,
            texts={"site": f"{file}:{line}"} if file != _BUILT_IN else {}, numbers={"primitive_calls": float(row.primitive)},
        )
        for (file, line, function), row in rows.items()
    ]  # fmt: skip
    made.sort(key=lambda row: -(row.own_s or 0.0))
    return ProfileTable(rows=tuple(made), of="functions", nested=True)


def _stacks(source: Source, rows: dict[_Site, _Row], left_out: LeftOut) -> Stacks | None:
    graph = CallGraph(source, 1)
    numbers = {}
    for site, row in rows.items():
        file, line, function = site
        own = file == _BUILT_IN
        kind = "native" if own else "python"
        frame = graph.tree.frame(function, file=None if own else file, line=line if 0 < line < 2**31 and not own else None, kind=kind)
        numbers[site] = graph.function(frame)
        graph.add_own(numbers[site], [row.own_s])
    for site, row in rows.items():
        for caller, values in row.callers.items():
            if isinstance(values, int):
                continue  # the pure-Python profiler counts the calls of each caller and does not time them
            if not _is_numbers(values):
                left_out.add("calls whose numbers are none", f"{site[0]}:{site[1]}"[:200])
            elif caller in numbers:
                graph.add_call(numbers[caller], numbers[site], [float(values[3])])
            else:
                left_out.add("calls by functions that the file does not list", f"{site[0]}:{site[1]}"[:200])
    return graph.stacks(0, name="wall", unit="s")
