"""The door to the database: how a SQLite file or a PostgreSQL server is opened, and which transactions there are.

SQLite runs in WAL mode, so that readers never wait for a writer, with synchronous=FULL: a run that was said to be written survives a crash
(sqlite.org/wal.html, sqlite.org/pragma.html#pragma_synchronous). A notebook that may not be written is opened for reading only.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event, make_url, pool
from sqlalchemy.exc import ArgumentError

from ridgeline.core import BackendUnavailable, ReadError, UsageError

from .failures import translated
from .location import is_url, sqlite_path
from .migrate import migrate, pending, refuse_strangers

__all__ = ["Database", "connect"]

#: Seconds a writer waits for the others; each transaction takes milliseconds.
BUSY_S = 30.0
_CONNECT_S = 10
_WRITE = "ridgeline_write"


class Database:
    """An open database at the newest migration."""

    def __init__(self, engine: Engine, place: str, writable: bool) -> None:
        self._engine = engine
        self.place = place
        self.writable = writable

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """One consistent view."""
        with translated(self.place), self._engine.connect() as connection, connection.begin():
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """One transaction: all of it is kept, or nothing.

        Raises:
            UsageError: the notebook may only be read.
        """
        if not self.writable:
            raise UsageError(
                "a notebook that may be written",
                found=f"{self.place}, which may only be read",
                remedy="change the permissions of it and its directory, or give --notebook",
            )
        with translated(self.place), self._engine.connect() as connection:
            writer = connection.execution_options(**{_WRITE: True})
            with writer.begin():
                yield writer

    def close(self) -> None:
        """Close every connection."""
        with translated(self.place):
            self._engine.dispose()


def connect(location: str, *, create: bool) -> Database:
    """Open and migrate the database at `location`.

    Args:
        location: path, `sqlite:///path` or PostgreSQL URL.
        create: whether a file that is not there is made; otherwise that is an error.

    Raises:
        UsageError: no permission, a directory, no such file, no server.
        ReadError: not a database, another program's, or a newer ridgeline's.
        BackendUnavailable: PostgreSQL without its driver.
    """
    if is_url(location):
        return _current(_postgres(location))
    path = sqlite_path(location)
    # lexists: unlike Path.exists it has no error of its own for a name that is too long.
    new = create and not os.path.lexists(path)
    try:
        return _current(_sqlite(path, create))
    except UsageError:
        # Such as a full disk: a notebook that could not be begun leaves no piece of one behind.
        if new:
            _remove_unbegun(path)
        raise


def _current(database: Database) -> Database:
    """The database at the newest migration, or closed."""
    try:
        _bring_up_to_date(database)
    except BaseException:
        database.close()
        raise
    return database


def _remove_unbegun(path: Path) -> None:
    """Remove a file that has no table yet, with what SQLite keeps beside it; one that another process has begun meanwhile stays."""
    if any(_tables(path, writable) for writable in (True, False)):
        return
    with contextlib.suppress(OSError):
        for ending in ("", "-wal", "-shm", "-journal"):
            Path(f"{path}{ending}").unlink(missing_ok=True)


def _tables(path: Path, writable: bool) -> int:
    """Tables that can be seen; 0 where the file cannot be read, which without space for SQLite's shared memory it cannot."""
    with contextlib.suppress(OSError, sqlite3.Error):
        connection = _opened(path, writable)
        try:
            return int(connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0])
        finally:
            connection.close()
    return 0


def _bring_up_to_date(database: Database) -> None:
    with database.reading() as connection:
        waiting = pending(connection, database.place)
    if not waiting:
        return
    if not database.writable:
        raise UsageError("a notebook of this version", found=f"{database.place}, older and read-only", remedy="open it once where it may be written")
    with database.writing() as connection:
        migrate(connection, database.place)


