"""The columns of a `Timeline` as plain arrays for the analyses: 64-bit ticks, kinds, devices, links by kind.

This module decides nothing but how a missing column is read: events without a kind are `other`, links without a kind are `flow`, tracks without a
device are on the host.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ridgeline.core import DEVICE_WORK, EVENT_KINDS, LINK_KINDS, Timeline, UsageError

__all__ = ["HOST_ACTIVITY", "Events", "devices_of", "event_devices", "events_of", "is_kind", "is_work", "links_of", "window_of"]

#: What a host does while it is at work (waiting and naming are neither).
HOST_ACTIVITY = ("operator", "python", "runtime", "input", "other")
#: Kinds that do not make the window longer: a named range may begin before what was recorded, and the recorder is no part of the program.
_BESIDE = ("annotation", "profiler")


class Events(NamedTuple):
    """Columns of n events, shape (n,) each: ticks as int64; kind, name and track as indices."""

    start: NDArray[np.int64]
    end: NDArray[np.int64]
    kind: NDArray[Any]
    name: NDArray[Any]
    track: NDArray[Any]


def events_of(t: Timeline) -> Events:
    """The columns of a timeline.

    Raises:
        UsageError: ticks beyond ±2⁶².
    """
    start, duration = t.start_tick.values, t.duration_tick.values
    # Differences of any two of them must fit 63 bits.
    if len(t) and (int(start.max()) + int(duration.max()) > 2**62 or int(start.min()) < -(2**62)):
        raise UsageError("ticks within ±2**62", found=f"{start.min()} … {start.max()} + {duration.max()}", remedy="subtract an origin first")
    start = start.astype(np.int64, copy=False)
    kind = np.zeros(len(t), dtype=np.uint8) if t.kind is None else t.kind.values
    return Events(start, start + duration.astype(np.int64, copy=False), kind, t.name.values, t.track.values)


def is_kind(events: Events, *kinds: str) -> NDArray[np.bool_]:
    """Which events are of one of the kinds, shape (n,)."""
    # Comparing small numbers takes a fraction of looking them up in a table.
    found = np.zeros(len(events.kind), dtype=np.bool_)
    for number, kind in enumerate(EVENT_KINDS):
        if kind in kinds:
            found |= events.kind == number
    return found


def devices_of(t: Timeline) -> tuple[tuple[str, ...], NDArray[np.int64]]:
    """(names of the devices in order of their tracks, device of each track or −1 on the host)."""
    names = tuple(dict.fromkeys(track.device for track in t.tracks if track.device))
    place = {name: index for index, name in enumerate(names)}
    return names, np.array([place.get(track.device, -1) for track in t.tracks], dtype=np.int64)


def event_devices(t: Timeline) -> NDArray[np.int64]:
    """Device of each event or −1, shape (n,)."""
    table = devices_of(t)[1]
    return table[t.track.values] if len(t) else np.zeros(0, dtype=np.int64)


def is_work(t: Timeline, events: Events) -> NDArray[np.bool_]:
    """Which events keep a device busy, shape (n,)."""
    return is_kind(events, *DEVICE_WORK) & (event_devices(t) >= 0)


def links_of(t: Timeline, *kinds: str) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """(source, target) of the links of the kinds given, in order of the file; none where the links have no kind."""
    empty = np.zeros(0, dtype=np.int64)
    if t.links is None:
        return empty, empty
    if t.links.kind is None:
        if "flow" not in kinds:
            return empty, empty
        keep = np.ones(len(t.links.source), dtype=np.bool_)
    else:
        keep = np.array([kind in kinds for kind in LINK_KINDS])[t.links.kind.values]
    return t.links.source.values[keep].astype(np.int64), t.links.target.values[keep].astype(np.int64)


def window_of(t: Timeline) -> tuple[int, int]:
    """(first start, last end) in ticks of all but named ranges and the recorder's events, or of these if there are no others; (0, 0) if empty."""
    if not len(t):
        return 0, 0
    events = events_of(t)
    counts = ~is_kind(events, *_BESIDE)
    start, end = (events.start[counts], events.end[counts]) if counts.any() else (events.start, events.end)
    return int(start.min()), int(end.max())
