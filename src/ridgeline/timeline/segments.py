"""Segments of host threads: between two boundaries of events, time belongs to the innermost event.

This module decides to whom a moment of a track belongs: to the event that started last of those still running, which is the innermost one where
events are nested as calls are. Where an event outlives the one it started in (rounded times, or lanes that are no threads), the outer one is
cut at the start of the later one, so that the union stays covered. What a segment is worth is left to the caller.

Nesting is found by sorting and counting what has begun and ended before each start. O(n log n); tracks that are not nested cost n × their depth.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Segments", "last_at", "segments_of", "thread_time"]

Ints = NDArray[np.int64]
#: Levels to which a track that is not nested is unravelled; what lies deeper counts as a part of what it lies in.
_MOST_LEVELS = 256


@dataclass(frozen=True, kw_only=True, eq=False)
class Segments:
    """Pieces that tile each track from its first start to its last end, sorted by (track, start), shape (k,) each.

    Args:
        track: of the piece; start, end: in ticks, end > start.
        event: index of the innermost event, −1 where the track does nothing.
        cut: how many events ended inside a later one; deep: how many lay too deep to be told apart.
    """

    track: NDArray[np.int32]
    start: Ints
    end: Ints
    event: NDArray[np.int32]
    cut: int = 0
    deep: int = 0

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
    order = np.lexsort((-end, start, track))
    order = order[end[order] > start[order]]
    track, start, end, event = track[order].astype(np.int32), start[order], end[order], event[order].astype(np.int32)
    del order
    nesting = _nesting(track, start, end)
    around, cut, deep = nesting.around, 0, 0
    broken = around >= 0
    broken[broken] = end[around[broken]] < end[broken]
    if broken.any():
        chosen = np.isin(track, np.unique(track[broken]))
        ends = end.copy()
        ends[chosen], deep = _cut(track[chosen], start[chosen], end[chosen])
        cut = int((ends != end).sum()) - deep
        keep = ends > start
        track, start, end, event = track[keep], start[keep], ends[keep], event[keep]
        nesting = _nesting(track, start, end)
    return _pieces(track, start, end, event, nesting, cut, deep)


class _Nesting(NamedTuple):
    """Of n events in order of (track, start, longest first): in order of (track, end, innermost first), and the event around each or −1."""

    by_end: NDArray[np.int32]
    ended: NDArray[np.int32]
    around: NDArray[np.int32]


def _nesting(track: NDArray[np.int32], start: Ints, end: Ints) -> _Nesting:
    """Where events are nested, the one around each is the last one before it that is one level further out.

    The level is how many have begun less how many have ended; where they are not nested, some event around another one ends too soon.
    """
    count = len(start)
    # Sorted backwards, so that of ends at one tick the later event, which is the inner one, comes first.
    by_end = (count - 1 - np.lexsort((end[::-1], track[::-1]))).astype(np.int32)
    ended = (last_at(track[by_end], end[by_end], track, start) + 1).astype(np.int32)
    place = np.arange(count, dtype=np.int32)
    level = place - ended
    by_level = np.argsort(level.astype(np.int16) if count and int(level.max()) < 2**15 else level, kind="stable")
    at = last_at(level[by_level], by_level, level - 1, place)
    around = by_level[np.maximum(at, 0)].astype(np.int32) if count else place
    return _Nesting(by_end, ended, np.where(level > 0, around, np.int32(-1)))


def _pieces(track: NDArray[np.int32], start: Ints, end: Ints, event: NDArray[Any], nesting: _Nesting, cut: int, deep: int) -> Segments:
    """Between one boundary and the next of its track time belongs to the event that began there, or to the one around the event that ended."""
    count = len(start)
    tick = np.empty(2 * count, dtype=np.int64)
    owner, where = np.empty(2 * count, dtype=np.int32), np.empty(2 * count, dtype=np.int32)
    place = np.arange(count, dtype=np.int32)
    begins = place + nesting.ended
    tick[begins], owner[begins], where[begins] = start, event, track
    ends, tracks = end[nesting.by_end], track[nesting.by_end]
    begins = place + (last_at(track, start, tracks, ends - 1) + 1).astype(np.int32)
    around = nesting.around[nesting.by_end]
    tick[begins], where[begins] = ends, tracks
    owner[begins] = np.where(around >= 0, event[np.maximum(around, 0)], -1) if count else around
    del ends, tracks, begins, around
    # The last boundary of a track opens nothing.
    at = np.flatnonzero((where[1:] == where[:-1]) & (tick[1:] > tick[:-1]))
    return Segments(track=where[at], start=tick[at], end=tick[at + 1], event=owner[at], cut=cut, deep=deep)


def _cut(track: NDArray[Any], start: Ints, end: Ints) -> tuple[Ints, int]:
    """Ends of events, cut where a later one outlives them; sorted by (track, start, −end) as they come.

    Level by level: an event that ends later than all before it is cut by none of them, and cuts them; the rest lies in it.
    """
    ticks = np.concatenate((start, end))
    order = np.lexsort((ticks, np.concatenate((track, track))))
    tracks = np.concatenate((track, track))[order]
    changes = (np.diff(ticks[order]) != 0) | (np.diff(tracks) != 0)
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.concatenate(([0], np.cumsum(changes)))
    low, high = rank[: len(start)], rank[len(start) :].copy()
    rest = np.arange(len(start))
    for _ in range(_MOST_LEVELS):
        if not len(rest):
            break
        first, last = low[rest], high[rest]
        outer = np.concatenate(([True], last[1:] > np.maximum.accumulate(last)[:-1]))
        following = np.append(first[outer][1:], np.iinfo(np.int64).max)[np.cumsum(outer) - 1]
        high[rest] = np.minimum(last, following)
        rest = rest[~outer & (high[rest] > first)]
    high[rest] = low[rest]
    value = np.empty(int(rank.max()) + 1 if len(rank) else 0, dtype=np.int64)
    value[rank] = ticks
    return value[high], len(rest)
