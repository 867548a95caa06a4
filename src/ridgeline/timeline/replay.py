"""Replaying a dependency graph with other durations: what the window would be, and how much longer each event could take.

Forward, each node comes when the last of its edges lets it, plus its lag; backward, each node may come as late as the earliest of what follows
allows. Unchanged durations give the recorded times exactly. What nothing explains stays as long as it was. A change that is promised from a graph is
right as far as the graph is: edges that were assumed and not recorded are once kept and once left out, and both answers are given.

Source: J. Kelley, M. Walker, "Critical-Path Planning and Scheduling", EJCC 1959 (earliest and latest times, slack).
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
from numpy.typing import NDArray

from ridgeline import _native
from ridgeline.core import DEVICE_WORK, Timeline, UsageError, WhatIf

from .dependencies import Dependencies, graph_of
from .edges import EDGE_KINDS
from .events import is_kind
from .intervals import merge
from .segments import last_at, thread_time

__all__ = ["chosen_events", "makespan", "replayed", "slack", "what_if"]

Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]
_THREAD, _WORK, _WAIT = (EDGE_KINDS.index(kind) for kind in ("thread", "work", "wait"))
#: No time of a graph with other durations may reach this.
_LATEST = 2.0**62


def replayed(deps: Dependencies, delay: Ints | None = None, *, lag: Ints | None = None, without: Flags | None = None) -> Ints:
    """When each node comes, in ticks, shape (m,).

    Args:
        deps: the graph.
        delay: of each edge, shape (k,), ≥ 0; as recorded if not given. lag: of each node, shape (m,), likewise.
        without: edges that do not hold, shape (k,).
    """
    delay, lag = deps.delay if delay is None else delay, deps.lag if lag is None else lag
    start = deps.window[0]
    # Whatever an edge says, nothing comes before the window; a node without edges comes where it came.
    out = np.where(_without_edges(deps), start + lag, start).astype(np.int64)
    weight = delay + lag[deps.target] if len(deps.target) else delay
    if without is None:
        _native.earliest(out, deps.source, deps.target, weight)
    else:
        keep = np.flatnonzero(~without)
        _native.earliest(out, deps.source[keep], deps.target[keep], weight[keep])
    return out


def _without_edges(deps: Dependencies) -> Flags:
    out = np.ones(len(deps), dtype=bool)
    out[deps.target] = False
    return out


def makespan(deps: Dependencies, ticks: Ints) -> int:
    """Ticks of the window if the nodes come at `ticks`: what lies after the last node stays as long as it was."""
    start, end = deps.window
    return int(ticks.max()) - start + end - int(deps.tick.max()) if len(deps) else end - start


def _latest(deps: Dependencies) -> Ints:
    """The latest tick of each node that leaves the window as it is, shape (m,)."""
    last = int(deps.tick.max(initial=deps.window[0]))
    out = np.full(len(deps), last, dtype=np.int64)
    weight = deps.delay + deps.lag[deps.target] if len(deps.target) else deps.delay
    _native.latest(out, deps.source, deps.target, weight)
    return out


def slack(t: Timeline, *, deps: Dependencies | None = None) -> Ints:
    """How many ticks longer each event could take before the window grows, shape (n,); 0 on the critical path, −1 for events in no graph.

    Of a host event the least over where in it the time is added; a host event of no length has at least the slack of what follows on its thread.

    Args:
        t: the timeline; deps: `graph_of(t)` where the caller has it.

    Raises:
        UsageError: ticks that leave 63 bits.
    """
    deps = graph_of(t) if deps is None else deps
    out = np.full(len(t), -1, dtype=np.int64)
    if not len(deps):
        return out
    latest = _latest(deps)
    _slack_on_host(deps, latest, out)
    room = latest - deps.tick
    on_device = np.flatnonzero(~deps.on_host)
    # Nodes in the middle of work are of the same event: the least of them counts.
    ends = on_device[deps.event[on_device] % 2 == 1]
    event = deps.event[ends] // 2
    out[event] = np.iinfo(np.int64).max
    np.minimum.at(out, event, room[ends])
    return out


def _slack_on_host(deps: Dependencies, latest: Ints, out: Ints) -> None:
    at = np.flatnonzero(deps.on_host)
    at = at[np.argsort(deps.track[at], kind="stable")]
    track, tick = deps.track[at], deps.tick[at]
    # More time between two moments of a thread moves the second only when it fills what the thread waits for there.
    room = latest - deps.tick
    before = room.copy()
    edge = np.flatnonzero(deps.kind == _THREAD)
    target = deps.target[edge]
    before[target] = latest[target] - deps.lag[target] - deps.delay[edge] - deps.tick[deps.source[edge]]
    seg = deps.segments
    own = np.flatnonzero(seg.event >= 0)
    own = own[deps.host[seg.event[own]]]
    event = seg.event[own]
    out[event] = np.iinfo(np.int64).max
    following = at[last_at(track, tick, seg.track[own], seg.end[own] - 1) + 1]
    np.minimum.at(out, event, np.where(deps.counted[own] > 0, before[following], room[following]))
    # Moments within a piece, at which an event of no length lies.
    within = last_at(seg.track, seg.start, track, tick - 1)
    met = np.flatnonzero(within >= 0)
    within = within[met]
    met = met[(seg.track[within] == track[met]) & (seg.end[within] > tick[met]) & (seg.event[within] >= 0)]
    piece = last_at(seg.track, seg.start, track[met], tick[met] - 1)
    np.minimum.at(out, seg.event[piece], np.where(deps.counted[piece] > 0, before[at[met]], room[at[met]]))
    # Events of no length come after what ends at their tick.
    rest = np.flatnonzero(deps.host & (out < 0))
    end = deps.events.end[rest]
    place = np.minimum(last_at(track, tick, deps.events.track[rest].astype(np.int64), end - 1) + 1, len(at) - 1)
    of = deps.event[at[place]] // 2
    ends = (deps.event[at[place]] % 2 == 1) & (deps.events.end[of] > deps.events.start[of]) & (tick[place] == end)
    last = np.append(track[1:] != track[:-1], True)[place]
    out[rest] = before[at[place + (ends & ~last)]]


def chosen_events(t: Timeline, names: str | Collection[str] = (), *, kinds: Collection[str] = ()) -> Flags:
    """Events of any of the names, and of any of the kinds where some are given; shape (n,)."""
    wanted = {names} if isinstance(names, str) else set(names)
    named = np.array([not wanted or text in wanted for text in t.strings], dtype=bool)
    out = named[t.name.values] if len(t) else np.zeros(0, dtype=bool)
    if kinds and len(t):
        from .events import events_of

        out &= is_kind(events_of(t), *kinds)
    return out


def what_if(
    t: Timeline,
    names: str | Collection[str] = (),
    factor: float | None = None,
    *,
    kinds: Collection[str] = (),
    chosen: Flags | None = None,
    nested: bool = False,
    deps: Dependencies | None = None,
    what: str = "",
) -> WhatIf:
    """The window if some events were faster, all else as it was.

    Work of a device takes 1 ÷ factor of its time. Of a host event its own time does, which is what the path has of it; what is nested in it and the
    work that it starts take as long as before. A wait that is made free does not wait at all: the answer then holds if nothing after it needs what it
    waited for, and `high_s` is with it.

    Args:
        t: the timeline.
        names: of the events; all where none is given.
        factor: how many times faster, > 0; null for no time at all.
        kinds: only events of these kinds.
        chosen: the events, shape (n,), instead of names and kinds.
        nested: whether a host event is faster with all that lies in it on its thread; a named range is nothing else.
        deps: `graph_of(t)` where the caller has it.
        what: what to call it; the names if not given.

    Raises:
        UsageError: a factor that is not above zero, or so small that times no longer fit; named ranges alone, which have no time of their own, and
            not `nested`; ticks that leave 63 bits.
    """
    if factor is not None and not 0 < factor < float("inf"):
        raise UsageError("a factor above zero, or none", found=repr(factor), remedy="say how many times faster, such as 2")
    deps = graph_of(t) if deps is None else deps
    if factor is not None and factor < 1 and deps.window[1] + _total(deps) / factor >= _LATEST:
        raise UsageError("a factor with which times fit 62 bits of ticks", found=repr(factor), remedy="say how many times faster, such as 2")
    chosen = chosen_events(t, names, kinds=kinds) if chosen is None else chosen
    if not nested and chosen.any() and not (chosen & (deps.host | deps.device)).any():
        named = what or (names if isinstance(names, str) else ", ".join(sorted(names)))
        remedy = "ask with nested (--nested) for all that runs in it on its thread"
        raise UsageError("events with a time of their own", found=f"{named!r}: in no graph, as a named range is", remedy=remedy)
    delay = _faster(deps, chosen, factor, nested=nested)
    least, lag = _unwaited(deps, chosen) if factor is None else (None, deps.lag)
    ticks = replayed(deps, delay, lag=lag, without=least)
    after = makespan(deps, ticks)
    others = [after]
    if deps.assumed.any():
        others.append(makespan(deps, replayed(deps, delay, lag=_lag_without(deps), without=deps.assumed)))
    if least is not None and least.any():
        others.append(makespan(deps, replayed(deps, delay)))
    called = names if isinstance(names, str) else ", ".join(sorted(names))
    return WhatIf(
        what=what or called or ", ".join(kinds) or "everything",
        factor=factor,
        before_s=makespan(deps, deps.tick) * t.tick_s,
        after_s=after * t.tick_s,
        low_s=min(others) * t.tick_s,
        high_s=max(others) * t.tick_s,
        nested=nested,
    )


def _total(deps: Dependencies) -> float:
    """Ticks of all work and of all threads, as a float: no path takes longer."""
    return float(deps.delay.sum(dtype=np.float64)) + float(deps.counted.sum(dtype=np.float64))


def _lag_without(deps: Dependencies) -> Ints:
    """Lags that give the recorded times if assumed edges do not hold."""
    keep = ~deps.assumed
    reach = np.full(len(deps), deps.window[0], dtype=np.int64)
    np.maximum.at(reach, deps.target[keep], deps.tick[deps.source[keep]] + deps.delay[keep])
    return deps.tick - reach


def _faster(deps: Dependencies, chosen: Flags, factor: float | None, *, nested: bool) -> Ints:
    """Delays of all edges if the chosen events were faster."""
    delay = deps.delay.copy()
    work = np.flatnonzero(deps.kind == _WORK)
    work = work[chosen[deps.event[deps.target[work]] // 2]] if len(work) else work
    delay[work] = _divided(deps.delay[work], factor)
    seg = deps.segments
    host = chosen & deps.host
    inside = np.zeros(len(seg), dtype=bool)
    if len(seg) and len(host):
        inside = _inside(deps, host | _ranges(deps, chosen)) if nested else (seg.event >= 0) & host[seg.event]
    if inside.any():
        counted = np.where(inside, _divided(deps.counted, factor), deps.counted)
        edge = np.flatnonzero(deps.kind == _THREAD)
        source, target = deps.source[edge], deps.target[edge]
        until = thread_time(seg, counted, deps.track[target], deps.tick[target])
        delay[edge] = until - thread_time(seg, counted, deps.track[source], deps.tick[source])
    return delay


def _divided(ticks: Ints, factor: float | None) -> Ints:
    return np.zeros_like(ticks) if factor is None else np.rint(ticks / factor).astype(np.int64)


def _ranges(deps: Dependencies, chosen: Flags) -> Flags:
    """Which of the chosen events are named ranges of host threads."""
    on_host = np.array([not track.device for track in deps.t.tracks], dtype=bool)[deps.events.track] if len(chosen) else chosen
    return np.asarray(chosen & is_kind(deps.events, "annotation", "iteration") & on_host)


def _inside(deps: Dependencies, chosen: Flags) -> Flags:
    """Segments that lie in one of the chosen host events or ranges (and are no idle time), shape (segments,)."""
    seg, events = deps.segments, deps.events
    out = np.zeros(len(seg), dtype=bool)
    at = np.flatnonzero(chosen)
    if not len(at):
        return out
    at = at[np.argsort(events.track[at], kind="stable")]
    tracks, first = np.unique(events.track[at], return_index=True)
    for track, mine in zip(tracks.tolist(), np.split(at, first[1:]), strict=False):
        starts, ends = merge(events.start[mine], events.end[mine])
        bounds = slice(*np.searchsorted(seg.track, [track, track + 1]))
        if len(starts):
            found = np.searchsorted(starts, seg.start[bounds], side="right") - 1
            out[bounds] = (found >= 0) & (seg.start[bounds] < ends[np.maximum(found, 0)])
    return out & (seg.event >= 0)


def _unwaited(deps: Dependencies, chosen: Flags) -> tuple[Flags, Ints]:
    """(edges that do not hold, lags) if chosen events that wait did not."""
    event = deps.event // 2
    waits = is_kind(deps.events, "wait", "sync") & chosen & ~is_kind(deps.events, *DEVICE_WORK)
    ends = waits[event] & (deps.event % 2 == 1) if len(event) else np.zeros(0, dtype=bool)
    lag = np.where(ends, 0, deps.lag)
    return (deps.kind == _WAIT) & ends[deps.target] if len(deps.target) else np.zeros(0, dtype=bool), lag
