"""Which event lies in which, on the same track, and the time of each that is its own.

An event's parent is the innermost one around it: of the events of its track in order of (start, longest first, place in the file) the last one before
it that ends no sooner. So of equal events the later one in the file lies in the earlier one. An event of no length lies in what runs at its tick, and
nothing lies in it. Events that overlap in part are not nested; both stay. Work in the queue of a device runs beside other work and never in it:
events of tracks with the role `queue` have neither parent nor children.

The outermost events are those that reach further than all before them; each of the others lies in the last of these, and so on level by level, with
what is left. What is left when the levels no longer thin it out (very deep nesting) takes one pass with a stack.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ridgeline.core import Timeline

from .events import Events, events_of
from .grouping import distinct
from .intervals import grouped_merge, grouped_union, order_of

__all__ = ["Pieces", "ancestors", "inside_of", "order_by_nesting", "outermost", "own_pieces", "own_ticks", "parents", "partly_overlapping"]

Indices = NDArray[np.int64]
#: Levels from which on a level must take this part of what is left, or the rest is done with a stack; events that it takes at a time, so that its
#: lists of Python numbers stay small.
_LEVELS, _PART, _BLOCK = 3, 1 / 8, 1 << 17


def parents(t: Timeline) -> Indices:
    """Index of the innermost event around each event on its track, −1 at the top; shape (n,)."""
    events, up = events_of(t), np.full(len(t), -1, dtype=np.int64)
    nests = np.array([track.role != "queue" for track in t.tracks], dtype=np.bool_)
    chosen = np.flatnonzero(nests[events.track]) if len(t) else np.zeros(0, dtype=np.int64)
    if len(chosen):
        chosen = chosen[order_by_nesting(events.track[chosen], events.start[chosen], events.end[chosen])]
        start, end = _apart(events.track[chosen], events.start[chosen], events.end[chosen])
        _by_level(chosen, start, end, up)
    return up


def _apart(track: NDArray[Any], start: Indices, end: Indices) -> tuple[Indices, Indices]:
    """Times of sorted events moved so that each track begins after all before it has ended; only their order and what they overlap stays."""
    first = np.flatnonzero(np.concatenate(([True], track[1:] != track[:-1])))
    if len(first) == 1:
        return start, end
    least, most = start[first], np.maximum.reduceat(end, first)
    if float((most.astype(np.float64) - least.astype(np.float64)).sum()) + len(first) > 2.0**61:
        # Places among all times are small, and as good for telling what lies in what.
        times = distinct(np.concatenate((start, end)))
        return _apart(track, np.searchsorted(times, start), np.searchsorted(times, end))
    shift = np.concatenate(([0], np.cumsum(most - least + 1)[:-1])) - least
    shift = np.repeat(shift, np.diff(np.concatenate((first, [len(track)]))))
    return start + shift, end + shift


def _by_level(index: Indices, start: Indices, end: Indices, up: Indices) -> None:
    """Parents of events in order, into `up`: the outermost first, then what is left."""
    around = np.full(len(index), -1, dtype=np.int64)
    level = 0
    while len(index):
        # An event without a length lies in what goes on after its tick only.
        need = end + (end == start)
        reach = np.maximum.accumulate(end)
        before = np.concatenate((start[:1], reach[:-1]))
        top = need > before
        top[0] = True
        up[index[top]] = around[top]
        inner = ~top
        if not inner.any():
            return
        if level >= _LEVELS and int(top.sum()) < _PART * len(index):
            _by_stack(index, start, end, around, up)
            return
        # The last one before that is outermost and has a length; of those without a length nothing is left behind.
        tops = np.flatnonzero(top)
        holder = tops[np.cumsum(top)[inner] - 1]
        overlap = np.maximum(before[tops] - start[tops], 0)
        index, around, start, end = index[inner], index[holder], start[inner], end[inner]
        if overlap.any():
            # What lies in one of two that overlap must not be taken for a part of what lies in the other.
            shift = np.zeros(len(top), dtype=np.int64)
            shift[tops] = np.cumsum(overlap)
            start, end = start + shift[holder], end + shift[holder]
        level += 1


def _by_stack(index: Indices, start: Indices, end: Indices, around: Indices, up: Indices) -> None:
    """The same with a stack: the classic search for the nearest earlier one that is as great."""
    reach: list[int] = []
    place: list[int] = []
    for begin in range(0, len(index), _BLOCK):
        block = slice(begin, begin + _BLOCK)
        found = []
        for each, first, last, outer in zip(index[block].tolist(), start[block].tolist(), end[block].tolist(), around[block].tolist(), strict=True):
            need = last if last > first else last + 1
            while reach and reach[-1] < need:
                reach.pop()
                place.pop()
            found.append(place[-1] if place else outer)
            if last > first:
                reach.append(last)
                place.append(each)
        up[index[block]] = found


def order_by_nesting(track: NDArray[Any], start: Indices, end: Indices) -> NDArray[np.intp]:
    """Order by (track, start, longest first, place), shape (n,)."""
    order = order_of(track, start)
    tied = (start[order][1:] == start[order][:-1]) & (track[order][1:] == track[order][:-1])
    if tied.any():
        among = np.flatnonzero(np.concatenate((tied, [False])) | np.concatenate(([False], tied)))
        part = order[among]
        order[among] = part[np.lexsort((-end[part], start[part], track[part]))]
    return order


def own_ticks(t: Timeline, up: Indices | None = None) -> Indices:
    """Duration of each event less the union of the events directly in it, shape (n,), ≥ 0.

    Args:
        t: the timeline.
        up: `parents(t)`, where the caller has them.
    """
    up = parents(t) if up is None else up
    events = events_of(t)
    inner = up >= 0
    return events.end - events.start - grouped_union(up[inner], events.start[inner], events.end[inner], len(t))


class Pieces(NamedTuple):
    """Pieces of events, shape (m,) each: which event, from when to when."""

    event: Indices
    start: Indices
    end: Indices


def own_pieces(events: Events, up: Indices, chosen: Indices) -> Pieces:
    """The times in which no event in it runs, of each event that is chosen, in order of (event, start).

    Args:
        events, up: of the timeline.
        chosen: indices in ascending order. What lies directly in a chosen event takes time from it only if it is chosen too.
    """
    start, end = events.start[chosen], events.end[chosen]
    place = np.searchsorted(chosen, up[chosen])
    inner = (up[chosen] >= 0) & (chosen[np.minimum(place, max(len(chosen) - 1, 0))] == up[chosen]) if len(chosen) else np.zeros(0, dtype=np.bool_)
    group, low, high = grouped_merge(place[inner], start[inner], end[inner])
    # An event goes on where it begins and after each of its inner blocks, and pauses at each of them and at its end.
    own = np.arange(len(chosen))
    begins, begin_of = np.concatenate((start, high)), np.concatenate((own, group))
    pauses, pause_of = np.concatenate((low, end)), np.concatenate((group, own))
    begins_order, pauses_order = order_of(begin_of, begins), order_of(pause_of, pauses)
    first, last = begins[begins_order], pauses[pauses_order]
    keep = last > first
    return Pieces(chosen[begin_of[begins_order][keep]], first[keep], last[keep])


def inside_of(up: Indices, chosen: NDArray[np.bool_], events: Indices) -> NDArray[np.bool_]:
    """Which of the events given are chosen ones or lie in one, however deep; shape of `events`."""
    out = np.zeros(len(events), dtype=np.bool_)
    place, at = np.arange(len(events)), events
    while len(at):
        hit = chosen[at]
        out[place[hit]] = True
        place, at = place[~hit], up[at[~hit]]
        place, at = place[at >= 0], at[at >= 0]
    return out


def partly_overlapping(t: Timeline, up: Indices | None = None) -> NDArray[np.bool_]:
    """Which events begin while one with the same parent on their track still runs; in a queue, while any other does. Shape (n,).

    Args:
        t: the timeline.
        up: `parents(t)`, where the caller has them.
    """
    up = parents(t) if up is None else up
    events = events_of(t)
    out = np.zeros(len(t), dtype=np.bool_)
    long = np.flatnonzero(events.end > events.start)
    if len(long):
        long = long[order_of(events.track[long], events.start[long])]
        # Siblings have the same parent, or the same track and none; tracks are numbered behind the events.
        group = np.where(up[long] >= 0, up[long], len(t) + events.track[long])
        order = np.argsort(group, kind="stable")
        long = long[order]
        start, end = _apart(group[order], events.start[long], events.end[long])
        out[long[1:]] = start[1:] < np.maximum.accumulate(end)[:-1]
    return out


def outermost(up: Indices, chosen: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Which of the chosen events lie in no other chosen one, however deep; shape (n,)."""
    out = chosen.copy()
    at = np.flatnonzero(chosen)
    above = up[at]
    while len(at):
        inner = above >= 0
        at, above = at[inner], above[inner]
        inside = chosen[above]
        out[at[inside]] = False
        at, above = at[~inside], up[above[~inside]]
    return out


def ancestors(up: Indices, events: Indices) -> NDArray[np.bool_]:
    """Which events are one of those given or have one in them, however deep; shape (n,)."""
    out = np.zeros(len(up), dtype=np.bool_)
    at = distinct(events)
    while len(at):
        at = at[~out[at]]
        out[at] = True
        at = distinct(up[at])
        at = at[at >= 0]
    return out
