"""`RocprofCsv`: the CSV files of rocprof v1 and v2 (with Omniperf's names for their columns too) and of rocprofv3.

This module decides by the header what a file is: dispatches (with the counters of each in columns of their own, or one a row), calls of HIP, HSA and
ROCTx, copies, or sums by name. Seen: v1 and v2 time stamps, as they are and as Omniperf renames them; the files of rocprofv3 as documented.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice

import numpy as np

from ridgeline.core import Profile, ProfileRow, ProfileTable, Track

from ..assembling import Assembly, kind_of
from ..databases import MISSING
from ..delimited import Columns, Row, RowReader, split
from ..kinds import bare_kernel, call_kind, iteration_of
from ..source import Source
from ..written_numbers import plain
from .dispatches import Dispatch, add_dispatches, kernel_table

__all__ = ["RocprofCsv"]

_NAME = ("KernelName", "Kernel_Name")
_BEGUN, _ENDED = ("BeginNs", "Start_Timestamp"), ("EndNs", "End_Timestamp")
#: Columns that are no counters, in lower case; all others of a file of dispatches are.
_PLAIN = frozenset({
    "index", "dispatch_id", "kernelname", "kernel_name", "kernel_id", "gpu-id", "gpu_id", "agent_id", "queue-id", "queue_id", "queue-index",
    "queue_index", "stream_id", "pid", "process_id", "tid", "thread_id", "grd", "grid_size", "grid_size_x", "grid_size_y", "grid_size_z", "wgr",
    "workgroup_size", "workgroup_size_x", "workgroup_size_y", "workgroup_size_z", "lds", "lds_per_workgroup", "lds_block_size", "scr",
    "scratch_per_workitem", "scratch_size", "vgpr", "arch_vgpr", "accum_vgpr", "vgpr_count", "accum_vgpr_count", "arch_vgpr_count", "sgpr",
    "sgpr_count", "wave_size", "fbar", "sig", "obj", "dispatchns", "beginns", "start_timestamp", "endns", "end_timestamp", "completens", "durationns",
    "correlation_id", "kind", "guid", "private_segment_size", "group_segment_size", "counter_name", "counter_value",
})  # fmt: skip


class RocprofCsv:
    """Reads CSV of rocprof and rocprofv3."""

    format = "rocprof-csv"
    title = "rocprof and rocprofv3 CSV"

    def recognises(self, source: Source) -> int:
        """By the header."""
        if b"\x00" in source.head[:64]:
            return 0
        return 90 if _kind_of(_header(source)) else 0

    def read(self, source: Source) -> Profile:
        """All rows; raises `ReadError` where there is none that can be used."""
        rows = RowReader(source)
        lines = rows.rows(",")
        header = Columns(next(iter(islice(lines, 1)), Row(1, [])).fields)
        kind = _kind_of(header)
        assembly = Assembly(1e-9)
        table, kernels = None, None
        if kind in ("dispatches", "counters"):
            found = _dispatches(lines, header, assembly, kind)
            kernels = kernel_table(found, "rocprofv3" if kind == "counters" or "Kind" in header else "rocprof")
            if kernels is None:
                add_dispatches(assembly, found, "stream" if "Stream_Id" in header else "queue")
        elif kind == "sums":
            table = _sums(lines, header, assembly)
        elif kind == "copies":
            _copies(lines, header, assembly)
        else:
            _calls(lines, header, assembly)
        timeline, excluded = assembly.timeline()
        if timeline is None and kernels is None and (table is None or not table.rows):
            raise source.damaged("rows of rocprof", f"none after {', '.join(header.names[:6])!r}", "record it again")
        return Profile(
            format=self.format,
            files=(source.name,),
            tool="rocprofv3" if "Kind" in header or "Domain" in header or kind == "counters" else "rocprof",
            resolution_s=1e-9,
            timeline=timeline,
            tables=(table,) if table is not None else (),
            kernels=kernels,
            excluded=excluded,
            warnings=rows.warnings,
        )


def _header(source: Source) -> Columns:
    first = source.head_text.split("\n", 1)[0].rstrip("\r")
    return Columns(split(first, ",") if len(first) < 2**14 else [])


def _kind_of(header: Columns) -> str:
    """What the rows under a header are; empty for a file of another tool."""
    named = header.where(*_NAME) is not None
    timed = header.where(*_BEGUN) is not None and header.where(*_ENDED) is not None
    if named and "Counter_Name" in header and "Counter_Value" in header and "Dispatch_Id" in header:
        return "counters"
    where = any(name in header for name in ("gpu-id", "GPU_ID", "Agent_Id"))
    if named and where and (timed or any(name in header for name in ("wgr", "Workgroup_Size"))):
        return "dispatches"
    if timed and "Direction" in header and "Source_Agent_Id" in header:
        return "copies"
    if timed and "Domain" in header and "Function" in header:
        return "calls"
    return "sums" if all(name in header for name in ("Name", "Calls", "TotalDurationNs", "AverageNs")) else ""


def _dispatches(rows: Iterable[Row], header: Columns, assembly: Assembly, kind: str) -> list[Dispatch]:
    """Dispatches of a file; of one with a row a counter, those of one dispatch put together."""
    columns = [name for name in header.names if name and name.casefold() not in _PLAIN] if kind == "dispatches" else []
    lanes = _queues(header)
    found: list[Dispatch] = []
    together: dict[tuple[str, ...], Dispatch] = {}
    for row in rows:
        if not any(row.fields):
            continue
        name = bare_kernel(header.text(row.fields, *_NAME))
        if not name or len(row.fields) < len(header.names) - len(columns):
            assembly.leave_out("rows without the name of a kernel, or cut short", 1, first=f"line {row.line}")
            continue
        if kind == "counters":
            _join(together, found, row, header, lanes, assembly)
            continue
        counters = {column: value for column in columns if (value := plain(header.text(row.fields, column))) is not None}
        found.append(_dispatch(row, header, lanes, counters))
    return found


def _join(
    together: dict[tuple[str, ...], Dispatch], found: list[Dispatch], row: Row, header: Columns, queue: Sequence[str], assembly: Assembly
) -> None:
    value = plain(header.text(row.fields, "Counter_Value"))
    counter = header.text(row.fields, "Counter_Name")
    if value is None or not counter:
        assembly.leave_out("counters without a number", 1, first=f"line {row.line}")
        return
    key = tuple(header.text(row.fields, name) for name in ("Process_Id", "Agent_Id", "Dispatch_Id", "Correlation_Id"))
    if key not in together:
        together[key] = _dispatch(row, header, queue, {})
        found.append(together[key])
    counters = together[key].counters
    if counters is not None:
        # One row an instance of the counter in older versions: they add up.
        counters[counter] = counters.get(counter, 0.0) + value


def _dispatch(row: Row, header: Columns, queue: Sequence[str], counters: dict[str, float]) -> Dispatch:
    fields = row.fields
    device = header.text(fields, "gpu-id", "GPU_ID", "Agent_Id")
    registers = [_whole(header.text(fields, *names)) for names in (("arch_vgpr", "vgpr", "VGPR_Count"), ("accum_vgpr", "Accum_VGPR_Count"))]
    return Dispatch(
        name=bare_kernel(header.text(fields, *_NAME)),
        start=_tick(header.text(fields, *_BEGUN)),
        end=_tick(header.text(fields, *_ENDED)),
        device=f"GPU {device.removeprefix('Agent ')}" if device else "GPU",
        queue=header.text(fields, *queue),
        process=header.text(fields, "pid", "Process_Id"),
        number=_whole(header.text(fields, "Index", "Dispatch_ID")),
        correlation=_whole(header.text(fields, "Correlation_ID")),
        grid=_shape(header, fields, "grd", "Grid_Size"),
        block=_shape(header, fields, "wgr", "Workgroup_Size"),
        registers=sum(max(each, 0) for each in registers) if registers[0] >= 0 else -1,
        shared_bytes=_whole(header.text(fields, "lds", "LDS_Per_Workgroup", "LDS_Block_Size", "Group_Segment_Size")),
        counters=counters,
        line=row.line,
    )


def _queues(header: Columns) -> tuple[str, ...]:
    return ("Stream_Id", "Queue_Id") if "Stream_Id" in header else ("queue-id", "Queue_Id")


def _shape(header: Columns, fields: Sequence[str], *names: str) -> tuple[int, ...]:
    whole = _whole(header.text(fields, *names))
    sides = tuple(_whole(header.text(fields, f"{names[-1]}_{axis}")) for axis in "XYZ")
    return (whole,) if whole > 0 else sides if min(sides) > 0 else ()


def _calls(rows: Iterable[Row], header: Columns, assembly: Assembly) -> None:
    """Calls of HIP, HSA, RCCL; ranges of ROCTx."""
    events: list[tuple[int, int, int, int, int]] = []
    for row in rows:
        name = header.text(row.fields, "Function")
        if not name:
            if any(row.fields):
                assembly.leave_out("rows without a name", 1, first=f"line {row.line}")
            continue
        process, thread = header.text(row.fields, "Process_Id"), header.text(row.fields, "Thread_Id")
        lane = assembly.lane(Track(name=f"process {process} thread {thread}", role="thread", process=process, thread=thread))
        marker = header.text(row.fields, "Domain").upper().startswith("MARKER")
        kind = ("iteration" if iteration_of(name) >= 0 else "annotation") if marker else call_kind(name)
        start, end = _tick(header.text(row.fields, *_BEGUN)), _tick(header.text(row.fields, *_ENDED))
        events.append((start, end, assembly.name(name), lane, kind_of(kind)))
    columns = np.array(events, np.int64).reshape(-1, 5).T
    assembly.add(columns[0], columns[1], name=columns[2], lane=columns[3], kind=columns[4], place="call")


def _copies(rows: Iterable[Row], header: Columns, assembly: Assembly) -> None:
    events: list[tuple[int, int, int, int]] = []
    for row in rows:
        if not any(row.fields):
            continue
        direction = header.text(row.fields, "Direction")
        source, target = (header.text(row.fields, f"{side}_Agent_Id").removeprefix("Agent ") for side in ("Source", "Destination"))
        to_host = direction.upper().endswith("DEVICE_TO_HOST")
        device = f"GPU {source if to_host else target}"
        stream = header.text(row.fields, "Stream_Id")
        lane = assembly.lane(Track(name=f"{device} copies {stream}".strip(), device=device, role="queue", thread=stream))
        start, end = _tick(header.text(row.fields, *_BEGUN)), _tick(header.text(row.fields, *_ENDED))
        events.append((start, end, assembly.name(direction or "MEMORY_COPY"), lane))
    columns = np.array(events, np.int64).reshape(-1, 4).T
    assembly.add(columns[0], columns[1], name=columns[2], lane=columns[3], kind=kind_of("copy"), place="copy")


def _sums(rows: Iterable[Row], header: Columns, assembly: Assembly) -> ProfileTable:
    found = []
    for row in rows:
        name, total = header.text(row.fields, "Name"), plain(header.text(row.fields, "TotalDurationNs"))
        calls = plain(header.text(row.fields, "Calls"))
        if not name or total is None or total < 0 or (calls is not None and calls < 0):
            if any(row.fields):
                assembly.leave_out("rows without a name, a time or a possible count", 1, first=f"line {row.line}")
            continue
        least, most = plain(header.text(row.fields, "MinNs")), plain(header.text(row.fields, "MaxNs"))
        share = plain(header.text(row.fields, "Percentage"))
        found.append(
            ProfileRow(
                name=bare_kernel(name),
                total_s=total / 1e9,
                calls=calls,
                least_s=None if least is None or least < 0 else least / 1e9,
                most_s=None if most is None or most < 0 else most / 1e9,
                share=share / 100 if share is not None and 0 <= share <= 100 else None,
            )
        )
    of_host = sum(row.name.startswith(("hip", "hsa", "roctx")) for row in found)
    return ProfileTable(rows=tuple(found), of="runtime" if of_host * 2 > len(found) else "kernels")


def _tick(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else MISSING


def _whole(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 18 else -1
