"""Qualcomm AI Hub's published measurements: whole models on Snapdragon, QCS and SA chips, in several precisions and runtimes.

This module decides what a row is and which columns can be believed. `kind` is `network`, `variant` `model/component on runtime`, `precision` as the
table writes it (`float`, `w8a8`, …), `memory_bytes` the largest use, and sizes count layers by the unit that they ran on. Three traps: a chip whose
times are a copy of another's (SA7255P of QCS8275) would be on both sides of a split, so the second is left out; some chips report nearly no memory,
which is another definition, so theirs is not known; models that only say tokens per second have no latency of one inference.

A chip may mix two clock states (about 15 % of the rows of the SA8775P are four times slower than those of its siblings); rows do not say which, so
they stay. Source: quic/ai-hub-models, `perf.yaml` of each model in one table.
"""

from __future__ import annotations

import math
from collections import defaultdict
from typing import NamedTuple

from ridgeline.core import ReadError
from ridgeline.core.latencies import LatencyTable
from ridgeline.core.networks import RecordedNetwork

from ..delimited import Columns, RowReader, table
from .folder import Folder
from .gathering import Gathered, number, starts

__all__ = ["ON", "AiHub"]

#: Between a model and its runtime in `variant`.
ON = " on "
_HEADER = "model,precision,component,device,runtime,status,inference_ms"
_LAYERS = ("layers_total", "layers_npu", "layers_gpu", "layers_cpu")
#: Of so many common rows so many are equal only if one chip's are the other's.
_COMMON, _EQUAL = 20, 0.98
#: Less than this is no working memory of a network; a chip where that is usual measures something else.
_LEAST_MB, _USUAL = 8.0, 0.3
_MOST_MS, _MOST_MB = 1e7, 1e6
_SOURCE = "quic/ai-hub-models: models on Qualcomm's chips"


class _Row(NamedTuple):
    file: str
    order: int
    model: str
    precision: str
    chip: str
    milliseconds: float
    megabytes: float
    layers: dict[str, int]


class AiHub:
    """Reads the flat table of AI Hub's measurements."""

    origin = "ai-hub-models"

    def sniff(self, folder: Folder) -> bool:
        """A table with AI Hub's columns."""
        return starts(folder, _HEADER)

    def read(self, folder: Folder) -> LatencyTable:
        """One row for each model, component, precision, chip and runtime."""
        gathered = Gathered(("memory_bytes",), _LAYERS)
        rows = [row for file in folder.files if folder.first_line(file).startswith(_HEADER) for row in _read(gathered, folder, file)]
        if not rows:
            raise ReadError("latencies of models on chips", found=f"none in {folder.name}", remedy="name the folder of the table")
        copies, unlike = _copies(rows), _unlike(rows)
        for row in rows:
            if row.chip in copies:
                gathered.leave(f"the same latencies as {copies[row.chip]}", f"{row.file} row {row.order}: {row.chip}")
                continue
            known = 0 < row.megabytes < _MOST_MB and row.chip not in unlike
            gathered.add(
                {
                    "kind": "network", "variant": row.model, "precision": row.precision, "device": row.chip, "file": row.file, "row": row.order,
                    "latency_s": row.milliseconds / 1e3, "memory_bytes": row.megabytes * 1e6 if known else math.nan,
                },
                row.layers,
            )  # fmt: skip
        return gathered.table(_SOURCE)

    def networks(self, folder: Folder) -> tuple[RecordedNetwork, ...]:
        """None: models come without a list of their operators."""
        return ()


def _read(gathered: Gathered, folder: Folder, file: str) -> list[_Row]:
    source = folder.source(file)
    columns, lines = table(source, RowReader(source), lambda found: "inference_ms" in found and "runtime" in found, "AI Hub's columns")
    found = []
    for order, (line, fields) in enumerate(lines, 1):
        if fields == [""]:
            continue
        if len(fields) != len(columns.names):
            raise source.damaged("whole rows", f"line {line} with {len(fields)} of {len(columns.names)} fields", "fetch it again")
        row = _row(gathered, file, order, columns, fields)
        if row is not None:
            found.append(row)
    return found


def _row(gathered: Gathered, file: str, order: int, columns: Columns, fields: list[str]) -> _Row | None:
    milliseconds = number(columns.text(fields, "inference_ms"))
    where = f"{file} row {order}"
    if not columns.text(fields, "inference_ms"):
        gathered.leave("no latency of one inference", where)
        return None
    if not 0 < milliseconds < _MOST_MS:
        gathered.leave("a latency that cannot be", where)
        return None
    model = f"{columns.text(fields, 'model')}/{columns.text(fields, 'component')}{ON}{columns.text(fields, 'runtime')}"
    precision, chip = columns.text(fields, "precision"), columns.text(fields, "device")
    if not gathered.new((model, precision, chip)):
        gathered.leave("the same model, precision, chip and runtime again", where)
        return None
    layers = {name: _count(columns.text(fields, name)) for name in _LAYERS}
    return _Row(file, order, model, precision, chip, milliseconds, number(columns.text(fields, "mem_max_mb")), layers)


def _count(text: str) -> int:
    value = number(text or "0")
    return int(value) if 0 <= value < 2**40 else 0


def _copies(rows: list[_Row]) -> dict[str, str]:
    """Chips whose times are another's, with that other."""
    times: dict[str, dict[tuple[str, str], float]] = defaultdict(dict)
    for row in rows:
        times[row.chip][row.model, row.precision] = row.milliseconds
    copies: dict[str, str] = {}
    for chip in sorted(times):
        for other in sorted(times):
            if other >= chip or other in copies:
                continue
            common = times[chip].keys() & times[other].keys()
            if len(common) >= _COMMON and sum(times[chip][key] == times[other][key] for key in common) >= _EQUAL * len(common):
                copies[chip] = other
                break
    return copies


def _unlike(rows: list[_Row]) -> set[str]:
    """Chips that usually report nearly no memory."""
    few: dict[str, list[bool]] = defaultdict(list)
    for row in rows:
        few[row.chip].append(not row.megabytes >= _LEAST_MB)
    return {chip for chip, each in few.items() if sum(each) > _USUAL * len(each)}
