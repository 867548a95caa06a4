"""Small exports of Nsight Systems, made row by row with the tables and columns that the tool writes."""

from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

PROCESS = 1 << 24  # `globalPid >> 24` of process n on machine 1 is PROCESS + n


def global_pid(process: int) -> int:
    return (PROCESS + process) << 24


def global_tid(process: int, thread: int) -> int:
    return global_pid(process) + thread


_WORK = ("start", "end", "deviceId", "contextId", "streamId", "correlationId", "globalPid")
COLUMNS = {
    "StringIds": ("id", "value"),
    "CUPTI_ACTIVITY_KIND_KERNEL": (*_WORK, "demangledName", "shortName", "gridX", "gridY", "gridZ", "blockX", "blockY", "blockZ", "graphNodeId"),
    "CUPTI_ACTIVITY_KIND_MEMCPY": (*_WORK, "bytes", "copyKind", "srcKind", "dstKind"),
    "CUPTI_ACTIVITY_KIND_MEMSET": (*_WORK, "bytes"),
    "CUPTI_ACTIVITY_KIND_GRAPH_TRACE": (*_WORK, "graphId"),
    "CUPTI_ACTIVITY_KIND_RUNTIME": ("start", "end", "globalTid", "correlationId", "nameId"),
    "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION": (*_WORK, "syncType", "eventId", "eventSyncId"),
    "CUPTI_ACTIVITY_KIND_CUDA_EVENT": (*_WORK[2:], "eventId", "eventSyncId"),
    "NVTX_EVENTS": ("start", "end", "eventType", "text", "textId", "globalTid", "domainId"),
    "OSRT_API": ("start", "end", "globalTid", "nameId"),
    "PROFILER_OVERHEAD": ("start", "end", "globalTid", "nameId", "overheadType"),
    "CUPTI_ACTIVITY_KIND_OVERHEAD": ("start", "end", "globalTid", "nameId", "overheadType"),
    "ThreadNames": ("globalTid", "nameId"),
    "TARGET_INFO_CUDA_DEVICE": ("gpuId", "cudaId", "pid"),
    "META_DATA_EXPORT": ("name", "value"),
}


def export_of(tables: Mapping[str, Sequence[Mapping[str, object]]], strings: Sequence[str] = (), script: str = "") -> bytes:
    """A database with these tables, and no others; missing values are NULL.

    Args:
        tables: rows by table; of unknown tables the columns are those of the first row.
        strings: interned, from id 1 on.
        script: SQL that is run at the end.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "export.sqlite"
        connection = sqlite3.connect(path)
        connection.execute("PRAGMA page_size = 512")  # small files, so that damage falls on something
        for name, rows in {"StringIds": [{"id": place + 1, "value": text} for place, text in enumerate(strings)], **tables}.items():
            columns = COLUMNS.get(name) or tuple(rows[0])
            named = ", ".join('"' + column + '"' for column in columns)
            connection.execute(f'CREATE TABLE "{name}" ({named})')
            connection.executemany(
                f'INSERT INTO "{name}" VALUES ({", ".join("?" * len(columns))})', [[row.get(column) for column in columns] for row in rows]
            )
        connection.executescript(script)
        connection.commit()
        connection.close()
        return path.read_bytes()
