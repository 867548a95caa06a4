"""Tables of measured latencies: a document that `model collect` wrote, or recordings that somebody published, told by what is in them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from ridgeline.core import LatencyTable, ReadError, UsageError
from ridgeline.readers.latencies import read_latencies

from .documents import read_document, schema_of

__all__ = ["load_tables"]

Report = Callable[[str, float | None], None]
_SCHEMA = "ridgeline.latencies"


def load_tables(paths: Sequence[str | Path], *, report: Report | None = None) -> LatencyTable:
    """The rows of all files and folders, one after the other.

    Args:
        paths: documents `ridgeline.latencies/1`, or folders (or single files) of recordings that a reader of latencies knows.
        report: told what is going on.

    Raises:
        UsageError: no path. ReadError: one that cannot be read as either, or that is damaged.
    """
    say = report or (lambda label, fraction: None)
    if not paths:
        raise UsageError("at least one table of measured latencies", found="none", remedy="name the file that `ridgeline model collect` wrote")
    tables = []
    for path in paths:
        say(f"reading {path}", None)
        tables.append(_table(path))
    return tables[0] if len(tables) == 1 else LatencyTable.joined(tables)


def _table(path: str | Path) -> LatencyTable:
    schema = schema_of(path)
    if schema is None:
        return read_latencies(path)
    if not schema.startswith(f"{_SCHEMA}/"):
        found = f"{path}, a document {schema}"
        raise ReadError("measured latencies", found=found, remedy="name the file that `ridgeline model collect` wrote, or a folder of recordings")
    return read_document(path, LatencyTable)
