"""A timeline as what a browser needs to draw it: lanes, the events that can be seen, and for all others how busy a lane was, at two levels of detail.

A screen has a few thousand columns. So up to `Detail.events` events are kept as they are, the longest first; the others only as the busy share of
each of so many bins, with the name that fills most of a bin. That bounds the size whatever the trace is; the page says what is drawn from bins alone.
Layout of the packed bytes: a 4-byte length, a JSON header, then the columns that the header names, little-endian; all deflated.
"""

from __future__ import annotations

import base64
import zlib
from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from ridgeline.core import EVENT_KINDS, ReadReport, Timeline
from ridgeline.timeline.intervals import merge
from ridgeline.timeline.nesting import parents
from ridgeline.timeline.use import window_of

__all__ = ["DETAILS", "Detail", "packed"]

#: Deeper nesting is drawn on the deepest row.
_DEEPEST = 7
#: A name is drawn in a box of some pixels; the readout shows this much of it.
_NAME = 300


class Detail(msgspec.Struct, frozen=True, kw_only=True):
    """How much is kept.

    Args:
        events: of all lanes together.
        lanes: the busiest ones.
        bins: of each lane, the coarse and the fine level.
    """

    events: int
    lanes: int
    bins: tuple[int, int]


#: From the most to the least; the first that fits is taken.
DETAILS = (
    Detail(events=120_000, lanes=60, bins=(2048, 32768)),
    Detail(events=50_000, lanes=40, bins=(2048, 16384)),
    Detail(events=15_000, lanes=24, bins=(1024, 8192)),
    Detail(events=3_000, lanes=12, bins=(512, 2048)),
)


def packed(timeline: Timeline, report: ReadReport, detail: Detail) -> str:
    """Base64 text of the packed bytes.

    Args:
        timeline: at least one event.
        report: of it, for gaps, critical path and iterations; their seconds count from the start of the window.
        detail: how much is kept.
    """
    origin, end = window_of(timeline)
    chosen = _lanes(timeline, detail.lanes)
    start = timeline.start_tick.values.astype(np.int64) - origin
    duration = timeline.duration_tick.values.astype(np.int64)
    lane = np.full(len(timeline.tracks), -1, dtype=np.int64)
    lane[chosen] = np.arange(len(chosen))
    shown = lane[timeline.track.values]
    inside = np.flatnonzero((shown >= 0) & (start + duration >= 0) & (start <= end - origin))
    kept = _longest(inside, duration, detail.events)
    up = parents(timeline)
    columns: dict[str, NDArray[Any]] = {
        "start": start[kept].astype(np.float64) * timeline.tick_s,
        "duration": (duration[kept] * timeline.tick_s).astype(np.float32),
        "name": timeline.name.values[kept].astype(np.uint32),
        "lane": shown[kept].astype(np.uint16),
        "depth": _depth(up)[kept],
        "kind": _kinds(timeline)[kept],
    }
    used = np.zeros(len(timeline.strings), dtype=bool)
    used[columns["name"]] = True
    levels = [
        _Level(timeline, start, duration, shown, end - origin, len(chosen), count) for count in (detail.bins if len(kept) < len(inside) else ())
    ]
    for index, level in enumerate(levels):
        columns |= {f"busy{index}": level.busy, f"most{index}": level.most}
        used[level.most[level.busy > 0]] = True
    return _pack(
        _header(timeline, report, chosen, levels, (len(kept), len(timeline)), used, (end - origin) * timeline.tick_s), _renamed(columns, used)
    )


def _kinds(timeline: Timeline) -> NDArray[np.uint8]:
    return timeline.kind.values.astype(np.uint8) if timeline.kind is not None else np.zeros(len(timeline), dtype=np.uint8)


def _lanes(timeline: Timeline, most: int) -> NDArray[np.int64]:
    """The lanes with most time, those of a device first, in order of the file."""
    busy = np.bincount(timeline.track.values, timeline.duration_tick.values.astype(np.float64), minlength=len(timeline.tracks))
    there = np.bincount(timeline.track.values, minlength=len(timeline.tracks)) > 0
    device = np.array([bool(track.device) for track in timeline.tracks])
    ranked = sorted(np.flatnonzero(there).tolist(), key=lambda at: (not device[at], -busy[at]))
    return np.array(sorted(ranked[:most], key=lambda at: (not device[at], at)), dtype=np.int64)


def _longest(inside: NDArray[np.int64], duration: NDArray[np.int64], most: int) -> NDArray[np.int64]:
    """The longest events, in order of the file, which is that of time in most."""
    if len(inside) <= most:
        return inside
    order = np.argpartition(-duration[inside], most)[:most]
    return np.sort(inside[order])


def _depth(up: NDArray[np.int64]) -> NDArray[np.uint8]:
    """How many events each is nested in, at most `_DEEPEST`."""
    depth = np.zeros(len(up), dtype=np.uint8)
    above = up.copy()
    for _ in range(_DEEPEST):
        nested = above >= 0
        if not nested.any():
            break
        depth += nested
        above[nested] = up[above[nested]]
    return depth


