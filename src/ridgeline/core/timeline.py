"""`Timeline`: events on tracks as columns, in integer ticks.

Float seconds lose nanoseconds after a few weeks of uptime and microseconds are too coarse for gaps, so times are integers with a
tick length in seconds. Strings are interned; links between events are a table of their own.
"""

from __future__ import annotations

import math

import msgspec
import numpy as np

from .column import Column
from .errors import UsageError

__all__ = ["Links", "Timeline", "Track"]


class Track(msgspec.Struct, frozen=True, kw_only=True):
    """A lane of events: a thread, a stream, a queue. `clock` names the clock domain; times of two domains do not compare."""

    name: str
    clock: str = "host"
    device: str = ""


class Links(msgspec.Struct, frozen=True, kw_only=True):
    """Event `source[i]` caused or ordered event `target[i]`; both are event indices, shape (m,)."""

    source: Column
    target: Column


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
    """

    tick_s: float
    start_tick: Column
    duration_tick: Column
    name: Column
    track: Column
    strings: tuple[str, ...]
    tracks: tuple[Track, ...]
    links: Links | None = None

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
        if self.links is not None:
            _check_indices("links.source", self.links.source, length)
            _check_indices("links.target", self.links.target, length)
            if len(self.links.source) != len(self.links.target):
                raise UsageError("Timeline links in pairs", found=f"{len(self.links.source)} and {len(self.links.target)}", remedy="mend the reader")

    def __len__(self) -> int:
        return len(self.start_tick)


def _check_indices(field: str, column: Column, size: int) -> None:
    """Whole numbers in [0, size): an index that leads nowhere would only fail far from the reader that made it."""
    values = column.values
    if values.dtype.kind not in "iu":
        raise UsageError(f"Timeline {field} as whole numbers", found=column.dtype, remedy="mend the reader")
    if len(values) and not (int(values.min()) >= 0 and int(values.max()) < size):
        raise UsageError(f"Timeline {field} in 0 … {size - 1}", found=f"{values.min()} … {values.max()}", remedy="mend the reader")
