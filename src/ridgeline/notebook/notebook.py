"""`Notebook`: adding runs, experiments and comparisons, and finding them again.

What is added is one transaction: its document and its blobs are all there, or nothing is. What a run says is left to `core`, where the database
is to `location`, how it is opened to `database`, how rows are drawn to `entries`. SQLAlchemy is imported when a notebook is opened, not before.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Literal

import msgspec

from ridgeline.core import Blobs, Comparison, ComparisonSet, Experiment, ReadError, Run, UsageError
from ridgeline.core.documents import decode

from .entries import KINDS, RUN_COLUMNS, Document, Entry, Kind, Outcome, Unreadable, decoded, insert, read_entries, write_entries
from .filters import RunFilter
from .location import default_location
from .statements import ConnectionBlobs, containing, escaped, execute, insert_blobs
from .summary import ComparisonSummary, RunSummary

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from .database import Database

__all__ = ["Notebook"]

# `last` or `latest`, or `-1` for the newest, `-2` for the one before; nine digits are more runs than there ever are.
_AGE = re.compile(r"last|latest|-[1-9][0-9]{0,8}")
_COMPARISON_COLUMNS = ", ".join(ComparisonSummary.__struct_fields__)
_ALL = RunFilter()


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
        self._insert(Entry(kind="run", id=run.id, document=run))
        self._last_saved = run.id

    def save(self, run: Run) -> None:
        """Keep `run`, in place of what was kept under its id before: how a flow records its progress.

        Raises:
            UsageError: as `add`, an id that is there already apart.
        """
        changed = ", ".join(f"{name.strip()} = excluded.{name.strip()}" for name in f"{RUN_COLUMNS}, document".split(",")[1:])
        self._insert(Entry(kind="run", id=run.id, document=run), f" ON CONFLICT (id) DO UPDATE SET {changed}")
        self._last_saved = run.id

    def add_experiment(self, experiment: Experiment, identity: str) -> None:
        """Keep `experiment` under `identity` (see `new_run_id`)."""
        self._insert(Entry(kind="experiment", id=identity, document=experiment))

    def add_comparison(self, comparison: Comparison | ComparisonSet, identity: str, at: str | None = None) -> None:
        """Keep `comparison` under `identity` (see `new_run_id`), as made `at` that ISO 8601 time; now if not given."""
        made = at or datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
        self._insert(Entry(kind="comparison", id=identity, document=comparison, at=made))

    def _insert(self, entry: Entry, on_conflict: str = "") -> None:
        with self._database.writing() as connection:
            insert(connection, entry, on_conflict)

    def experiments(self, diagnosis: str | None = None) -> tuple[Experiment, ...]:
        """Experiments, oldest first; only those of the run `diagnosis` if given."""
        return tuple(self.experiments_by_id(diagnosis).values())

    def experiments_by_id(self, diagnosis: str | None = None) -> dict[str, Experiment]:
        """Id → experiment, oldest first; the id begins with the time at which it was kept."""
        where = "WHERE diagnosis = :diagnosis " if diagnosis is not None else ""
        with self._database.reading() as connection:
            rows = execute(connection, f"SELECT id, document FROM ridgeline_experiments {where}ORDER BY id", {"diagnosis": diagnosis})
        return {str(identity): decode(str(document).encode(), Experiment) for identity, document in rows}

    def runs(
        self, limit: int | None = None, *, wanted: RunFilter = _ALL, verb: str | None = None, target: str | None = None
    ) -> tuple[RunSummary, ...]:
        """Summaries of runs, newest first.

        Args:
            limit: at most so many, ≥ 1; all if not given.
            wanted: only these.
            verb, target: in place of those of `wanted`.

        Raises:
            UsageError: a limit under 1, or a time in `wanted` that cannot be read.
        """
        _check_limit(limit)
        given = {name: value for name, value in (("verb", verb), ("target", target)) if value is not None}
        where, values = msgspec.structs.replace(wanted, **given).where()
        last = "LIMIT :limit" if limit is not None else ""
        with self._database.reading() as connection:
            rows = execute(connection, f"SELECT {RUN_COLUMNS} FROM ridgeline_runs {where}ORDER BY id DESC {last}", {**values, "limit": limit})
        return tuple(RunSummary(**dict(zip(RunSummary.__struct_fields__, row, strict=True))) for row in rows)

    def comparisons(self, limit: int | None = None, *, run: str | None = None, target: str | None = None) -> tuple[ComparisonSummary, ...]:
        """Summaries of comparisons, newest first.

        Args:
            limit: at most so many, ≥ 1; all if not given.
            run: only those with the run of this id on one side.
            target: only those whose target contains this text, in any case.
        """
        _check_limit(limit)
        values = {"run": run, "target": None if target is None else containing(target), "limit": limit}
        conditions = [text for name, text in _COMPARISON_CONDITIONS.items() if values[name] is not None]
        where = f"WHERE {' AND '.join(conditions)} " if conditions else ""
        last = "LIMIT :limit" if limit is not None else ""
        with self._database.reading() as connection:
            rows = execute(connection, f"SELECT {_COMPARISON_COLUMNS} FROM ridgeline_comparisons {where}ORDER BY id DESC {last}", values)
        return tuple(ComparisonSummary(**dict(zip(ComparisonSummary.__struct_fields__, row, strict=True))) for row in rows)

    def get(self, identity: str) -> Run:
        """The run of that id, of the only id that begins so, or by age: `last`, `latest` or `-1` is the newest, `-2` the one before.

        Raises:
            UsageError: no such run, or several whose ids begin so.
            ReadError: its document is damaged or newer.
        """
        found = self._find(identity, ("run",))
        assert isinstance(found, Run)
        return found

    def find(self, identity: str) -> Run | Comparison | ComparisonSet:
        """As `get`, among runs and comparisons; an age counts runs.

        Raises:
            UsageError, ReadError: as `get`.
        """
        found = self._find(identity, ("run", "comparison"))
        assert not isinstance(found, Experiment)
        return found

    def _find(self, identity: str, kinds: tuple[Literal["run", "comparison"], ...]) -> Document:
        with self._database.reading() as connection:
            kind, text = self._text(connection, identity, kinds)
            return decoded(kind, text.encode(), ConnectionBlobs(connection, text, self.place))

    def _text(self, connection: Connection, identity: str, kinds: tuple[Literal["run", "comparison"], ...]) -> tuple[Kind, str]:
        wanted = identity.strip()
        if _AGE.fullmatch(wanted):
            return "run", self._by_age(connection, int(wanted[1:]) if wanted.startswith("-") else 1)
        prefix = {"prefix": f"{escaped(wanted)}%" if wanted else "", "id": wanted}
        rows: list[tuple[str, Kind]] = []
        for one in kinds:
            query = f"SELECT id FROM {KINDS[one]} WHERE id = :id OR id LIKE :prefix ESCAPE '!' ORDER BY id DESC LIMIT 5"
            rows += [(str(row[0]), one) for row in execute(connection, query, prefix)]
        found = [row for row in rows if row[0] == wanted] or rows
        if not found:
            raise UsageError("a run of the notebook", found=f"none whose id begins with {identity!r} in {self.place}", remedy="see `ridgeline log`")
        if len(found) > 1:
            raise UsageError("the id of one run", found=f"{identity!r} begins {', '.join(row[0] for row in found)}", remedy="give more of the id")
        name, kind = found[0]
        return kind, str(execute(connection, f"SELECT document FROM {KINDS[kind]} WHERE id = :id", {"id": name})[0][0])

    def _by_age(self, connection: Connection, age: int) -> str:
        rows = execute(connection, "SELECT document FROM ridgeline_runs ORDER BY id DESC LIMIT 1 OFFSET :skip", {"skip": age - 1})
        if not rows:
            raise UsageError(f"a notebook with {age} run{'s' * (age > 1)} or more", found=f"fewer in {self.place}", remedy="see `ridgeline log`")
        return str(rows[0][0])

    def entries(self, wanted: RunFilter = _ALL) -> Iterator[Entry | Unreadable]:
        """Everything that is kept, as `entries.read_entries`."""
        return read_entries(self._database, wanted)

    def take(self, entries: Iterable[Entry]) -> Iterator[tuple[Entry, Outcome | str]]:
        """Keep entries of another notebook, as `entries.write_entries`."""
        return write_entries(self._database, entries)


_COMPARISON_CONDITIONS = {"run": "(a_run = :run OR b_run = :run)", "target": "lower(target) LIKE lower(:target) ESCAPE '!'"}


def _check_limit(limit: int | None) -> None:
    if limit is not None and limit < 1:
        raise UsageError("a limit of at least 1", found=str(limit), remedy="leave it out for all runs")


class _StoredBlobs:
    """The blobs of a notebook, as `core.Blobs`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def put(self, digest: str, data: bytes) -> None:
        """Keep `data`; the same digest again changes nothing."""
        with self._database.writing() as connection:
            insert_blobs(connection, [(digest, data)])

    def get(self, digest: str) -> bytes:
        """The bytes kept under `digest`."""
        with self._database.reading() as connection:
            rows = execute(connection, "SELECT data FROM ridgeline_blobs WHERE digest = :digest", {"digest": digest})
        if not rows:
            raise ReadError("the blob of a column", found=f"no blob {digest} in {self._database.place}", remedy="restore the notebook from a copy")
        return bytes(rows[0][0])
