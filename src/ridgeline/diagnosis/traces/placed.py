"""What operators and partitions show: layout conversions and casts, and graphs that are handed back and forth."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ridgeline.core import Evidence, PartitionReport, TraceFinding, Where
from ridgeline.core.units import format_quantity, format_share

from .seen import LEAST, Fix, Seen, called, counted, of_all

__all__ = ["conversions", "handoffs"]

#: Operators and kernels that only lay out or convert what is there; as types and names of operators are written by the common runtimes.
_CONVERSIONS = re.compile(
    r"^(aten::)?(transpose|permute|contiguous|reorder\w*|reformat\w*|cast|to|_to_copy|convert\w*|dequantizelinear|quantizelinear|quantize|dequantize)$"
    r"|reorder(input|output)|nchwtonhwc|nhwctonchw|nchw_?to_?nhwc|nhwc_?to_?nchw|\breformat(ting)?\b.*copynode|tensortransform|transpose_?kernel",
    re.IGNORECASE,
)
#: One partition over this part of the nodes is healthy.
_HEALTHY_DELEGATION = 0.95
_NAMED = 3
#: What the names of figures of conversions have before the place.
_CONVERTING = " conversions on "
#: Name, seconds, calls.
_Row = tuple[str, float, float]


def conversions(seen: Seen) -> Iterator[TraceFinding]:
    """Transposes, reorders and casts: by the figures of a timeline, which are unions, and by the rows of tables."""
    if seen.report.window_s is None:
        yield from _in_tables(seen)
        return
    found = [figure for figure in seen.report.figures if _CONVERTING in figure.name]
    part_s = sum(figure.numerator for figure in found)
    # Of the windows of all devices, as what else takes their time: of what they are busy for, a promise of the whole would be too much.
    whole_s = seen.device_s if seen.report.devices else seen.window_s
    if whole_s <= 0 or part_s / whole_s < LEAST:
        return
    largest = max(found, key=lambda figure: figure.numerator)
    where = Where(operator=largest.numerator_of.rpartition("such as ")[2] or None, lane=largest.name.rpartition(_CONVERTING)[2])
    made_of = ", ".join(f"{format_quantity(figure.numerator, 's')} {figure.name}" for figure in found)
    evidence = of_all("conversions", part_s, whole_s, f"{made_of}: {largest.numerator_of}")
    path = seen.path_share(("compute", "copy") if seen.report.devices else ("operator", "runtime", "python", "other"))
    part = seen.device_part if seen.report.devices else 1.0
    yield _converting(seen, where, min(1.0, part_s / whole_s), f"{called(where.operator or '')} and the like", evidence, path, part=part)


def _converting(
    seen: Seen, where: Where, share: float, what: str, evidence: Sequence[Evidence], path: float, base: tuple[float, str] | None = None,
    part: float = 1.0,
) -> TraceFinding:  # fmt: skip
    said = f"{format_share(share)} of the time goes to conversions of layout or type ({what})"
    fix = Fix(action="change-layout", because="kept in one layout and precision, data needs no conversion", part=(0.5, 1.0))
    return seen.finding("layout-conversion", "bandwidth", where, share, said, evidence, (fix,), path=path, base=base, part=part)


def _in_tables(seen: Seen) -> Iterator[TraceFinding]:
    rows, whole_s = _table_rows(seen)
    part_s = sum(seconds for _, seconds, _ in rows)
    if whole_s <= 0 or part_s / whole_s < LEAST:
        return
    rows.sort(key=lambda row: -row[1])
    names = ", ".join(called(row[0]) for row in rows[:_NAMED])
    calls = counted("calls", sum(row[2] for row in rows), "count", names)
    evidence = (*of_all("conversions", part_s, whole_s, f"rows that only convert: {names}, of all rows"), calls)
    base = (whole_s, "all rows together")
    yield _converting(seen, Where(operator=rows[0][0]), min(1.0, part_s / whole_s), names, evidence, 1.0, base)


def _table_rows(seen: Seen) -> tuple[list[_Row], float]:
    """Conversions in tables of operators or layers that do not contain one another, and the time of all rows."""
    tables = [table for table in seen.report.tables if table.of in ("operators", "layers", "kernels") and not table.nested]
    if not tables:
        return [], 0.0
    table = max(tables, key=lambda one: len(one.rows))
    rows = [
        (row.name, row.total_s, row.calls or 1) for row in table.rows if _CONVERSIONS.search(row.kind or row.name) or _CONVERSIONS.search(row.name)
    ]
    return rows, sum(row.total_s for row in table.rows)


def handoffs(seen: Seen) -> Iterator[TraceFinding]:
    """A graph that is cut into several partitions: what crossing costs and what one partition would give."""
    found = seen.report.partitions
    if found is None or found.runs <= 1 or not found.nodes:
        return
    # Without an operator that falls back the cuts are conversions between layers, which are told as such.
    if not found.fallbacks or (found.count <= 1 and found.delegated / found.nodes >= _HEALTHY_DELEGATION):
        return
    base_s = _run_s(found)
    gain = _gain(found, base_s)
    if gain is None:
        yield from _uncosted(found)
        return
    share = 1.0 - 1.0 / gain[1]
    if share < LEAST:
        return
    names = _fallen_back(found)
    low = 1.0 - 1.0 / gain[0]
    fix = Fix(
        action="replace-operators", because=f"with {names} replaced the graph is one partition", part=(min(1.0, low / share), 1.0)
    )  # fmt: skip
    evidence = [*_counts(found)]
    if found.handoff_s is not None and base_s > 0:
        evidence += of_all("handoffs", found.handoff_s, base_s, "passing boundaries, one run")
    said = f"The graph is cut into {found.runs} runs with {found.handoffs} handoffs; {names} fall back: up to {format_share(share)} of a run"
    where = Where(operator=next(iter(found.fallbacks), None), stage=f"{found.runs - 1} boundaries")
    yield seen.finding("partition-handoff", "latency", where, share, said, evidence, (fix,), base=(base_s, "a run"))


def _uncosted(found: PartitionReport) -> Iterator[TraceFinding]:
    """Boundaries whose cost nothing tells: said where there are many, with no promise."""
    if found.count < 2 and found.delegated / found.nodes >= _HEALTHY_DELEGATION:
        return
    said = (
        f"The graph is cut into {found.runs} runs with {found.handoffs} handoffs, and {_fallen_back(found)} fall back; the file does not tell what "
        "crossing costs"
    )
    where = Where(operator=next(iter(found.fallbacks), None), stage=f"{found.runs - 1} boundaries")
    yield TraceFinding(where=where, bound="inconclusive", cause="partition-handoff", share=0.0, evidence=tuple(_counts(found)), summary=said)


def _counts(found: PartitionReport) -> Sequence[Evidence]:
    return (
        counted("delegated partitions", found.count, "count", "as the runtime cut the graph"),
        counted("handoffs", found.handoffs, "count", f"one less than the partitions; {found.runs - 1} boundaries are crossed in one run"),
        counted("delegated nodes", found.delegated / found.nodes, "1", f"{found.delegated} of {found.nodes} nodes"),
    )


def _fallen_back(found: PartitionReport) -> str:
    names = list(found.fallbacks)
    more = f" and {len(names) - _NAMED} more kinds" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more if names else "some operators"


def _run_s(found: PartitionReport) -> float:
    """Seconds of one run, what no node takes included; where that is not known, all providers and the handoffs between them."""
    return found.run_s if found.run_s is not None else sum(found.providers.values()) + (found.handoff_s or 0.0)


def _gain(found: PartitionReport, base_s: float) -> tuple[float, float] | None:
    """(low, high) speedup of one run with one partition; null where nothing tells."""
    if base_s <= 0:
        return None
    if found.without_s is not None and 0 < found.without_s[0] <= found.without_s[1]:
        return max(1.0, base_s / found.without_s[1]), max(1.0, base_s / found.without_s[0])
    if found.handoff_s:
        return 1.0, base_s / (base_s - found.handoff_s) if found.handoff_s < base_s else 1.0
    return None
