"""The nodes of one run as a table: means over the runs that ended, each node with its own time.

This module decides which nodes belong to a run and which lie within others. A node lies within another where it is on its thread and within its time
(one tick later at most: a start and a duration that are both cut can end a tick apart).
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from ridgeline.core import ProfileRow, ProfileTable

from .decoding import Event

__all__ = ["Nodes", "table_of"]

_TICK_S = 1e-6
_SUFFIX = "_kernel_time"
_PURPOSES = {"MemcpyToHost": "copy", "MemcpyFromHost": "copy", "ReorderInput": "layout", "ReorderOutput": "layout"}


class Nodes(msgspec.Struct):
    """The events that are kernels of nodes.

    Args:
        index: of each among all events; parent: index among the nodes of the one it lies within, −1 at the top; own: ticks without nodes within.
    """

    index: NDArray[np.int64]
    parent: NDArray[np.int64]
    own: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.index)

    @classmethod
    def of(cls, events: Sequence[Event], start: NDArray[np.int64], duration: NDArray[np.int64]) -> Nodes:
        """Find them among all events, shape (n,) each."""
        index = np.array([at for at, event in enumerate(events) if event.cat == "Node" and event.name.endswith(_SUFFIX)], dtype=np.int64)
        threads: dict[tuple[object, object], int] = {}
        thread = np.array([threads.setdefault((events[at].pid, events[at].tid), len(threads)) for at in index], dtype=np.int64)
        parent = _parents(start[index], duration[index], thread, index)
        own = duration[index].copy()
        inner = parent >= 0
        np.subtract.at(own, parent[inner], duration[index][inner])
        return cls(index=index, parent=parent, own=np.maximum(own, 0))


def _parents(start: NDArray[np.int64], duration: NDArray[np.int64], thread: NDArray[np.int64], written: NDArray[np.int64]) -> NDArray[np.int64]:
    """The node that each lies within: a sweep over starts with the stack of those that are open."""
    parent = np.full(len(start), -1, dtype=np.int64)
    end = start + duration
    # Of two that start at one tick the longer holds the other; of two alike the one that was written later, as it ended later.
    order = np.lexsort((-written, -duration, start, thread))
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


def table_of(
    nodes: Nodes, events: Sequence[Event], start: NDArray[np.int64], duration: NDArray[np.int64]
) -> tuple[ProfileTable | None, NDArray[np.int64]]:
    """The table, null without nodes; and the nodes (indices) that are in no run that ended."""
    if not len(nodes):
        return None, np.zeros(0, dtype=np.int64)
    runs = np.array([at for at, event in enumerate(events) if event.cat == "Session" and event.name == "model_run"], dtype=np.int64)
    inside = _inside(start[nodes.index], start[runs], start[runs] + duration[runs]) if len(runs) else np.ones(len(nodes), dtype=np.bool_)
    walls = duration[runs] * _TICK_S
    session = {event.name: int(event.dur or 0) * _TICK_S for event in events if event.cat == "Session"}
    setup = [seconds for name, seconds in session.items() if name == "session_initialization" or name.startswith("model_loading")]
    table = ProfileTable(
        rows=_rows(nodes, np.flatnonzero(inside), events, duration, max(1, len(runs))),
        per_call=bool(len(runs)),
        nested=bool((nodes.parent[inside] >= 0).any()),
        iterations=len(runs) or None,
        wall_s=float(walls.mean()) if len(runs) else None,
        wall_deviation_s=float(walls.std(ddof=1)) if len(runs) > 1 else None,
        first_wall_s=float(walls[np.argmin(start[runs])]) if len(runs) else None,
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


def _rows(nodes: Nodes, chosen: NDArray[np.int64], events: Sequence[Event], duration: NDArray[np.int64], runs: int) -> tuple[ProfileRow, ...]:
    """One row for each node (its name, kind and provider), in order of the first execution."""
    groups: dict[tuple[str, str, str, str], list[int]] = {}
    for node in chosen.tolist():
        event = events[int(nodes.index[node])]
        groups.setdefault((event.name, event.args.op_name, event.args.provider, str(event.args.node_index)), []).append(node)
    first = {key: min(int(events[int(nodes.index[node])].ts or 0) for node in those) for key, those in groups.items()}
    return tuple(_row(key, np.array(groups[key]), nodes, duration, runs) for key in sorted(groups, key=lambda key: first[key]))


def _row(key: tuple[str, str, str, str], those: NDArray[np.int64], nodes: Nodes, duration: NDArray[np.int64], runs: int) -> ProfileRow:
    times = duration[nodes.index[those]] * _TICK_S
    purpose = _PURPOSES.get(key[1], "")
    return ProfileRow(
        name=key[0].removesuffix(_SUFFIX),
        kind=key[1],
        calls=float(len(those)),
        total_s=float(times.sum()) / runs,
        own_s=float(nodes.own[those].sum()) * _TICK_S / runs,
        first_s=float(times[0]),
        least_s=float(times.min()),
        most_s=float(times.max()),
        median_s=float(np.median(times)),
        node=int(key[3]) if key[3].isascii() and key[3].isdigit() and len(key[3]) < 10 else None,
        provider=key[2],
        texts={"purpose": purpose} if purpose else {},
    )
