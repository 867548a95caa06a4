"""SQLite files of strangers, read without trusting them: real tables only, by columns, in batches.

This module decides what a foreign database may do: be read. No view, trigger, virtual table or function of the file runs (an authorizer refuses them,
and so does the engine), a query that does more steps than the file has room for ends, and every value is of the type that was asked for or missing.
What the tables mean is left to the readers.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ridgeline.core import ReadError

from .source import Source

__all__ = ["MAGIC", "MISSING", "Database", "has_tables", "opened"]

MAGIC = b"SQLite format 3\x00"
#: A whole number that is not there, is NULL, or is no whole number.
MISSING = int(np.iinfo(np.int64).min)
_BATCH, _TEXTS = 2**16, 2**10
_STEPS = 10**6
# `NOT INDEXED` below: with an index that covers the columns rows would come in its order, and columns of two queries would not fit together.
#: The longest value that is looked at: where a number is expected, and where a text is.
_NUMBER_BYTES, _TEXT_BYTES = 2**12, 2**26
_ALLOWED = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ}
_FUNCTIONS = {"typeof", "substr", "length"}


class Database:
    """An open SQLite file; `tables` are its real tables with their columns."""

    def __init__(self, connection: sqlite3.Connection, source: Source, size_bytes: int) -> None:
        self._connection = connection
        self._source = source
        self._size_bytes = size_bytes
        self.tables: dict[str, tuple[str, ...]] = {}
        names = self._all("sqlite_master", "SELECT name FROM sqlite_master WHERE type = 'table' AND rootpage > 0")
        for name in (row[0] for row in names if isinstance(row[0], str)):
            self.tables[name] = tuple(each[0] for each in self._run(name, f"SELECT * FROM {_quoted(name)} LIMIT 0").description)

    def has(self, table: str, *columns: str) -> bool:
        """Whether a table is there, with all these columns."""
        return table in self.tables and set(columns) <= set(self.tables[table])

    def whole(self, table: str, columns: Sequence[str]) -> dict[str, NDArray[np.int64]]:
        """Whole numbers by column, shape (rows,) each; `MISSING` where a value or the column is not there."""
        return {name: values.astype(np.int64, copy=False) for name, values in self._numbers(table, columns, (int,), np.int64).items()}

    def real(self, table: str, columns: Sequence[str]) -> dict[str, NDArray[np.float64]]:
        """Numbers by column, shape (rows,) each; NaN where there is none."""
        return {name: values.astype(np.float64, copy=False) for name, values in self._numbers(table, columns, (float, int), np.float64).items()}

    def texts(self, table: str, column: str) -> list[str | None]:
        """The texts of a column, a row each, longer ones cut behind the limit on names (see `name`); `None` where there is none."""
        if not self.has(table, column):
            return [None] * self.rows(table)
        return [row[0] for row in self._texts(table, self._text(column))]

    def by_id(self, table: str, key: str, value: str) -> dict[int, str]:
        """Texts by a whole number, such as names by their id, cut as by `texts`; rows without either are left out."""
        if not self.has(table, key, value):
            return {}
        rows = self._texts(table, f"{_typed(key, 'integer')}, {self._text(value)}")
        return {row[0]: row[1] for row in rows if row[0] is not None and row[1] is not None}

    def name(self, text: str) -> str:
        """A text that is used as a name.

        Raises:
            ReadError: longer than the limit.
        """
        most = self._source.limits.name_characters
        if len(text) > most:
            raise self._source.damaged(f"names of at most {most} characters", f"one that starts with {text[:40]!r}", "raise the limit on names")
        return text

    def pairs(self, table: str, key: str, value: str) -> dict[str, str]:
        """Texts by texts, such as the facts of a capture; the first of each."""
        if not self.has(table, key, value):
            return {}
        found: dict[str, str] = {}
        for first, second in zip(self.texts(table, key), self.texts(table, value), strict=True):
            if first is not None and second is not None:
                found.setdefault(first, second)
        return found

    def rows(self, table: str) -> int:
        """How many rows a table has; 0 where there is none."""
        if table not in self.tables:
            return 0
        return sum(len(batch) for batch in self._batches(table, f"SELECT 1 FROM {_quoted(table)} NOT INDEXED"))

    def _numbers(self, table: str, columns: Sequence[str], kinds: tuple[type, ...], dtype: type) -> dict[str, NDArray[np.generic]]:
        absent = MISSING if dtype is np.int64 else np.nan
        there = [name for name in columns if self.has(table, name)]
        parts: dict[str, list[NDArray[np.generic]]] = {name: [] for name in there}
        rows = 0
        self._connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _NUMBER_BYTES)
        for batch in self._batches(table, f"SELECT {', '.join(map(_quoted, there)) or '1'} FROM {_quoted(table)} NOT INDEXED"):
            rows += len(batch)
            for name, values in zip(there, zip(*batch, strict=True), strict=False):
                parts[name].append(_array(values, kinds, dtype, absent))
        made = {name: np.concatenate(pieces) if pieces else np.empty(0, dtype) for name, pieces in parts.items()}
        return {name: made[name] if name in made else np.full(rows, absent, dtype) for name in columns}

    def _texts(self, table: str, chosen: str) -> Iterator[tuple[Any, ...]]:
        self._connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _TEXT_BYTES)
        size = 0
        for batch in self._batches(table, f"SELECT {chosen} FROM {_quoted(table)} NOT INDEXED", _TEXTS):
            size += sum(len(row[-1]) for row in batch if row[-1] is not None)
            if size > self._size_bytes:
                # A sound file holds each text once; rows that share pages would grow to anything.
                raise self._source.damaged("a whole SQLite database", f"more text in table {table} than the file is long")
            yield from batch

    def _text(self, column: str) -> str:
        return f"CASE typeof({_quoted(column)}) WHEN 'text' THEN substr({_quoted(column)}, 1, {self._source.limits.name_characters + 1}) END"

    def _batches(self, table: str, query: str, size: int = _BATCH) -> Iterator[list[tuple[Any, ...]]]:
        cursor = self._run(table, query)
        rows = 0
        while True:
            with self._told(table):
                batch = cursor.fetchmany(size)
            if not batch:
                return
            rows += len(batch)
            if rows > self._source.limits.events:
                raise self._source.damaged(f"at most {self._source.limits.events} rows", f"more in table {table}", "raise the limit on events")
            yield batch

    def _all(self, table: str, query: str) -> list[tuple[Any, ...]]:
        return [row for batch in self._batches(table, query) for row in batch]

    def _run(self, table: str, query: str) -> sqlite3.Cursor:
        with self._told(table):
            return self._connection.execute(query)

    @contextlib.contextmanager
    def _told(self, table: str) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, sqlite3.Warning, UnicodeDecodeError, MemoryError) as error:
            # No text: names of columns. No memory: rows that say of themselves that they are longer than any.
            what = f"table {table}: {error or 'sizes beyond any'}"
            raise self._source.damaged("a whole SQLite database", what, "it is damaged, or cut short: export it again") from error


@contextlib.contextmanager
def opened(source: Source) -> Iterator[Database]:
    """Open a database to be read.

    Raises:
        ReadError: no SQLite database, or a damaged one.
    """
    with (
        source.unpacked_path() as path,
        contextlib.closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro&immutable=1", uri=True)) as connection,
    ):
        connection.text_factory = lambda data: data.decode("utf-8", "replace")
        with contextlib.suppress(sqlite3.Error):
            connection.execute("PRAGMA trusted_schema = OFF")
            connection.execute("PRAGMA cell_size_check = ON")
        connection.set_authorizer(_authorised)
        # A row takes a few steps a column, and at least a byte a column of the file; a query that takes far more goes in circles.
        rounds = iter(range(10 + path.stat().st_size * 100 // _STEPS))
        connection.set_progress_handler(lambda: next(rounds, None) is None, _STEPS)
        yield Database(connection, source, path.stat().st_size)


def has_tables(source: Source, *starts: str) -> bool:
    """Whether a database has a table whose name starts so; never raises for a damaged file, whose own bytes are looked at instead."""
    if not source.head.startswith(MAGIC) or len(source.head) < 100:
        return False
    with contextlib.suppress(ReadError, OSError, sqlite3.Error), opened(source) as database:
        return any(name.startswith(starts) for name in database.tables)
    with contextlib.suppress(ReadError), contextlib.closing(source.pieces()) as pieces:
        start = next(pieces, b"")
        return any(b"CREATE TABLE " + each.encode() in start or b'CREATE TABLE "' + each.encode() in start for each in starts)
    return False


def _authorised(action: int, first: str | None, second: str | None, _database: str | None, inner: str | None) -> int:
    if inner is not None:  # from within a view or a trigger
        return sqlite3.SQLITE_DENY
    if action in _ALLOWED or (action == sqlite3.SQLITE_FUNCTION and second in _FUNCTIONS):
        return sqlite3.SQLITE_OK
    return sqlite3.SQLITE_DENY


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _typed(column: str, kind: str) -> str:
    return f"CASE WHEN typeof({_quoted(column)}) = '{kind}' THEN {_quoted(column)} END"


def _array(values: tuple[Any, ...], kinds: tuple[type, ...], dtype: type, absent: float) -> NDArray[np.generic]:
    """Values as numbers. Nearly always they are: what is none is looked for only where it is come upon."""
    if set(map(type, values)) <= set(kinds):
        return np.array(values, dtype)
    return np.array([value if type(value) in kinds else absent for value in values], dtype)
