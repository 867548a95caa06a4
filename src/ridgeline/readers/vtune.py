"""Intel VTune: the CSV of `vtune -report`: functions (hotspots, hw-events, uarch-exploration), call trees (top-down) and the summary.

This module decides which columns are time, which are counts and which are left: `CPU Time` and its parts are seconds, hardware events and plain
numbers are counts, percentages stay numbers of their row as shares. Functions and call trees become stacks by CPU time, or by clockticks where there
is none.
Source: VTune's documentation of its reports and the columns that scripts of others read; unverified, since no file of the tool itself was at hand.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import msgspec

from ridgeline.core import Caution, Column, Counters, Profile, ProfileRow, ProfileTable, Stacks

from .delimited import Columns, Row, RowReader, header_in, table, unverified
from .source import Source
from .stacking import UNKNOWN, LeftOut, StackTree, believable, nothing
from .written_numbers import Deciding, Decimal, number

__all__ = ["Vtune"]

_FUNCTION, _STACK = ("Function", "Source Function", "Function / Call Stack"), "Function Stack"
_EVENT = "Hardware Event Count:"
_TIMES = ("CPU Time:Self", "CPU Time: Self", "CPU Time", "CPU Time:Total", "Effective Time:Self", "Effective Time")
_TICKS = ("Clockticks:Self", "Clockticks", f"{_EVENT}CPU_CLK_UNHALTED.THREAD:Self", f"{_EVENT}CPU_CLK_UNHALTED.THREAD")
_TEXTS = ("Module", "Source File", "Function (Full)", "Start Address", "Package", "Class", "Module Path", "Source Line")
_SUMMARY = ("Hierarchy Level", "Metric Name", "Metric Value")
_SUFFIXES = {"s": 1.0, "ms": 1e3, "us": 1e6, "µs": 1e6}
_SUFFIXED = re.compile(r"(.*[\d.,])\s*(s|ms|us|µs)")
_SCALED = re.compile(r" \(([KMG])\)(?=:|$)")
_FACTORS = {"K": 1e3, "M": 1e6, "G": 1e9}
#: Columns of numbers that a row keeps.
_KEPT = 64
#: Metrics of a summary that are kept, and how long they may be.
_FACTS, _FACT_LENGTH = 500, 300


class Vtune:
    """Reports of VTune as CSV."""

    format = "vtune"
    title = "Intel VTune CSV (vtune -report … -format csv)"

    def recognises(self, source: Source) -> int:
        """By a column of functions beside one of CPU time, clockticks or hardware events, or by the summary's columns."""
        text = source.head_text
        return 80 if header_in(text, _is_functions) or header_in(text, _is_summary) else 0

    def read(self, source: Source) -> Profile:
        """Functions, call trees or the summary; raises `ReadError` where there are none."""
        reader, left_out = RowReader(source), LeftOut()
        columns, rows = table(source, reader, lambda found: _is_functions(found) or _is_summary(found), "columns of a VTune report")
        kept = [row for row in rows if any(row.fields)]
        if _is_summary(columns):
            profile = _summary(source, kept, left_out)
        elif _STACK in columns:
            profile = _tree(source, columns, kept, left_out)
        else:
            profile = _functions(source, columns, kept, left_out)
        return msgspec.structs.replace(profile, excluded=left_out.listed, warnings=(unverified("VTune's CSV"), *profile.warnings, *reader.warnings))


def _is_functions(columns: Columns) -> bool:
    measured = columns.where(*_TIMES, *_TICKS) is not None or any(name.startswith(_EVENT) for name in columns.names)
    return measured and columns.where(*_FUNCTION, _STACK) is not None


def _is_summary(columns: Columns) -> bool:
    return all(name in columns for name in _SUMMARY)


def _decimal(rows: Sequence[Row]) -> Decimal:
    """The tool writes a point; a comma only where the numbers leave no doubt."""
    deciding = Deciding()
    for row in rows:
        for field in row.fields:
            deciding.hear(_plain(field)[0].strip(), row.line)
    return "," if set(deciding.seen) == {","} else "."


def _plain(text: str) -> tuple[str, float]:
    """A text without its unit of time, and how many of that unit a second has."""
    found = _SUFFIXED.fullmatch(text.strip())
    return (found[1], _SUFFIXES[found[2]]) if found else (text.strip(), 1.0)


def _value(text: str, decimal: Decimal) -> float | None:
    bare, per_second = _plain(text)
    value = number(bare.removesuffix("%"), decimal)
    return None if value is None else value / per_second


def _functions(source: Source, columns: Columns, rows: Sequence[Row], left_out: LeftOut) -> Profile:
    decimal, tree = _decimal(rows), StackTree(source)
    time, weight = columns.where(*_TIMES), columns.where(*_TIMES, *_TICKS)
    found: list[ProfileRow] = []
    sums: dict[str, float] = {}
    for row in rows:
        name = columns.text(row.fields, *_FUNCTION)
        numbers = _numbers(columns, row.fields, decimal)
        for column, value in numbers.items():
            if column.startswith(_EVENT) and value >= 0.0:
                sums[column.removeprefix(_EVENT)] = sums.get(column.removeprefix(_EVENT), 0.0) + value
        own = _value(row.fields[weight], decimal) if weight is not None and weight < len(row.fields) else None
        if weight is not None and (own is None or not believable(own)):
            left_out.add("functions without a time or a count, or with one that is none", f"line {row.line}")
            continue
        module, file = columns.text(row.fields, "Module"), columns.text(row.fields, "Source File") or None
        if own is not None:
            tree.add(tree.node([tree.frame(name or UNKNOWN, file=file, library=module)]), own)
        if time is not None and own is not None:
            found.append(
                ProfileRow(name=name or UNKNOWN, total_s=own, own_s=own, device="CPU", numbers=numbers, texts={"module": module} if module else {})
            )
    if not found and not tree.measures and not sums:
        raise nothing(source, "functions with a time or events", left_out.listed)
    return Profile(
        format=Vtune.format,
        files=(source.name,),
        tool="Intel VTune",
        tables=(ProfileTable(rows=tuple(found), of="functions"),) if found else (),
        stacks=_stacks(tree, timed=time is not None),
        counters=_counters(sums),
    )


