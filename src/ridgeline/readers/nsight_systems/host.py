"""What ran on the host: calls of CUDA and its libraries, system calls, ranges that people and frameworks set, and the profiler's own work."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..assembling import Whole, kind_of
from ..databases import MISSING
from ..joining import last_before, matches
from ..kinds import bare_call, call_kind, iteration_of, system_call_kind
from .export import Export

__all__ = ["Calls", "calls", "overhead", "ranges", "system_calls"]

_CALLS = ("CUPTI_ACTIVITY_KIND_RUNTIME", "CUPTI_ACTIVITY_KIND_DRIVER")
_LIBRARIES = ("CUBLAS_EVENTS", "CUDNN_EVENTS")
_OVERHEAD = ("PROFILER_OVERHEAD", "CUPTI_ACTIVITY_KIND_OVERHEAD")
#: `ENUM_CUPTI_OVERHEAD_TYPE`: a launch that waits for room in a full command buffer; loading and compiling, which the program does without us too.
_FULL, _OWN_OF_CUDA = 8, (2, 6, 7)
#: `ENUM_NSYS_EVENT_TYPE`: a mark, ranges that nest on their thread, ranges that need not; the latter three from NVTX's text files.
_MARKS, _NESTED, _FREE = (34, 65), (59, 70), (60, 71)
_OTHER_ROWS = "NVTX rows that are no ranges or marks (names of domains, categories, threads)"
_NVTX, _DOMAIN = "NVTX_EVENTS", 75


Flags = NDArray[np.bool_]


class Calls(NamedTuple):
    """Calls of CUDA as links need them, shape (n,) each: event, process, correlation, times, and kind."""

    event: Whole
    process: Whole
    correlation: Whole
    start: Whole
    end: Whole
    kind: Whole


def calls(export: Export, waiting: tuple[Whole, Whole], own_copies: tuple[Whole, Whole, Whole]) -> Calls:
    """Calls of the CUDA runtime and driver.

    Args:
        waiting: process and correlation of the calls that the file says blocked until a stream, event or context was done.
        own_copies: process, correlation and end of copies: a call that outlasts its own copy waited for it.
    """
    parts = [_calls_of(export, table, waiting, own_copies) for table in _CALLS if table in export.database.tables]
    for table in _LIBRARIES:
        _library(export, table)
    if not parts:
        return Calls(*(np.empty(0, np.int64) for _ in range(6)))
    return Calls(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


def _calls_of(export: Export, table: str, waiting: tuple[Whole, Whole], own_copies: tuple[Whole, Whole, Whole]) -> Calls:
    rows = export.numbers(table, "start", "end", "globalTid", "globalPid", "correlationId", "nameId")
    names = export.called(table, rows["nameId"], otherwise="[unnamed call]", shape=bare_call)
    kinds = export.each(names, lambda name: kind_of(call_kind(name)))
    queries = export.each(names, lambda name: "Query" in name) > 0
    process = np.where(rows["globalTid"] != MISSING, rows["globalTid"], rows["globalPid"]) >> 24
    blocked = (matches(*waiting, process, rows["correlationId"]) >= 0) & ~queries
    copy = matches(own_copies[0], own_copies[1], process, rows["correlationId"])
    blocked |= (copy >= 0) & (own_copies[2][copy] <= rows["end"]) if len(own_copies[2]) else False
    threads = np.where(rows["globalTid"] != MISSING, rows["globalTid"], rows["globalPid"])
    blocked |= _held_up(export, threads, rows["start"], rows["end"])
    kinds = np.where(blocked, kind_of("wait"), kinds)
    event = export.assembly.add(rows["start"], rows["end"], name=names, lane=export.threads(threads), kind=kinds, place=f"table {table} row")
    return Calls(event, process, rows["correlationId"], rows["start"], rows["end"], kinds)


def _held_up(export: Export, threads: Whole, start: Whole, end: Whole) -> Flags:
    """Calls that for more than half of their time could put nothing into a queue that was full: they waited for the device."""
    full_ns = np.zeros(len(start), np.int64)
    for table in _OVERHEAD:
        rows = export.numbers(table, "start", "end", "globalTid", "overheadType")
        of = rows["overheadType"] == _FULL
        if not of.any():
            continue
        begun, done = rows["start"][of], rows["end"][of]
        call = last_before(threads, start, rows["globalTid"][of], begun + 1)
        within = (call >= 0) & (done <= end[call]) if len(end) else call >= 0
        np.add.at(full_ns, call[within], (done - begun)[within])
    return np.asarray((full_ns > 0) & (2 * full_ns > end - start))


def _library(export: Export, table: str) -> None:
    rows = export.numbers(table, "start", "end", "globalTid", "nameId")
    if len(rows["start"]):
        names = export.called(table, rows["nameId"], otherwise="[unnamed call]", shape=bare_call)
        lanes = export.threads(rows["globalTid"])
        export.assembly.add(rows["start"], rows["end"], name=names, lane=lanes, kind=kind_of("operator"), place=f"table {table} row")


def system_calls(export: Export) -> None:
    """Calls of the operating system's libraries."""
    table = "OSRT_API"
    rows = export.numbers(table, "start", "end", "globalTid", "nameId")
    if not len(rows["start"]):
        return
    names = export.called(table, rows["nameId"], otherwise="[unnamed call]")
    kinds = export.each(names, lambda name: kind_of(system_call_kind(name)))
    export.assembly.add(rows["start"], rows["end"], name=names, lane=export.threads(rows["globalTid"]), kind=kinds, place=f"table {table} row")


