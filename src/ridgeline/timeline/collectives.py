"""Collective communication of several ranks on one clock in the dependency graph: who waited for whom.

A rank's piece of a collective begins when that rank comes and ends when all have; so all but the one that came last waited in it, and what it takes
without waiting is what it took that one. Which pieces belong together is decided by `meetings`; of those that do not, nothing is said. What this
module finds is inferred and not recorded.

A collective of the host is a range on a thread of its backend, and ranges are in no graph. Its place is taken by the operator that put it into the
queue (the last `c10d::…` of the rank that began before it), which is when a rank comes, and by where the thread of that operator goes on once the
collective is done: at the end of a call that waits, or after a time in which nothing was recorded of the thread. A thread that computes meanwhile, or
goes on much later, did not wait.
"""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .edges import Edges, Scene, edges
from .events import is_kind
from .meetings import Meetings, agree_s, device_pieces, host_pieces, meetings, ranks_of
from .segments import last_at

__all__ = ["Collectives", "collectives"]

Ints = NDArray[np.int64]
_PUTS = re.compile(r"c10d::")
#: Functions of Python that wait, as it names them: `<built-in method wait of …>`, `distributed_c10d.py(9): wait`; and the one in which the gradients
#: of a backward pass are awaited, once its last operator is done.
_WAITS = re.compile(r"(?:\bmethod |: )(?:wait|synchronize|run_backward)\b")
#: A thread that goes on within this part of its pause, or this long, after the collective was done has waited for it.
_SOON = 0.25


class Collectives(NamedTuple):
    """What orders the pieces of common collectives; those that came `early`, sorted, and what each takes without waiting, `alone` ticks; boundaries
    at which threads go on, `waited`.

    The piece that ends first ends when the last to come has been there for as long as the collective takes, and so for each of them; all others end
    no sooner.
    """

    order: list[Edges]
    early: Ints
    alone: Ints
    waited: Ints


def collectives(scene: Scene, split: Ints) -> Collectives:
    """Pieces that wait for other ranks.

    Args:
        scene: the events.
        split: work that is in the graph in two pieces, of which nothing is said.
    """
    none = np.zeros(0, dtype=np.int64)
    ranks = ranks_of(scene.t)
    if len(np.unique(ranks[ranks >= 0])) < 2:
        return Collectives([], none, none, none)
    chosen = device_pieces(scene.t, scene.events)
    if not chosen.any():
        order, waited = _of_host(scene)
        return Collectives(order, none, none, waited)
    chosen &= scene.device
    chosen[split] = False
    met = meetings(scene.t, scene.events, chosen)
    if not len(met.first):
        return Collectives([], none, none, none)
    at, start = met.event, scene.events.start[met.event]
    mine = np.arange(len(at))
    others = mine[met.first[met.of] != mine]
    head = at[met.first[met.of[others]]]
    until = edges(2 * at[others], 2 * head + 1, "work", delay=met.took[met.of[others]], assumed=True)
    early = mine[start < met.latest[met.of]]
    early = early[np.argsort(at[early])]
    return Collectives([until, edges(2 * head + 1, 2 * at[others] + 1, "signal", assumed=True)], at[early], met.took[met.of[early]], none)


def _of_host(scene: Scene) -> tuple[list[Edges], Ints]:
    """All that waited for a collective go on no sooner than all ranks have put it into their queues: through the one that goes on first. And where
    they go on.
    """
    met = meetings(scene.t, scene.events, host_pieces(scene.t, scene.events), host=True)
    if not len(met.first):
        return [], met.first
    put = _put(scene, met)
    goes_on, tick = _goes_on(scene, met, put)
    waits = np.flatnonzero(goes_on >= 0)
    waits = waits[np.lexsort((tick[waits], met.of[waits]))]
    of, head = np.unique(met.of[waits], return_index=True)
    hub = np.full(len(met.first), -1, dtype=np.int64)
    hub[of] = goes_on[waits[head]]
    comes = np.flatnonzero((put >= 0) & (hub[met.of] >= 0))
    others = waits[goes_on[waits] != hub[met.of[waits]]]
    order = [
        edges(2 * put[comes], hub[met.of[comes]], "wait", assumed=True),
        edges(hub[met.of[others]], goes_on[others], "signal", assumed=True),
    ]
    return order, goes_on[waits]


def _put(scene: Scene, met: Meetings) -> Ints:
    """The operator that put each piece into the queue of its rank, -1 where there is none."""
    events = scene.events
    named = np.array([_PUTS.match(text) is not None for text in scene.t.strings], dtype=np.bool_)
    at = np.flatnonzero(scene.host & named[events.name] & is_kind(events, "operator"))
    rank = ranks_of(scene.t)[events.track[at]]
    at = at[rank >= 0]
    at = at[np.lexsort((events.start[at], rank[rank >= 0]))]
    rank = ranks_of(scene.t)[events.track[at]]
    found = last_at(rank, events.start[at], met.rank, events.start[met.event])
    fits = found >= 0
    fits[fits] = rank[found[fits]] == met.rank[fits]
    put = np.full(len(met.event), -1, dtype=np.int64)
    put[fits] = at[found[fits]]
    return put


def _goes_on(scene: Scene, met: Meetings, put: Ints) -> tuple[Ints, Ints]:
    """(boundary at which the thread that put each piece into the queue goes on when it is done, -1 where it did not wait; its tick)."""
    seg, events = scene.segments, scene.events
    boundary, tick = np.full(len(put), -1, dtype=np.int64), np.zeros(len(put), dtype=np.int64)
    piece = np.flatnonzero(put >= 0)
    if not len(seg) or not len(piece):
        return boundary, tick
    done, track = events.end[met.event[piece]], events.track[put[piece]].astype(np.int64)
    at = seg.at(track, done)
    following = np.minimum(at + 1, len(seg) - 1)
    inside = (seg.track[at] == track) & (seg.start[at] <= done) & (done < seg.end[at])
    idle = seg.event[at] < 0
    named = np.array([_WAITS.search(text) is not None for text in scene.t.strings], dtype=np.bool_)
    during = np.maximum(seg.event[at], 0)
    waits = ~idle & (is_kind(events, "wait")[during] | (is_kind(events, "python")[during] & named[events.name[during]]))
    # A call waits until it ends or calls another one, and time without an event ends where one begins.
    goes = seg.end[at]
    ends = waits & (events.end[during] == goes)
    after = np.maximum(seg.event[following], 0)
    begins = (seg.track[following] == track) & (seg.event[following] >= 0) & (events.start[after] == goes)
    soon = goes - done <= np.maximum(_SOON * (done - seg.start[at]), agree_s(True) / scene.t.tick_s)
    found = inside & (ends | ((idle | waits) & begins)) & soon
    boundary[piece[found]] = np.where(ends, 2 * during + 1, 2 * after)[found]
    tick[piece[found]] = goes[found]
    return boundary, tick
