"""Cold caches: emptying the CPU's caches before a call, and forgetting the pages of files.

`CacheEmptier` reads a buffer larger than the last level, outside of the timed interval: reads, since lines that it had written would have to be
written back during the call that is timed. It empties the caches that this CPU sees: its own,
those it shares, and its address translations; private caches of other cores keep what they have unless they are named, and branch predictors always
do. The first call after it therefore pays for memory, not for a start from nothing. A non-temporal flush of single lines (clflush) would need the
addresses of the target's data, which nobody knows. Sources: the sizes are `caches`'; posix_fadvise(2) for files.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Collection, Iterable
from pathlib import Path

import numpy as np

from ridgeline.core import UsageError
from ridgeline.core.units import format_quantity

from .. import cgroup
from ..caches import read_levels
from ..system_files import read

__all__ = ["CacheEmptier", "forget_files"]

#: The buffer ÷ the last level: its replacement is not strictly the oldest first, so once its size leaves something behind.
_TIMES = 2
#: Taken where the system does not show its caches: more than the last level of most machines.
_ASSUMED_BYTES = 64 << 20
#: Part of the memory in reach that the buffer may take.
_MEMORY_PART = 0.25


class CacheEmptier:
    """Call it before each sample, outside of the timed interval.

    Args:
        size_bytes: of the buffer; null takes twice the last level of cache, or says that it is assumed.
        cpus: empty the private caches of these CPUs too, by running on each for a moment; null leaves other cores alone.
        root: `/`, or a tree like it, whose caches are looked at.

    Attributes:
        size_bytes: of the buffer.
        assumed: whether the size is assumed, since the system does not show its caches.

    Raises:
        UsageError: a size below one byte, or more than a quarter of the memory.
    """

    def __init__(self, size_bytes: int | None = None, *, cpus: Collection[int] | None = None, root: Path = Path("/")) -> None:
        levels = read_levels(root=root / "sys/devices/system/cpu")
        capacities = [level.capacity_bytes for level in levels if level.capacity_bytes]
        self.assumed = size_bytes is None and not capacities
        size_bytes = _size(max(capacities, default=None), root) if size_bytes is None else size_bytes
        _check(size_bytes, root)
        self.size_bytes = size_bytes
        # A private level is at most the one before the last; emptied on each CPU by a part of the buffer.
        private = sorted(capacities)[-2] if len(capacities) > 1 else size_bytes
        self._private_words = max(1, min(size_bytes, _TIMES * private) // 8)
        self._cpus = tuple(cpus or ())
        self._buffer = np.ones(max(1, size_bytes // 8), np.int64)  # not zeros: pages that were never written are all one page

    def __call__(self) -> None:
        """Empty the caches: milliseconds to tens of them."""
        if self._cpus:
            self._empty_others()
        self._buffer.max()

    def _empty_others(self) -> None:
        """Run on each CPU that is named for a moment, and come back to those that were allowed."""
        allowed = os.sched_getaffinity(0)
        part = self._buffer[: self._private_words]
        try:
            for cpu in self._cpus:
                with contextlib.suppress(OSError):  # one that went offline has no cache to empty
                    os.sched_setaffinity(0, {cpu})
                    part.max()
        finally:
            os.sched_setaffinity(0, allowed)


def _size(last_level: int | None, root: Path) -> int:
    """Twice the last level, or as much of that as memory allows while it is still larger than that level."""
    wanted, memory = _ASSUMED_BYTES if last_level is None else _TIMES * last_level, _memory_bytes(root)
    fits = wanted if memory is None else int(_MEMORY_PART * memory)
    return min(wanted, max(fits, last_level or wanted))


def _check(size_bytes: int, root: Path) -> None:
    if size_bytes < 1:
        raise UsageError("a buffer of at least one byte", found=repr(size_bytes), remedy="leave the size out")
    limit = _memory_bytes(root)
    if limit is not None and size_bytes > _MEMORY_PART * limit:
        found = f"a buffer of {format_quantity(size_bytes, 'B')} and memory of {format_quantity(limit, 'B')}"
        raise UsageError("memory for a buffer that empties the caches", found=found, remedy="allow more memory, or measure warm")


def _memory_bytes(root: Path) -> int | None:
    known = [cgroup.memory_limit_bytes(root)]
    for line in (read(root, "proc/meminfo") or "").splitlines():
        words = line.split()
        if words[:1] == ["MemAvailable:"] and len(words) > 1 and words[1].isdecimal():
            known.append(1024 * int(words[1]))
    return min((value for value in known if value is not None), default=None)


def forget_files(paths: Iterable[str | os.PathLike[str]]) -> tuple[str, ...]:
    """Have the kernel forget the cached pages of files, so that the next reader goes to the disk.

    Pages that are dirty are written first; pages that a process has mapped stay. The whole page cache is never dropped: it is everybody's.

    Args:
        paths: files.

    Returns:
        Those that could not be opened or advised on, each with the reason, as `PATH: why`.
    """
    failed = []
    for path in paths:
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
            try:
                with contextlib.suppress(OSError):  # some file systems have nothing to write
                    os.fdatasync(descriptor)
                os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
            finally:
                os.close(descriptor)
        except (OSError, ValueError) as error:
            failed.append(f"{os.fsdecode(path)}: {getattr(error, 'strerror', None) or error}")
    return tuple(failed)
