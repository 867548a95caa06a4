"""The critical path: from the end of the window back to its start, at every moment exactly one piece.

From the boundary that comes last the walk goes back along the edge that was binding, whose source with its delay came latest (of several recorded
before assumed, another lane before the thread itself, the earlier start, the order of tracks). What the edges of a boundary do not explain is its
lag, a piece of its own: of a launch or of a queue if it is of their usual size, else unexplained. So the pieces tile the window to the tick. A thread
that waits is replaced by what it waited for.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ridgeline.core import EVENT_KINDS, CriticalPath, PathPiece, Timeline

from .dependencies import Dependencies, graph_of
from .edges import EDGE_KINDS, device_numbers, medians
from .events import is_kind
from .segments import segments_of

__all__ = ["LABELS", "Path", "critical_path", "path_of", "path_ticks"]

Ints = NDArray[np.int64]
Places = NDArray[np.int32]
#: What a piece can be.
LABELS = (
    "compute", "communication", "copy", "operator", "python", "input", "runtime", "profiler", "other", "launch", "synchronisation", "queue",
    "unexplained",
)  # fmt: skip
_OF_KIND = {"fill": "copy", "wait": "synchronisation", "sync": "synchronisation", "annotation": "unexplained", "iteration": "unexplained"}
_MOST_NAMES = 100
#: A lag of this many times the usual one is not explained by what usually makes it; a usual one is not taken to be shorter than this.
_MANY, _QUICK_S = 10, 2e-6
_TABLE = np.array([LABELS.index(_OF_KIND.get(kind, kind)) for kind in EVENT_KINDS], dtype=np.uint8)
_UNEXPLAINED = LABELS.index("unexplained")


@dataclass(frozen=True, kw_only=True, eq=False)
class Path:
    """Pieces in order of time, shape (p,) each; each ends where the next one starts.

    Args:
        label: index into `LABELS`; start, end: in ticks; track: −1 where it is on none.
        event: whose time it is, or before whose boundary it lies; −1 for none.
        own: whether the time is that event's own, and not time before it.
        node: nodes of the graph that the path goes through, last first.
    """

    label: NDArray[np.uint8]
    start: Ints
    end: Ints
    track: Places
    event: Places
    own: NDArray[np.bool_]
    node: Places


def binding(deps: Dependencies) -> Ints:
    """The edge that each node waited for last, −1 for a node without edges; shape (m,)."""
    out = np.full(len(deps), -1, dtype=np.int64)
    bound = np.flatnonzero(deps.tick[deps.source] + deps.delay + deps.lag[deps.target] == deps.tick[deps.target])
    target = deps.target[bound]
    # Edges are by target: most targets have one such edge, and only the others need an order.
    shared = np.zeros(len(bound), dtype=bool)
    shared[1:] = target[1:] == target[:-1]
    shared[:-1] |= shared[1:]
    out[target[~shared]] = bound[~shared]
    bound = bound[shared]
    source, same = deps.source[bound], deps.kind[bound] == EDGE_KINDS.index("thread")
    start = deps.events.start[deps.event[source] // 2]
    order = np.lexsort((source, deps.track[source], start, same, deps.assumed[bound], deps.target[bound]))[::-1]
    # Backwards, so that the first of each target is what stays.
    out[deps.target[bound[order]]] = bound[order]
    return out


def path_of(deps: Dependencies) -> Path:
    """The critical path as columns."""
    start, end = deps.window
    if not len(deps):
        return _path([_unexplained(start, end)], np.zeros(0, dtype=np.int32))
    last = np.flatnonzero(deps.tick == deps.tick.max())
    node = int(last[np.lexsort((last, deps.track[last], deps.events.start[deps.event[last] // 2]))[0]])
    bound = binding(deps)
    edges = _walk(deps, bound, node)
    nodes = np.concatenate((np.array([node], dtype=np.int32), deps.source[edges]))
    parts = [_lags(deps, bound, nodes, edges), _works(deps, edges), _on_threads(deps, edges), _ends(deps, nodes)]
    return _path(parts, nodes)


class _Pieces(NamedTuple):
    """Columns of a `Path`."""

    label: NDArray[np.uint8]
    start: Ints
    end: Ints
    track: Places
    event: Places
    own: NDArray[np.bool_]


def _pieces(label: NDArray[Any], start: Ints, end: Ints, track: NDArray[Any], event: NDArray[Any], own: NDArray[np.bool_]) -> _Pieces:
    return _Pieces(label.astype(np.uint8), start, end, track.astype(np.int32), event.astype(np.int32), own)


def _unexplained(start: int, end: int) -> _Pieces:
    """One piece that is on no track."""
    start_, end_, none = (np.array([value], dtype=np.int64) for value in (start, end, -1))
    return _pieces(np.array([_UNEXPLAINED]), start_, end_, none, none, np.zeros(1, dtype=bool))


def _path(parts: list[_Pieces], nodes: Places) -> Path:
    """Pieces that have a length in order of time, with what belongs together joined."""
    order = np.flatnonzero(np.concatenate([part.end > part.start for part in parts]))
    order = order[np.argsort(np.concatenate([part.start for part in parts])[order], kind="stable")]
    label, start, end, track, event, own = (np.concatenate([part[at] for part in parts])[order] for at in range(6))
    fresh = np.ones(len(label), dtype=bool)
    fresh[1:] = (label[1:] != label[:-1]) | (track[1:] != track[:-1]) | (event[1:] != event[:-1]) | (own[1:] != own[:-1])
    at = np.flatnonzero(fresh)
    ends = end[np.concatenate((at[1:], [len(label)])) - 1] if len(label) else end
    return Path(label=label[at], start=start[at], end=ends, track=track[at], event=event[at], own=own[at], node=nodes)


def _walk(deps: Dependencies, bound: Ints, node: int) -> Ints:
    """Edges of the path, last first."""
    # Views give Python numbers without a list of all of them.
    found, edge_of, source = array("q"), bound.data, np.ascontiguousarray(deps.source).data
    edge = edge_of[node]
    while edge >= 0:
        found.append(edge)
        edge = edge_of[source[edge]]
    return np.frombuffer(found, dtype=np.int64) if found else np.zeros(0, dtype=np.int64)


def _unusual(deps: Dependencies, bound: Ints) -> NDArray[np.bool_]:
    """Which nodes came much later than what bound them usually explains: by many times the median lag of such nodes, shape (m,)."""
    out = np.zeros(len(deps), dtype=bool)
    device = device_numbers(deps.t)
    starts = np.flatnonzero((deps.event % 2 == 0) & ~deps.on_host & (bound >= 0))
    for kind in ("launch", "queue"):
        mine = starts[deps.kind[bound[starts]] == EDGE_KINDS.index(kind)]
        group, seen = device[deps.track[mine]], deps.delay[bound[mine]] + deps.lag[mine]
        usual = np.maximum(medians(group, seen, np.ones(len(mine), dtype=bool))[group], _QUICK_S / deps.t.tick_s)
        out[mine] = deps.lag[mine] > _MANY * usual
    return out


def _lags(deps: Dependencies, bound: Ints, nodes: Places, edges: Ints) -> _Pieces:
    """What the edges of a node do not explain."""
    tick, lag = deps.tick[nodes], deps.lag[nodes]
    event, is_end = (deps.event[nodes] // 2).astype(np.int64), deps.event[nodes] % 2 == 1
    label = np.full(len(nodes), _UNEXPLAINED, dtype=np.int64)
    # The first node of the window has no edge; its lag is time before anything that is known.
    kind = np.append(deps.kind[edges], len(EDGE_KINDS))[: len(nodes)]
    assumed = np.append(deps.assumed[edges], False)[: len(nodes)]
    device = ~deps.on_host[nodes]
    waits = _OF_KIND["wait"]
    awaited = np.isin(kind, [EDGE_KINDS.index(name) for name in ("wait", "signal")])
    # Without its launch nobody knows whether work was in its queue yet.
    queued = ((kind == EDGE_KINDS.index("queue")) | (assumed & awaited)) & deps.launched[event]
    label[device & ~is_end & (kind == EDGE_KINDS.index("launch"))] = LABELS.index("launch")
    label[device & ~is_end & queued] = LABELS.index("queue")
    label[device & ~is_end & awaited & ~assumed] = LABELS.index(waits)
    label[device & is_end] = LABELS.index(waits)
    # A thread that goes on at the end of an event waited in it; one that begins an event was idle.
    long = deps.events.end[event] > deps.events.start[event]
    label[~device & is_end & long & (kind < len(EDGE_KINDS))] = LABELS.index(waits)
    label[_unusual(deps, bound)[nodes]] = _UNEXPLAINED
    _label_starts(deps, np.flatnonzero(~device & ~is_end), nodes, label, event)
    return _pieces(label, tick - lag, tick, deps.track[nodes], event, np.zeros(len(nodes), dtype=bool))


def _label_starts(deps: Dependencies, at: Ints, nodes: Places, label: Ints, event: Ints) -> None:
    """Time before the start of a host event is that of the event around it, if there is one."""
    seg = deps.segments
    if not len(seg) or not len(at):
        return
    tick, track = deps.tick[nodes[at]], deps.track[nodes[at]]
    before = seg.at(track, tick - 1)
    fits = (seg.track[before] == track) & (seg.end[before] == tick) & (seg.event[before] >= 0)
    label[at[fits]] = _TABLE[deps.events.kind[seg.event[before[fits]]]]
    event[at[fits]] = seg.event[before[fits]]


def _works(deps: Dependencies, edges: Ints) -> _Pieces:
    """Work of devices, and the usual latency of launches."""
    launch = deps.kind[edges] == EDGE_KINDS.index("launch")
    work = deps.kind[edges] == EDGE_KINDS.index("work")
    at = edges[launch | work]
    launch = launch[launch | work]
    event = deps.event[deps.target[at]] // 2
    label = np.where(launch, LABELS.index("launch"), _TABLE[deps.events.kind[event]])
    start = deps.tick[deps.source[at]]
    return _pieces(label, start, start + deps.delay[at], deps.track[deps.target[at]], event, ~launch)


def _on_threads(deps: Dependencies, edges: Ints) -> _Pieces:
    """Time of threads, segment by segment."""
    at = edges[deps.kind[edges] == EDGE_KINDS.index("thread")]
    at = at[deps.delay[at] > 0]
    seg = deps.segments
    start, track = deps.tick[deps.source[at]], deps.track[deps.source[at]]
    end = start + deps.delay[at]
    if not len(at):
        return _pieces(at, at, at, at, at, at.astype(bool))
    first, last = seg.at(track, start), seg.at(track, end - 1)
    count = last - first + 1
    segment = np.repeat(first - np.cumsum(count) + count, count)
    segment += np.arange(len(segment))
    low, high = np.maximum(seg.start[segment], np.repeat(start, count)), np.minimum(seg.end[segment], np.repeat(end, count))
    event = seg.event[segment]
    label = np.where(event >= 0, _TABLE[deps.events.kind[np.maximum(event, 0)]], np.uint8(_UNEXPLAINED))
    return _pieces(label, low, high, seg.track[segment], event, event >= 0)


def _ends(deps: Dependencies, nodes: Places) -> _Pieces:
    """The window after the last boundary, where ranges that are no work, or threads beside the program, make it longer."""
    return _unexplained(int(deps.tick[nodes[0]]), deps.window[1])


def path_ticks(deps: Dependencies, path: Path) -> Ints:
    """Ticks of the path that are each event's own, and in which calls wait, shape (n,); no time before it (launch, queue), nothing unexplained."""
    out = np.zeros(len(deps.t), dtype=np.int64)
    event = np.maximum(path.event, 0)
    if not len(event):
        return out
    within = (path.start >= deps.events.start[event]) & (path.end <= deps.events.end[event]) & (path.label != _UNEXPLAINED)
    within &= is_kind(deps.events, "wait", "sync")[event]
    mine = np.flatnonzero((path.event >= 0) & (path.own | within)) if len(deps.t) else np.zeros(0, dtype=np.int64)
    np.add.at(out, event[mine], (path.end - path.start)[mine])
    return out


