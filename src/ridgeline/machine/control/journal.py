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
import stat
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import msgspec

from ridgeline.core import UsageError
from ridgeline.core.home import state_directory

from ..processes import started
from ..system_files import read
from .changes import Change, FileChange, may_write
from .gpu import GpuClockChange, is_gpu

__all__ = ["BadJournal", "Journal", "Kept", "journal_directory", "kept", "locked"]

_MOST_BYTES, _MOST_LINES = 1 << 20, 4096
_LOCK = "lock"
_WAIT_S = 30.0
_SUFFIX = ".journal"


class _Line(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="line"):
    """A line of a journal."""


class Owner(_Line, frozen=True, kw_only=True, tag="owner"):
    """Who writes the journal: process, when it was started (ticks since boot), its namespace of process numbers, and the boot of the kernel."""

    pid: int
    since: str
    namespace: str
    boot: str
    host: str


class Entry(_Line, frozen=True, kw_only=True, tag="set"):
    """A setting that is about to be set: kind and key of the change, its value before and after."""

    kind: str
    key: str
    found: str
    wanted: str


class PutBack(_Line, frozen=True, kw_only=True, tag="put-back"):
    """A setting that was put back, or that is not ours to put back any more."""

    kind: str
    key: str


_DECODER: msgspec.json.Decoder[Owner | Entry | PutBack] = msgspec.json.Decoder(Owner | Entry | PutBack)


class BadJournal(Exception):
    """A journal that is not one of ours, in one sentence."""


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
        while not _lock(descriptor):
            if time.monotonic() >= until:
                raise UsageError("settings that one process changes at a time", found=f"{folder / _LOCK} is held", remedy="wait for it to end")
            time.sleep(0.01)
        yield
    finally:
        os.close(descriptor)


def _lock(descriptor: int) -> bool | None:
    """Whether the lock was to be had; `None` on a file system without locks, where nobody can be kept out."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True


def _append(descriptor: int, line: _Line) -> None:
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
        self.path = folder / f"{os.getpid()}-{uuid.uuid4().hex[:12]}{_SUFFIX}"
        with _explained(self.path):
            self._descriptor = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
            _lock(self._descriptor)
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

    def _write(self, line: _Line) -> None:
        before = os.fstat(self._descriptor).st_size
        try:
            _append(self._descriptor, line)
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


class Kept:
    """A journal that is in the folder, of a living process or not. Use it under `locked`.

    Attributes:
        path: the file.
        changes: what is still set, oldest first.
        alive: whether its process lives and will put back itself.
        foreign: whether it is of another machine, or of the time before the last restart.
    """

    def __init__(self, path: Path, root: Path) -> None:
        self.path = path
        self._descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            text = self._text()
            self._whole = text.rfind(b"\n") + 1  # what follows was never acted upon
            owner, self.changes = _parsed(text[: self._whole], root)
            self.foreign = owner is not None and owner.boot != _boot(root)
            self.same_host = owner is None or owner.host == os.uname().nodename
            self.alive = _lives(owner, _lock(self._descriptor))
        except BaseException:
            os.close(self._descriptor)
            raise

    def put_back(self, change: Change) -> None:
        """As `Journal.put_back`."""
        with contextlib.suppress(OSError):
            # What a power cut left unfinished goes first.
            os.ftruncate(self._descriptor, self._whole)
            _append(self._descriptor, PutBack(kind=change.lasting, key=change.key))
            self._whole = os.fstat(self._descriptor).st_size

    def remove(self) -> None:
        """Remove the file."""
        with contextlib.suppress(OSError):
            self.path.unlink()

    def close(self) -> None:
        """Let go of it."""
        os.close(self._descriptor)

    def _text(self) -> bytes:
        facts = os.fstat(self._descriptor)
        if not stat.S_ISREG(facts.st_mode):
            raise BadJournal("it is no file")
        # Whoever else may write it could have us set what he may not.
        if facts.st_uid != os.geteuid() or facts.st_mode & 0o022:
            raise BadJournal("somebody else may write to it")
        if facts.st_size > _MOST_BYTES:
            raise BadJournal(f"it has {facts.st_size} bytes")
        return os.pread(self._descriptor, _MOST_BYTES, 0)


def kept(folder: Path, root: Path = Path("/")) -> Iterator[Kept | tuple[Path, str]]:
    """Every journal in the folder, by name, closed after its turn; one that cannot be read as (path, why)."""
    try:
        names = sorted(entry.name for entry in os.scandir(folder) if entry.name.endswith(_SUFFIX))
    except OSError:
        return
    for name in names:
        try:
            journal = Kept(folder / name, root)
        except FileNotFoundError:
            continue
        except BadJournal as error:
            yield folder / name, str(error)
            continue
        except OSError as error:
            yield folder / name, error.strerror or str(error)
            continue
        try:
            yield journal
        finally:
            journal.close()


def _parsed(text: bytes, root: Path) -> tuple[Owner | None, tuple[Change, ...]]:
    """Owner and the changes that are still in force."""
    lines = text.split(b"\n")[:-1]
    if not lines:
        return None, ()
    if len(lines) > _MOST_LINES:
        raise BadJournal(f"it has {len(lines)} lines")
    decoded = [_line(number, line) for number, line in enumerate(lines, 1)]
    owner = decoded[0]
    if not isinstance(owner, Owner) or any(isinstance(line, Owner) for line in decoded[1:]):
        raise BadJournal("it does not begin with its owner")
    changes: dict[tuple[str, str], Change] = {}
    for number, line in enumerate(decoded[1:], 2):
        if isinstance(line, Entry):
            # A setting that was set twice goes back to what was found first.
            changes.setdefault((line.kind, line.key), _change(number, line, root))
        elif isinstance(line, PutBack):
            changes.pop((line.kind, line.key), None)
    return owner, tuple(changes.values())


def _line(number: int, line: bytes) -> Owner | Entry | PutBack:
    try:
        return _DECODER.decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise BadJournal(f"line {number} is none of a journal") from None


def _change(number: int, entry: Entry, root: Path) -> Change:
    if entry.kind == FileChange.lasting and may_write(entry.key, entry.found) and may_write(entry.key, entry.wanted):
        return FileChange(key=entry.key, found=entry.found, wanted=entry.wanted, root=root)
    if entry.kind == GpuClockChange.lasting and is_gpu(entry.key, entry.found) and is_gpu(entry.key, entry.wanted):
        return GpuClockChange(key=entry.key, found=entry.found, wanted=entry.wanted)
    raise BadJournal(f"line {number} names something that ridgeline never sets")


def _this_process(root: Path) -> Owner:
    return Owner(
        pid=os.getpid(), since=started([os.getpid()]).get(os.getpid(), ""), namespace=_namespace(), boot=_boot(root), host=os.uname().nodename
    )


def _lives(owner: Owner | None, had_lock: bool | None) -> bool:
    """Whether the process that wrote a journal still runs: by its lock, which a fork of it may hold longer, and by its number."""
    if had_lock:
        return False
    if owner is not None and owner.since and owner.namespace == _namespace():
        return started([owner.pid]).get(owner.pid) == owner.since
    return True


def _namespace() -> str:
    try:
        return os.readlink("/proc/self/ns/pid")
    except OSError:
        return ""


def _boot(root: Path) -> str:
    return read(root, "proc/sys/kernel/random/boot_id") or ""
