"""Huawei Ascend: the CSV files of `msprof` and of the profiler of torch_npu: `op_summary`, `kernel_details`, `task_time`, `op_statistic`.

This module decides which rows are work and of which kind, by their task type: collectives are communication, asynchronous copies are copies, waits
for events and notifications are synchronisation, all else computes. Times are decimal microseconds, read to the nanosecond without a loss.
Source: CANN's documentation of the files and the headers in the profiler's own tests; unverified, since no file of the tool itself was at hand.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import msgspec
import numpy as np

from ridgeline.core import Profile, ProfileRow, ProfileTable, Track

from .assembling import Assembly, kind_of
from .databases import MISSING
from .delimited import Columns, Row, RowReader, header_in, table, unverified
from .source import Source
from .stacking import LeftOut, nothing
from .written_numbers import plain

__all__ = ["Ascend"]

_STARTS = ("Task Start Time(us)", "Task Start Time", "Start Time(us)", "task_start(us)")
_DURATIONS = ("Task Duration(us)", "Duration(us)", "task_time(us)")
_NAMES, _KINDS = ("Op Name", "Name", "kernel_name"), ("OP Type", "Type")
_TYPES = ("Task Type", "Accelerator Core", "kernel_type")
_COMMUNICATION = re.compile(r"hccl|communication|^hcom|allreduce|allgather|reducescatter|alltoall", re.IGNORECASE)
_COPY = re.compile(r"memcpy|sdma|dma_sqe|tensor_move", re.IGNORECASE)
_SYNC = re.compile(r"event_wait|notify_wait|stream_wait|event_record|notify_record|barrier|placeholder", re.IGNORECASE)
_MICROSECONDS = re.compile(r"([+-]?)(\d{1,18})(?:\.(\d{1,12}))?", re.ASCII)


class Ascend:
    """Tables of Ascend's profilers."""

    format = "ascend"
    title = "Ascend msprof CSV (op_summary, op_statistic, kernel_details)"

    def recognises(self, source: Source) -> int:
        """By columns that only they have."""
        text = source.head_text
        return 90 if header_in(text, _is_tasks) or header_in(text, _is_statistic) else 0

    def read(self, source: Source) -> Profile:
        """A timeline of tasks, or sums of operators; raises `ReadError` where there are none."""
        reader, left_out = RowReader(source), LeftOut()
        columns, rows = table(source, reader, lambda found: _is_tasks(found) or _is_statistic(found), "columns of op_summary or op_statistic")
        profile = (_tasks if _is_tasks(columns) else _statistic)(source, columns, rows, left_out)
        return msgspec.structs.replace(profile, warnings=(unverified("Ascend's CSV"), *profile.warnings, *reader.warnings))


def _is_tasks(columns: Columns) -> bool:
    found = (columns.where(*names) is not None for names in (_STARTS, _DURATIONS, _NAMES))
    return all(found) and columns.where(*_TYPES, "Stream ID", "Device_id", "stream_id") is not None


def _is_statistic(columns: Columns) -> bool:
    return "OP Type" in columns and "Total Time(us)" in columns and "Count" in columns


def _nanoseconds(text: str) -> int:
    """Decimal microseconds as nanoseconds, the nearest where they are finer; `MISSING` where they are none."""
    found = _MICROSECONDS.fullmatch(text.strip().strip('"'))
    if found is None:
        return int(MISSING)
    digits = (found[3] or "").ljust(4, "0")
    value = int(found[2]) * 1000 + int(digits[:3]) + (digits[3] >= "5")
    value = -value if found[1] == "-" else value
    return value if abs(value) < 2**61 else int(MISSING)


def _kind(task: str, operator: str, name: str) -> str:
    for pattern, kind in ((_COMMUNICATION, "communication"), (_COPY, "copy"), (_SYNC, "sync")):
        if pattern.search(task) or (kind == "communication" and (pattern.search(operator) or name.startswith("hcom_"))):
            return kind
    return "compute"


