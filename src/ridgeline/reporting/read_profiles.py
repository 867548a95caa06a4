"""The tables of files without a timeline: functions of sampled stacks, kernels, the profiler's own tables, event counts."""

from __future__ import annotations

from ridgeline.core import ProfileTable, ReadReport
from ridgeline.core.units import format_share

from .page import Block, Column, Pair, Pairs, Paragraph, Section, count, missing, number, seconds, share, words
from .read_tables import cut_table, name_column, right_column, text_column

__all__ = ["counter_section", "frame_section", "kernel_section", "table_sections"]


def frame_section(report: ReadReport, most: int) -> Section | None:
    """Functions of sampled stacks."""
    if not report.frames:
        return None
    calls = _calls(report)
    columns = (
        name_column("function", 24),
        *((right_column("calls", 8),) if calls else ()),
        right_column("own", 15),
        right_column("own share", 14),
        right_column("with callees", 10),
        right_column("share", 10),
        text_column("where", 6, 16, 2),
    )
    rows = [
        (
            words(one.function),
            *((count(calls.get((one.function, one.file)), "the file does not tell"),) if calls else ()),
            number(one.own, report.unit),
            share(one.own_share),
            number(one.total, report.unit),
            share(one.total_share),
            words(_source(one.file, one.line, one.library), "the file does not tell"),
        )
        for one in report.frames[:most]
    ]
    return Section(
        title="Functions", blocks=(cut_table(f"by {report.measure or 'weight'} that ended in them", columns, rows, most, total=len(report.frames)),)
    )


def _repeats(report: ReadReport, table: ProfileTable) -> bool:
    """Whether a table has the functions that the stacks of the same files have, and nothing beside them but their calls."""
    return bool(report.frames) and report.unit == "s" and table.of == "functions" and table.wall_s is None


def _calls(report: ReadReport) -> dict[tuple[str, str | None], float]:
    """Calls by function and file, of tables that otherwise repeat the functions of the stacks."""
    found: dict[tuple[str, str | None], float] = {}
    for row in (row for table in report.tables if _repeats(report, table) for row in table.rows):
        key = row.name, row.texts.get("site", "").rpartition(":")[0] or None
        if row.calls is not None:
            found[key] = found.get(key, 0.0) + row.calls
    return found


def _source(file: str | None, line: int | None, library: str) -> str:
    return (f"{file}:{line}" if line is not None else file) if file else library


def kernel_section(report: ReadReport, most: int) -> Section | None:
    """Counters of kernels."""
    found = report.kernels
    if found is None:
        return None
    shown = ("occupancy", "sectors_per_request", "branch_efficiency", "l1_hit_rate", "l2_hit_rate", "dram_share", "compute_share")
    present = [name for name in shown if any(name in kernel.figures for kernel in found.kernels)]
    columns = (name_column("kernel"), right_column("time", 15), *(right_column(name.replace("_", " ")) for name in present))
    kernels = sorted(found.kernels, key=lambda one: -(one.duration_s or 0.0))
    rows = [
        (
            words(one.name),
            seconds(one.duration_s, reason="not asked for"),
            *(number(one.figures.get(name), "1" if name == "sectors_per_request" else "share", reason="not counted") for name in present),
        )
        for one in kernels
    ]
    blocks: list[Block] = [
        cut_table(f"counters of {len(found.kernels)} kernel{'s, the longest first' if len(found.kernels) != 1 else ''}", columns, rows, most)
    ]
    if found.replayed:
        said = "Kernels were run alone or several times to count: these times are of the kernel alone, and no share of the program follows from them."
        blocks.append(Paragraph(text=said))
    return Section(title="Kernels", blocks=tuple(blocks))


def table_sections(report: ReadReport, most: int) -> tuple[Section, ...]:
    """Tables of the file, without those that say what the functions of the stacks say already."""
    return tuple(_profile_table(table, most) for table in report.tables if not _repeats(report, table))


def _profile_table(table: ProfileTable, most: int) -> Section:
    pairs = [
        Pair(label="calls of the model", cell=count(table.iterations, "the file does not tell")),
        Pair(label="wall of one" if table.per_call else "wall", cell=seconds(table.wall_s, reason="the file does not tell")),
    ]
    if table.first_wall_s is not None:
        pairs.append(Pair(label="first call", cell=seconds(table.first_wall_s)))
    if table.setup_s is not None:
        pairs.append(Pair(label="set-up", cell=seconds(table.setup_s)))
    if table.per_call and not table.nested and table.wall_s:
        inside_s = sum(row.total_s for row in table.rows)
        part = format_share((table.wall_s - inside_s) / table.wall_s)
        pairs.append(Pair(label="outside the rows", cell=seconds(table.wall_s - inside_s), note=f"{part} of the wall"))
    columns = (
        name_column(),
        Column(title="kind", weight=8),
        right_column("calls", 8),
        right_column("time", 15),
        right_column("share", 12),
        Column(title="ran on", weight=6),
    )
    whole = sum(row.total_s for row in table.rows)
    own = [row.own_s if table.nested and row.own_s is not None else row.total_s for row in table.rows]
    ranked = sorted(zip(own, table.rows, strict=True), key=lambda pair: -pair[0])
    part_of = f"share of the {len(table.rows)} rows" if not table.nested else "rows contain one another: time is their own where it is known"
    rows = [
        (
            words(row.name),
            words(row.kind, "the file does not tell"),
            count(row.calls, "the file does not tell"),
            seconds(s),
            share(s / whole) if whole > 0 and not table.nested else missing("rows contain one another"),
            words(row.provider or row.device, "the file does not tell"),
        )
        for s, row in ranked
    ]
    caption = f"{'of one call' if table.per_call else 'of all that the file covers'}; {part_of}"
    title = f"Table of {table.of}" + (f": {table.name}" if table.name else "")
    return Section(title=title, blocks=(Pairs(rows=tuple(pairs)), cut_table(caption, columns, rows, most)))


def counter_section(report: ReadReport) -> Section | None:
    """Event counts."""
    found = report.counters
    if found is None:
        return None
    columns = (name_column("event"), right_column("count", 15), right_column("counted for", 10))
    units = found.units or ("count",) * len(found.names)
    rows = [
        (words(name), number(value, unit), share(part))
        for name, value, unit, part in zip(found.names, found.counts.values.tolist(), units, found.counted_fraction.values.tolist(), strict=True)
    ]
    note = "`counted for`: share of the time in which the event was really counted; under 90% it is an estimate."
    return Section(title="Counters", blocks=(cut_table(found.instrument or "event counts", columns, rows, len(rows), note=note),))
