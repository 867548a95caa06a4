"""`Tape`: what one thread did, in order, with the time that belongs to each operation alone.

Spans of one thread nest (a library that calls back user code, which calls the library again), so exclusive time is a span less the recorded spans
directly inside it: Σ exclusive = union of the outermost. Nothing here knows what an operation is.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

from .capture import Seen

__all__ = ["LIMIT", "Event", "Tape"]

#: Events one thread keeps in one call of the target; what comes after is only summed up by site.
LIMIT = 200_000


class Event(NamedTuple):
    """One recorded operation: nanoseconds of one clock; `thread_ns` and `process_ns` are CPU time, -1 where they were not read."""

    site: int
    start_ns: int
    end_ns: int
    inner_ns: int
    thread_ns: int
    process_ns: int
    seen: Seen | None

    @property
    def exclusive_ns(self) -> int:
        """Own time."""
        return self.end_ns - self.start_ns - self.inner_ns


_PACKED = struct.Struct("=6q")


class Tape:
    """Events of one thread.

    They are packed into one block of memory that is used again: a Python object for each would call the garbage collector, which looks at everything
    the program holds.

    Attributes:
        nested_ns: recorded time inside the span that is open.
        beyond: site → (count, exclusive ns) of what no longer fitted.
    """

    __slots__ = ("_block", "_count", "_seen", "beyond", "nested_ns")

    def __init__(self) -> None:
        self._block = bytearray(1024 * _PACKED.size)
        self._count = 0
        self._seen: dict[int, Seen] = {}
        self.nested_ns = 0
        self.beyond: dict[int, tuple[int, int]] = {}

    @property
    def events(self) -> list[Event]:
        """The events in order of their end."""
        numbers = _PACKED.iter_unpack(memoryview(self._block)[: self._count * _PACKED.size])
        return [Event._make((*entry, self._seen.get(index))) for index, entry in enumerate(numbers)]

    def __bool__(self) -> bool:
        return bool(self._count or self.beyond)

    def clear(self) -> None:
        """Forget everything but the open span."""
        self._count, self._seen, self.beyond = 0, {}, {}

    def add(self, site: int, start_ns: int, end_ns: int, inner_ns: int, thread_ns: int, process_ns: int, seen: Seen | None) -> None:
        """Keep an event, or its sum where there are too many."""
        index = self._count
        if index >= LIMIT:
            count, spent = self.beyond.get(site, (0, 0))
            self.beyond[site] = (count + 1, spent + end_ns - start_ns - inner_ns)
            return
        if index * _PACKED.size >= len(self._block):
            self._block.extend(bytes(len(self._block)))
        _PACKED.pack_into(self._block, index * _PACKED.size, site, start_ns, end_ns, inner_ns, thread_ns, process_ns)
        if seen is not None:
            self._seen[index] = seen
        self._count = index + 1