def _tasks(source: Source, columns: Columns, rows: Iterator[Row], left_out: LeftOut) -> Profile:
    assembly = Assembly(1e-9)
    starts: list[int] = []
    durations: list[int] = []
    names: list[int] = []
    lanes: list[int] = []
    kinds: list[int] = []
    steps: list[int] = []
    shapes: list[int] = []
    for row in rows:
        if not any(row.fields):
            continue
        fields = row.fields
        name = columns.text(fields, *_NAMES)
        start, duration = _nanoseconds(columns.text(fields, *_STARTS)), _nanoseconds(columns.text(fields, *_DURATIONS))
        if not name or MISSING in (start, duration):
            left_out.add("rows without a name, a start or a duration", f"line {row.line}")
            continue
        starts.append(start)
        durations.append(duration)
        names.append(assembly.name(name))
        lanes.append(assembly.lane(_lane(columns, fields)))
        kinds.append(kind_of(_kind(columns.text(fields, *_TYPES), columns.text(fields, *_KINDS), name)))
        step = plain(columns.text(fields, "Step Id"))
        steps.append(int(step) if step is not None and 0 <= step < 2**31 else -1)
        shape = columns.text(fields, "Input Shapes")
        shapes.append(assembly.name(shape) if shape and shape != "N/A" else -1)
    start_ticks = np.array(starts, np.int64)
    assembly.add(
        start_ticks,
        start_ticks + np.array(durations, np.int64),
        name=names,
        lane=lanes,
        kind=kinds,
        numbers={"iteration": steps} if any(step >= 0 for step in steps) else None,
        texts={"shapes": shapes} if any(shape >= 0 for shape in shapes) else None,
        place="row",
    )
    timeline, excluded = assembly.timeline()
    if timeline is None or not len(timeline):
        raise nothing(source, "tasks with a start and a duration", (*left_out.listed, *excluded))
    return Profile(
        format=Ascend.format,
        files=(source.name,),
        tool="Ascend msprof",
        resolution_s=1e-9,
        timeline=timeline,
        excluded=(*left_out.listed, *excluded),
    )


def _lane(columns: Columns, fields: Sequence[str]) -> Track:
    device, stream = columns.text(fields, "Device_id", "Device ID") or "0", columns.text(fields, "Stream ID", "stream_id")
    stream = "" if stream in ("N/A", "-") else stream
    name = f"NPU {device} stream {stream}" if stream else f"NPU {device}, no stream"
    return Track(name=name, device=f"NPU {device}", role="queue" if stream else "", thread=stream)


def _statistic(source: Source, columns: Columns, rows: Iterator[Row], left_out: LeftOut) -> Profile:
    found = []
    for row in rows:
        if not any(row.fields):
            continue
        total, count = plain(columns.text(row.fields, "Total Time(us)")), plain(columns.text(row.fields, "Count"))
        name = columns.text(row.fields, "OP Type")
        if total is None or total < 0.0 or not name:
            left_out.add("rows without a name or a time", f"line {row.line}")
            continue
        least, most = (_seconds(columns.text(row.fields, column)) for column in ("Min Time(us)", "Max Time(us)"))
        share = plain(columns.text(row.fields, "Ratio(%)"))
        device = columns.text(row.fields, "Device_id")
        found.append(
            ProfileRow(
                name=name,
                kind=name,
                calls=count if count is not None and count > 0 else None,
                total_s=total / 1e6,
                least_s=least,
                most_s=most,
                share=share / 100.0 if share is not None and 0.0 <= share <= 100.0 else None,
                device=f"NPU {device}" if device else "NPU 0",
                texts={"core": core} if (core := columns.text(row.fields, "Core Type")) else {},
            )
        )
    if not found:
        raise nothing(source, "operators with times", left_out.listed)
    return Profile(
        format=Ascend.format,
        files=(source.name,),
        tool="Ascend msprof",
        tables=(ProfileTable(rows=tuple(found), of="operators", name="op_statistic"),),
        excluded=left_out.listed,
    )


def _seconds(text: str) -> float | None:
    value = plain(text)
    return None if value is None or value < 0.0 else value / 1e6
