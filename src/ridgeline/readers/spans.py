"""Spans of functions on tracks, as some stack formats have them beside weights, turned into a `Timeline`.

This module decides the ticks: nanoseconds, or the file's own unit where that is coarser and whole. Which spans there are is left to the readers.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ridgeline.core import EVENT_KINDS, Column, Frame, Timeline, Track

from .stacking import LeftOut

__all__ = ["SpanTrack", "spans_timeline"]

_NANOSECONDS = {"nanoseconds": 1, "microseconds": 1000, "milliseconds": 10**6, "seconds": 10**9}
_MOST = 2**62


class SpanTrack:
    """The spans of one lane, in a unit of time of speedscope's."""

    def __init__(self, name: str, unit: str) -> None:
        self.name, self._scale = name, _NANOSECONDS.get(unit, 1)
        self.frames: list[int] = []
        self.starts: list[int] = []
        self.ends: list[int] = []
        self.beyond = 0

    def add(self, frame: int, start: int | float, end: int | float) -> None:
        """A span of a frame; whole nanoseconds, the nearest where the file has fractions of them."""
        first, last = _whole(start, self._scale), _whole(end, self._scale)
        if abs(first) > _MOST or abs(last) > _MOST:
            self.beyond += 1
            return
        self.frames.append(frame)
        self.starts.append(first)
        self.ends.append(last)


def _whole(value: int | float, scale: int) -> int:
    return value * scale if isinstance(value, int) else round(value * scale)


def spans_timeline(tracks: Sequence[SpanTrack], frames: Sequence[Frame], kind: str, left_out: LeftOut) -> Timeline | None:
    """All tracks on one clock in order of their starts; `None` where no span has a time of 63 bits."""
    beyond = sum(track.beyond for track in tracks)
    if beyond:
        left_out.add("spans whose times do not fit 62 bits of nanoseconds (in the timeline only)", events=beyond)
    start = np.array([value for track in tracks for value in track.starts], np.int64)
    if not len(start):
        return None
    end = np.array([value for track in tracks for value in track.ends], np.int64)
    lane = np.repeat(np.arange(len(tracks)), [len(track.starts) for track in tracks])
    name = np.array([frame for track in tracks for frame in track.frames], np.int64)
    # Spans stand in the order in which they closed, so of equal ones the later is the outer; analyses take the first of equal ones for that.
    order = np.lexsort((-np.arange(len(start)), -end, start, lane))
    strings = tuple(frame.function for frame in frames)
    return Timeline(
        tick_s=1e-9, start_tick=Column(start[order], "count"), duration_tick=Column((end - start)[order], "count"), name=Column(name[order], "count"),
        track=Column(lane[order], "count"), strings=strings, tracks=tuple(Track(name=named, role="thread") for named in _unique(tracks)),
        kind=Column(np.full(len(start), EVENT_KINDS.index(kind)), "count", "uint8"),
    )  # fmt: skip


def _unique(tracks: Sequence[SpanTrack]) -> list[str]:
    """Names of tracks, told apart by a number where two are called alike."""
    used: dict[str, int] = {}
    names = []
    for track in tracks:
        used[track.name] = number = used.get(track.name, 0) + 1
        names.append(track.name if number == 1 else f"{track.name} ({number})")
    return names
