"""`Entry`: one thing that a notebook keeps, whole, with the name it is kept under; how entries are read in order and written again.

What leaves a notebook and comes into another is entries, whatever file they travel in (`json_lines`, `parquet`).
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from ridgeline.core import Comparison, ComparisonSet, Experiment, MemoryBlobs, ReadError, RidgelineError, Run, UsageError
from ridgeline.core.documents import decode, encode

from .filters import RunFilter
from .statements import ConnectionBlobs, execute, insert_blobs, named
from .summary import RunSummary, summarise, summarise_comparison

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from .database import Database

__all__ = [
    "KINDS",
    "RUN_COLUMNS",
    "Document",
    "Entry",
    "Kind",
    "Outcome",
    "Unreadable",
    "decoded",
    "encoded",
    "insert",
    "read_entries",
    "write_entries",
]

Kind = Literal["run", "experiment", "comparison"]
Document = Run | Experiment | Comparison | ComparisonSet
Outcome = Literal["added", "present", "conflict"]

#: Columns of a run beside its document, as the database names them.
RUN_COLUMNS = ", ".join(name if name != "commit" else "commit_id" for name in RunSummary.__struct_fields__)
#: Kind of an entry → its table.
KINDS: dict[Kind, str] = {"run": "ridgeline_runs", "experiment": "ridgeline_experiments", "comparison": "ridgeline_comparisons"}
# Documents held in memory at once, and entries written in one transaction.
_BATCH = 50
_LONGEST_ID = 200
_ALL = RunFilter()


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """One run, experiment or comparison and the id it is kept under; `at` is the ISO 8601 time of a comparison, which holds none itself."""

    kind: Kind
    id: str
    document: Document
    at: str = ""


class Unreadable(msgspec.Struct, frozen=True, kw_only=True):
    """An entry whose document cannot be read: what it is called, and why."""

    id: str
    reason: str


class _Head(msgspec.Struct):
    schema: str = ""


def decoded(kind: Kind, document: bytes, blobs: ConnectionBlobs | MemoryBlobs | None = None) -> Document:
    """A document of that kind.

    Raises:
        ReadError: it is none, it is damaged, or newer.
    """
    if kind == "run":
        return decode(document, Run, blobs)
    if kind == "experiment":
        return decode(document, Experiment, blobs)
    try:
        schema = msgspec.json.decode(document, type=_Head).schema
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise ReadError("the document of a comparison", found=str(error), remedy="the file is damaged or of another kind") from error
    if schema.startswith("ridgeline.comparisons/"):
        return decode(document, ComparisonSet, blobs)
    return decode(document, Comparison, blobs)


def checked(entry: Entry) -> Entry:
    """The entry, if it can be found again under its id.

    Raises:
        ReadError: an id that is empty, long or not printable, or that is not the one in the document; a time that is none.
    """
    if not entry.id or len(entry.id) > _LONGEST_ID or not entry.id.isprintable():
        raise ReadError("an id of at most 200 printable characters", found=repr(entry.id)[:80], remedy="the file is damaged")
    if isinstance(entry.document, Run) and entry.document.id != entry.id:
        raise ReadError(f"the run {entry.id}", found=f"a run {entry.document.id}", remedy="the file is damaged")
    at = entry.document.at if isinstance(entry.document, Run) else entry.at
    if at or isinstance(entry.document, Run):
        _check_time(at)
    return entry


def _check_time(text: str) -> None:
    """Runs are ordered by their time and found by it, as text."""
    try:
        datetime.datetime.fromisoformat(text)
    except ValueError as error:
        raise ReadError("a time in ISO 8601", found=repr(text)[:80], remedy="the file is damaged") from error


def encoded(document: Document, blobs: MemoryBlobs | None) -> str:
    """The text of a document.

    Raises:
        UsageError: a text in it that is not UTF-8, or a number that is not finite.
    """
    try:
        return encode(document, blobs).decode()
    except UnicodeEncodeError as error:
        found = f"{error.object[max(0, error.start - 20) : error.end]!r}"
        raise UsageError("texts in UTF-8", found=found, remedy="rename the file or argument") from error


def insert(connection: Connection, entry: Entry, on_conflict: str = "") -> None:
    """Write an entry with its blobs through a connection that is writing."""
    blobs = MemoryBlobs()
    row = {**_row(entry), "document": encoded(entry.document, blobs)}
    _refuse_zero_bytes(row)
    insert_blobs(connection, list(blobs.items()))
    columns = ", ".join(row)
    execute(connection, f"INSERT INTO {KINDS[entry.kind]} ({columns}) VALUES ({named(columns)}){on_conflict}", row)


def _row(entry: Entry) -> dict[str, Any]:
    document = entry.document
    if isinstance(document, Run):
        row = msgspec.structs.asdict(summarise(document))
        row["commit_id"] = row.pop("commit")
        return row
    if isinstance(document, Experiment):
        # Of a control there is no action, but the name of the change.
        action = document.action.action if document.action is not None else document.change
        return {"id": entry.id, "diagnosis": document.diagnosis, "action": action, "verdict": document.verdict}
    return msgspec.structs.asdict(summarise_comparison(document, entry.id, entry.at))


def _refuse_zero_bytes(row: dict[str, Any]) -> None:
    """PostgreSQL keeps no text with a zero byte, and what one notebook takes the other should take too."""
    for name, value in row.items():
        if isinstance(value, str) and "\0" in value:
            raise UsageError("texts without zero bytes", found=f"{name} {value[:80]!r}", remedy="rename the file or argument")


def read_entries(database: Database, wanted: RunFilter = _ALL) -> Iterator[Entry | Unreadable]:
    """The entries of a notebook in the order of their ids, runs first, as they are at this moment.

    Args:
        wanted: only these runs, and of experiments and comparisons those that name one of them; everything if it restricts nothing.
    """
    with database.reading() as connection:
        where, values = wanted.where()
        runs = [str(row[0]) for row in execute(connection, f"SELECT id FROM ridgeline_runs {where}ORDER BY id", values)]
        yield from _documents(connection, "run", [(identity, "") for identity in runs], database.place)
        chosen = None if not where else set(runs)
        rows = execute(connection, "SELECT id, diagnosis FROM ridgeline_experiments ORDER BY id", {})
        experiments = [(str(row[0]), "") for row in rows if chosen is None or row[1] in chosen]
        yield from _documents(connection, "experiment", experiments, database.place)
        rows = execute(connection, "SELECT id, at, a_run, b_run FROM ridgeline_comparisons ORDER BY id", {})
        comparisons = [(str(row[0]), str(row[1])) for row in rows if chosen is None or chosen & {row[2], row[3]}]
        yield from _documents(connection, "comparison", comparisons, database.place)


def _documents(connection: Connection, kind: Kind, names: Sequence[tuple[str, str]], place: str) -> Iterator[Entry | Unreadable]:
    for start in range(0, len(names), _BATCH):
        batch = names[start : start + _BATCH]
        wanted = {f"i{index}": identity for index, (identity, _) in enumerate(batch)}
        bound = ", ".join(f":{name}" for name in wanted)
        found = dict(tuple(row) for row in execute(connection, f"SELECT id, document FROM {KINDS[kind]} WHERE id IN ({bound})", wanted))
        for identity, at in batch:
            try:
                text = str(found[identity])
                document = decoded(kind, text.encode(), ConnectionBlobs(connection, text, place))
            except RidgelineError as error:
                yield Unreadable(id=identity, reason=str(error))
                continue
            yield Entry(kind=kind, id=identity, document=document, at=at)


def write_entries(database: Database, entries: Iterable[Entry]) -> Iterator[tuple[Entry, Outcome | str]]:
    """Keep entries, each whole or not at all; of each what became of it, or in a sentence why it could not be kept.

    An entry that is there already is left as it is; one that is there with another content is a `conflict` and left too.

    Raises:
        UsageError: the notebook may not be written, or its disk is full; what was told before is kept.
    """
    batch: list[Entry] = []
    for entry in entries:
        batch.append(entry)
        if len(batch) == _BATCH:
            yield from _write_batch(database, batch)
            batch = []
    if batch:
        yield from _write_batch(database, batch)


def _write_batch(database: Database, batch: Sequence[Entry]) -> list[tuple[Entry, Outcome | str]]:
    with database.writing() as connection:
        return [(entry, _write(connection, entry, database.place)) for entry in batch]


def _write(connection: Connection, entry: Entry, place: str) -> Outcome | str:
    rows = execute(connection, f"SELECT document FROM {KINDS[entry.kind]} WHERE id = :id", {"id": entry.id})
    if rows:
        return "present" if _same(connection, entry, str(rows[0][0]), place) else "conflict"
    try:
        insert(connection, entry)
    except UsageError as error:
        # Refused before anything was sent to the database: the transaction goes on without it.
        return str(error)
    return "added"


def _same(connection: Connection, entry: Entry, text: str, place: str) -> bool:
    blobs = MemoryBlobs()
    if encoded(entry.document, blobs) == text:
        return True
    # Written by an earlier version, with fewer fields.
    try:
        return decoded(entry.kind, text.encode(), ConnectionBlobs(connection, text, place)) == entry.document
    except RidgelineError:
        return False
