"""Where a notebook is: the default file, a path, or a database URL. Nothing is opened here."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from ridgeline.core import UsageError
from ridgeline.core.home import home_directory

__all__ = ["default_location", "exists", "is_url", "sqlite_path"]

_POSTGRES = ("postgresql", "postgres", "postgresql+psycopg")


def default_location(environment: Mapping[str, str] = os.environ) -> str:
    """`$RIDGELINE_NOTEBOOK`, else `$XDG_DATA_HOME/ridgeline/notebook.sqlite` (XDG Base Directory Specification 0.8: `~/.local/share` if unset)."""
    if environment.get("RIDGELINE_NOTEBOOK"):
        return environment["RIDGELINE_NOTEBOOK"]
    data = environment.get("XDG_DATA_HOME", "")
    # The specification says to ignore a relative path.
    base = Path(data) if data and Path(data).is_absolute() else home_directory(environment) / ".local" / "share"
    return str(base / "ridgeline" / "notebook.sqlite")


def exists(location: str) -> bool:
    """Whether there is a file at a location; true for a URL, where only opening shows it.

    Raises:
        UsageError: the folder may not be looked into.
    """
    if is_url(location):
        return True
    path = sqlite_path(location)
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        remedy = "change the permissions, or name another notebook"
        raise UsageError("a place for the notebook", found=f"{path}: {error.strerror or error}", remedy=remedy) from error
    return True


def is_url(location: str) -> bool:
    """Whether a location is a database URL other than of a SQLite file.

    Raises:
        UsageError: a URL of a database that is not supported.
    """
    scheme, separator, _ = location.partition("://")
    if not separator or scheme == "sqlite":
        return False
    if scheme not in _POSTGRES:
        raise UsageError("a notebook as a file or postgresql+psycopg://…", found=f"{scheme}://…", remedy="give a path or a PostgreSQL URL")
    return True


def sqlite_path(location: str) -> Path:
    """The file of a SQLite location: a path, `~` allowed, or `sqlite:///path`.

    Raises:
        UsageError: empty, or one that names no file.
    """
    text = location.removeprefix("sqlite:///") if location.startswith("sqlite:") else location
    if not text or text.startswith("sqlite:") or text == ":memory:" or "\0" in text:
        raise UsageError("a path of a notebook file", found=repr(location), remedy="give a path such as notebook.sqlite")
    try:
        return Path(text).expanduser().absolute()
    except RuntimeError as error:
        raise UsageError("a path of a notebook file", found=f"{location!r}: {error}", remedy="give an absolute path") from error
