"""Small timelines for tests, written down event by event."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ridgeline.core import EVENT_KINDS, LINK_KINDS, Column, Frame, Links, Stacks, Timeline, Track

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


def stacks_of(rows: dict[str, float], *, samples: int | None = None, lane: str = "", measure: str = "samples") -> Stacks:
    """Stacks from `a;b;c` → weight; a frame that begins with ! is the root of a process."""
    parent: list[int] = []
    frame: list[int] = []
    own: list[float] = []
    names: list[str] = []
    nodes: dict[tuple[str, ...], int] = {}
    for path, weight in rows.items():
        node = -1
        for depth, name in enumerate(path.split(";")):
            key = tuple(path.split(";")[: depth + 1])
            if key not in nodes:
                nodes[key] = len(parent)
                names.extend([name] if name not in names else [])
                parent.append(node)
                frame.append(names.index(name))
                own.append(0.0)
            node = nodes[key]
        own[node] += weight
    frames = tuple(Frame(function=name.lstrip("!"), kind="process" if name[0] == "!" else "") for name in names)
    columns = {"parent": Column(parent, "count", "int64"), "frame": Column(frame, "count", "int64"), "own": Column(own, "count", "float64")}
    return Stacks(measure=measure, unit="count", frames=frames, samples=samples, lane=lane, **columns)
