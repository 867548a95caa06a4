"""What ran on devices: kernels, copies, fills, and whole graphs, as events on the lanes of their streams.

A graph is either traced node by node (kernels and copies that carry its number) or as a whole (one row a launch); where a file has both for one
launch, the whole is left out, or its time would be there twice.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..assembling import Whole, kind_of
from ..databases import MISSING
from ..joining import distinct, matches
from ..kinds import device_kind
from .export import Export

__all__ = ["Work", "device_work"]

_PLACE = ("start", "end", "deviceId", "contextId", "streamId", "correlationId", "globalPid")
_KERNEL, _COPY, _FILL, _GRAPH = (f"CUPTI_ACTIVITY_KIND_{name}" for name in ("KERNEL", "MEMCPY", "MEMSET", "GRAPH_TRACE"))
_SHAPE = ("gridX", "gridY", "gridZ", "blockX", "blockY", "blockZ", "staticSharedMemory", "dynamicSharedMemory", "registersPerThread")
_NODE = ("graphId", "graphNodeId")
_COLUMNS = {
    _KERNEL: ("demangledName", "shortName", *_SHAPE, *_NODE),
    _COPY: ("bytes", "copyKind", "srcKind", "dstKind", *_NODE),
    _FILL: ("bytes", *_NODE),
    _GRAPH: ("graphId",),
}
#: Names of `ENUM_CUDA_MEMCPY_OPER` and `ENUM_CUDA_MEM_KIND`, short; the file's own tables may be missing.
_DIRECTIONS = {
    1: "HtoD", 2: "DtoH", 3: "HtoA", 4: "AtoH", 5: "AtoA", 6: "AtoD", 7: "DtoA", 8: "DtoD", 9: "HtoH", 10: "PtoP", 11: "unified HtoD",
    12: "unified DtoH", 13: "unified DtoD",
}  # fmt: skip
_MEMORIES = {0: "Pageable", 1: "Pinned", 2: "Device", 3: "Array", 4: "Managed", 5: "Device static", 6: "Managed static"}


class Work(NamedTuple):
    """Device events as links need them, shape (n,) each: what the assembly calls them, process, context, stream, correlation, and times."""

    event: Whole
    process: Whole
    context: Whole
    stream: Whole
    correlation: Whole
    start: Whole
    end: Whole
    kind: Whole


def device_work(export: Export) -> Work:
    """All work on devices; what is left out is counted in the assembly."""
    tables = {table: export.numbers(table, *_PLACE, *columns) for table, columns in _COLUMNS.items()}
    for rows in tables.values():
        export.note_contexts(export.processes(rows["globalPid"]), rows["contextId"], rows["deviceId"])
    parts = [_kernels(export, tables[_KERNEL]), _copies(export, tables[_COPY]), _fills(export, tables[_FILL])]
    nodes = (np.concatenate([part.process for part in parts]), np.concatenate([part.correlation for part in parts]))
    parts.append(_graphs(export, tables[_GRAPH], *nodes))
    return Work(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


def _kernels(export: Export, rows: dict[str, Whole]) -> Work:
    ids = np.where(rows["demangledName"] != MISSING, rows["demangledName"], rows["shortName"])
    names = export.called(_KERNEL, ids, otherwise="[unnamed kernel]")
    kinds = export.each(names, lambda name: kind_of(device_kind(name)))
    numbers = {
        "graph": _graph_number(rows),
        "blocks": _product(rows, "gridX", "gridY", "gridZ"),
        "threads_per_block": _product(rows, "blockX", "blockY", "blockZ"),
        "registers_per_thread": _or_none(rows["registersPerThread"]),
        "shared_bytes_per_block": _or_none(rows["staticSharedMemory"]) + np.maximum(_or_none(rows["dynamicSharedMemory"]), 0),
    }
    return _added(export, _KERNEL, rows, names, kinds, numbers)


def _copies(export: Export, rows: dict[str, Whole]) -> Work:
    found, inverse = distinct(rows["copyKind"], rows["srcKind"], rows["dstKind"])
    names = np.array([export.assembly.name(_copy_name(*key)) for key in found], np.int64)[inverse]
    numbers = {"bytes": _or_none(rows["bytes"]), "graph": _graph_number(rows)}
    return _added(export, _COPY, rows, names, np.full(len(names), kind_of("copy")), numbers)


def _copy_name(direction: int, source: int, target: int) -> str:
    name = f"Memcpy {_DIRECTIONS.get(direction, 'of unknown direction')}"
    if source in _MEMORIES and target in _MEMORIES:
        name += f" ({_MEMORIES[source]} -> {_MEMORIES[target]})"
    return name


def _fills(export: Export, rows: dict[str, Whole]) -> Work:
    names = np.full(len(rows["start"]), export.assembly.name("Memset")) if len(rows["start"]) else np.empty(0, np.int64)
    numbers = {"bytes": _or_none(rows["bytes"]), "graph": _graph_number(rows)}
    return _added(export, _FILL, rows, names, np.full(len(names), kind_of("fill")), numbers)


def _graphs(export: Export, rows: dict[str, Whole], process: Whole, correlation: Whole) -> Work:
    twice = (matches(process, correlation, export.processes(rows["globalPid"]), rows["correlationId"]) >= 0) & (rows["correlationId"] != MISSING)
    export.assembly.leave_out("whole graphs whose nodes are traced one by one", int(twice.sum()), _seconds(rows, twice), _first(_GRAPH, twice))
    rows = {name: values[~twice] for name, values in rows.items()}
    graph = _or_none(rows["graphId"])
    found, inverse = distinct(graph)
    names = np.array([export.assembly.name(f"CUDA graph {each}" if each >= 0 else "CUDA graph") for (each,) in found], np.int64)[inverse]
    return _added(export, _GRAPH, rows, names, np.full(len(names), kind_of("compute")), {"graph": graph})


def _added(export: Export, table: str, rows: dict[str, Whole], names: Whole, kinds: Whole, numbers: dict[str, Whole]) -> Work:
    untimed = (rows["start"] == 0) & (rows["end"] == 0)  # CUPTI's word for a time that could not be taken
    if untimed.any():
        export.assembly.leave_out("device work whose times could not be taken", int(untimed.sum()), first=_first(table, untimed))
        rows, names, kinds = {key: values[~untimed] for key, values in rows.items()}, names[~untimed], kinds[~untimed]
        numbers = {key: values[~untimed] for key, values in numbers.items()}
    process = export.processes(rows["globalPid"])
    lanes = export.streams(process, rows["deviceId"], rows["contextId"], rows["streamId"])
    start, end = rows["start"], rows["end"]
    used = {key: values for key, values in numbers.items() if (values >= 0).any()}
    event = export.assembly.add(start, end, name=names, lane=lanes, kind=kinds, numbers=used, place=f"table {table} row")
    return Work(event, process, rows["contextId"], rows["streamId"], rows["correlationId"], start, end, kinds)


def _graph_number(rows: dict[str, Whole]) -> Whole:
    """Number of the graph: its own column (new schemas), else the upper half of the node's identifier; −1 for what is in no graph."""
    number, node = _or_none(rows["graphId"]), _or_none(rows["graphNodeId"])
    return np.where(number > 0, number, np.where(node > 0, node >> 32, -1))


def _or_none(values: Whole) -> Whole:
    return np.where(values == MISSING, -1, values)


def _product(rows: dict[str, Whole], *names: str) -> Whole:
    factors = np.stack([rows[name].astype(np.float64) for name in names])
    product = factors.prod(axis=0)
    sound = (factors > 0).all(axis=0) & (product < 2**62)
    return np.where(sound, np.where(sound, product, 0), -1).astype(np.int64)


def _seconds(rows: dict[str, Whole], which: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> float:
    sound = which & (rows["end"] > rows["start"]) & (rows["start"] >= 0)
    return float((rows["end"][sound] - rows["start"][sound]).sum()) / 1e9


def _first(table: str, which: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> str:
    return f"table {table} row {int(np.argmax(which)) + 1}" if which.any() else ""
