"""Segments of host threads: between two boundaries of events, time belongs to the innermost event.

This module decides to whom a moment of a track belongs: to the event that started last of those still running, which is the innermost one where
events are nested as calls are. Where an event outlives the one it started in (rounded times, or lanes that are no threads), the outer one is
cut at the start of the later one, so that the union stays covered. What a segment is worth is left to the caller.

O(n log n), by sorting, counting what has begun and ended before each boundary, and `nearest`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .nearest import earlier_at_least, later_above
from .nesting import apart, order_by_nesting

__all__ = ["Segments", "last_at", "segments_of", "thread_time"]

Ints = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True, eq=False)
class Segments:
    """Pieces that tile each track from its first start to its last end, sorted by (track, start), shape (k,) each.

    Args:
        track: of the piece; start, end: in ticks, end > start.
        event: index of the innermost event, −1 where the track does nothing.
        cut: how many events ended inside a later one.
    """

    track: NDArray[np.int32]
    start: Ints
    end: Ints
    event: NDArray[np.int32]
    cut: int = 0

    def __len__(self) -> int:
        return len(self.start)

    def at(self, track: NDArray[Any], tick: Ints) -> Ints:
        """Index of the piece with start ≤ tick < end (the last one of the track past its end; any where the track has none), shape (q,)."""
        return np.maximum(last_at(self.track, self.start, track, tick), 0)


def last_at(track: NDArray[Any], tick: NDArray[Any], of_track: NDArray[Any], at: NDArray[Any]) -> Ints:
    """Position of the last of (track, tick), sorted, that is ≤ (of_track, at) in that order; −1 where there is none. Shape of `at`."""
    if not len(tick) or not len(at):
        return np.full(len(at), -1, dtype=np.int64)
    low = min(int(tick.min()), int(at.min()))
    span = max(int(tick.max()), int(at.max())) - low + 1
    tracks = max(int(track.max()), int(of_track.max())) + 1
    if tracks * span < 2**62:
        known, asked = (np.asarray(one, dtype=np.int64) * span for one in (track, of_track))
        known += tick
        asked += at
        return np.searchsorted(known, asked, side="right") - 1
    # Times so far apart that one number cannot hold both: sort them together.
    order = np.lexsort((np.repeat([0, 1], [len(tick), len(at)]), np.concatenate((tick, at)), np.concatenate((track, of_track))))
    found = np.empty(len(order), dtype=np.int64)
    found[order] = np.cumsum(order < len(tick)) - 1
    return found[len(tick) :]


def thread_time(segments: Segments, counted: Ints, track: NDArray[Any], tick: Ints) -> Ints:
    """Time that counts on a thread from some common origin up to each moment; its differences on one track are what passed between. Shape of `tick`.

    Args:
        segments: of the threads.
        counted: how much of each counts, 0 ≤ counted; a moment within one takes its part of it.
    """
    if not len(segments):
        return np.zeros(len(tick), dtype=np.int64)
    before = np.zeros(len(counted) + 1, dtype=np.int64)
    np.cumsum(counted, out=before[1:])
    at = last_at(segments.track, segments.start, track, tick)
    inside = np.maximum(at, 0)
    length = segments.end[inside] - segments.start[inside]
    passed = np.where(segments.track[inside] == track, np.minimum(tick - segments.start[inside], length), length)
    whole = counted[inside] == length
    part = np.where(whole, passed, np.floor(passed * (counted[inside] / length)).astype(np.int64))
    part = np.where(passed == length, counted[inside], part)
    return np.where(at >= 0, before[inside] + part, 0)


def segments_of(track: NDArray[Any], start: Ints, end: Ints, event: Ints) -> Segments:
    """Who a moment of each track belongs to.

    Args:
        track, start, end: of the events, shape (n,); end ≥ start. Events of no length own nothing.
        event: what to call each of them in the answer, shape (n,).

    >>> found = segments_of(*(np.array(column) for column in ([0, 0, 0], [0, 2, 9], [8, 5, 10], [7, 8, 9])))
    >>> found.start.tolist(), found.end.tolist(), found.event.tolist()
    ([0, 2, 5, 8, 9], [2, 5, 8, 9, 10], [7, 8, 7, -1, 9])
    """
    order = np.flatnonzero(end > start)
    order = order[order_by_nesting(track[order], start[order], end[order])]
    track, start, end, event = track[order].astype(np.int32), start[order], end[order], event[order].astype(np.int32)
    del order
    low, high = apart(track, start, end)
    # What goes on longer than an event that it began in cuts it where it begins.
    later = later_above(high)
    early = np.flatnonzero(low[np.minimum(later, max(len(low) - 1, 0))] < high)
    early = early[later[early] < len(low)]
    if len(early):
        end[early], high[early] = start[later[early]], low[later[early]]
        keep = high > low
        track, start, end, event, low, high = (column[keep] for column in (track, start, end, event, low, high))
    del later
    return _pieces(track, start, end, event, low, high, len(early))


def _pieces(track: NDArray[Any], start: Ints, end: Ints, event: NDArray[Any], low: Ints, high: Ints, cut: int) -> Segments:
    """Between one boundary and the next of its track time belongs to the event that began there, or to the one around the event that ended.

    Args:
        track, start, end, event: nested, in order of (track, start, longest first).
        low, high: starts and ends moved so that no two tracks overlap.
        cut: as in `Segments`.
    """
    count = len(start)
    tick = np.empty(2 * count, dtype=np.int64)
    owner, where = np.empty(2 * count, dtype=np.int32), np.empty(2 * count, dtype=np.int32)
    place = np.arange(count)
    # Sorted backwards, so that of ends at one tick the later event, which is the inner one, comes first.
    by_end = count - 1 - np.argsort(high[::-1], kind="stable")
    ended = high[by_end]
    at = place + np.searchsorted(ended, low, side="right")
    tick[at], owner[at], where[at] = start, event, track
    around = earlier_at_least(high, high)[by_end]
    at = place + np.searchsorted(low, ended, side="left")
    tick[at], where[at] = end[by_end], track[by_end]
    owner[at] = np.where(around >= 0, event[around], -1) if count else around
    del by_end, ended, around, at, place
    # The last boundary of a track opens nothing.
    at = np.flatnonzero((where[1:] == where[:-1]) & (tick[1:] > tick[:-1]))
    return Segments(track=where[at], start=tick[at], end=tick[at + 1], event=owner[at], cut=cut)
