"""`Notebook`: adding runs and finding them again.

A run is one transaction: its document and its blobs are all there, or nothing is. What a run says is left to `core`, where the database is to
`location`, how it is opened to `database`. SQLAlchemy is imported when a notebook is opened, not before.
"""

from __future__ import annotations

import re
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from ridgeline.core import Blobs, Experiment, MemoryBlobs, ReadError, Run, UsageError
from ridgeline.core.documents import decode, encode

from .location import default_location
from .summary import RunSummary, summarise

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection

    from .database import Database

__all__ = ["Notebook"]

# `last` or `latest`, or `-1` for the newest, `-2` for the one before; nine digits are more runs than there ever are.
_AGE = re.compile(r"last|latest|-[1-9][0-9]{0,8}")
_COLUMNS = "id, verb, at, target, target_digest, machine, bound, cause, median_s, commit_id"


class Notebook:
    """The record of all runs; a context manager that closes it."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._last_saved: str | None = None

    @classmethod
    def open(cls, location: str | Path | None = None, *, create: bool = True) -> Notebook:
        """Open a notebook, bringing it to the form of this version.

        Args:
            location: path, `sqlite:///path` or `postgresql+psycopg://…`; see `default_location` if not given.
            create: whether a file that is not there is made.

        Raises:
            UsageError: no permission, a directory, no such file, no server.
            ReadError: not a notebook, or a newer one.
            BackendUnavailable: PostgreSQL without its driver.
        """
        from .database import connect

        return cls(connect(str(location) if location is not None else default_location(), create=create))

    @property
    def place(self) -> str:
        """Path, or URL without its password."""
        return self._database.place

    @property
    def writable(self) -> bool:
        """Whether runs can be added."""
        return self._database.writable

    @property
    def blobs(self) -> Blobs:
        """Where the long columns of the runs are kept."""
        return _StoredBlobs(self._database)

    @property
    def last_saved(self) -> str | None:
        """Id of the run that this object wrote last, so that an interrupted flow can say what was kept; null before the first."""
        return self._last_saved

    def close(self) -> None:
        """Close the database."""
        self._database.close()

    def __enter__(self) -> Notebook:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def add(self, run: Run) -> None:
        """Keep a new `run` with its blobs, in one transaction.

        Raises:
            UsageError: its id is there already, the notebook may not be written, the disk is full, or a text in it is not UTF-8.
        """
        self._write(run, "")

    def save(self, run: Run) -> None:
        """Keep `run`, in place of what was kept under its id before: how a flow records its progress.

        Raises:
            UsageError: as `add`, an id that is there already apart.
        """
        changed = ", ".join(f"{name.strip()} = excluded.{name.strip()}" for name in f"{_COLUMNS}, document".split(",")[1:])
        self._write(run, f" ON CONFLICT (id) DO UPDATE SET {changed}")

    def _write(self, run: Run, on_conflict: str) -> None:
        blobs = MemoryBlobs()
        row = {**_row(run), "document": _text(run, blobs)}
        statement = f"INSERT INTO ridgeline_runs ({_COLUMNS}, document) VALUES ({_named(_COLUMNS)}, :document){on_conflict}"
        with self._database.writing() as connection:
            _insert_blobs(connection, list(blobs.items()))
            _execute(connection, statement, row)
        self._last_saved = run.id

    def add_experiment(self, experiment: Experiment, identity: str) -> None:
        """Keep `experiment` under `identity` (see `new_run_id`)."""
        row = {
            "id": identity, "diagnosis": experiment.diagnosis, "action": _action_of(experiment), "verdict": experiment.verdict,
            "document": _text(experiment, None),
        }  # fmt: skip
        columns = "id, diagnosis, action, verdict, document"
        with self._database.writing() as connection:
            _execute(connection, f"INSERT INTO ridgeline_experiments ({columns}) VALUES ({_named(columns)})", row)

    def experiments(self, diagnosis: str | None = None) -> tuple[Experiment, ...]:
        """Experiments, oldest first; only those of the run `diagnosis` if given."""
        where = "WHERE diagnosis = :diagnosis " if diagnosis is not None else ""
        with self._database.reading() as connection:
            rows = _execute(connection, f"SELECT document FROM ridgeline_experiments {where}ORDER BY id", {"diagnosis": diagnosis})
        return tuple(decode(str(row[0]).encode(), Experiment) for row in rows)

    def runs(self, limit: int | None = None, *, verb: str | None = None, target: str | None = None) -> tuple[RunSummary, ...]:
        """Summaries of runs, newest first.

        Args:
            limit: at most so many, ≥ 1; all if not given.
            verb: only runs of this flow.
            target: only runs whose target contains this text.
        """
        if limit is not None and limit < 1:
            raise UsageError("a limit of at least 1", found=str(limit), remedy="leave it out for all runs")
        wanted = {"verb": verb, "target": _contains(target)}
        conditions = [text for name, text in (("verb", "verb = :verb"), ("target", "target LIKE :target ESCAPE '!'")) if wanted[name] is not None]
        where = f"WHERE {' AND '.join(conditions)} " if conditions else ""
        last = "LIMIT :limit" if limit is not None else ""
        with self._database.reading() as connection:
            rows = _execute(connection, f"SELECT {_COLUMNS} FROM ridgeline_runs {where}ORDER BY id DESC {last}", {**wanted, "limit": limit})
        names = [name.strip() for name in _COLUMNS.replace("commit_id", "commit").split(",")]
        return tuple(RunSummary(**dict(zip(names, row, strict=True))) for row in rows)

    def get(self, identity: str) -> Run:
        """The run of that id, of the only id that begins so, or by age: `last`, `latest` or `-1` is the newest, `-2` the one before.

        Raises:
            UsageError: no such run, or several whose ids begin so.
            ReadError: its document is damaged or newer.
        """
        with self._database.reading() as connection:
            document = self._find(connection, identity)
        return decode(document.encode(), Run, self.blobs)

    def _find(self, connection: Connection, identity: str) -> str:
        wanted = identity.strip()
        if _AGE.fullmatch(wanted):
            return self._by_age(connection, int(wanted[1:]) if wanted.startswith("-") else 1)
        prefix = {"prefix": f"{_escaped(wanted)}%" if wanted else "", "id": wanted}
        query = "SELECT id, document FROM ridgeline_runs WHERE id = :id OR id LIKE :prefix ESCAPE '!' ORDER BY id DESC LIMIT 5"
        rows = _execute(connection, query, prefix)
        exact = [row for row in rows if row[0] == wanted]
        found = exact or rows
        if not found:
            raise UsageError("a run of the notebook", found=f"none whose id begins with {identity!r} in {self.place}", remedy="see `ridgeline log`")
        if len(found) > 1:
            raise UsageError(
                "the id of one run", found=f"{identity!r} begins {', '.join(str(row[0]) for row in found)}", remedy="give more of the id"
            )
        return str(found[0][1])

    def _by_age(self, connection: Connection, age: int) -> str:
        rows = _execute(connection, "SELECT document FROM ridgeline_runs ORDER BY id DESC LIMIT 1 OFFSET :skip", {"skip": age - 1})
        if not rows:
            raise UsageError(f"a notebook with {age} run{'s' * (age > 1)} or more", found=f"fewer in {self.place}", remedy="see `ridgeline log`")
        return str(rows[0][0])


class _StoredBlobs:
    """The blobs of a notebook, as `core.Blobs`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def put(self, digest: str, data: bytes) -> None:
        """Keep `data`; the same digest again changes nothing."""
        with self._database.writing() as connection:
            _insert_blobs(connection, [(digest, data)])

    def get(self, digest: str) -> bytes:
        """The bytes kept under `digest`."""
        with self._database.reading() as connection:
            rows = _execute(connection, "SELECT data FROM ridgeline_blobs WHERE digest = :digest", {"digest": digest})
        if not rows:
            raise ReadError("the blob of a column", found=f"no blob {digest} in {self._database.place}", remedy="restore the notebook from a copy")
        return bytes(rows[0][0])


