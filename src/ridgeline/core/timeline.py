"""`Timeline`: events on tracks as columns, in integer ticks.

Float seconds lose nanoseconds after a few weeks of uptime and microseconds are too coarse for gaps, so times are integers with a
tick length in seconds. Strings are interned; links between events are a table of their own. What an event is (`EVENT_KINDS`) is for its reader to
say, once: no analysis looks at names to tell a kernel from a copy.
"""

from __future__ import annotations

import math

import msgspec
import numpy as np

from .column import Column
from .errors import UsageError

__all__ = ["DEVICE_WORK", "EVENT_KINDS", "LINK_KINDS", "CounterTrack", "Links", "Marks", "Timeline", "Track"]

#: What an event can be. On the host: `operator` (of a framework or runtime), `python` (a function), `runtime` (a call of the device's library that
#: returns at once), `wait` (a call that blocks until something else is done), `input` (loading or preparing data), `profiler` (the recorder's own
#: work). On a device: `compute`, `communication` (collectives and sends), `copy` (between memories), `fill`, `sync` (a queue that waits: no work).
#: Anywhere: `annotation` (a range that somebody named: never work), `iteration` (a range that is one step), `other`.
EVENT_KINDS = (
    "other", "operator", "python", "runtime", "wait", "input", "profiler", "compute", "communication", "copy", "fill", "sync", "annotation",
    "iteration",
)  # fmt: skip
#: The kinds that keep a device busy.
DEVICE_WORK = ("compute", "communication", "copy", "fill")
#: Why one event follows another. `launch`: the host call that put it into a queue. `wait`: the target goes on only when the source has ended.
#: `signal`: the target may begin when the source has ended, on another track (events between streams, flows that carry a result). `flow`: an arrow
#: that the file draws and whose meaning nobody knows; it orders nothing.
LINK_KINDS = ("launch", "wait", "signal", "flow")


class Track(msgspec.Struct, frozen=True, kw_only=True):
    """A lane of events: a thread, a stream, a queue.

    Args:
        name: for a person, unique in the timeline.
        clock: the clock domain; times of two domains do not compare.
        device: such as `GPU 0`; empty on the host.
        role: `thread`; `queue` (of a device: events start in order, each after the one before unless the file says otherwise); `ranges` (annotations
            that lie beside work); empty where nobody knows.
        process: id or name of the process, as text; rank: of a distributed job; null if not known.
        thread: the identifier that the file gives the thread or the stream, as text.
    """

    name: str
    clock: str = "host"
    device: str = ""
    role: str = ""
    process: str = ""
    rank: int | None = None
    thread: str = ""


class Links(msgspec.Struct, frozen=True, kw_only=True):
    """Event `source[i]` caused or ordered event `target[i]`; both are event indices, shape (m,).

    `kind` is an index into `LINK_KINDS`, shape (m,); null where all are `flow`.
    """

    source: Column
    target: Column
    kind: Column | None = None


class Marks(msgspec.Struct, frozen=True, kw_only=True):
    """Points in time without a length: ticks, names (index into the timeline's `strings`) and tracks, shape (m,) each."""

    tick: Column
    name: Column
    track: Column


class CounterTrack(msgspec.Struct, frozen=True, kw_only=True):
    """A number that changes over time: its value from each tick on, shape (m,) each, in order of time."""

    name: str
    tick: Column
    value: Column
    process: str = ""
    device: str = ""


