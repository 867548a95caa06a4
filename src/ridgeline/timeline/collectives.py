"""Collective communication of several ranks on one clock in the dependency graph: who waited for whom.

A rank's piece of a collective begins when that rank comes and ends when all have; so all but the one that came last waited in it, and what it takes
without waiting is what it took that one. Which pieces belong together is decided by `meetings`; of those that do not, nothing is said. What this
module finds is inferred and not recorded.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .edges import Edges, Scene, edges
from .meetings import device_pieces, meetings, ranks_of

__all__ = ["Collectives", "collectives"]

Ints = NDArray[np.int64]


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
    ranks = ranks_of(scene.t)
    if len(np.unique(ranks[ranks >= 0])) < 2:
        return Collectives([], none, none)
    chosen = scene.device & device_pieces(scene.t, scene.events)
    chosen[split] = False
    met = meetings(scene.t, scene.events, chosen)
    if not len(met.first):
        return Collectives([], none, none)
    at, start = met.event, scene.events.start[met.event]
    mine = np.arange(len(at))
    others = mine[met.first[met.of] != mine]
    head = at[met.first[met.of[others]]]
    until = edges(2 * at[others], 2 * head + 1, "work", delay=met.took[met.of[others]], assumed=True)
    early = mine[start < met.latest[met.of]]
    early = early[np.argsort(at[early])]
    return Collectives([until, edges(2 * head + 1, 2 * at[others] + 1, "signal", assumed=True)], at[early], met.took[met.of[early]])
