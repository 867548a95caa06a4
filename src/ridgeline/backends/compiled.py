"""The compile cache: what a runner builds for a job, kept by what it was built from, for any process of this user.

An entry is named by a digest of runner, identity (sources with every included file, function, flags, toolchain, device, driver), options and values:
whatever of it changes, another entry is looked for. It is built in a folder of its own, which is renamed into place when it is whole; a manifest with
a digest of each file tells an entry that is not whole any more, which is made again. A build that fails leaves nothing. Each entry has a lock
(flock(2)): held alone while it is built or thrown away, shared while it is used. What to do with a failure, and how many are built at once, is left
to the caller.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec

from ridgeline.core import UsageError
from ridgeline.machine import cache_directory, scratch_folder, write_atomic

from .base import Job, Runner
from .digests import digest, digest_of_file

__all__ = ["Built", "CompileCache"]

#: Raised whenever entries of before could be taken for what they are not.
_FORMAT = 1
_MANIFEST = "entry.json"
_LOCK = ".lock"
_MOST_BYTES = 2 * 2**30
#: An entry may be thrown away by another process between building and using it; hardly three times.
_TRIES = 3


class Built(msgspec.Struct, frozen=True, kw_only=True):
    """What a runner has built, whole as long as it is held.

    Args:
        files: role → absolute path.
        build_s: seconds that it took to build now; 0 where it was kept from before.
        word: what had to be mended on the way; empty mostly.
    """

    files: dict[str, str]
    build_s: float = 0.0
    word: str = ""


class _Entry(msgspec.Struct, frozen=True, kw_only=True):
    """`files`: role → path in the folder; `digests`: path in the folder → digest."""

    format: int
    files: dict[str, str]
    digests: dict[str, str]


class CompileCache:
    """Entries in a folder; any number of processes may use it at once.

    Args:
        folder: made if missing; the one of this user if not given.
        most_bytes: of all entries; those that were not used for longest are thrown away beyond it. What is in use is never thrown away.

    Raises:
        UsageError: the folder cannot be made.
    """

    def __init__(self, folder: str | os.PathLike[str] | None = None, *, most_bytes: int = _MOST_BYTES) -> None:
        self.folder = Path(folder) if folder is not None else cache_directory("compiled")
        self._most_bytes = most_bytes
        with _readable(self.folder):
            self.folder.mkdir(parents=True, exist_ok=True)

    def key(self, runner: Runner, job: Job) -> str:
        """Name of the entry of a job."""
        return digest([_FORMAT, runner.name, runner.identity(job), job.options, job.values])

    @contextlib.contextmanager
    def held(self, runner: Runner, job: Job) -> Iterator[Built]:
        """What the runner builds for the job, from before or built now, for the time of a `with`.

        Raises:
            BuildFailed: it cannot be built; nothing is kept.
            UsageError: the folder cannot be written to.
        """
        key = self.key(runner, job)
        if type(runner).build is Runner.build:
            yield Built(files={})
            return
        with _locked(self.folder / f"{key}{_LOCK}", alone=False) as lock:
            built = self._made(runner, job, self.folder / key, lock)
            with contextlib.suppress(OSError):
                os.utime(self.folder / key)
            if built.build_s:
                self._prune()
            yield built

    def _made(self, runner: Runner, job: Job, place: Path, lock: _Lock) -> Built:
        """The entry, looked up or built, with the lock shared again at the end."""
        files, word = _whole(place)
        build_s = 0.0
        for _ in range(_TRIES):
            if files is not None:
                return Built(files=files, build_s=build_s, word=word)
            lock.alone()
            # Another process may have built it while nobody held the lock.
            if _whole(place)[0] is None:
                started = time.perf_counter()
                try:
                    self._build(runner, job, place)
                except BaseException:
                    lock.remove()
                    raise
                build_s += time.perf_counter() - started
            # Between the two locks it may be thrown away again.
            lock.shared()
            files, again = _whole(place)
            word = word or again
        found = f"{self.folder}: {word or 'an entry is gone as soon as it is made'}"
        raise UsageError("a folder that keeps what is compiled", found=found, remedy="give the cache another folder")

    def _build(self, runner: Runner, job: Job, place: Path) -> None:
        with contextlib.ExitStack() as stack:
            with _readable(self.folder):
                scratch = stack.enter_context(scratch_folder("build", self.folder))
                made = scratch / "entry"
                made.mkdir()
            built = runner.build(job, str(made))
            with _readable(self.folder):
                files = {role: str(Path(path).relative_to(made)) for role, path in built.items()}
                digests = {str(path.relative_to(made)): digest_of_file(path) for path in sorted(made.rglob("*")) if path.is_file()}
                write_atomic(made / _MANIFEST, msgspec.json.encode(_Entry(format=_FORMAT, files=files, digests=digests)))
                shutil.rmtree(place, ignore_errors=True)
                os.rename(made, place)

    def _prune(self) -> None:
        """Throw away what was not used for longest, until the rest fits."""
        entries = sorted(_sizes(self.folder))
        total = sum(size for _, size, _ in entries)
        for _, size, place in entries:
            if total <= self._most_bytes:
                return
            with contextlib.suppress(OSError), _locked(place.with_name(f"{place.name}{_LOCK}"), alone=True, wait=False) as lock:
                shutil.rmtree(place, ignore_errors=True)
                lock.remove()
                total -= size


def _whole(place: Path) -> tuple[dict[str, str] | None, str]:
    """Role → path of an entry, `None` where there is none or it is not whole; what is wrong with it."""
    if not place.exists():
        return None, ""
    try:
        entry = msgspec.json.decode((place / _MANIFEST).read_bytes(), type=_Entry)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError) as error:
        return None, f"a kept build was not whole ({_MANIFEST}: {error}): made again"
    for name, right in entry.digests.items():
        if digest_of_file(place / name) != right:
            return None, f"a kept build was not whole ({name} is not what was built): made again"
    if entry.format != _FORMAT or not set(entry.files.values()) <= set(entry.digests):
        return None, f"a kept build was not whole ({_MANIFEST} names other files): made again"
    return {role: str(place / path) for role, path in entry.files.items()}, ""


def _sizes(folder: Path) -> Iterator[tuple[float, int, Path]]:
    """(When last used, bytes, path) of each entry."""
    for place in folder.iterdir():
        if not place.name.startswith("ridgeline-") and place.is_dir():
            with contextlib.suppress(OSError):
                yield place.stat().st_mtime, sum(path.stat().st_size for path in place.rglob("*") if path.is_file()), place


class _Lock:
    """A lock on a file that is removed with what it guards."""

    def __init__(self, path: Path, wait: bool) -> None:
        self._path, self._wait, self._descriptor = path, wait, -1

    def alone(self) -> None:
        """Held by nobody else."""
        self._take(fcntl.LOCK_EX)

    def shared(self) -> None:
        """Held by others too, who want it so."""
        self._take(fcntl.LOCK_SH)

    def remove(self) -> None:
        """Remove the file; while it is held alone."""
        with contextlib.suppress(OSError):
            self._path.unlink()

    def close(self) -> None:
        """Let go."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def _take(self, how: int) -> None:
        while True:
            if self._descriptor < 0:
                self._descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
            try:
                fcntl.flock(self._descriptor, how if self._wait else how | fcntl.LOCK_NB)
            except OSError as error:
                # Where the file system has no locks, what is torn is found by its digests.
                if error.errno not in (errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS):
                    raise
            if self._is_there():
                return
            self.close()

    def _is_there(self) -> bool:
        """Whether the file that is locked is still the one of that name: another process may have removed it before it was locked."""
        try:
            return os.fstat(self._descriptor).st_ino == self._path.stat().st_ino
        except OSError:
            return False


@contextlib.contextmanager
def _locked(path: Path, *, alone: bool, wait: bool = True) -> Iterator[_Lock]:
    lock = _Lock(path, wait)
    try:
        with _readable(path.parent) if wait else contextlib.nullcontext():
            lock.alone() if alone else lock.shared()
        yield lock
    finally:
        lock.close()


@contextlib.contextmanager
def _readable(folder: Path) -> Iterator[None]:
    """Say what is wrong with the folder of the cache."""
    try:
        yield
    except OSError as error:
        raise UsageError(
            "a folder for what is compiled", found=f"{folder}: {error.strerror or error}", remedy="check its permissions and its space"
        ) from error