class Timeline(msgspec.Struct, frozen=True, kw_only=True, tag_field="schema", tag="ridgeline.timeline/1"):
    """n events.

    Args:
        tick_s: seconds of one tick, such as 1e-9.
        start_tick, duration_tick: integer columns, shape (n,).
        name: index into `strings`, shape (n,).
        track: index into `tracks`, shape (n,).
        strings: interned names.
        tracks: the lanes.
        links: dependencies between events, or null.
        kind: index into `EVENT_KINDS`, shape (n,); null where the format does not tell.
        numbers: further numbers of single events by name, shape (n,), negative where an event has none: `bytes` (moved by a copy or a collective),
            `occupancy` (share), `iteration` (number of the step), `graph` (id of the device graph that it is a part of), ….
        texts: further texts of single events by name, index into `strings`, −1 where an event has none: `shapes` (of an operator's inputs, as
            the file writes them), `types`, `site` (`file:line`), `provider`, ….
        marks: points in time; counters: numbers over time.
    """

    tick_s: float
    start_tick: Column
    duration_tick: Column
    name: Column
    track: Column
    strings: tuple[str, ...]
    tracks: tuple[Track, ...]
    links: Links | None = None
    kind: Column | None = None
    numbers: dict[str, Column] = {}
    texts: dict[str, Column] = {}
    marks: Marks | None = None
    counters: tuple[CounterTrack, ...] = ()

    def __post_init__(self) -> None:
        length = len(self.start_tick)
        for field in ("duration_tick", "name", "track"):
            if len(getattr(self, field)) != length:
                raise UsageError(
                    f"Timeline columns of one length ({length})", found=f"{field} with {len(getattr(self, field))}", remedy="mend the reader"
                )
        for field in ("start_tick", "duration_tick"):
            if getattr(self, field).values.dtype.kind not in "iu":
                raise UsageError("Timeline times in integer ticks", found=f"{field} as {getattr(self, field).dtype}", remedy="convert to ticks")
        if length and int(np.min(self.duration_tick.values)) < 0:
            raise UsageError("Timeline durations ≥ 0", found="a negative duration", remedy="exclude the event and say so")
        if not 0 < self.tick_s < math.inf:
            raise UsageError("Timeline.tick_s > 0", found=repr(self.tick_s), remedy="give the seconds of one tick")
        _check_indices("name", self.name, len(self.strings))
        _check_indices("track", self.track, len(self.tracks))
        self._check_further(length)
        if self.links is not None:
            _check_links(self.links, length)
        if self.marks is not None:
            _check_indices("marks.name", self.marks.name, len(self.strings))
            _check_indices("marks.track", self.marks.track, len(self.tracks))

    def __len__(self) -> int:
        return len(self.start_tick)

    def _check_further(self, length: int) -> None:
        if self.kind is not None:
            _check_indices("kind", self.kind, len(EVENT_KINDS))
        further = {"kind": self.kind, **self.numbers, **self.texts}
        for name, column in further.items():
            if column is not None and len(column) != length:
                raise UsageError(f"Timeline columns of one length ({length})", found=f"{name} with {len(column)}", remedy="mend the reader")
        for name, column in self.texts.items():
            _check_indices(name, column, len(self.strings), first=-1)


def _check_links(links: Links, length: int) -> None:
    _check_indices("links.source", links.source, length)
    _check_indices("links.target", links.target, length)
    if len(links.source) != len(links.target):
        raise UsageError("Timeline links in pairs", found=f"{len(links.source)} and {len(links.target)}", remedy="mend the reader")
    if links.kind is not None:
        _check_indices("links.kind", links.kind, len(LINK_KINDS))
        if len(links.kind) != len(links.source):
            raise UsageError("a kind for each link", found=f"{len(links.kind)} for {len(links.source)}", remedy="mend the reader")


def _check_indices(field: str, column: Column, size: int, first: int = 0) -> None:
    """Whole numbers in [first, size): an index that leads nowhere would only fail far from the reader that made it."""
    values = column.values
    if values.dtype.kind not in "iu":
        raise UsageError(f"Timeline {field} as whole numbers", found=column.dtype, remedy="mend the reader")
    if len(values) and not (int(values.min()) >= first and int(values.max()) < size):
        raise UsageError(f"Timeline {field} in {first} … {size - 1}", found=f"{values.min()} … {values.max()}", remedy="mend the reader")
