"""What ran on the host: calls of CUDA and its libraries, system calls, ranges that people and frameworks set, and the profiler's own work."""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np

from ..assembling import Whole, kind_of
from ..databases import MISSING
from ..joining import matches
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
#: What PyTorch's `emit_nvtx` writes behind the name of an operator.
_OPERATOR = re.compile(
    r"^(?P<name>.+?)(?:, seq = (?P<seq>\d+))?(?:, op_id = (?P<op>\d+))?(?:, sizes = (?P<sizes>\[.*\]))?(?:, input_op_ids = .*)?$", re.DOTALL
)


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
    strings = list(export.assembly.strings)
    found, inverse = np.unique(names, return_inverse=True)
    kinds = np.array([kind_of(call_kind(strings[each])) for each in found.tolist()], np.int64)[inverse] if len(found) else names
    queries = np.array(["Query" in strings[each] for each in found.tolist()], np.bool_)[inverse] if len(found) else np.empty(0, np.bool_)
    process = np.where(rows["globalTid"] != MISSING, rows["globalTid"], rows["globalPid"]) >> 24
    blocked = (matches(*waiting, process, rows["correlationId"]) >= 0) & ~queries
    copy = matches(own_copies[0], own_copies[1], process, rows["correlationId"])
    blocked |= (copy >= 0) & (own_copies[2][copy] <= rows["end"]) if len(own_copies[2]) else False
    kinds = np.where(blocked, kind_of("wait"), kinds)
    threads = np.where(rows["globalTid"] != MISSING, rows["globalTid"], rows["globalPid"])
    event = export.assembly.add(rows["start"], rows["end"], name=names, lane=export.threads(threads), kind=kinds, place=f"table {table} row")
    return Calls(event, process, rows["correlationId"], rows["start"], rows["end"], kinds)


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
    strings = list(export.assembly.strings)
    found, inverse = np.unique(names, return_inverse=True)
    kinds = np.array([kind_of(system_call_kind(strings[each])) for each in found.tolist()], np.int64)[inverse]
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
    table, assembly = "NVTX_EVENTS", export.assembly
    rows = export.numbers(table, "start", "end", "eventType", "globalTid", "globalPid", "textId", "domainId")
    if not len(rows["start"]):
        return
    if not export.database.has(table, "eventType"):
        rows["eventType"] = np.full(len(rows["start"]), _NESTED[0])
    thread = np.where(rows["globalTid"] != MISSING, rows["globalTid"], rows["globalPid"])
    names = export.called(table, rows["textId"], column="text", otherwise="[unnamed range]")
    marks, nested, free = (np.isin(rows["eventType"], kinds) for kinds in (_MARKS, _NESTED, _FREE))
    other = ~(marks | nested | free)
    assembly.leave_out(_OTHER_ROWS, int(other.sum()), first=f"table {table} row {int(np.argmax(other)) + 1}" if other.any() else "")
    if marks.any():
        assembly.mark(rows["start"][marks], names[marks], export.threads(thread[marks]))
    open_ended = (nested | free) & (rows["end"] == MISSING)
    first = f"table {table} row {int(np.argmax(open_ended)) + 1}" if open_ended.any() else ""
    assembly.leave_out("NVTX ranges that were never closed", int(open_ended.sum()), first=first)
    domains = _domains(rows, names, list(assembly.strings))
    for which, lanes in ((nested & ~open_ended, export.threads), (free & ~open_ended, lambda ids: export.beside(ids, "ranges"))):
        if which.any():
            _add_ranges(export, {key: values[which] for key, values in rows.items()}, names[which], lanes(thread[which]), domains)


def _domains(rows: dict[str, Whole], names: Whole, strings: list[str]) -> dict[int, str]:
    """Names of domains other than the default one, from the rows that made them."""
    made = np.flatnonzero(rows["eventType"] == 75)
    pairs = zip(rows["domainId"][made].tolist(), names[made].tolist(), strict=True)
    return {domain: strings[name] for domain, name in pairs if domain != 0}


def _add_ranges(export: Export, rows: dict[str, Whole], names: Whole, lanes: Whole, domains: dict[int, str]) -> None:
    assembly = export.assembly
    strings = list(assembly.strings)
    found, inverse = np.unique(names, return_inverse=True)
    read = [_range(strings[each]) for each in found.tolist()]
    columns = np.array(
        [(assembly.name(name), kind_of(kind), step, seq, assembly.name(sizes) if sizes else -1) for name, kind, step, seq, sizes in read]
    )
    name, kind, step, seq, sizes = columns[inverse].T
    numbers = {key: values for key, values in (("iteration", step), ("sequence", seq)) if (values >= 0).any()}
    texts = {"shapes": sizes} if (sizes >= 0).any() else {}
    if domains:
        known = {each: assembly.name(text) for each, text in domains.items()}
        texts["domain"] = np.array([known.get(each, -1) for each in rows["domainId"].tolist()], np.int64)
    place = "table NVTX_EVENTS row"
    assembly.add(rows["start"], rows["end"], name=name, lane=lanes, kind=kind, numbers=numbers, texts=texts, place=place)


def _range(text: str) -> tuple[str, str, int, int, str]:
    """Name, kind, step, sequence number and shapes of a range by its text."""
    if ", seq = " in text or ", op_id = " in text:
        found = _OPERATOR.match(text)
        if found and (found["seq"] or found["op"]):
            seq = found["seq"] or ""
            return found["name"], "operator", -1, int(seq) if 0 < len(seq) < 18 else -1, found["sizes"] or ""
    step = iteration_of(text)
    return text, "iteration" if step >= 0 else "annotation", step, -1, ""
