"""Which event lies in which, on the same track, and the time of each that is its own.

An event's parent is the innermost one around it: of the events of its track in order of (start, longest first, place in the file) the last one before
it that ends no sooner. So of equal events the later one in the file lies in the earlier one. An event of no length lies in what runs at its tick, and
nothing lies in it. Events that overlap in part are not nested; both stay. Work in the queue of a device runs beside other work and never in it:
events of tracks with the role `queue` have neither parent nor children.

Where a track is nested cleanly, the depth of each event is what has begun less what has ended, and its parent the last event before it one level
up: sorting only. A track with a partial overlap (found because a parent so chosen ends too soon) takes one pass with a stack.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ridgeline.core import Timeline

from .events import Events, events_of
from .intervals import grouped_merge, grouped_union, order_of

__all__ = ["Pieces", "ancestors", "inside_of", "order_by_nesting", "outermost", "own_pieces", "own_ticks", "parents", "partly_overlapping"]

Indices = NDArray[np.int64]
#: Events that the pass with a stack takes at a time, so that its lists of Python numbers stay small.
_BLOCK = 1 << 17


def parents(t: Timeline) -> Indices:
    """Index of the innermost event around each event on its track, −1 at the top; shape (n,)."""
    out = np.full(len(t), -1, dtype=np.int64)
    events = events_of(t)
    nests = np.array([track.role != "queue" for track in t.tracks], dtype=np.bool_)
    chosen = np.flatnonzero(nests[events.track]) if len(t) else np.zeros(0, dtype=np.int64)
    if len(chosen):
        chosen = chosen[order_by_nesting(events.track[chosen], events.start[chosen], events.end[chosen])]
        sub = Events(events.start[chosen], events.end[chosen], events.kind[chosen], events.name[chosen], events.track[chosen])
        up = _sorted_parents(sub)
        inside = up >= 0
        out[chosen[inside]] = chosen[up[inside]]
    return out


def order_by_nesting(track: NDArray[Any], start: Indices, end: Indices) -> NDArray[np.intp]:
    """Order by (track, start, longest first, place), shape (n,)."""
    order = order_of(track, start)
    tied = (start[order][1:] == start[order][:-1]) & (track[order][1:] == track[order][:-1])
    if tied.any():
        among = np.flatnonzero(np.concatenate((tied, [False])) | np.concatenate(([False], tied)))
        part = order[among]
        order[among] = part[np.lexsort((-end[part], start[part], track[part]))]
    return order


def _sorted_parents(events: Events) -> Indices:
    """Parents as positions, of events in order."""
    n = len(events.start)
    up, depth_tracks = _by_depth(events)
    inside = up >= 0
    broken = np.zeros(n, dtype=np.bool_)
    broken[inside] = events.end[up[inside]] < events.end[inside]
    broken |= depth_tracks
    if broken.any():
        first = np.flatnonzero(np.concatenate(([True], events.track[1:] != events.track[:-1])))
        last = np.concatenate((first[1:], [n]))
        dirty = np.add.reduceat(broken, first) > 0
        for low, high in zip(first[dirty].tolist(), last[dirty].tolist(), strict=True):
            _by_stack(events.start, events.end, low, high, up)
    return up


def _by_depth(events: Events) -> tuple[Indices, NDArray[np.bool_]]:
    """(candidate for the parent of each, whether there was none where one must be); right on all tracks without a partial overlap."""
    start, end, track = events.start, events.end, events.track.astype(np.int64)
    n = len(start)
    long = end > start
    first = np.flatnonzero(np.concatenate(([True], track[1:] != track[:-1])))
    run = np.repeat(np.arange(len(first)), np.diff(np.concatenate((first, [n]))))
    begun: Indices = np.cumsum(long, dtype=np.int64) - long
    ended = _ended_before(run, start, end, long)
    depth = begun - ended  # both count the tracks before whole, which takes those out again
    # The last one before, one level up, on the same track: a search among (track, depth, position).
    level = int(depth.max(initial=0)) + 2
    order = np.argsort(run * level + depth, kind="stable")
    order = order[long[order]]
    if float(len(first)) * level * (n + 1) < 2.0**62:
        keys = (run[order] * level + depth[order]) * (n + 1) + order
        wanted = (run * level + depth - 1) * (n + 1) + np.arange(n)
        at = np.searchsorted(keys, wanted) - 1
    else:  # pragma: no cover - more than 10^9 events
        return np.full(n, -1, dtype=np.int64), np.ones(n, dtype=np.bool_)
    up = np.full(n, -1, dtype=np.int64)
    inner = depth > 0
    found = order[np.maximum(at, 0)] if len(order) else np.zeros(n, dtype=np.int64)
    fits = inner & (at >= 0)
    fits[fits] = (run[found[fits]] == run[fits]) & (depth[found[fits]] == depth[fits] - 1)
    up[fits] = found[fits]
    return up, inner & ~fits


def _ended_before(run: Indices, start: Indices, end: Indices, long: NDArray[np.bool_]) -> Indices:
    """Of the events with a length on the tracks before, all; on its own track, those that ended at or before each start."""
    groups, ends = run[long], end[long]
    ends = ends[order_of(groups, ends)]
    counts = np.bincount(groups, minlength=int(run[-1]) + 1)
    offset = np.concatenate(([0], np.cumsum(counts)))
    bounds = np.concatenate(([0], np.cumsum(np.bincount(run))))
    out = np.empty(len(start), dtype=np.int64)
    for index in range(len(counts)):
        mine = slice(bounds[index], bounds[index + 1])
        out[mine] = offset[index] + np.searchsorted(ends[offset[index] : offset[index + 1]], start[mine], side="right")
    return out


def _by_stack(start: Indices, end: Indices, low: int, high: int, up: Indices) -> None:
    """Parents of positions low … high − 1, one track, into `up`: the classic search for the nearest earlier one that is as great."""
    reach: list[int] = []
    place: list[int] = []
    for begin in range(low, high, _BLOCK):
        until = min(begin + _BLOCK, high)
        found = []
        for position, (first, last) in enumerate(zip(start[begin:until].tolist(), end[begin:until].tolist(), strict=True), begin):
            # An event without a length lies in what goes on after its tick only.
            need = last if last > first else last + 1
            while reach and reach[-1] < need:
                reach.pop()
                place.pop()
            found.append(place[-1] if place else -1)
            if last > first:
                reach.append(last)
                place.append(position)
        up[begin:until] = found


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
    if not len(long):
        return out
    # Siblings: the same parent, or the same track and none. Tracks are numbered behind the events.
    group = np.where(up[long] >= 0, up[long], len(t) + events.track[long])
    order = order_of(group, events.start[long])
    long, group = long[order], group[order]
    out[long] = _before_reach(group, events.start[long], events.end[long])
    return out


def _before_reach(group: NDArray[Any], start: Indices, end: Indices) -> NDArray[np.bool_]:
    """Whether each begins before the latest end of those before it in its group; in order of (group, start)."""
    fresh = np.concatenate(([True], group[1:] != group[:-1]))
    place = np.unique(end, return_inverse=True)[1]
    run = np.cumsum(fresh) - 1
    width = int(place.max()) + 1
    # Places are small, so that group and place fit one number and one running maximum serves all groups.
    reach = np.maximum.accumulate(run * width + place) - run * width
    values = np.unique(end)
    return np.concatenate(([False], ~fresh[1:] & (start[1:] < values[reach[:-1]]))) if len(start) else fresh


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
    at = np.unique(events)
    while len(at):
        at = at[~out[at]]
        out[at] = True
        at = np.unique(up[at])
        at = at[at >= 0]
    return out