def _postgres(location: str) -> Database:
    try:
        url = make_url(location).set(drivername="postgresql+psycopg")
    except (ArgumentError, ValueError) as error:
        raise UsageError("a URL such as postgresql+psycopg://user@host/database", found=str(error), remedy="mend the URL") from error
    place = url.render_as_string(hide_password=True)
    try:
        # One connection is kept, since making one takes longer than writing a run; a server that has dropped it meanwhile is asked for another.
        engine = create_engine(url, pool_size=1, pool_pre_ping=True, connect_args={"connect_timeout": _CONNECT_S})
    except ImportError as error:
        raise BackendUnavailable("psycopg, for a notebook in PostgreSQL", found=str(error), remedy="pip install 'ridgeline[postgres]'") from error
    return Database(engine, place, writable=True)


def _sqlite(path: Path, create: bool) -> Database:
    place = str(path)
    _check_file(path, create)
    writable = os.access(path, os.W_OK) and os.access(path.parent, os.W_OK) if path.exists() else True
    engine = create_engine("sqlite+pysqlite://", creator=lambda: _opened(path, writable), poolclass=pool.NullPool)
    event.listen(engine, "begin", _begin)
    if writable:
        with translated(place):
            _check_tables(path, place)
            _use_wal(path)
    return Database(engine, place, writable)


def _check_file(path: Path, create: bool) -> None:
    try:
        if path.is_dir():
            raise UsageError("a file for the notebook", found=f"{path}, a directory", remedy=f"give a file in it, such as {path / 'notebook.sqlite'}")
        if path.exists():
            _check_magic(path)
            return
        if not create:
            raise UsageError("a notebook", found=f"no file {path}", remedy="run `ridgeline diagnose TARGET` first, or give --notebook")
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        remedy = "change the permissions, or give --notebook elsewhere, or --no-notebook"
        raise UsageError("a place for the notebook", found=f"{path}: {error.strerror or error}", remedy=remedy) from error


def _check_tables(path: Path, place: str) -> None:
    """Refuse another program's database before anything is written into it: choosing the journal mode already changes its header."""
    if not path.exists() or path.stat().st_size == 0:
        return
    connection = _opened(path, writable=False)
    try:
        tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")]
    finally:
        connection.close()
    refuse_strangers(tables, place)


def _check_magic(path: Path) -> None:
    """Refuse what is no SQLite file before SQLite touches it (sqlite.org/fileformat.html, the first 16 bytes; an empty file is a new database)."""
    if not path.is_file():
        raise UsageError("a file for the notebook", found=f"{path}, which is no ordinary file", remedy="give another path")
    with path.open("rb") as file:
        head = file.read(16)
    if head and head != b"SQLite format 3\0":
        raise ReadError("a notebook", found=f"{path}, which is no SQLite file", remedy="give another file, or move this one away")


def _opened(path: Path, writable: bool) -> sqlite3.Connection:
    mode = "rwc" if writable else "ro"
    # Without the right to make the shared-memory file a WAL database opens only as one that nobody changes; a leftover log would be missed,
    # so that it is used only where there is none.
    if not writable and not Path(f"{path}-wal").exists():
        mode = "ro&immutable=1"
    connection = sqlite3.connect(f"{path.as_uri()}?mode={mode}", uri=True, timeout=BUSY_S, isolation_level=None, check_same_thread=False)
    connection.execute("PRAGMA synchronous=FULL")
    return connection


def _use_wal(path: Path) -> None:
    """Switch a file to WAL once; it stays so. While another process does the same the lock is refused at once, hence the retries."""
    deadline = time.monotonic() + BUSY_S
    while True:
        connection = _opened(path, writable=True)
        try:
            connection.execute("PRAGMA journal_mode=WAL")
            return
        except sqlite3.OperationalError as error:
            if not (error.sqlite_errorname or "").startswith("SQLITE_BUSY") or time.monotonic() > deadline:
                raise
            time.sleep(0.02)
        finally:
            connection.close()


def _begin(connection: Connection) -> None:
    # A writer takes its lock at the start: a transaction that begins by reading and then wants to write can be refused without waiting.
    writing: Any = connection.get_execution_options().get(_WRITE)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writing else "BEGIN")