def critical_path(t: Timeline, *, deps: Dependencies | None = None, path: Path | None = None, most: int = 1000) -> CriticalPath:
    """The longest chain of dependent pieces; its length is the window's, and `covered_share` is what it explains of it.

    Args:
        t: the timeline.
        deps, path: `graph_of(t)` and `path_of(deps)` where the caller has them.
        most: pieces to list, the longest ones; the sums are over all.

    Raises:
        UsageError: ticks that leave 63 bits.
    """
    deps = graph_of(t) if deps is None else deps
    path = path_of(deps) if path is None else path
    ticks, tick_s = path.end - path.start, t.tick_s
    window = deps.window[1] - deps.window[0]
    by_label = np.bincount(path.label, ticks, len(LABELS))
    listed = np.sort(np.argsort(-ticks, kind="stable")[:most])
    explained = int(ticks[path.label != _UNEXPLAINED].sum())
    return CriticalPath(
        length_s=int(ticks.sum()) * tick_s,
        window_s=window * tick_s,
        covered_share=explained / window if window else 0.0,
        pieces=tuple(_piece(deps, path, at, name) for at, name in zip(listed.tolist(), _names(deps, path, listed), strict=True)),
        piece_count=len(ticks),
        by_label={LABELS[at]: float(by_label[at]) * tick_s for at in np.argsort(-by_label, kind="stable") if by_label[at] > 0},
        by_name=_by_name(deps, path),
    )


