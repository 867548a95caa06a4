"""Temporary folders that do not outlive their process for long: removed when it is done, and by the next start where it was killed.

A folder belongs to the process that holds a lock on it (flock(2)), which the kernel lets go of however that process ends. So no folder of a living
process is taken away, not even of one in another container whose number means nothing here; the number in the name is for people.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

__all__ = ["remove_abandoned", "scratch_folder"]

_PREFIX = "ridgeline-"
_MARK = "-scratch-"


@contextlib.contextmanager
def scratch_folder(purpose: str, parent: Path | None = None) -> Iterator[Path]:
    """A folder for the time of a `with`, readable by this user alone; what killed processes left is removed first.

    Args:
        purpose: one word for its name.
        parent: the folder to make it in; that of temporary files if not given.

    Raises:
        OSError: no folder can be made.
    """
    remove_abandoned(parent)
    folder, lock = _owned(purpose, parent)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(lock)


def remove_abandoned(parent: Path | None = None) -> None:
    """Remove folders of this user whose process is gone; what cannot be removed is left.

    Args:
        parent: the folder they are in; that of temporary files if not given.
    """
    with contextlib.suppress(OSError):
        for entry in os.scandir(parent or tempfile.gettempdir()):
            if entry.name.startswith(_PREFIX) and _MARK in entry.name and entry.is_dir(follow_symlinks=False):
                _remove_if_abandoned(Path(entry.path))


def _remove_if_abandoned(folder: Path) -> None:
    with contextlib.suppress(OSError):
        if folder.lstat().st_uid != os.getuid():
            return
        lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)  # held by a living process: BlockingIOError
            shutil.rmtree(folder, ignore_errors=True)
        finally:
            os.close(lock)


def _owned(purpose: str, parent: Path | None) -> tuple[Path, int]:
    """A new folder and the descriptor that holds its lock."""
    while True:
        folder = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{purpose}{_MARK}{os.getpid()}-", dir=parent))
        try:
            lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        except FileNotFoundError:
            continue
        # Where the file system has no locks nobody can take the folder for abandoned either.
        with contextlib.suppress(OSError):
            fcntl.flock(lock, fcntl.LOCK_EX)
        # Another start may have taken it for abandoned in the moment before it was locked.
        if folder.exists():
            return folder, lock
        os.close(lock)
