"""The dependency graph of a timeline: which boundary of an event comes after which, and how long after.

A node is the start or end of a piece of work on a device, or a moment of a host thread at which it meets something else (a launch, a wait, a signal);
between two such moments a thread is one edge, whose length is the time of the events in it. What `edges` decides orders the rest. A node's time is

    tick = max over its edges of (tick of the source + delay) + lag

with every delay what the source is known to cost (work, the time of a thread, the usual launch latency) and the lag ≥ 0 whatever remains: a launch
that took longer, a queue that started late, or time that nothing explains. So replaying an unchanged graph gives the recorded times exactly.

Of ranks that communicate the one that came last holds up the others (`collectives`).

Named ranges and what lies in another clock domain than most events are in no graph; nor are threads that only show where Python stands and touch
nothing else (a monitor that sleeps until the recording ends holds nothing up). Nodes are in topological order: by tick, and at one tick as
the edges say. Edges that contradict each other at one tick (work of no length that comes after its own consequences) are left out and counted.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ridgeline.core import Excluded, Timeline, UsageError

from .collectives import Collectives, collectives
from .edges import EDGE_KINDS, NEVER, Edges, Scene, handoffs, launches, other_queues, overlapped, queue_order, signals, waited_for, waits
from .events import Events, events_of, is_kind, window_of
from .nodes import Nodes, places_in, tick_of
from .segments import Segments, last_at, segments_of, thread_time

__all__ = ["Dependencies", "graph_of"]

Ints = NDArray[np.int64]
#: Numbers of boundaries and of nodes: half the memory of ticks.
Places = NDArray[np.int32]
Flags = NDArray[np.bool_]
#: Boundaries that may follow each other at one tick; more of them contradict each other, or as good as.
_MOST_TIES = 500
#: Boundaries and nodes are numbered with 32 bits.
_MOST_EVENTS = 2**29


@dataclass(frozen=True, kw_only=True, eq=False)
class Dependencies:
    """A graph of m nodes and k edges, both in topological order (edges by target).

    Args:
        t: whose; events: its columns; window: first and last tick of what it is of.
        tick, track: of each node, shape (m,); event: of which it is a boundary, as 2 × event (+ 1 for an end), shape (m,).
        source, target: nodes, shape (k,); kind: index into `EDGE_KINDS`; delay: in ticks ≥ 0; assumed: not recorded but inferred.
        lag: of each node, shape (m,): its tick less what its edges explain; of a node without edges its time since the window's start.
        on_host: which nodes are moments of a thread, shape (m,).
        segments: who the time of each thread belongs to; passes: of which of them it is time of the thread and not waiting, shape (segments,).
        launched: events of which it is known when they were put into their queue, shape (n,).
        left_out: what the graph does not hold, and why.
    """

    t: Timeline
    events: Events
    window: tuple[int, int]
    tick: Ints
    track: Places
    event: Places
    on_host: Flags
    source: Places
    target: Places
    kind: NDArray[np.uint8]
    delay: Ints
    assumed: Flags
    lag: Ints
    segments: Segments
    passes: Flags
    launched: Flags
    host: Flags
    device: Flags
    left_out: tuple[Excluded, ...] = ()

    def __len__(self) -> int:
        return len(self.tick)

    @property
    def counted(self) -> Ints:
        """How much of each segment is time of the thread, shape (segments,)."""
        return _counted(self.segments, self.passes)


def graph_of(t: Timeline) -> Dependencies:
    """The dependency graph of a timeline, O(n log n).

    Raises:
        UsageError: ticks that leave 63 bits; more than 2²⁹ events.
    """
    if len(t) > _MOST_EVENTS:
        raise UsageError(f"{_MOST_EVENTS} events at the most", found=f"{len(t)}", remedy="read a part of the recording with --window")
    events, window = events_of(t), window_of(t)
    scene, left_out = _scene(t, events, window)
    found, pairs = _edges(scene)
    shared = collectives(scene, pairs[0])
    found += shared.order
    aside = _bystanders(scene, found)
    scene = scene._replace(host=scene.host & ~aside)
    found = [_without(one, aside) for one in found]
    launched = np.zeros(len(t), dtype=bool)
    for one in found:
        if one.kind == "launch":
            launched[one.target // 2] = True
    nodes = Nodes(scene, found, pairs)
    passes = _passes(scene, found)
    order, source, target, kind, delay, assumed, against = _assembled(scene, nodes, found, pairs, shared, passes)
    tick, track, event, on_host = nodes.tick[order], nodes.track[order], nodes.event[order], nodes.on_host[order]
    reach = np.full(len(tick), window[0], dtype=np.int64)
    np.maximum.at(reach, target, tick[source] + delay)
    dropped = {f"{one.kind} link against time: its source comes after its target": one.dropped for one in found if one.dropped}
    dropped["order at one tick that contradicts itself"] = against
    dropped["threads that only show where Python stands, beside the program: not in the dependency graph"] = int(aside.sum())
    return Dependencies(
        t=t, events=events, window=window, tick=tick, track=track, event=event, on_host=on_host, source=source, target=target,
        kind=kind, delay=delay, assumed=assumed, lag=tick - reach, segments=scene.segments, passes=passes, launched=launched, host=scene.host,
        device=scene.device, left_out=left_out + tuple(Excluded(reason=reason, events=count) for reason, count in dropped.items() if count),
    )  # fmt: skip


def _scene(t: Timeline, events: Events, window: tuple[int, int]) -> tuple[Scene, tuple[Excluded, ...]]:
    on_device = np.array([bool(track.device) for track in t.tracks], dtype=bool)
    ranges = np.array([track.role == "ranges" for track in t.tracks], dtype=bool)
    clocks = [track.clock for track in t.tracks]
    domains = {clock: at for at, clock in enumerate(dict.fromkeys(clocks))}
    domain = np.array([domains[clock] for clock in clocks], dtype=np.int64)
    none = np.zeros(0, dtype=bool)
    counts = ~is_kind(events, "annotation", "iteration") & (events.start >= window[0]) & (events.end <= window[1])
    counts &= ~ranges[events.track] if len(t) else none
    most = int(np.bincount(domain[events.track[counts]]).argmax()) if counts.any() else 0
    other = counts & (domain[events.track] != most) if len(t) else none
    counts &= ~other
    device = counts & on_device[events.track] if len(t) else none
    host = counts & ~device
    at = np.flatnonzero(host)
    segments = segments_of(events.track[at].astype(np.int64), events.start[at], events.end[at], at)
    count = int(other.sum())
    left_out = (Excluded(reason="clock of another domain: not in the dependency graph", events=count),) if count else ()
    return Scene(t, events, host, device, segments, segments.event >= 0), left_out


def _edges(scene: Scene) -> tuple[list[Edges], tuple[Ints, Ints]]:
    """All edges but those of time that passes on a track, and the pairs that overlap a little."""
    count = len(scene.t)
    queue, signal, wait = queue_order(scene), signals(scene), waits(scene)
    ready = np.full(count, NEVER, dtype=np.int64)
    for one in (queue, signal):
        _raise(scene, ready, one)
    launch = launches(scene, ready)
    _raise(scene, ready, launch)
    other = other_queues(scene, ready)
    explained = np.zeros(count, dtype=bool)
    explained[wait.target // 2] = True
    blocked = waited_for(scene, explained)
    begun = np.zeros(count, dtype=bool)
    for one in (signal, launch):
        begun[one.target // 2] = True
    return [queue, signal, wait, launch, other, blocked, handoffs(scene, begun)], overlapped(scene)


def _bystanders(scene: Scene, found: list[Edges]) -> Flags:
    """Events of threads that hold nothing but Python frames and touch no other lane, where other lanes touch."""
    if not len(scene.t):
        return np.zeros(0, dtype=bool)
    track = scene.events.track
    touched = np.zeros(len(scene.t.tracks), dtype=bool)
    for one in found:
        source, target = track[one.source // 2], track[one.target // 2]
        touched[source[source != target]] = True
        touched[target[source != target]] = True
    other = np.zeros(len(touched), dtype=bool)
    other[track[scene.host & ~is_kind(scene.events, "python", "wait")]] = True
    return scene.host & (~touched & ~other)[track] if touched.any() else np.zeros(len(scene.t), dtype=bool)


def _without(one: Edges, aside: Flags) -> Edges:
    """Edges but those of events aside (from one to another of the same thread)."""
    keep = ~(aside[one.source // 2] | aside[one.target // 2])
    return one if keep.all() else one._replace(source=one.source[keep], target=one.target[keep], delay=one.delay[keep])


def _raise(scene: Scene, ready: Ints, one: Edges) -> None:
    np.maximum.at(ready, one.target // 2, tick_of(scene.events, one.source) + one.delay)


def _passes(scene: Scene, found: list[Edges]) -> Flags:
    """Segments whose time passes whatever else happens: not where the thread waits for something that is known."""
    seg, events = scene.segments, scene.events
    passes = np.ones(len(seg), dtype=bool)
    if not len(seg):
        return passes
    targets, sources = (np.concatenate([one[at] for one in found]) for at in (1, 0))
    on_host = scene.host[targets // 2]
    targets, done = targets[on_host], tick_of(events, sources[on_host])
    tick = tick_of(events, targets)
    # The segment that ends where the target is.
    at = last_at(seg.track, seg.start, events.track[targets // 2].astype(np.int64), tick - 1)
    fits = at >= 0
    at, targets, tick, done = at[fits], targets[fits], tick[fits], done[fits]
    fits = (seg.end[at] == tick) & (seg.track[at] == events.track[targets // 2])
    # An end waits in whatever of its event lasts until then; a start while the thread was idle, or in what is around it if it came at that very tick.
    around = scene.busy[at] & (events.end[seg.event[at]] > tick) & (done == tick)
    fits &= np.where(targets % 2 == 1, seg.start[at] >= events.start[targets // 2], ~scene.busy[at] | around)
    passes[at[fits]] = False
    return passes


def _counted(segments: Segments, passes: Flags) -> Ints:
    return np.where(passes, segments.end - segments.start, 0)


def _assembled(
    scene: Scene, nodes: Nodes, found: list[Edges], pairs: tuple[Ints, Ints], shared: Collectives, passes: Flags
) -> tuple[Ints, Places, Places, NDArray[np.uint8], Ints, Flags, int]:
    """(order of the nodes, source, target, kind, delay, assumed, how many contradict others) of all edges, by target."""
    parts = [_threads(scene, nodes, passes), *_work(scene, nodes, pairs, shared)]
    parts += [one._replace(source=nodes.of[one.source], target=nodes.of[one.target]) for one in found]
    # What overlaps a little is in order from the middle of the one to the start of the other.
    parts.append(Edges(nodes.middle, nodes.of[2 * pairs[1]], np.zeros(len(nodes.middle), dtype=np.int64), "queue", True))
    source, target = (np.concatenate([part[at] for part in parts]) for at in range(2))
    nodes_in_order = _topological(nodes.tick, source, target)
    number = places_in(nodes_in_order)
    source, target = number[source], number[target]
    forward = np.flatnonzero(source < target)
    against = len(source) - len(forward)
    order = forward[np.argsort(target[forward], kind="stable")]
    source, target = source[order], target[order]
    sizes = [len(part.source) for part in parts]
    kind = np.repeat(np.array([EDGE_KINDS.index(part.kind) for part in parts], dtype=np.uint8), sizes)[order]
    assumed = np.repeat([part.assumed for part in parts], sizes)[order]
    return nodes_in_order, source, target, kind, np.concatenate([part.delay for part in parts])[order], assumed, against


def _topological(tick: Ints, source: Places, target: Places) -> Ints:
    """Nodes by tick, at one tick each after all that it comes after, else as they are."""
    tied = tick[source] == tick[target]
    source, target = source[tied], target[tied]
    level = np.zeros(len(tick), dtype=np.int32)
    for _ in range(_MOST_TIES):
        late = level[target] <= level[source]
        if not late.any():
            break
        np.maximum.at(level, target[late], level[source[late]] + 1)
    return np.lexsort((level, tick)) if level.any() else np.arange(len(tick))


def _threads(scene: Scene, nodes: Nodes, passes: Flags) -> Edges:
    """From each moment of a thread to the next one."""
    at = np.flatnonzero(nodes.on_host).astype(np.int32)
    at = at[np.argsort(nodes.track[at], kind="stable")]
    passed = thread_time(scene.segments, _counted(scene.segments, passes), nodes.track[at], nodes.tick[at])
    same = nodes.track[at[1:]] == nodes.track[at[:-1]]
    return Edges(at[:-1][same], at[1:][same], (passed[1:] - passed[:-1])[same], "thread")


def _work(scene: Scene, nodes: Nodes, pairs: tuple[Ints, Ints], shared: Collectives) -> list[Edges]:
    """From the start to the end of each piece of work; in two where another piece begins in its tail. A queue that waits does no work, and what
    waits for other ranks only does it when they have come.
    """
    events = scene.events
    split = np.zeros(len(scene.t), dtype=bool)
    split[pairs[0]] = True
    at = np.flatnonzero(scene.device & ~split)
    idle = is_kind(events, "sync")[at]
    delay = np.where(idle & _awaits(scene)[at], 0, events.end[at] - events.start[at])
    delay[np.searchsorted(at, shared.early)] = shared.alone
    whole = Edges(nodes.of[2 * at], nodes.of[2 * at + 1], delay, "work")
    outer, inner = pairs
    head = Edges(nodes.of[2 * outer], nodes.middle, events.start[inner] - events.start[outer], "work")
    return [whole, head, Edges(nodes.middle, nodes.of[2 * outer + 1], events.end[outer] - events.start[inner], "work")]


def _awaits(scene: Scene) -> Flags:
    """Events that a link says wait for something."""
    out = np.zeros(len(scene.t), dtype=bool)
    out[waits(scene).target // 2] = True
    return out
