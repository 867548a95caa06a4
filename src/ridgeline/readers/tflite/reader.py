"""The reader of `benchmark_model`'s output: its profiles, walls and lines about delegates, as one `Profile`.

This module decides what is an operator and what is not: nodes of the primary graph are the operators of one run; events of the runtime (buffer
registration and synchronisation, allocation) are a table of their own; nodes of subgraphs and operators within delegates lie within rows of the
primary graph, and so are counted once, there.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise

from ridgeline.core import Caution, Excluded, PartitionTable, Profile, ProfileRow, ProfileTable

from ..source import Source
from .log import Walls, facts_of, walls_of
from .partitions import BUILTIN, Cut, cut_of, partition_table, provider_of
from .repair import Repaired, repaired
from .rows import NodeRow
from .sections import Section, sections_of

__all__ = ["TfliteBenchmark"]

_STATISTICS = re.compile(r"count=\d+ (?:first=\d+ )?curr=\d+")
_CSV = re.compile(r"node type, ?(?:start, ?)?(?:first|count), ?avg_ms")
_PRECISION = re.compile(r"\b(F32|F16|BF16|PF32|PF16|QC8|QC4|QB4|QS8|QU8|QD8|QP8|PQS8|S8|U8|X8|X16|X32)\b")
#: What Android and iOS write before each line of a log.
_PREFIX = re.compile(
    r"^(?:\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}\s{1,8}\d{1,9}\s{1,8}\d{1,9} [VDIWEF] [^:]{1,80}: "
    r"|\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{1,9}[+-]\d{4} \S{1,80}\[\d{1,9}:\d{1,9}\] )"
)
_EVERY = "primary graph"
#: Rows of LiteRT for handing buffers to the delegate and back.
_BUFFERS = "LiteRT::Run["


class TfliteBenchmark:
    """Reads what `benchmark_model` of TFLite and LiteRT prints, and the CSV of `--profiling_output_csv_file`."""

    format = "tflite"
    title = "TFLite and LiteRT benchmark_model (text, CSV)"

    def recognises(self, source: Source) -> int:
        """By its table heads, its lines of timings, or its lines about delegates."""
        text = source.head_text
        if "Summary by node type ===" in text or "[times called]" in text or _CSV.search(text):
            return 95
        if "Timings (microseconds): count=" in text or "nference timings in us: " in text:
            return 90
        if "node(s) with delegate (" in text or ("the model graph will be" in text and " executed " in text):
            return 80
        return 60 if _STATISTICS.search(text) else 0

    def read(self, source: Source) -> Profile:
        """All benchmarks of the log.

        Raises:
            ReadError: neither a table, nor a wall, nor a line about a delegate; or a name longer than the limits.
        """
        lines = [_PREFIX.sub("", line) for line in source.text.splitlines()]
        longest = max(lines, key=len, default="")
        if len(longest) > 8 * source.limits.name_characters:
            found = f"line {lines.index(longest) + 1} of {len(longest)} characters"
            raise source.damaged(f"lines of at most {8 * source.limits.name_characters} characters", found, "cut it, or raise the limit")
        made = [_Benchmark(part, first) for first, part in _benchmarks(lines)]
        tables = tuple(table for number, one in enumerate(made, 1) for table in one.tables(number if len(made) > 1 else 0))
        partitions = next((one.partitions for one in made if one.partitions is not None), None)
        if not tables and partitions is None:
            raise source.damaged("a profile, a wall or a delegation of benchmark_model", f"{len(lines)} lines without one")
        excluded = [entry for one in made for entry in one.excluded]
        return Profile(
            format=self.format,
            files=(source.name,),
            tool=_tool(lines),
            resolution_s=1e-6,
            tables=tables,
            partitions=partitions,
            facts=facts_of(lines),
            excluded=_merged(excluded),
            warnings=tuple(dict.fromkeys(warning for one in made for warning in one.warnings)),
        )


def _benchmarks(lines: list[str]) -> list[tuple[int, list[str]]]:
    """Parts of a log that holds several, each with the number of its first line."""
    starts = [number for number, line in enumerate(lines) if "STARTING!" in line[-40:]]
    cuts = [0, *starts[1:], len(lines)]
    return [(begin + 1, lines[begin:end]) for begin, end in pairwise(cuts) if end > begin]


def _tool(lines: list[str]) -> str:
    return "LiteRT benchmark_model" if any("litert" in line[:4000].casefold() for line in lines[:400]) else "TFLite benchmark_model"


class _Benchmark:
    """One benchmark of a log."""

    def __init__(self, lines: list[str], first: int) -> None:
        self.sections = sections_of(lines, first)
        self.walls = walls_of(lines)
        self.cut: Cut | None = cut_of(lines)
        self.excluded: list[Excluded] = []
        self.warnings: list[Caution] = list(self.cut.warnings) if self.cut is not None else []
        self.partitions: PartitionTable | None = partition_table(self.cut, (), ()) if self.cut is not None else None
        self._owner = self.cut.delegate if self.cut is not None else ""
        delegates = any(provider_of(row.kind) or row.delegated for section in self.sections for row in section.nodes)
        self._other = BUILTIN if self.cut is not None or delegates else ""
        self._tables = [table for section in self.sections for table in self._of_section(section)]

    def tables(self, number: int) -> Iterable[ProfileTable]:
        """Its tables; without a profile, an empty one that holds the walls."""
        if not any(table.of == "operators" and not table.within for table in self._tables) and self.walls.mean_s is not None:
            self._tables.append(_table((), self.walls, name=_EVERY))
        for table in self._tables:
            yield _numbered(table, number) if number else table

    def _of_section(self, section: Section) -> Iterable[ProfileTable]:
        rows = self._sound(section)
        self._complete(section)
        if not rows and section.kinds:
            yield from self._by_kind(section)
            return
        mended = repaired(rows, section.timings)
        self._told(section, mended)
        runs = section.timings.count if section.timings is not None else None
        made = [
            _row(row, *each, runs=runs, owner=self._owner, other=self._other)
            for row, each in zip(rows, zip(mended.calls, mended.total_s, mended.share, strict=True), strict=True)
        ]
        if section.phase == "initialization":
            yield ProfileTable(rows=tuple(made), of="runtime", name="initialization", iterations=runs)
            return
        yield from self._of_runs(section, rows, made, mended)

    def _of_runs(self, section: Section, rows: Sequence[NodeRow], made: Sequence[ProfileRow], mended: Repaired) -> Iterable[ProfileTable]:
        runs = section.timings.count if section.timings is not None else None
        inner = _inner(rows, mended.total_s, self.walls.mean_s) if section.graph == _EVERY else frozenset()
        kept = [index for index, row in enumerate(rows) if not row.runtime and index not in inner]
        runtime = [made[index] for index, row in enumerate(rows) if row.runtime]
        inside = [made[index] for index in sorted(inner)]
        if section.graph == _EVERY:
            buffers = [row.total_s for row in runtime if row.kind.startswith(_BUFFERS)]
            handoff = sum(buffers) if buffers else None
            table = partition_table(self.cut, [rows[index] for index in kept], [mended.total_s[index] for index in kept], handoff)
            self.partitions = table if table is not None else self.partitions
            yield _table([made[index] for index in kept], self.walls, name=_EVERY, iterations=runs)
        else:
            of = "kernels" if section.graph == "delegate internal" else "operators"
            yield ProfileTable(rows=tuple(made[index] for index in kept), of=of, per_call=True, iterations=runs, name=section.graph, within=_EVERY)
        if inside:
            yield ProfileTable(rows=tuple(inside), of="kernels", per_call=True, iterations=runs, name="delegate internal", within=_EVERY)
        if runtime:
            nested = any(row.kind == "Invoke" for row in runtime)
            yield ProfileTable(rows=tuple(runtime), of="runtime", per_call=True, iterations=runs, name=f"runtime, {section.graph}", nested=nested)

    def _by_kind(self, section: Section) -> Iterable[ProfileTable]:
        """What is left where only the summary by type is there: its means are cut to whole microseconds."""
        rows = tuple(
            ProfileRow(name=row.kind, kind=row.kind, total_s=row.mean_ms / 1e3, numbers={"nodes": float(row.nodes)})
            for row in section.kinds
            if row.mean_ms is not None
        )
        message = "only the summary by node type is there, whose times are cut to whole microseconds for each node"
        self.warnings.append(Caution(code="summary-only", message=message, effect="short operators are told too short"))
        runs = section.timings.count if section.timings is not None else None
        if section.phase == "runs":
            yield _table(rows, self.walls, name=section.graph, iterations=runs)
        else:
            yield ProfileTable(rows=rows, of="runtime", name="initialization", iterations=runs)

    def _sound(self, section: Section) -> list[NodeRow]:
        """Rows whose time is one; the others are counted as left out."""
        sound = [row for row in section.nodes if _possible(row)]
        odd = [row for row in section.nodes if not _possible(row)]
        if odd:
            self.excluded.append(Excluded(reason="a row without a possible time", events=len(odd), first=f"line {odd[0].line}"))
        return sound

    def _complete(self, section: Section) -> None:
        seen = len(section.nodes) or sum(row.nodes for row in section.kinds)
        if section.observed is not None and seen < section.observed:
            self.excluded.append(
                Excluded(reason="nodes that the tool counts and does not list", events=section.observed - seen, first=f"line {section.line}")
            )
        elif section.observed is None:
            message = f"the profile of {section.phase}, {section.graph} (line {section.line}) has no end: rows may be missing"
            self.warnings.append(Caution(code="cut-short", message=message, effect="sums may be too small"))

    def _told(self, section: Section, mended: Repaired) -> None:
        covered, runs = section.timings.count if section.timings is not None else 0, self.walls.runs
        if section.phase == "runs" and runs is not None and covered > runs:
            message = f"the profile covers {covered} runs, warm-up included, and the wall is of {runs} runs"
            self.warnings.append(
                Caution(code="covers-warm-up", message=message, effect="the sum of the operators and the wall are of different runs")
            )
        if mended.broken:
            columns = " and ".join(f"`{name}`" for name in mended.broken)
            message = f"the column {columns} of {section.graph}, {section.phase} does not fit its times; calls of a run were computed anew"
            self.warnings.append(Caution(code="broken-columns", message=message, effect="shares of the file that do not fit are left out"))


def _possible(row: NodeRow) -> bool:
    return row.mean_ms is not None and 0 <= row.mean_ms < 1e12


def _inner(rows: Sequence[NodeRow], total_s: Sequence[float], wall_s: float | None) -> frozenset[int]:
    """Rows of delegates' own operators that lie within the row of the delegate's kernel: marked so by the tool, or shown by a sum beyond the wall."""
    own = frozenset(index for index, row in enumerate(rows) if row.delegated)
    marked = frozenset(index for index in own if rows[index].kind == "DelegateOpInvoke")
    kernels = any(provider_of(row.kind) for row in rows)
    beyond = wall_s is not None and sum(total_s) > 1.05 * wall_s
    return own if kernels and own and (marked or beyond) else marked if kernels else frozenset()


def _row(row: NodeRow, calls: float, total_s: float, share: float | None, *, runs: int | None, owner: str, other: str) -> ProfileRow:
    numbers = {"calls_per_run": calls}
    if row.memory_kib > 0:
        numbers["memory_bytes"] = row.memory_kib * 1024
    if row.start_ms is not None:
        numbers["start_s"] = row.start_ms / 1e3
    precision = _PRECISION.search(row.kind) if row.delegated else None
    return ProfileRow(
        name=row.name or row.kind,
        kind=row.kind,
        calls=round(calls * runs, 6) if runs is not None else None,
        total_s=total_s,
        first_s=row.first_ms / 1e3 if row.first_ms is not None and row.first_ms >= 0 else None,
        share=share,
        node=row.node if not row.delegated else None,
        provider=provider_of(row.kind) or (owner if row.delegated else "" if row.runtime else other),
        precision=precision[1] if precision else "",
        kernel=row.kind if row.delegated else "",
        numbers=numbers,
    )


def _table(rows: Iterable[ProfileRow], walls: Walls, *, name: str, iterations: int | None = None) -> ProfileTable:
    return ProfileTable(
        rows=tuple(rows),
        per_call=True,
        iterations=iterations,
        wall_s=walls.mean_s,
        wall_deviation_s=walls.deviation_s,
        first_wall_s=walls.first_s,
        setup_s=walls.setup_s,
        name=name,
    )


def _numbered(table: ProfileTable, number: int) -> ProfileTable:
    import msgspec

    within = f"{table.within} of benchmark {number}" if table.within else ""
    return msgspec.structs.replace(table, name=f"{table.name} of benchmark {number}", within=within)


def _merged(entries: Iterable[Excluded]) -> tuple[Excluded, ...]:
    """One entry a reason, with the first place."""
    merged: dict[str, Excluded] = {}
    for entry in entries:
        before = merged.get(entry.reason)
        merged[entry.reason] = Excluded(
            reason=entry.reason, events=entry.events + (before.events if before else 0), first=before.first if before else entry.first
        )
    return tuple(merged.values())
