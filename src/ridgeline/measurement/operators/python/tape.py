"""`Tape`: what one thread did, in order, with the time that belongs to each operation alone.

Spans of one thread nest (a library that calls back user code, which calls the library again), so exclusive time is a span less the recorded spans
directly inside it: Σ exclusive = union of the outermost. Nothing here knows what an operation is.
"""

from __future__ import annotations

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


class Tape:
    """Events of one thread.

    Attributes:
        events: in order of their end.
        nested_ns: recorded time inside the span that is open.
        beyond: site → (count, exclusive ns) of what no longer fitted.
    """

    __slots__ = ("beyond", "events", "nested_ns")

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.nested_ns = 0
        self.beyond: dict[int, tuple[int, int]] = {}

    def clear(self) -> None:
        """Forget everything but the open span."""
        self.events, self.beyond = [], {}

    def add(self, event: Event) -> None:
        """Keep an event, or its sum where there are too many."""
        if len(self.events) < LIMIT:
            self.events.append(event)
        else:
            count, spent = self.beyond.get(event.site, (0, 0))
            self.beyond[event.site] = (count + 1, spent + event.exclusive_ns)
