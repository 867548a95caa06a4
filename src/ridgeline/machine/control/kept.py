"""`kept`: the journals that are in the folder, read without trusting them.

A journal must be a file of this user that nobody else can write to, of lines that a journal has, about settings that ridgeline sets; one that is not
is told and never acted upon. Whether its process still lives decides who puts back.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import msgspec

from ..processes import started
from .changes import Change, FileChange, may_write
from .gpu import GpuClockChange, is_gpu
from .journal import SUFFIX, Entry, Owner, PutBack, append, boot, lock, namespace

__all__ = ["Kept", "kept"]

_MOST_BYTES, _MOST_LINES = 1 << 20, 4096
_DECODER: msgspec.json.Decoder[Owner | Entry | PutBack] = msgspec.json.Decoder(Owner | Entry | PutBack)


class _BadJournal(Exception):
    """A journal that is not one of ours, in one sentence."""


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
            self.foreign = owner is not None and owner.boot != boot(root)
            self.same_host = owner is None or owner.host == os.uname().nodename
            self.alive = _lives(owner, lock(self._descriptor))
        except BaseException:
            os.close(self._descriptor)
            raise

    def put_back(self, change: Change) -> None:
        """As `Journal.put_back`."""
        with contextlib.suppress(OSError):
            # What a power cut left unfinished goes first.
            os.ftruncate(self._descriptor, self._whole)
            append(self._descriptor, PutBack(kind=change.lasting, key=change.key))
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
            raise _BadJournal("it is no file")
        # Whoever else may write it could have us set what he may not.
        if facts.st_uid != os.geteuid() or facts.st_mode & 0o022:
            raise _BadJournal("somebody else may write to it")
        if facts.st_size > _MOST_BYTES:
            raise _BadJournal(f"it has {facts.st_size} bytes")
        return os.pread(self._descriptor, _MOST_BYTES, 0)


def kept(folder: Path, root: Path = Path("/")) -> Iterator[Kept | tuple[Path, str]]:
    """Every journal in the folder, by name, closed after its turn; one that cannot be read as (path, why)."""
    try:
        names = sorted(entry.name for entry in os.scandir(folder) if entry.name.endswith(SUFFIX))
    except OSError:
        return
    for name in names:
        try:
            journal = Kept(folder / name, root)
        except FileNotFoundError:
            continue
        except _BadJournal as error:
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
        raise _BadJournal(f"it has {len(lines)} lines")
    decoded = [_decoded(number, line) for number, line in enumerate(lines, 1)]
    owner = decoded[0]
    if not isinstance(owner, Owner) or any(isinstance(line, Owner) for line in decoded[1:]):
        raise _BadJournal("it does not begin with its owner")
    changes: dict[tuple[str, str], Change] = {}
    for number, line in enumerate(decoded[1:], 2):
        if isinstance(line, Entry):
            # A setting that was set twice goes back to what was found first.
            changes.setdefault((line.kind, line.key), _change(number, line, root))
        elif isinstance(line, PutBack):
            changes.pop((line.kind, line.key), None)
    return owner, tuple(changes.values())


def _decoded(number: int, line: bytes) -> Owner | Entry | PutBack:
    try:
        return _DECODER.decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise _BadJournal(f"line {number} is none of a journal") from None


def _change(number: int, entry: Entry, root: Path) -> Change:
    if entry.kind == FileChange.lasting and may_write(entry.key, entry.found) and may_write(entry.key, entry.wanted):
        return FileChange(key=entry.key, found=entry.found, wanted=entry.wanted, root=root)
    if entry.kind == GpuClockChange.lasting and is_gpu(entry.key, entry.found) and is_gpu(entry.key, entry.wanted):
        return GpuClockChange(key=entry.key, found=entry.found, wanted=entry.wanted)
    raise _BadJournal(f"line {number} names something that ridgeline never sets")


def _lives(owner: Owner | None, had_lock: bool | None) -> bool:
    """Whether the process that wrote a journal still runs: by its lock, which a fork of it may hold longer, and by its number."""
    if had_lock:
        return False
    if owner is not None and owner.since and owner.namespace == namespace():
        return started([owner.pid]).get(owner.pid) == owner.since
    return True
