"""What a database says when it fails, turned into one line that tells the reader what to do."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from ridgeline.core import ReadError, RidgelineError, UsageError

__all__ = ["translated"]

#: SQLite result code (its name's start, sqlite.org/rescode.html) → what was expected, what to do, and the kind of error.
_SQLITE: tuple[tuple[str, str, str, type[RidgelineError]], ...] = (
    ("SQLITE_NOTADB", "a notebook", "give another file, or move this one away", ReadError),
    ("SQLITE_CORRUPT", "a whole notebook", "restore it from a copy, or move it away and begin a new one", ReadError),
    ("SQLITE_FULL", "space for the notebook", "free space on its disk, or give --notebook on another", UsageError),
    ("SQLITE_IOERR", "a notebook on a working disk with space", "free space or lift the file-size limit, or give --notebook elsewhere", UsageError),
    ("SQLITE_READONLY", "a notebook that may be written", "change its permissions, or give --notebook elsewhere, or --no-notebook", UsageError),
    ("SQLITE_CANTOPEN", "a notebook that can be opened", "change the permissions of it and its directory, or give --notebook elsewhere", UsageError),
    ("SQLITE_PERM", "a notebook that may be opened", "change its permissions, or give --notebook elsewhere", UsageError),
    ("SQLITE_BUSY", "a notebook that others leave free for a while", "try again when the other writers are done", UsageError),
    ("SQLITE_LOCKED", "a notebook that others leave free for a while", "try again when the other writers are done", UsageError),
    ("SQLITE_PROTOCOL", "a notebook that others leave free for a while", "try again when the other writers are done", UsageError),
    ("SQLITE_TOOBIG", "a run that fits one row", "report this with the target", UsageError),
    ("SQLITE_CONSTRAINT", "a run with an id of its own", "make the id with new_run_id", UsageError),
)


@contextmanager
def translated(place: str) -> Iterator[None]:
    """Turn what the database raises inside into one `RidgelineError` that names `place` (a path, or a URL without its password)."""
    try:
        yield
    except DBAPIError as error:
        raise _explained(error, place) from error
    except SQLAlchemyError as error:
        raise ReadError("a notebook that answers", found=f"{place}: {error}", remedy="check the location") from error
    except sqlite3.Error as error:
        raise _sqlite_error(error, place) from error


def _explained(error: DBAPIError, place: str) -> RidgelineError:
    cause = error.orig
    if isinstance(cause, sqlite3.Error):
        return _sqlite_error(cause, place)
    text = str(cause).strip().splitlines()
    said = text[0] if text else type(cause).__name__
    state = getattr(cause, "sqlstate", None) or ""
    if state.startswith("23"):  # integrity constraint violation, PostgreSQL appendix A
        return UsageError("a run with an id of its own", found=f"{place}: {said}", remedy="make the id with new_run_id")
    if state.startswith("53"):  # insufficient resources
        return UsageError("space for the notebook", found=f"{place}: {said}", remedy="free space on the server")
    return UsageError("a PostgreSQL server that answers and lets us in", found=f"{place}: {said}", remedy="check URL, server and rights")


def _sqlite_error(error: sqlite3.Error, place: str) -> RidgelineError:
    name = getattr(error, "sqlite_errorname", "") or ""
    for start, expected, remedy, kind in _SQLITE:
        if name.startswith(start):
            return kind(expected, found=f"{place}: {error}", remedy=remedy)
    return ReadError("a notebook as ridgeline writes it", found=f"{place}: {error}", remedy="give another file, or move this one away")
