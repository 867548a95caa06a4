"""Arm Ethos-U's compiler Vela: its summary of a network and its table of layers (`--verbose-performance`), both CSV.

This module decides that everything in them is the compiler's estimate: cycles of a model of the NPU, and none for operators that are left to the CPU.
The table of layers has cycles and no clock, so its layers have no seconds; the summary has both. Percentages are those of one subgraph and are left.
Source: Vela 5.2 as its files show it (and its own writer of older ones); Ethos-U's NPU has one queue, so cycles of layers add up.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

import msgspec

from ridgeline.core import Caution, KernelCounts, KernelTable, Partition, PartitionTable, Profile, ProfileRow, ProfileTable

from .delimited import Columns, Row, RowReader, header_in, table
from .source import Source
from .stacking import LeftOut
from .written_numbers import plain

__all__ = ["Vela"]

_CYCLES = {
    "Op Cycles": "Op Cycles",
    "NPU": "NPU",
    "SRAM AC": "SRAM AC",
    "DRAM AC": "DRAM AC",
    "OnFlash AC": "OnFlash AC",
    "OffFlash AC": "OffFlash AC",
}
_OPERATORS = ("Original Operator", "TFLite_operator", "TFLite Operator")
#: Column of cycles in the summary → part of the machine, and the bytes it moves.
_PARTS = {
    "cycles_npu": ("NPU", ""),
    "cycles_sram_access": ("SRAM access", "sram_total_bytes"),
    "cycles_dram_access": ("DRAM access", "dram_total_bytes"),
    "cycles_on_chip_flash_access": ("on-chip flash access", "on_chip_flash_total_bytes"),
    "cycles_off_chip_flash_access": ("off-chip flash access", "off_chip_flash_total_bytes"),
}
_ESTIMATED = Caution(
    code="estimated", message="cycles and times are the compiler's estimates, of the NPU alone", effect="nothing was measured: run it to know"
)
_ONE_SUBGRAPH = Caution(
    code="one-subgraph",
    message="no operator of the NPU is in the table; Vela may have written over it with that of the last subgraph",
    effect="see the summary for cycles of the NPU",
)


class Vela:
    """Summaries and layers of Vela."""

    format = "vela"
    title = "Ethos-U Vela CSV (summary, per layer)"

    def recognises(self, source: Source) -> int:
        """By columns that only it has."""
        text = source.head_text
        return 95 if header_in(text, _is_layers) or header_in(text, _is_summary) else 0

    def read(self, source: Source) -> Profile:
        """The layers or the summary; raises `ReadError` where there are none."""
        reader, left_out = RowReader(source), LeftOut()
        columns, rows = table(source, reader, lambda found: _is_layers(found) or _is_summary(found), "columns of Vela")
        profile = _layers(source, columns, rows, left_out) if _is_layers(columns) else _summary(source, columns, rows, left_out)
        return _with(profile, left_out, (*profile.warnings, _ESTIMATED, *reader.warnings))


def _with(profile: Profile, left_out: LeftOut, warnings: tuple[Caution, ...]) -> Profile:
    return msgspec.structs.replace(profile, excluded=left_out.listed, warnings=warnings)


def _is_layers(columns: Columns) -> bool:
    return "NNG Operator" in columns and "Op Cycles" in columns


def _is_summary(columns: Columns) -> bool:
    return "accelerator_configuration" in columns and "cycles_total" in columns


def _layers(source: Source, columns: Columns, rows: Iterator[Row], left_out: LeftOut) -> Profile:
    kernels: list[KernelCounts] = []
    places: list[tuple[str, str]] = []
    for row in rows:
        if _is_layers(Columns(row.fields)) or not any(row.fields):
            continue  # each subgraph has a header of its own
        numbers = {name: plain(columns.text(row.fields, name)) for name in (*_CYCLES, "MAC Count", "Staging Usage", "SRAM Usage")}
        raw = {name: value for name, value in numbers.items() if value is not None and value >= 0.0}
        kind, target = columns.text(row.fields, *_OPERATORS), columns.text(row.fields, "Target") or "NPU"
        if len(row.fields) < len(columns.names) or "Op Cycles" not in raw:
            left_out.add("lines that are no row of the table", f"line {row.line}")
            continue
        if target != "NPU":
            # The compiler knows nothing of what runs elsewhere, and writes zeros.
            left_out.add(f"operators left to the {target}, of which the compiler estimates nothing", f"line {row.line}")
            raw = {}
        kernels.append(KernelCounts(name=columns.text(row.fields, "Name") or kind, device=target, index=len(places), raw=raw))
        places.append((target, kind))
    if not places:
        raise source.damaged("layers of Vela", "none", "run vela with --verbose-performance")
    units = {**dict.fromkeys(_CYCLES, "cycle"), "MAC Count": "count", "Staging Usage": "B", "SRAM Usage": "B"}
    return Profile(
        format=Vela.format,
        files=(source.name,),
        tool="Vela",
        kernels=KernelTable(kernels=tuple(kernels), units=units, replayed=False, instrument="Vela's estimate"),
        # Vela writes one file for all subgraphs, of which the last one stays: operators of the CPU alone say nothing of the rest.
        partitions=_partitions(places) if any(target == "NPU" for target, _ in places) else None,
        warnings=() if any(target == "NPU" for target, _ in places) else (_ONE_SUBGRAPH,),
    )


def _partitions(places: Sequence[tuple[str, str]]) -> PartitionTable:
    """Stretches of operators on one target, in the order of the table; no times."""
    partitions = []
    for target, stretch in groupby(enumerate(places), key=lambda each: each[1][0]):
        members = list(stretch)
        partitions.append(Partition(provider=target, nodes=tuple(node for node, _ in members), kinds=tuple(kind for _, (_, kind) in members)))
    return PartitionTable(partitions=tuple(partitions), delegate="NPU", instrument="Vela's table of layers")


def _summary(source: Source, columns: Columns, rows: Iterator[Row], left_out: LeftOut) -> Profile:
    tables: list[ProfileTable] = []
    facts: dict[str, str] = {}
    for row in rows:
        if not any(row.fields):
            continue
        clock, wall_s = plain(columns.text(row.fields, "core_clock")), plain(columns.text(row.fields, "inference_time"))
        if not clock or clock <= 0.0 or wall_s is None or len(row.fields) < len(columns.names):
            left_out.add("networks without a clock or a time", f"line {row.line}")
            continue
        if not facts:
            facts = {name: text[:200] for name, text in zip(columns.names, row.fields, strict=False) if text}
        parts = tuple(part for name, (word, moved) in _PARTS.items() if (part := _part(columns, row.fields, name, word, moved, clock)) is not None)
        tables.append(
            ProfileTable(
                rows=parts,
                of="ranges",
                per_call=True,
                # Accesses go on beside the arithmetic.
                nested=True,
                wall_s=wall_s if wall_s > 0.0 else None,
                name=columns.text(row.fields, "network")[:200],
            )
        )
    if not tables:
        raise source.damaged("a network with a clock and a time", "none", "write it again with vela")
    nothing = [entry.name for entry in tables if entry.wall_s is None]
    message = f"nothing runs on the NPU in {', '.join(nothing[:3])}: no time is estimated"
    warnings = (Caution(code="nothing-executed", message=message, effect="see the table of layers for what was left to the CPU"),) if nothing else ()
    return Profile(format=Vela.format, files=(source.name,), tool="Vela", tables=tuple(tables), facts=facts, warnings=warnings)


def _part(columns: Columns, fields: Sequence[str], name: str, word: str, moved: str, clock: float) -> ProfileRow | None:
    cycles, size = plain(columns.text(fields, name)), plain(columns.text(fields, moved)) if moved else None
    if cycles is None or cycles < 0.0:
        return None
    numbers = {"cycles": cycles} if size is None else {"cycles": cycles, "traffic_bytes": size}
    return ProfileRow(name=word, calls=1.0, total_s=cycles / clock, device="NPU", numbers=numbers)