def overhead(export: Export) -> None:
    """The profiler's own work, and what CUDA does beside a call; it overlaps the calls, so it lies on lanes beside the threads."""
    for table in _OVERHEAD:
        rows = export.numbers(table, "start", "end", "globalTid", "nameId", "overheadType")
        if not len(rows["start"]):
            continue
        names = export.called(table, rows["nameId"], otherwise="[unnamed overhead]")
        kinds = np.full(len(names), kind_of("profiler"))
        kinds[rows["overheadType"] == _FULL] = kind_of("wait")
        if table != "PROFILER_OVERHEAD":
            kinds[np.isin(rows["overheadType"], _OWN_OF_CUDA)] = kind_of("runtime")
        lanes = export.beside(rows["globalTid"], "overhead")
        export.assembly.add(rows["start"], rows["end"], name=names, lane=lanes, kind=kinds, place=f"table {table} row")


def ranges(export: Export) -> None:
    """NVTX ranges and marks; text written out or interned, those never closed counted."""
    assembly = export.assembly
    rows = export.numbers(_NVTX, "start", "end", "eventType", "globalTid", "globalPid", "textId", "domainId")
    if not len(rows["start"]):
        return
    if not export.database.has(_NVTX, "eventType"):
        rows["eventType"] = np.full(len(rows["start"]), _NESTED[0])
    rows["thread"] = np.where(rows["globalTid"] != MISSING, rows["globalTid"], rows["globalPid"])
    texts = _texts(export, rows)
    marks, nested, free = (np.isin(rows["eventType"], kinds) for kinds in (_MARKS, _NESTED, _FREE))
    other, endless = ~(marks | nested | free), (nested | free) & (rows["end"] == MISSING)
    for which, reason in ((other, _OTHER_ROWS), (endless, "NVTX ranges that were never closed")):
        if which.any():
            assembly.leave_out(reason, int(which.sum()), first=f"table {_NVTX} row {int(np.argmax(which)) + 1}")
    if marks.any():
        names = assembly.names([export.database.name(texts[row]) for row in np.flatnonzero(marks).tolist()])
        assembly.mark(rows["start"][marks], names, export.threads(rows["thread"][marks]))
    domains = {rows["domainId"][row]: texts[row] for row in np.flatnonzero(rows["eventType"] == _DOMAIN).tolist() if rows["domainId"][row] != 0}
    for which, lanes in ((nested & ~endless, export.threads), (free & ~endless, lambda ids: export.beside(ids, "ranges"))):
        chosen = np.flatnonzero(which)
        if len(chosen):
            part = {key: values[chosen] for key, values in rows.items()}
            _add_ranges(export, part, [texts[row] for row in chosen.tolist()], lanes(part["thread"]), domains)


def _texts(export: Export, rows: dict[str, Whole]) -> list[str]:
    """The text of each row: its own, or the interned one."""
    strings = export.strings
    own = export.database.texts(_NVTX, "text")
    pairs = zip(own, rows["textId"].tolist(), strict=True)
    return [text if text is not None else strings.get(number, "[unnamed range]") for text, number in pairs]


def _add_ranges(export: Export, rows: dict[str, Whole], texts: list[str], lanes: Whole, domains: dict[int, str]) -> None:
    assembly = export.assembly
    read: dict[str, tuple[int, int, int, int, int]] = {}
    for text in texts:
        if text not in read:
            name, kind, step, seq, sizes = _range(export.database.name(text))
            read[text] = (assembly.name(name), kind_of(kind), step, seq, assembly.name(sizes) if sizes else -1)
    place = {text: index for index, text in enumerate(read)}
    columns = np.array(list(read.values()), np.int64)[np.fromiter((place[text] for text in texts), np.int64, len(texts))]
    name_column, kind_column, steps, sequences, shapes = columns.T
    numbers = {key: values for key, values in (("iteration", steps), ("sequence", sequences)) if (values >= 0).any()}
    further = {"shapes": shapes} if (shapes >= 0).any() else {}
    if domains:
        known = {each: assembly.name(export.database.name(text)) for each, text in domains.items()}
        further["domain"] = np.array([known.get(each, -1) for each in rows["domainId"].tolist()], np.int64)
    assembly.add(
        rows["start"], rows["end"], name=name_column, lane=lanes, kind=kind_column, numbers=numbers, texts=further, place=f"table {_NVTX} row"
    )


def _range(text: str) -> tuple[str, str, int, int, str]:
    """Name, kind, step, sequence number and shapes of a range by its text; PyTorch's `emit_nvtx` writes numbers behind the name of an operator."""
    at = min((place for place in (text.find(", seq = "), text.find(", op_id = ")) if place > 0), default=-1)
    if at < 0:
        step = iteration_of(text)
        return text, "iteration" if step >= 0 else "annotation", step, -1, ""
    behind = text[at:]
    number = behind[8:].partition(",")[0] if behind.startswith(", seq = ") else ""
    shapes = behind.partition(", sizes = ")[2].partition(", input_op_ids = ")[0]
    return text[:at], "operator", -1, int(number) if number.isascii() and number.isdigit() and len(number) < 18 else -1, shapes
