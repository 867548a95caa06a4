"""The nodes of one run as a table: means over the runs that ended, each node with its own time.

This module decides which nodes belong to a run and which lie within others. A node lies within another where it is on its thread and within its time
(one tick later at most: a start and a duration that are both cut can end a tick apart).
"""

from __future__ import annotations

import msgspec
import numpy as np
from numpy.typing import NDArray

from ridgeline.core import ProfileRow, ProfileTable

from .columns import KIND, TICK_S, Columns

__all__ = ["Nodes", "nodes_of", "table_of"]


class Nodes(msgspec.Struct):
    """The events that are kernels of nodes, shape (n,) each.

    Args:
        index: of each among all events; start, duration: ticks.
        parent: index among the nodes of the one it lies within, −1 at the top; own: ticks without nodes within.
    """

    index: NDArray[np.int64]
    start: NDArray[np.int64]
    duration: NDArray[np.int64]
    parent: NDArray[np.int64]
    own: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.index)


def nodes_of(columns: Columns) -> Nodes:
    """Find them among all events."""
    index = np.flatnonzero(columns.kind == KIND["operator"])
    start, duration = columns.whole("start")[index], columns.whole("duration")[index]
    parent = _parents(start, duration, columns.index("track")[index])
    own = duration.copy()
    inner = parent >= 0
    np.subtract.at(own, parent[inner], duration[inner])
    return Nodes(index=index, start=start, duration=duration, parent=parent, own=np.maximum(own, 0))


def _parents(start: NDArray[np.int64], duration: NDArray[np.int64], thread: NDArray[np.int32]) -> NDArray[np.int64]:
    """The node that each lies within: a sweep over starts with the stack of those that are open."""
    parent = np.full(len(start), -1, dtype=np.int64)
    end = start + duration
    # Of two that start at one tick the longer holds the other; of two alike the one that was written later, as it ended later.
    order = np.lexsort((-np.arange(len(start)), -duration, start, thread))
    if not len(order) or not bool(np.any((start[order][1:] < end[order][:-1]) & (thread[order][1:] == thread[order][:-1]))):
        return parent
    starts, ends, threads = start[order].tolist(), end[order].tolist(), thread[order].tolist()
    open_: list[int] = []
    for place, at in enumerate(order.tolist()):
        while open_ and (threads[open_[-1]] != threads[place] or ends[open_[-1]] <= starts[place] or ends[place] > ends[open_[-1]] + 1):
            open_.pop()
        if open_:
            parent[at] = order[open_[-1]]
        open_.append(place)
    return parent


def table_of(nodes: Nodes, columns: Columns) -> tuple[ProfileTable | None, NDArray[np.int64]]:
    """The table, null without nodes; and the nodes (indices) that are in no run that ended."""
    if not len(nodes):
        return None, np.zeros(0, dtype=np.int64)
    runs = np.flatnonzero(columns.kind == KIND["iteration"])
    start, duration = columns.whole("start")[runs], columns.whole("duration")[runs]
    inside = _inside(nodes.start, start, start + duration) if len(runs) else np.ones(len(nodes), dtype=np.bool_)
    setup = [ticks * TICK_S for name, ticks in columns.session.items() if name == "session_initialization" or name.startswith("model_loading")]
    walls = duration * TICK_S
    table = ProfileTable(
        rows=_rows(nodes, np.flatnonzero(inside), columns, max(1, len(runs))),
        per_call=bool(len(runs)),
        nested=bool((nodes.parent[inside] >= 0).any()),
        iterations=len(runs) or None,
        wall_s=float(walls.mean()) if len(runs) else None,
        wall_deviation_s=float(walls.std(ddof=1)) if len(runs) > 1 else None,
        first_wall_s=float(walls[np.argmin(start)]) if len(runs) else None,
        setup_s=sum(setup) if setup else None,
        name="nodes",
    )
    return table, np.flatnonzero(~inside)


def _inside(at: NDArray[np.int64], starts: NDArray[np.int64], ends: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Whether each tick lies in one of the intervals, which may overlap."""
    order = np.argsort(starts, kind="stable")
    reach = np.maximum.accumulate(ends[order])
    before = np.searchsorted(starts[order], at, side="right") - 1
    found: NDArray[np.bool_] = (before >= 0) & (at <= reach[np.maximum(before, 0)])
    return found


def _rows(nodes: Nodes, chosen: NDArray[np.int64], columns: Columns, runs: int) -> tuple[ProfileRow, ...]:
    """One row for each node (its name, kind, provider and index), in order of the first execution."""
    if not len(chosen):
        return ()
    event = nodes.index[chosen]
    keys = [columns.index(name)[event].astype(np.int64) for name in ("name", "operator", "provider")] + [columns.whole("node")[event]]
    order = np.lexsort((nodes.start[chosen], *keys))
    differs = np.zeros(len(order) - 1, dtype=np.bool_)
    for key in keys:
        differs |= key[order][1:] != key[order][:-1]
    groups = np.split(order, np.flatnonzero(differs) + 1)
    groups.sort(key=lambda group: int(nodes.start[chosen[group[0]]]))
    strings = (*columns.strings, "")
    purposes = columns.index("purpose")[event]
    return tuple(
        _row(nodes, chosen[group], runs, [strings[int(key[group[0]])] for key in keys[:3]], int(keys[3][group[0]]), strings[int(purposes[group[0]])])
        for group in groups
    )


def _row(nodes: Nodes, those: NDArray[np.int64], runs: int, texts: list[str], node: int, purpose: str) -> ProfileRow:
    times = nodes.duration[those] * TICK_S
    return ProfileRow(
        name=texts[0],
        kind=texts[1],
        calls=float(len(those)),
        total_s=float(times.sum()) / runs,
        own_s=float(nodes.own[those].sum()) * TICK_S / runs,
        first_s=float(times[0]),
        least_s=float(times.min()),
        most_s=float(times.max()),
        median_s=float(np.median(times)),
        node=node if 0 <= node < 2**31 else None,
        provider=texts[2],
        texts={"purpose": purpose} if purpose else {},
    )
