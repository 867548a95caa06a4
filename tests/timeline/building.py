"""Small timelines for tests, written down event by event."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ridgeline.core import EVENT_KINDS, LINK_KINDS, Column, Links, Timeline, Track

HOST = Track(name="thread 1", role="thread", process="1", thread="1")


def stream(number: int, device: int = 0) -> Track:
    return Track(name=f"GPU {device} stream {number}", device=f"GPU {device}", role="queue", process="1", thread=str(number))


def timeline_of(
    events: Iterable[tuple[Track, str, str, int, int]], links: Sequence[tuple[int, int, str]] = (), *, tick_s: float = 1e-9, **more: object
) -> Timeline:
    """Events as (track, kind, name, start, end) in ticks, and links as (source event, target event, kind of link)."""
    rows = list(events)
    tracks = list(dict.fromkeys(row[0] for row in rows)) or [HOST]
    strings = list(dict.fromkeys(row[2] for row in rows)) or [""]
    kinds = Column([LINK_KINDS.index(link[2]) for link in links], "count", "uint8")
    return Timeline(
        tick_s=tick_s,
        start_tick=Column([row[3] for row in rows], "count", "int64"),
        duration_tick=Column([row[4] - row[3] for row in rows], "count", "int64"),
        name=Column([strings.index(row[2]) for row in rows], "count", "int32"),
        track=Column([tracks.index(row[0]) for row in rows], "count", "int32"),
        strings=tuple(strings),
        tracks=tuple(tracks),
        kind=Column([EVENT_KINDS.index(row[1]) for row in rows], "count", "uint8"),
        links=Links(
            source=Column([link[0] for link in links], "count", "int64"), target=Column([link[1] for link in links], "count", "int64"), kind=kinds
        ),
        **more,
    )