def _action_of(experiment: Experiment) -> str:
    """The action that was promised; of a control the name of the change."""
    return experiment.action.action if experiment.action is not None else experiment.change


def _row(run: Run) -> dict[str, Any]:
    summary = summarise(run)
    row = {name: getattr(summary, name) for name in RunSummary.__struct_fields__}
    row["commit_id"] = row.pop("commit")
    return row


def _text(document: Run | Experiment, blobs: MemoryBlobs | None) -> str:
    try:
        return encode(document, blobs).decode()
    except UnicodeEncodeError as error:
        found = f"{error.object[max(0, error.start - 20) : error.end]!r}"
        raise UsageError("texts in UTF-8", found=found, remedy="rename the file or argument") from error


def _insert_blobs(connection: Connection, blobs: Sequence[tuple[str, bytes]]) -> None:
    # Sorted: two writers that take the rows in one order cannot block each other in a circle.
    rows = [{"digest": digest, "data": data} for digest, data in sorted(blobs)]
    if rows:
        _execute(connection, "INSERT INTO ridgeline_blobs (digest, data) VALUES (:digest, :data) ON CONFLICT DO NOTHING", rows)


def _execute(connection: Connection, statement: str, values: Any) -> Sequence[Any]:
    from sqlalchemy import text

    result = connection.execute(text(statement), values)
    return result.all() if result.returns_rows else []


def _named(columns: str) -> str:
    return ", ".join(f":{name.strip()}" for name in columns.split(","))


def _escaped(text: str) -> str:
    """A text that LIKE takes literally, with `!` as the escape character."""
    return text.replace("!", "!!").replace("%", "!%").replace("_", "!_")


def _contains(text: str | None) -> str | None:
    return None if text is None else f"%{_escaped(text)}%"
