"""Entries as one Parquet table: a row each, with columns for analysts, and what it takes to read the entry back whole.

`document` is the document as the notebook keeps it and `blobs` its long columns; only these and `kind`, `id`, `at` are read again. All other columns
are drawn from the document so that a query engine finds them: the calls of a run (`start_s`, `wall_s`, `process`, `warmup`) are lists of one length.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, BinaryIO

import msgspec

from ridgeline.core import BackendUnavailable, Experiment, MemoryBlobs, ReadError, RidgelineError, Run
from ridgeline.core.samples import FLAG_WARMUP

from .entries import Entry, Unreadable, checked, decoded, encoded
from .summary import samples_of, summarise, summarise_comparison

if TYPE_CHECKING:
    import pyarrow

__all__ = ["read_parquet", "write_parquet"]

#: Entries in a row group, which is what a reader holds in memory.
_GROUP = 50
# A group that claims more than this was not written here.
_LARGEST_GROUP = 2**33
_READ = ("kind", "id", "at", "document", "blobs")


def _arrow() -> tuple[Any, Any]:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise BackendUnavailable("pyarrow, for Parquet files", found=str(error), remedy="pip install 'ridgeline[parquet]'") from error
    return pyarrow, pyarrow.parquet


def _schema(arrow: Any) -> pyarrow.Schema:
    text, real, whole = arrow.string(), arrow.float64(), arrow.int64()
    blob = arrow.struct([arrow.field("digest", text), arrow.field("data", arrow.binary())])
    columns = {
        "kind": text, "id": text, "at": text, "verb": text, "target": text, "target_kind": text, "target_digest": text, "machine": text,
        "machine_name": text, "commit": text, "threads": whole, "bound": text, "cause": text, "median_s": real, "p99_s": real, "batched_s": real,
        "processes": whole, "samples": whole, "action": text, "diagnosis": text, "verdict": text, "ratio": real, "found_low": real,
        "found_high": real, "a_run": text, "b_run": text, "start_s": arrow.list_(real), "wall_s": arrow.list_(real), "process": arrow.list_(whole),
        "warmup": arrow.list_(arrow.bool_()), "document": text, "blobs": arrow.list_(blob),
    }  # fmt: skip
    return arrow.schema(list(columns.items()), metadata={"ridgeline": "ridgeline.notebook/1"})


def write_parquet(file: BinaryIO, entries: Iterable[Entry]) -> None:
    """Write entries to an open file.

    Raises:
        BackendUnavailable: pyarrow is missing.
        UsageError: a text in an entry that is not UTF-8.
    """
    arrow, parquet = _arrow()
    schema = _schema(arrow)
    with parquet.ParquetWriter(file, schema, compression="zstd") as writer:
        rows: list[dict[str, Any]] = []
        for entry in entries:
            rows.append(_row(entry))
            if len(rows) == _GROUP:
                writer.write_table(arrow.Table.from_pylist(rows, schema=schema))
                rows = []
        if rows:
            writer.write_table(arrow.Table.from_pylist(rows, schema=schema))


def _row(entry: Entry) -> dict[str, Any]:
    blobs = MemoryBlobs()
    document = encoded(entry.document, blobs)
    kept = [{"digest": digest, "data": data} for digest, data in sorted(blobs.items())]
    return {"at": entry.at, **_drawn(entry), "kind": entry.kind, "id": entry.id, "document": document, "blobs": kept}


def _drawn(entry: Entry) -> dict[str, Any]:
    document = entry.document
    if isinstance(document, Run):
        return {**msgspec.structs.asdict(summarise(document)), "target_kind": document.facts.target.kind, **_calls(document)}
    if isinstance(document, Experiment):
        low, high = document.found or (None, None)
        return {
            "diagnosis": document.diagnosis, "action": document.action.action if document.action else None, "verdict": document.verdict,
            "target": document.target, "machine": document.machine, "found_low": low, "found_high": high,
        }  # fmt: skip
    return msgspec.structs.asdict(summarise_comparison(document, entry.id, entry.at))


def _calls(run: Run) -> dict[str, Any]:
    samples = samples_of(run)
    if samples is None:
        return {}
    flags = samples.flags.values if samples.flags is not None else None
    return {
        "start_s": samples.start_s.values, "wall_s": samples.wall_s.values, "process": samples.process.values,
        "warmup": (flags & FLAG_WARMUP) != 0 if flags is not None else [False] * len(samples),
    }  # fmt: skip


def read_parquet(file: BinaryIO) -> Iterator[Entry | Unreadable]:
    """The entries of an open file; a row that is none is told with its number.

    Raises:
        BackendUnavailable: pyarrow is missing.
        ReadError: no Parquet file, one that was cut short, or one of another kind.
    """
    arrow, parquet = _arrow()
    try:
        source = parquet.ParquetFile(file)
        _check_schema(source, arrow)
        number = 0
        for group in range(source.num_row_groups):
            if source.metadata.row_group(group).total_byte_size > _LARGEST_GROUP:
                raise ReadError("row groups of at most 8 GiB", found=f"group {group}, larger", remedy="export again")
            for row in source.read_row_group(group, columns=[*_READ]).to_pylist():
                number += 1
                yield _entry(row, number)
    except (arrow.ArrowException, OSError, ValueError, MemoryError) as error:
        raise ReadError("a whole Parquet file", found=str(error) or type(error).__name__, remedy="export again") from error


def _check_schema(source: Any, arrow: Any) -> None:
    found, wanted = source.schema_arrow, _schema(arrow)
    for name in _READ:
        if name not in found.names or not found.field(name).type.equals(wanted.field(name).type):
            raise ReadError(
                f"a Parquet file of `ridgeline export`, with a column {name}", found=f"columns {', '.join(found.names)}"[:200], remedy="give another"
            )


def _entry(row: dict[str, Any], number: int) -> Entry | Unreadable:
    try:
        blobs = MemoryBlobs({str(blob["digest"]): bytes(blob["data"]) for blob in row["blobs"] or ()})
        if row["kind"] not in {"run", "experiment", "comparison"} or not isinstance(row["document"], str):
            raise ReadError("a run, an experiment or a comparison", found=f"kind {row['kind']!r}", remedy="export again")
        document = decoded(row["kind"], row["document"].encode(), blobs)
        # Of a run the time stands in its document.
        at = row["at"] or "" if row["kind"] == "comparison" else ""
        return checked(Entry(kind=row["kind"], id=row["id"] or "", at=at, document=document))
    except (RidgelineError, TypeError) as error:
        return Unreadable(id=f"row {number}", reason=str(error))
