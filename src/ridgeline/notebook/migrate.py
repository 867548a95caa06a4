"""Bringing a database to the form this version writes: numbered SQL scripts, each once, all in one transaction under a lock."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib import resources
from typing import NamedTuple

from sqlalchemy import Connection, inspect, text

from ridgeline.core import ReadError

from .backfill import BACKFILLS

__all__ = ["Migration", "migrate", "migrations", "pending", "refuse_strangers"]

_NAME = re.compile(r"(?P<number>\d{4})_(?P<title>\w+?)(?:\.(?P<dialect>sqlite|postgresql))?\.sql")
_RECORD = "ridgeline_migrations"
# Any constant will do, as long as every ridgeline takes the same one (pg_advisory_xact_lock, PostgreSQL 9.28.10).
_LOCK = 0x52494447


class Migration(NamedTuple):
    """One script: its number, its title and its statements."""

    number: int
    title: str
    statements: tuple[str, ...]


def migrations(dialect: str) -> tuple[Migration, ...]:
    """The scripts for `dialect` (`sqlite` or `postgresql`), in order of number."""
    found = []
    for file in (resources.files(__package__) / "migrations").iterdir():
        match = _NAME.fullmatch(file.name)
        if match and match["dialect"] in {None, dialect}:
            found.append(Migration(int(match["number"]), match["title"], _statements(file.read_text("utf-8"))))
    return tuple(sorted(found))


def _statements(script: str) -> tuple[str, ...]:
    """The statements of a script; a semicolon at the end of a line ends one, which our scripts keep to."""
    bare = "\n".join(line for line in script.splitlines() if not line.lstrip().startswith("--"))
    return tuple(part.strip() for part in re.split(r";\s*(?:\n|\Z)", bare) if part.strip())


def refuse_strangers(tables: Sequence[str], place: str) -> None:
    """Refuse a file whose tables are none of ours.

    Raises:
        ReadError: there are tables, and no record of migrations among them.
    """
    if tables and _RECORD not in tables:
        raise ReadError("a notebook", found=f"{place}, a database with other tables ({tables[0]}, …)", remedy="give another file")


def pending(connection: Connection, place: str) -> tuple[Migration, ...]:
    """What is still to be applied.

    Raises:
        ReadError: a database of a newer ridgeline, or one that holds someone else's tables.
    """
    known = migrations(connection.dialect.name)
    tables = inspect(connection).get_table_names()
    if _RECORD not in tables:
        if connection.dialect.name == "sqlite":
            refuse_strangers(tables, place)
        return known
    applied = {int(row[0]) for row in connection.execute(text(f"SELECT number FROM {_RECORD}"))}
    newest, found = max((migration.number for migration in known), default=0), max(applied, default=0)
    if found > newest:
        raise ReadError(
            f"a notebook of migration {newest} or older",
            found=f"{place} at migration {found}",
            remedy="update ridgeline, or give another file",
        )
    return tuple(migration for migration in known if migration.number not in applied)


def migrate(connection: Connection, place: str) -> None:
    """Apply what is pending inside the caller's transaction, which must be a writing one; two processes at once are both right.

    Raises:
        ReadError: as `pending`.
    """
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _LOCK})
    waiting = pending(connection, place)
    if not waiting:
        return
    connection.execute(text(f"CREATE TABLE IF NOT EXISTS {_RECORD} (number INTEGER NOT NULL PRIMARY KEY, title TEXT NOT NULL, at TEXT NOT NULL)"))
    for migration in waiting:
        for statement in migration.statements:
            connection.execute(text(statement))
        if migration.number in BACKFILLS:
            BACKFILLS[migration.number](connection)
        row = {"number": migration.number, "title": migration.title, "at": datetime.now(UTC).isoformat(timespec="seconds")}
        connection.execute(text(f"INSERT INTO {_RECORD} (number, title, at) VALUES (:number, :title, :at)"), row)
