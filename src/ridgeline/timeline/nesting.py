"""Which event lies in which, on the same track, and the time of each that is its own.

An event's parent is the innermost one around it: of the events of its track in order of (start, longest first, place in the file) the last one before
it that ends no sooner. So of equal events the later one in the file lies in the earlier one. An event of no length lies in what runs at its tick, and
nothing lies in it. Events that overlap in part are not nested; both stay. Work in the queue of a device runs beside other work and never in it:
events of tracks with the role `queue` have neither parent nor children.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ridgeline.core import Timeline

from .events import Events, events_of
from .grouping import distinct
from .intervals import grouped_merge, grouped_union, order_of
from .nearest import earlier_at_least

__all__ = ["Pieces", "ancestors", "apart", "inside_of", "order_by_nesting", "outermost", "own_pieces", "own_ticks", "parents", "partly_overlapping"]

Indices = NDArray[np.int64]


def parents(t: Timeline) -> Indices:
    """Index of the innermost event around each event on its track, −1 at the top; shape (n,)."""
    events, up = events_of(t), np.full(len(t), -1, dtype=np.int64)
    nests = np.array([track.role != "queue" for track in t.tracks], dtype=np.bool_)
    chosen = np.flatnonzero(nests[events.track]) if len(t) else np.zeros(0, dtype=np.int64)
    if len(chosen):
        chosen = chosen[order_by_nesting(events.track[chosen], events.start[chosen], events.end[chosen])]
        start, end = apart(events.track[chosen], events.start[chosen], events.end[chosen])
        # An event without a length lies in what goes on after its tick only, and nothing lies in it.
        long = end > start
        around = earlier_at_least(np.where(long, end, start[0]), np.where(long, end, end + 1))
        up[chosen] = np.where(around >= 0, chosen[around], -1)
    return up


def apart(track: NDArray[Any], start: Indices, end: Indices) -> tuple[Indices, Indices]:
    """Times of sorted events moved so that each track begins after all before it has ended; only their order and what they overlap stays."""
    first = np.flatnonzero(np.concatenate(([True], track[1:] != track[:-1])))
    if len(first) == 1:
        return start, end
    least, most = start[first], np.maximum.reduceat(end, first)
    if float((most.astype(np.float64) - least.astype(np.float64)).sum()) + len(first) > 2.0**61:
        # Places among all times are small, and as good for telling what lies in what.
        times = distinct(np.concatenate((start, end)))
        return apart(track, np.searchsorted(times, start), np.searchsorted(times, end))
    shift = np.concatenate(([0], np.cumsum(most - least + 1)[:-1])) - least
    shift = np.repeat(shift, np.diff(np.concatenate((first, [len(track)]))))
    return start + shift, end + shift


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
    if not chosen.any():
        return out
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
        start, end = apart(group[order], events.start[long], events.end[long])
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
