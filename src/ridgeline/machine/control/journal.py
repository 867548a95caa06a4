"""The journal of settings: what was found and what is set, on the disk before it is set, so that the next start puts back what a kill left.

One file for each process that tunes, in the state folder of the user (XDG Base Directory Specification): lines of JSON, each seen to the disk before
what it announces is done. A line that a power cut left unfinished therefore announces nothing that happened. The owner holds a lock (flock(2)) on
its file as long as it lives, and whoever changes a setting, or decides about a journal, holds that of the folder: so a journal without an owner is
put back by exactly one process. After a restart of the machine the kernel has its own values again, and a journal of the time before it means
nothing. What is put back, and when, is decided by `tuning`.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import msgspec

from ridgeline.core import UsageError
from ridgeline.core.home import state_directory

from ..processes import started
from ..system_files import read
from .changes import Change

__all__ = ["SUFFIX", "Entry", "Journal", "Owner", "PutBack", "append", "boot", "journal_directory", "lock", "locked", "namespace"]

_LOCK = "lock"
_WAIT_S = 30.0
SUFFIX = ".journal"


class Line(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="line"):
    """A line of a journal."""


class Owner(Line, frozen=True, kw_only=True, tag="owner"):
    """Who writes the journal: process, when it was started (ticks since boot), its namespace of process numbers, and the boot of the kernel."""

    pid: int
    since: str
    namespace: str
    boot: str
    host: str


class Entry(Line, frozen=True, kw_only=True, tag="set"):
    """A setting that is about to be set: kind and key of the change, its value before and after."""

    kind: str
    key: str
    found: str
    wanted: str


class PutBack(Line, frozen=True, kw_only=True, tag="put-back"):
    """A setting that was put back, or that is not ours to put back any more."""

    kind: str
    key: str


def journal_directory() -> Path:
    """The folder of the journals, see `core.home.state_directory`. Not made here.

    Raises:
        UsageError: there is no home folder.
    """
    return state_directory("control")


@contextlib.contextmanager
def locked(folder: Path, wait_s: float = _WAIT_S) -> Iterator[None]:
    """Hold the folder's lock; who holds it is alone in changing settings.

    Raises:
        UsageError: the folder cannot be written to, or somebody holds the lock for longer than `wait_s`.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        descriptor = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        raise UsageError("a folder for the journal of settings", found=f"{folder}: {error.strerror}", remedy="set RIDGELINE_STATE") from error
    try:
        until = time.monotonic() + wait_s
        while not lock(descriptor):
            if time.monotonic() >= until:
                raise UsageError("settings that one process changes at a time", found=f"{folder / _LOCK} is held", remedy="wait for it to end")
            time.sleep(0.01)
        yield
    finally:
        os.close(descriptor)


def lock(descriptor: int) -> bool | None:
    """Whether the lock was to be had; `None` on a file system without locks, where nobody can be kept out."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True


def append(descriptor: int, line: Line) -> None:
    """Write a line and see it to the disk."""
    data = msgspec.json.encode(line) + b"\n"
    if os.write(descriptor, data) != len(data):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    os.fsync(descriptor)


class Journal:
    """The journal of this process. Make and use it under `locked`.

    Args:
        folder: from `journal_directory`.
        root: `/`, or a tree like it, whose boot it is of.

    Raises:
        UsageError: it cannot be written.
    """

    def __init__(self, folder: Path, root: Path = Path("/")) -> None:
        self.path = folder / f"{os.getpid()}-{uuid.uuid4().hex[:12]}{SUFFIX}"
        with _explained(self.path):
            self._descriptor = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
            lock(self._descriptor)
            self._write(_this_process(root))
            _flush_folder(folder)

    def announce(self, change: Change) -> None:
        """Write down a change before it is made.

        Raises:
            UsageError: it cannot be written; the change must not be made.
        """
        with _explained(self.path):
            self._write(Entry(kind=change.lasting, key=change.key, found=change.found, wanted=change.wanted))

    def put_back(self, change: Change) -> None:
        """Write down that a change is none any more; where that fails, putting back once more does no harm."""
        with contextlib.suppress(OSError):
            self._write(PutBack(kind=change.lasting, key=change.key))

    def close(self, *, keep: bool = False) -> None:
        """Remove it, or leave it for the next start."""
        if not keep:
            with contextlib.suppress(OSError):
                self.path.unlink()
        os.close(self._descriptor)

    def _write(self, line: Line) -> None:
        before = os.fstat(self._descriptor).st_size
        try:
            append(self._descriptor, line)
        except OSError:
            # Half a line would spoil the next one.
            os.ftruncate(self._descriptor, before)
            raise


@contextlib.contextmanager
def _explained(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        remedy = "free space, or set RIDGELINE_STATE to a folder that can be written"
        raise UsageError("a journal of settings that can be written", found=f"{path}: {error.strerror or error}", remedy=remedy) from error


def _flush_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _this_process(root: Path) -> Owner:
    return Owner(pid=os.getpid(), since=started([os.getpid()]).get(os.getpid(), ""), namespace=namespace(), boot=boot(root), host=os.uname().nodename)


def namespace() -> str:
    """In which namespace process numbers mean what they mean here."""
    try:
        return os.readlink("/proc/self/ns/pid")
    except OSError:
        return ""


def boot(root: Path) -> str:
    """Which boot of the kernel this is."""
    return read(root, "proc/sys/kernel/random/boot_id") or ""
