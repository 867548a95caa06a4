"""Which working sets stand for which memory level.

Private levels are used to one half per thread, so that the other half is left to what else must be cached. A shared level gets several sets, a
factor of four apart: in a virtual machine it may be shared with strangers, and which part of it one really has is only to be seen. Memory needs a
set of at least four times the last cache, but no more than a quarter of what there is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ridgeline.core import MemoryLevel

__all__ = ["ASSUMED", "WorkingSet", "cached_bytes", "memory_set", "working_sets"]

#: For a machine that shows no caches: sizes that every processor of the last ten years has at least (assumed, and said so in the notes).
ASSUMED = (MemoryLevel(name="L1", capacity_bytes=32 << 10, shared_by=1), MemoryLevel(name="L2", capacity_bytes=256 << 10, shared_by=1))

_STEP = 4
_PAST_CACHE = 4
_MEMORY_SHARE = 4
_LEAST_BYTES = 4096
#: Memory needs no larger set than this where the last cache is small: beyond it only the time to touch it grows.
_LEAST_MEMORY_BYTES = 64 << 20


@dataclass(frozen=True, kw_only=True)
class WorkingSet:
    """Bytes that `threads` threads touch again and again, each its own part, and the level that is to hold them."""

    level: str
    threads: int
    per_thread_bytes: int

    @property
    def total_bytes(self) -> int:
        """Bytes of all threads together."""
        return self.threads * self.per_thread_bytes


def working_sets(caches: Sequence[MemoryLevel], memory_bytes: int, threads: int) -> list[WorkingSet]:
    """Working sets for a number of threads, smallest first.

    Args:
        caches: L1 first, without memory.
        memory_bytes: what this process may use.
        threads: threads that run at once, each on its own CPU.
    """
    sets: list[WorkingSet] = []
    below = 0
    for position, cache in enumerate(caches):
        # A third level counts as shared even where only one CPU is seen to use it: the others may be a neighbour's.
        private = position < 2 and cache.shared_by in (None, 1)
        totals = [threads * cache.capacity_bytes // 2] if private else _within_shared(cache, below, threads)
        sets.extend(WorkingSet(level=cache.name, threads=threads, per_thread_bytes=total // threads) for total in totals)
        below = cache.capacity_bytes * _instances(cache, threads)
    total = memory_set(caches, memory_bytes, threads)
    sets.append(WorkingSet(level="DRAM", threads=threads, per_thread_bytes=total // threads))
    return [one for one in sets if one.per_thread_bytes >= _LEAST_BYTES]


def memory_set(caches: Sequence[MemoryLevel], memory_bytes: int, threads: int) -> int:
    """Total bytes that stand for memory: 4 × all that the threads' largest caches hold if that fits into a quarter of memory, else that quarter."""
    return min(max(_PAST_CACHE * cached_bytes(caches, threads), _LEAST_MEMORY_BYTES), memory_bytes // _MEMORY_SHARE)


def cached_bytes(caches: Sequence[MemoryLevel], threads: int) -> int:
    """What the largest level of the caches that so many threads use holds: several last caches, where a processor has one for every few cores."""
    return max((cache.capacity_bytes * _instances(cache, threads) for cache in caches), default=0)


def _instances(cache: MemoryLevel, threads: int) -> int:
    """Caches of this level that the threads use together, at least one."""
    return max(1, -(-threads // (cache.shared_by or 1)))


def _within_shared(cache: MemoryLevel, below_bytes: int, threads: int) -> list[int]:
    """Sets from twice what the levels below hold to half of this one."""
    room = cache.capacity_bytes * _instances(cache, threads) // 2
    total = 2 * below_bytes if below_bytes else room
    if total >= room:
        return [room]
    totals = []
    while total <= room:
        totals.append(total)
        total *= _STEP
    return totals
