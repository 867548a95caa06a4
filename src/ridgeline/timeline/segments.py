"""Segments of host threads: between two boundaries of events, time belongs to the innermost event.

This module decides to whom a moment of a track belongs: to the event that started last of those still running, which is the innermost one where
events are nested as calls are. Where an event outlives the one it started in (rounded times, or lanes that are no threads), the outer one is
cut at the start of the later one, so that the union stays covered. What a segment is worth is left to the caller.

Nesting is found by sorting the boundaries and counting depth: the starts and ends of one depth must alternate, event by event. O(n log n); tracks
that are not nested cost n × their depth.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Segments", "segments_of"]

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

    track: Ints
    start: Ints
    end: Ints
    event: Ints
    cut: int = 0
    deep: int = 0

    def __len__(self) -> int:
        return len(self.start)

    def at(self, track: Ints, tick: Ints) -> Ints:
        """Index of the piece with start ≤ tick < end (the last one of the track past its end; any where the track has none), shape (q,)."""
        return np.maximum(last_at(self.track, self.start, track, tick), 0)


def last_at(track: Ints, tick: Ints, of_track: Ints, at: Ints) -> Ints:
    """Position of the last of (track, tick), sorted, that is ≤ (of_track, at) in that order; −1 where there is none. Shape of `at`."""
    if not len(tick) or not len(at):
        return np.full(len(at), -1, dtype=np.int64)
    low = min(int(tick.min()), int(at.min()))
    span = max(int(tick.max()), int(at.max())) - low + 1
    tracks = max(int(track.max()), int(of_track.max())) + 1
    if tracks * span < 2**62:
        return np.searchsorted(track * span + (tick - low), of_track * span + (at - low), side="right") - 1
    # Times so far apart that one number cannot hold both: sort them together.
    order = np.lexsort((np.repeat([0, 1], [len(tick), len(at)]), np.concatenate((tick, at)), np.concatenate((track, of_track))))
    known = np.cumsum(order < len(tick)) - 1
    found = np.empty(len(order), dtype=np.int64)
    found[order] = known
    return found[len(tick) :]


def segments_of(track: Ints, start: Ints, end: Ints, event: Ints) -> Segments:
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
    track, start, end, event = track[order], start[order], end[order], event[order]
    ends, cut, deep = end, 0, 0
    dirty = _unnested(track, start, end)
    if len(dirty):
        chosen = np.isin(track, dirty)
        ends = end.copy()
        ends[chosen], deep = _cut(track[chosen], start[chosen], end[chosen])
        cut = int((ends != end).sum()) - deep
    keep = ends > start
    track, start, ends, event = track[keep], start[keep], ends[keep], event[keep]
    of, tick, where, owner = _owners(track, start, ends)
    # A boundary opens a piece until the next one of its track; the last one of a track opens none.
    opens = np.zeros(len(of), dtype=bool)
    opens[:-1] = (where[1:] == where[:-1]) & (tick[1:] > tick[:-1])
    at = np.flatnonzero(opens)
    owners = np.where(owner[at] >= 0, event[owner[at]], -1) if len(event) else np.zeros(0, dtype=np.int64)
    return Segments(track=where[at], start=tick[at], end=tick[at + 1], event=owners, cut=cut, deep=deep)


def _boundaries(track: Ints, start: Ints, end: Ints) -> tuple[Ints, NDArray[np.bool_], Ints]:
    """Boundaries in order of (track, tick, ends first): event of each, whether it is a start, and how many events are open after it."""
    count = len(start)
    number = np.arange(count)
    # Of starts at one tick the outer one comes first, of ends the inner one.
    rank = np.concatenate((number, -number))
    begins = np.repeat([1, 0], count)
    order = np.lexsort((rank, begins, np.concatenate((start, end)), np.concatenate((track, track))))
    is_start = order < count
    return order % max(1, count), is_start, np.cumsum(np.where(is_start, 1, -1))


def _levels(is_start: NDArray[np.bool_], depth: Ints) -> Ints:
    return np.where(is_start, depth, depth + 1)


def _unnested(track: Ints, start: Ints, end: Ints) -> Ints:
    """Tracks in which an event outlives the one that it started in."""
    event, is_start, depth = _boundaries(track, start, end)
    order = np.argsort(_levels(is_start, depth), kind="stable")
    # Of one level each start is followed by the end of the same event, if events are nested.
    opened, closed = event[order][0::2], event[order][1::2]
    return np.unique(track[np.concatenate((opened[opened != closed], closed[opened != closed]))])


def _owners(track: Ints, start: Ints, end: Ints) -> tuple[Ints, Ints, Ints, Ints]:
    """Boundaries of nested events: event, tick, track, and the innermost event that is open after each (−1 for none)."""
    event, is_start, depth = _boundaries(track, start, end)
    tick, where = np.where(is_start, start[event], end[event]), track[event]
    level = _levels(is_start, depth)
    place = np.arange(len(event))
    starts = np.flatnonzero(is_start)
    starts = starts[np.argsort(level[starts], kind="stable")]
    # After an end, the event that is open one level further out: the last start of that level before it.
    found = last_at(level[starts], starts, depth, place)
    return event, tick, where, np.where(depth > 0, event[starts[found]], -1) if len(starts) else depth


def _cut(track: Ints, start: Ints, end: Ints) -> tuple[Ints, int]:
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