def _numbers(columns: Columns, fields: Sequence[str], decimal: Decimal) -> dict[str, float]:
    """Numbers of a row by column; counts in thousands or millions as counts."""
    found: dict[str, float] = {}
    for name, field in zip(columns.names, fields, strict=False):
        if name in _TEXTS or name in _FUNCTION or not field.strip() or len(found) == _KEPT:
            continue
        value = _value(field, decimal)
        if value is not None:
            scaled = _SCALED.search(name)
            share = name.endswith(("(%)", "(%):Self", "(%):Total")) or field.strip().endswith("%")
            found[_SCALED.sub("", name)] = value / 100.0 if share else value * _FACTORS[scaled[1]] if scaled else value
    return found


def _tree(source: Source, columns: Columns, rows: Sequence[Row], left_out: LeftOut) -> Profile:
    """A call tree: a function that is indented deeper is called by the one above it."""
    decimal, tree = _decimal(rows), StackTree(source)
    stack_at = columns.where(_STACK)
    names = [name for name in columns.names if name.replace(": ", ":") in ("CPU Time:Self", "Clockticks:Self")] or [
        name for name in _TIMES if name in columns
    ]
    if stack_at is None or not names:
        raise source.damaged("a column of own CPU time", "none", "write it with vtune -report top-down -column='CPU Time:Self'")
    path: list[tuple[int, int]] = []
    for row in rows:
        text = row.fields[stack_at] if stack_at < len(row.fields) else ""
        value = _value(columns.text(row.fields, names[0]), decimal)
        if not text.strip() or value is None or not believable(value):
            left_out.add("rows without a function or a time", f"line {row.line}")
            continue
        depth = len(text) - len(text.lstrip(" "))
        while path and path[-1][0] >= depth:
            path.pop()
        if text.strip() == "Total" and not path:
            continue
        tree.shallow(len(path) + 1)
        node = tree.child(path[-1][1] if path else -1, tree.frame(text.strip(), library=columns.text(row.fields, "Module")))
        path.append((depth, node))
        tree.add(node, value)
    if not tree.measures:
        raise nothing(source, "functions with a time", left_out.listed)
    timed = not names[0].startswith("Clockticks")
    return Profile(format=Vtune.format, files=(source.name,), tool="Intel VTune", stacks=_stacks(tree, timed=timed))


def _stacks(tree: StackTree, *, timed: bool) -> tuple[Stacks, ...]:
    if not tree.measures:
        return ()
    return (tree.stacks(measure="cpu" if timed else "cycles", unit="s" if timed else "cycle", sampled=False),)


def _counters(sums: dict[str, float]) -> Counters | None:
    if not sums:
        return None
    values = list(sums.values())
    ones = Column([1.0] * len(values), "1", "float64")
    return Counters(
        names=tuple(sums), counts=Column(values, "count", "float64"), counted_fraction=ones, instrument="Intel VTune, summed over functions"
    )


def _summary(source: Source, rows: Sequence[Row], left_out: LeftOut) -> Profile:
    """Metrics by their path in the hierarchy."""
    decimal = _decimal(rows)
    path: list[str] = []
    facts: dict[str, str] = {}
    for row in _metrics(rows, left_out):
        text = row.fields[2].strip()
        path[int(row.fields[0]) :] = [row.fields[1].strip()]
        if text and len(facts) < _FACTS:
            facts[" / ".join(path)[:_FACT_LENGTH]] = text[:_FACT_LENGTH]
    elapsed = next((_value(text, decimal) for name, text in facts.items() if name.rpartition(" / ")[2] == "Elapsed Time"), None)
    counts = {name: value for name in ("Clockticks", "Instructions Retired") if (value := _count(facts, name, decimal)) is not None}
    if elapsed is None and not counts:
        raise nothing(source, "an elapsed time or counts", left_out.listed)
    table_ = ProfileTable(rows=(), of="functions", wall_s=elapsed) if elapsed is not None and elapsed > 0 else None
    return Profile(
        format=Vtune.format,
        files=(source.name,),
        tool="Intel VTune",
        tables=(table_,) if table_ else (),
        counters=_counters(counts),
        facts=facts,
        warnings=(Caution(code="summary", message="a summary: no functions", effect="report hotspots for where time goes"),),
    )


def _metrics(rows: Sequence[Row], left_out: LeftOut) -> Iterator[Row]:
    for row in rows:
        level = row.fields[0].strip()
        if len(row.fields) == 3 and level.isdecimal() and len(level) <= 2:
            yield row
        else:
            left_out.add("rows of tables within the summary", f"line {row.line}")


def _count(facts: dict[str, str], name: str, decimal: Decimal) -> float | None:
    found = next((_value(text, decimal) for path, text in facts.items() if path.rpartition(" / ")[2] == name), None)
    return found if found is not None and found >= 0.0 else None
