"""`call_tree`: the nesting of a timeline's events as `Stacks`, one below another by name, with the time that is each event's own.

This module decides what becomes of a lane: its events hang below a root frame with the lane's name. Which event lies in which is `nesting`'s
business; where events of a lane overlap without nesting, both keep their whole time, so that the sum may exceed the lane's busy time.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ridgeline.core import EVENT_KINDS, Column, Frame, Stacks, Timeline

from .nesting import own_ticks, parents

__all__ = ["call_tree"]

Indices = NDArray[np.int64]
_PYTHON = EVENT_KINDS.index("python")


def call_tree(t: Timeline) -> Stacks:
    """Own time of every path of names, in seconds; annotations and iterations are frames like others where work nests in them.

    Events of one name below one path are one node with their number as `calls`.
    """
    up = parents(t)
    own = own_ticks(t, up)
    paths = _Paths(t, up)
    weight = np.bincount(paths.node_of, weights=own, minlength=paths.count).astype(np.float64) if len(t) else np.zeros(paths.count)
    calls = np.bincount(paths.node_of, minlength=paths.count) if len(t) else np.zeros(paths.count, np.int64)
    kind = t.kind.values if t.kind is not None else np.zeros(len(t), np.uint8)
    python = np.zeros(len(t.strings), bool)
    python[t.name.values[kind == _PYTHON]] = True
    frames = (
        *(Frame(function=track.name, kind="process") for track in t.tracks),
        *(Frame(function=text, kind="python" if python[index] else "") for index, text in enumerate(t.strings)),
    )
    return Stacks(
        measure="wall", unit="s", frames=frames, parent=Column(paths.parent, "count"), frame=Column(paths.frame, "count"),
        own=Column(weight * t.tick_s, "s"), calls=Column(calls, "count"),
    )  # fmt: skip


class _Paths:
    """Nodes of distinct paths: of each track its root first, then level by level."""

    def __init__(self, t: Timeline, up: Indices) -> None:
        tracks = np.unique(t.track.values).astype(np.int64)
        root_of = np.full(len(t.tracks), -1, np.int64)
        root_of[tracks] = np.arange(len(tracks))
        self.node_of = np.zeros(len(t), np.int64)
        parent, frame = [np.full(len(tracks), -1, np.int64)], [tracks]
        self.count = len(tracks)
        name = t.name.values.astype(np.int64)
        level = np.flatnonzero(up < 0)
        above = root_of[t.track.values[level]]
        by_parent = np.argsort(up, kind="stable")
        sorted_up = up[by_parent]
        while len(level):
            keys, place = np.unique(above * len(t.strings) + name[level], return_inverse=True)
            self.node_of[level] = self.count + place
            parent.append(keys // len(t.strings))
            frame.append(keys % len(t.strings) + len(t.tracks))
            self.count += len(keys)
            level = _children(level, by_parent, sorted_up)
            above = self.node_of[up[level]]
        self.parent, self.frame = np.concatenate(parent), np.concatenate(frame)


def _children(events: Indices, by_parent: NDArray[np.intp], sorted_up: Indices) -> Indices:
    """All events directly in one of `events`."""
    low, high = np.searchsorted(sorted_up, events, "left"), np.searchsorted(sorted_up, events, "right")
    counts = high - low
    starts = np.repeat(low - (np.cumsum(counts) - counts), counts)
    return np.asarray(by_parent[starts + np.arange(int(counts.sum()))], np.int64)
