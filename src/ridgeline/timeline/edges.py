"""What an event had to wait for, as far as a trace shows it: one rule of order a function.

Recorded: launches, waits, signals, and the order of a queue. Assumed, and marked so, where the file records nothing and something must have been
waited for: a blocking call waits for the work that ended in it; work that was launched and whose queue was free waits for the work of another queue
that ended last; an idle thread goes on when another thread of its process stops; of two pieces of one queue that overlap a little the later one
begins when the earlier one is nearly done. An arrow of unknown meaning orders nothing.

A boundary of an event is written 2 × event for its start and 2 × event + 1 for its end.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ridgeline.core import DEVICE_WORK, Timeline

from .events import Events, is_kind, links_of
from .segments import Segments, last_at

__all__ = [
    "EDGE_KINDS",
    "Edges",
    "Scene",
    "device_numbers",
    "handoffs",
    "launches",
    "medians",
    "other_queues",
    "overlapped",
    "queue_order",
    "signals",
    "waited_for",
    "waits",
]

Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]
#: Why a boundary comes after another one: time of a thread, work of a device, then the rules of this module.
EDGE_KINDS = ("thread", "work", "launch", "queue", "wait", "signal", "handoff")
#: Queues for which what a blocking call waited for is looked up one by one; of more only the last to end counts.
_MOST_QUEUES = 256
#: Work that waits this many times longer than is usual in its queue waits for something else.
_UNUSUAL = 4
NEVER = np.iinfo(np.int64).min


class Edges(NamedTuple):
    """`target[i]` comes no sooner than `delay[i]` ticks after `source[i]`; boundaries of events, shape (k,) each."""

    source: NDArray[Any]
    target: NDArray[Any]
    delay: Ints
    kind: str
    assumed: bool = False
    #: Links that time contradicts.
    dropped: int = 0


class Scene(NamedTuple):
    """What the rules look at: events on host threads and on devices that count, and who a thread's time belongs to.

    `busy[i]` says whether a thread does something in segment i.
    """

    t: Timeline
    events: Events
    host: Flags
    device: Flags
    segments: Segments
    busy: Flags


def edges(source: Ints, target: Ints, kind: str, *, delay: Ints | None = None, assumed: bool = False, dropped: int = 0) -> Edges:
    """Edges without a delay, unless one is given."""
    return Edges(source, target, np.zeros(len(source), dtype=np.int64) if delay is None else delay, kind, assumed, dropped)


def _links(scene: Scene, kind: str) -> tuple[Ints, Ints]:
    source, target = links_of(scene.t, kind)
    counts = scene.host | scene.device
    keep = counts[source] & counts[target] & (source != target)
    return source[keep], target[keep]


def queue_order(scene: Scene) -> Edges:
    """Each piece of work of a queue after the one that ended last before it starts, and after the one before it where that has ended.

    Pieces that overlap are not ordered by this.
    """
    at = np.flatnonzero(scene.device)
    track, start, end = scene.events.track[at].astype(np.int64), scene.events.start[at], scene.events.end[at]
    order = np.lexsort((at, end, start, track))
    at, track, start, end = at[order], track[order], start[order], end[order]
    before = np.flatnonzero((track[1:] == track[:-1]) & (end[:-1] <= start[1:])) if len(at) else at
    ended = np.lexsort((end, track))
    # Of no length: it would be its own predecessor.
    ended = ended[end[ended] > start[ended]]
    last = last_at(track[ended], end[ended], track, start)
    found = np.flatnonzero(last >= 0)
    found = found[track[ended[last[found]]] == track[found]]
    source, target = ended[last[found]], found
    other = np.ones(len(before), dtype=bool)
    place = np.full(len(at), -1, dtype=np.int64)
    place[target] = source
    other = place[before + 1] != before
    sources, targets = np.concatenate((source, before[other])), np.concatenate((target, before[other] + 1))
    return edges(2 * at[sources] + 1, 2 * at[targets], "queue")


def overlapped(scene: Scene) -> tuple[Ints, Ints]:
    """(earlier, later): work of one queue that overlaps its predecessor by less than half of that, and outlives it: the tail of the one hides the
    head of the other.
    """
    at = np.flatnonzero(scene.device & is_kind(scene.events, *DEVICE_WORK))
    track, start, end = scene.events.track[at], scene.events.start[at], scene.events.end[at]
    order = np.lexsort((at, end, start, track))
    at, track, start, end = at[order], track[order], start[order], end[order]
    shared = end[:-1] - start[1:]
    hides = (track[1:] == track[:-1]) & (shared > 0) & (end[1:] > end[:-1]) & (2 * shared < end[:-1] - start[:-1])
    return at[:-1][hides], at[1:][hides]


def signals(scene: Scene) -> Edges:
    """A target may begin when its source has ended."""
    source, target = _links(scene, "signal")
    fits = scene.events.end[source] <= scene.events.start[target]
    return edges(2 * source[fits] + 1, 2 * target[fits], "signal", dropped=int((~fits).sum()))


def waits(scene: Scene) -> Edges:
    """A target ends no sooner than its source."""
    source, target = _links(scene, "wait")
    fits = scene.events.end[source] <= scene.events.end[target]
    return edges(2 * source[fits] + 1, 2 * target[fits] + 1, "wait", dropped=int((~fits).sum()))


def launches(scene: Scene, ready: Ints) -> Edges:
    """Work after the call that put it into its queue: after its end, or, where it began while the call still ran, after its start.

    A call that waits for what it put there may end with it: work of no length at its very end began while it ran.

    The delay is the median of those that waited for nothing else on that device, or what was seen where that is less.

    Args:
        scene: the events.
        ready: when all else that an event had to wait for was done, shape (n,).
    """
    source, target = _links(scene, "launch")
    start, end = scene.events.start, scene.events.end
    awaited, waiter = _links(scene, "wait")
    size = len(scene.events.start)
    linked = np.isin(target * size + source, awaited * size + waiter)
    # A wait that the file links to nothing may be for its own work; one that is linked to other work is not.
    unlinked = is_kind(scene.events, "wait")
    unlinked[waiter] = False
    after_end = (end[source] <= start[target]) & ~((linked | unlinked[source]) & (end[target] <= end[source]))
    point = np.where(after_end, end[source], start[source])
    fits = point <= start[target]
    source, target, after_end, point = source[fits], target[fits], after_end[fits], point[fits]
    seen = start[target] - point
    group = 2 * device_numbers(scene.t)[scene.events.track[target]] + after_end
    usual = medians(group, seen, point >= ready[target])
    return edges(2 * source + after_end, 2 * target, "launch", delay=np.minimum(usual[group], seen), dropped=int((~fits).sum()))


def device_numbers(t: Timeline) -> Ints:
    """A number for the device of each track, the host's among them."""
    names = {name: at for at, name in enumerate(dict.fromkeys(track.device for track in t.tracks))}
    return np.array([names[track.device] for track in t.tracks], dtype=np.int64)


