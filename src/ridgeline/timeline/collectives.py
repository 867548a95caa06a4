"""Collective communication of several ranks on one clock: who waited for whom.

A rank's piece of a collective begins when that rank comes and ends when all have; so all but the one that came last waited in it, and what it takes
without waiting is what it took that one. The i-th piece of a name on each rank belongs together if all ranks have equally many of that name. That
is checked by time: pieces that do not overlap, or do not end together, are of no common collective, and nothing is said of them. What this module
finds is inferred and not recorded.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .edges import Edges, Scene, edges
from .events import is_kind

__all__ = ["Collectives", "collectives"]

Ints = NDArray[np.int64]
#: Ends of one collective differ by less than this, or than this part of what it takes the last to come.
_AGREE_S, _AGREE_SHARE = 1e-4, 0.05


class Collectives(NamedTuple):
    """What orders the pieces of common collectives; those that came `early`, sorted, and what each takes without waiting, `alone` ticks.

    The piece that ends first ends when the last to come has been there for as long as the collective takes, and so for each of them; all others end
    no sooner.
    """

    order: list[Edges]
    early: Ints
    alone: Ints


def collectives(scene: Scene, split: Ints) -> Collectives:
    """Pieces that wait for other ranks.

    Args:
        scene: the events.
        split: work that is in the graph in two pieces, of which nothing is said.
    """
    none = np.zeros(0, dtype=np.int64)
    ranks = np.array([-1 if track.rank is None else track.rank for track in scene.t.tracks], dtype=np.int64)
    if len(np.unique(ranks[ranks >= 0])) < 2:
        return Collectives([], none, none)
    chosen = scene.device & is_kind(scene.events, "communication")
    chosen[split] = False
    at = np.flatnonzero(chosen & (ranks[scene.events.track] >= 0))
    group, at = _matched(scene, at, ranks[scene.events.track[at]])
    start, end = scene.events.start[at], scene.events.end[at]
    # The first to end is the first of its group; of several the one that came last.
    order = np.lexsort((at, -start, end, group))
    group, at, start, end = group[order], at[order], start[order], end[order]
    first = np.flatnonzero(np.diff(group, prepend=-1))
    if not len(first):
        return Collectives([], none, none)
    latest, spread = np.maximum.reduceat(start, first), np.maximum.reduceat(end, first) - end[first]
    took = end[first] - latest
    fits = (took > 0) & (spread <= np.maximum(_AGREE_SHARE * took, _AGREE_S / scene.t.tick_s))
    of = np.repeat(np.arange(len(first)), np.diff(np.append(first, len(group))))
    mine = np.flatnonzero(fits[of])
    others = mine[first[of[mine]] != mine]
    head = at[first[of[others]]]
    until = edges(2 * at[others], 2 * head + 1, "work", delay=took[of[others]], assumed=True)
    early = mine[start[mine] < latest[of[mine]]]
    early = early[np.argsort(at[early])]
    return Collectives([until, edges(2 * head + 1, 2 * at[others] + 1, "signal", assumed=True)], at[early], took[of[early]])


def _matched(scene: Scene, at: Ints, rank: Ints) -> tuple[Ints, Ints]:
    """(group, piece): the i-th of a name on each rank, of names of which all ranks that have one have equally many."""
    name = scene.events.name[at].astype(np.int64)
    order = np.lexsort((scene.events.start[at], rank, name))
    at, name, rank = at[order], name[order], rank[order]
    run = np.cumsum((np.diff(name, prepend=-1) != 0) | (np.diff(rank, prepend=-1) != 0)) - 1
    sizes = np.bincount(run)
    starts = np.cumsum(sizes) - sizes
    ordinal = np.arange(len(at)) - starts[run]
    number = np.unique(name, return_inverse=True)[1]
    least, most = np.full(len(at), len(at) + 1), np.zeros(len(at), dtype=np.int64)
    np.minimum.at(least, number, sizes[run])
    np.maximum.at(most, number, sizes[run])
    keep = (least == most)[number]
    return (number * (len(at) + 1) + ordinal)[keep], at[keep]