class _Level:
    """Busy share (0 … 255) and the name that fills most of each bin, lane after lane."""

    def __init__(
        self, timeline: Timeline, start: NDArray[np.int64], duration: NDArray[np.int64], lane: NDArray[np.int64], window: int, lanes: int, bins: int
    ) -> None:
        self.bins = bins
        edges = np.linspace(0, max(window, 1), bins + 1)
        busy = np.zeros(lanes * bins, dtype=np.float64)
        most = np.zeros(lanes * bins, dtype=np.uint32)
        names = timeline.name.values
        for index in range(lanes):
            mine = np.flatnonzero(lane == index)
            low, high = merge(start[mine], start[mine] + duration[mine])
            part = slice(index * bins, (index + 1) * bins)
            busy[part] = _covered(low, high, edges) / (edges[1] - edges[0])
            most[part] = _dominant(start[mine], duration[mine], names[mine], edges)
        self.busy = np.ceil(np.clip(busy, 0, 1) * 255).astype(np.uint8)
        self.most = np.where(self.busy > 0, most, 0).astype(np.uint32)


def _covered(low: NDArray[np.int64], high: NDArray[np.int64], edges: NDArray[np.float64]) -> NDArray[np.float64]:
    """How much of each bin disjoint, sorted intervals cover."""
    if not len(low):
        return np.zeros(len(edges) - 1)
    before = np.concatenate(([0], np.cumsum(high - low)))
    # Covered up to a time: all intervals that began before it, less what of the last of them lies behind it.
    at = np.searchsorted(low, edges, side="right")
    last = np.maximum(at - 1, 0)
    behind = np.where(at > 0, np.maximum(high[last] - edges, 0), 0)
    return np.diff(before[at] - behind)


def _dominant(start: NDArray[np.int64], duration: NDArray[np.int64], name: NDArray[Any], edges: NDArray[np.float64]) -> NDArray[np.uint32]:
    """The name of the longest event that begins in each bin or lasts into it."""
    bins = len(edges) - 1
    width = edges[1] - edges[0]
    found = np.zeros(bins, dtype=np.uint32)
    order = np.argsort(duration, kind="stable")
    first = np.clip((start[order] / width).astype(np.int64), 0, bins - 1)
    # Of several with one bin the last assignment counts, which is the longest.
    found[first] = name[order]
    last = np.clip(((start[order] + duration[order]) / width).astype(np.int64), 0, bins - 1)
    for at in np.flatnonzero(last > first).tolist():
        found[first[at] : last[at] + 1] = name[order[at]]
    return found


def _renamed(columns: dict[str, NDArray[Any]], used: NDArray[np.bool_]) -> dict[str, NDArray[Any]]:
    """Columns whose names count only the strings that are used."""
    index = (np.cumsum(used) - 1).clip(0).astype(np.uint32)
    return {key: index[values] if key == "name" or key.startswith("most") else values for key, values in columns.items()}


def _header(
    timeline: Timeline,
    report: ReadReport,
    chosen: NDArray[np.int64],
    levels: Sequence[_Level],
    counts: tuple[int, int],
    used: NDArray[np.bool_],
    window_s: float,
) -> dict[str, Any]:
    tracks = [timeline.tracks[at] for at in chosen.tolist()]
    gaps = [[gap.device, gap.start_s, gap.duration_s, gap.because, gap.activity] for gap in report.gaps]
    path = [
        [piece.start_s, piece.duration_s, piece.label, piece.name[:_NAME]] for piece in (report.critical_path.pieces if report.critical_path else ())
    ]
    steps = list(report.iterations.spans_s) if report.iterations is not None else []
    return {
        "window": window_s,
        "strings": [timeline.strings[at][:_NAME].encode("utf-8", "replace").decode() for at in np.flatnonzero(used).tolist()],
        "kinds": EVENT_KINDS,
        "lanes": [{"name": track.name, "device": track.device} for track in tracks],
        "shown": counts[0],
        "events": counts[1],
        "hidden": len(np.unique(timeline.track.values)) - len(tracks),
        "bins": [level.bins for level in levels],
        "gaps": gaps,
        "path": path,
        "steps": steps[:2000],
    }


def _pack(header: dict[str, Any], columns: dict[str, NDArray[Any]]) -> str:
    arrays = {name: values.astype(values.dtype.newbyteorder("<")) for name, values in columns.items()}
    header["columns"] = [[name, values.dtype.str[1:], len(values)] for name, values in arrays.items()]
    head = msgspec.json.encode(header)
    body = b"".join(values.tobytes() for values in arrays.values())
    data = len(head).to_bytes(4, "little") + head + body
    return base64.b64encode(zlib.compress(data, 9)).decode()