def medians(group: Ints, values: Ints, chosen: Flags) -> Ints:
    """The lower median of the chosen values of each group, 0 where there is none."""
    out = np.zeros(int(group.max(initial=-1)) + 1, dtype=np.int64)
    group, values = group[chosen], values[chosen]
    order = np.lexsort((values, group))
    groups, first, counts = np.unique(group[order], return_index=True, return_counts=True)
    out[groups] = values[order][first + (counts - 1) // 2]
    return out


def other_queues(scene: Scene, ready: Ints) -> Edges:
    """Work that waits unusually long for nothing that is known: after the work of its device that ended last before it.

    Args:
        scene: the events.
        ready: when all that an event is known to have waited for was done, shape (n,).
    """
    number = device_numbers(scene.t)
    target = np.flatnonzero(scene.device & is_kind(scene.events, *DEVICE_WORK))
    known = ready[target] > NEVER
    waited = scene.events.start[target] - np.where(known, ready[target], scene.events.start[target])
    group = number[scene.events.track[target]]
    target = target[~known | (waited > _UNUSUAL * medians(group, waited, known)[group])]
    ended = np.flatnonzero(scene.device & is_kind(scene.events, *DEVICE_WORK))
    of = number[scene.events.track[ended]]
    order = np.lexsort((scene.events.end[ended], of))
    ended, of = ended[order], of[order]
    last = last_at(of, scene.events.end[ended], number[scene.events.track[target]], scene.events.start[target])
    target, last = target[last >= 0], last[last >= 0]
    source = ended[last]
    fits = (of[last] == number[scene.events.track[target]]) & (scene.events.end[source] > ready[target]) & (source != target)
    return edges(2 * source[fits] + 1, 2 * target[fits], "signal", assumed=True)


def waited_for(scene: Scene, explained: Flags) -> Edges:
    """Blocking calls without a recorded reason: after the last work of each queue that ended while they blocked.

    Only queues that the call's process put work into count, where launches tell which those are.

    Args:
        scene: the events.
        explained: calls of which it is known what they waited for, shape (n,).
    """
    events = scene.events
    call = np.flatnonzero(scene.host & is_kind(events, "wait") & ~explained & (events.end > events.start))
    work = np.flatnonzero(scene.device & is_kind(events, *DEVICE_WORK))
    if not len(call) or not len(work):
        return edges(call[:0], call[:0], "wait", assumed=True)
    track = events.track[work].astype(np.int64)
    queues = np.flatnonzero(np.bincount(track))
    groups = track if len(queues) <= _MOST_QUEUES else np.zeros(len(work), dtype=np.int64)
    order = np.lexsort((events.end[work], groups))
    work, groups = work[order], groups[order]
    found = []
    for group in np.flatnonzero(np.bincount(groups)):
        mine = work[slice(*np.searchsorted(groups, [group, group + 1]))]
        last = np.searchsorted(events.end[mine], events.end[call], side="right") - 1
        fits = last >= 0
        source, target = mine[last[fits]], call[fits]
        inside = events.end[source] > events.start[target]
        found.append((source[inside], target[inside]))
    sources, targets = (np.concatenate([pair[at] for pair in found]) for at in range(2))
    fits = _reaches(scene, events.track[targets], events.track[sources])
    sources, targets = sources[fits], targets[fits]
    return edges(2 * sources + 1, 2 * targets + 1, "wait", assumed=True)


def _processes(t: Timeline) -> tuple[Ints, Ints]:
    """(number of (process, rank), number of the rank) of each track."""
    groups = {pair: at for at, pair in enumerate(dict.fromkeys((track.process, track.rank) for track in t.tracks))}
    ranks = {rank: at for at, rank in enumerate(dict.fromkeys(track.rank for track in t.tracks))}
    return (
        np.array([groups[track.process, track.rank] for track in t.tracks], dtype=np.int64),
        np.array([ranks[track.rank] for track in t.tracks], dtype=np.int64),
    )


def _reaches(scene: Scene, threads: NDArray[Any], queues: NDArray[Any]) -> Flags:
    """Whether a thread may wait for a queue: the same rank, and the same process where launches tell who fills the queue."""
    group, rank = _processes(scene.t)
    source, target = _links(scene, "launch")
    filled = group[scene.events.track[source]] * len(group) + scene.events.track[target]
    known = np.zeros(len(group), dtype=bool)
    known[scene.events.track[target]] = True
    fills: Flags = np.isin(group[threads] * len(group) + queues, filled)
    same: Flags = rank[threads] == rank[queues]
    unknown: Flags = ~known[queues]
    return np.logical_and(same, np.logical_or(fills, unknown))


def handoffs(scene: Scene, explained: Flags) -> Edges:
    """A thread that was idle goes on where another thread of its process stopped last, if one stopped while it was idle.

    Args:
        scene: the events.
        explained: events of which it is known what their start waited for, shape (n,).
    """
    seg, busy, events = scene.segments, scene.busy, scene.events
    if not len(seg):
        return edges(seg.start, seg.start, "handoff", assumed=True)
    group = _processes(scene.t)[0]
    fresh = np.concatenate(([True], seg.track[1:] != seg.track[:-1]))
    last = np.concatenate((fresh[1:], [True]))
    stops = np.flatnonzero(busy & (last | np.concatenate((~busy[1:], [True]))))
    goes_on = np.flatnonzero(busy & (fresh | np.concatenate(([True], ~busy[:-1]))))
    goes_on = goes_on[~_begins_with(scene, explained, goes_on)]
    idle_since = np.where(fresh[goes_on], NEVER, _stop_before(seg, stops, goes_on))
    target, start = seg.event[goes_on].astype(np.int64), seg.start[goes_on]
    marks, since = _outer_marks(scene, explained)
    idle_since = np.concatenate((idle_since, since))
    target, start = np.concatenate((target, marks)), np.concatenate((start, events.start[marks]))
    track: Ints = events.track[target].astype(np.int64)
    order = np.lexsort((-seg.track[stops], seg.end[stops], group[seg.track[stops]]))
    stops = stops[order]
    of = group[seg.track[stops]]
    found = last_at(of, seg.end[stops], group[track], start)
    fits = found >= 0
    target, start, track, idle_since, stop = target[fits], start[fits], track[fits], idle_since[fits], stops[found[fits]]
    fits = (group[seg.track[stop]] == group[track]) & (seg.end[stop] > idle_since) & (seg.track[stop] != track)
    source, target, start, ended = seg.event[stop[fits]], target[fits], start[fits], seg.end[stop[fits]]
    # The stretch that ends is not always the innermost event's own end: only boundaries that are there can be spoken of.
    fits = (events.end[source] == ended) & (events.start[target] == start)
    return edges(2 * source[fits] + 1, 2 * target[fits], "handoff", assumed=True)


def _outer_marks(scene: Scene, explained: Flags) -> tuple[Ints, Ints]:
    """Events of no length, which are in no segment, that are the first or the last of their thread, and since when it was idle before them.

    Not those of which it is known what they waited for.
    """
    at = np.flatnonzero(scene.host)
    track, start, end = (column[at] for column in (scene.events.track, scene.events.start, scene.events.end))
    begun, ended = np.lexsort((-end, start, track)), np.lexsort((-start, end, track))
    first = begun[np.unique(track[begun], return_index=True)[1]]
    last = ended[len(ended) - 1 - np.unique(track[ended][::-1], return_index=True)[1]]
    idle_since = np.full(len(scene.t.tracks), NEVER, dtype=np.int64)
    np.maximum.at(idle_since, scene.segments.track, scene.segments.end)
    idle_since = np.concatenate((np.full(len(first), NEVER), idle_since[track[last]]))
    event = np.concatenate((first, last))
    fits = (end[event] == start[event]) & ~explained[at[event]] & (idle_since < start[event])
    return at[event[fits]], idle_since[fits]


def _begins_with(scene: Scene, chosen: Flags, segments: Ints) -> Flags:
    """Which segments begin with one of the chosen events, be it around others that begin with it."""
    at = np.flatnonzero(chosen & scene.host)
    at = at[np.lexsort((scene.events.start[at], scene.events.track[at]))]
    track, start = scene.events.track[at], scene.events.start[at]
    found = last_at(track, start, scene.segments.track[segments], scene.segments.start[segments])
    out = found >= 0
    hit = found[out]
    out[out] = (track[hit] == scene.segments.track[segments[out]]) & (start[hit] == scene.segments.start[segments[out]])
    return out


def _stop_before(seg: Segments, stops: Ints, goes_on: Ints) -> Ints:
    """End of the busy stretch of the same track before each segment; any where there is none."""
    found = np.maximum(np.searchsorted(stops, goes_on) - 1, 0)
    return seg.end[stops[found]]