def _names(deps: Dependencies, path: Path, listed: Ints) -> list[str]:
    """A name for each of the pieces: its event's, or the named range in which a thread did nothing that was recorded."""
    strings, name = deps.t.strings, deps.events.name
    event, track, start = path.event[listed].copy(), path.track[listed], path.start[listed]
    idle = np.flatnonzero((event < 0) & (track >= 0))
    if len(idle):
        ranges = np.flatnonzero(is_kind(deps.events, "annotation", "iteration"))
        inside = segments_of(deps.events.track[ranges].astype(np.int64), deps.events.start[ranges], deps.events.end[ranges], ranges)
        if len(inside):
            at = inside.at(track[idle], start[idle])
            fits = (inside.track[at] == track[idle]) & (inside.start[at] <= start[idle]) & (inside.end[at] > start[idle])
            event[idle[fits]] = inside.event[at[fits]]
    return [strings[name[one]] if one >= 0 else "" for one in event.tolist()]


def _piece(deps: Dependencies, path: Path, at: int, name: str) -> PathPiece:
    track = int(path.track[at])
    return PathPiece(
        label=LABELS[path.label[at]],
        name=name,
        lane=deps.t.tracks[track].name if track >= 0 else "",
        start_s=int(path.start[at] - deps.window[0]) * deps.t.tick_s,
        duration_s=int(path.end[at] - path.start[at]) * deps.t.tick_s,
    )


def _by_name(deps: Dependencies, path: Path) -> dict[str, float]:
    """Seconds of the names with most of them, by `path_ticks`."""
    sums = np.zeros(len(deps.t.strings), dtype=np.int64)
    np.add.at(sums, deps.events.name, path_ticks(deps, path))
    most = np.argsort(-sums, kind="stable")[:_MOST_NAMES]
    return {deps.t.strings[at]: int(sums[at]) * deps.t.tick_s for at in most.tolist() if sums[at] > 0}
