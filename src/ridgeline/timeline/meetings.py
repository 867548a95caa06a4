"""Which pieces of communication on several ranks are one collective: matched by name and order, checked by time.

Work of devices counts. Where no device communicates, what the host's backends name their own collectives does: Gloo, MPI and UCC record one as a
range `gloo:all_reduce` that ends when all ranks have taken part, oneCCL as `oneccl_bindings_for_pytorch::cpu_work::allreduce`. Operators
`c10d::allreduce_` and ranges `nccl:all_reduce` only put a collective into a queue and say nothing of waiting; what is sent from one rank to another
is named differently on both.

The i-th piece of a name on each rank belongs together if all ranks have equally many of that name. If they have not, or if less than half of
them would end together (a part of the time was asked for, or one file began later), those do that end next to one another. Pieces that do not
overlap, or do not end together, are of no common collective.
"""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ridgeline.core import Timeline

from .events import Events, is_kind

__all__ = ["AGREE_SHARE", "Meetings", "agree_s", "device_pieces", "host_pieces", "meetings", "ranks_of"]

Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]
#: Ends of one collective differ by less than this part of what it takes, or by less than so many seconds. On a host its scheduler wakes each rank
#: when it pleases: a part of the longest piece there.
AGREE_SHARE, _AGREE_DEVICE_S, _HOST_SHARE, _AGREE_HOST_S = 0.05, 1e-4, 0.25, 1e-3
#: Names that are matched by their ends, one by one.
_MOST_APART = 1000
_HOST = re.compile(r"(?:(?:gloo|mpi|ucc):|(?:oneccl_bindings_for_pytorch|torch_ccl)::cpu_work::)(?!_?(?:send|recv))")


class Meetings(NamedTuple):
    """Collectives whose pieces end together. Of each piece, sorted by collective, the one that ends first at its head (of several the last to come):
    `event`, `rank`, and `of`, the collective; of each collective: `first`, where its pieces begin, and in ticks when the last one came (`latest`),
    how long it took from then until the first end (`took`), and how far the ends are apart (`spread`).

    `matched` counts those of two pieces or more, and `unlike` how many of them time contradicts.
    """

    event: Ints
    rank: Ints
    of: Ints
    first: Ints
    latest: Ints
    took: Ints
    spread: Ints
    matched: int = 0
    unlike: int = 0


def agree_s(host: bool) -> float:
    """Seconds by which ends of one collective may differ whatever it takes."""
    return _AGREE_HOST_S if host else _AGREE_DEVICE_S


def ranks_of(t: Timeline) -> Ints:
    """The rank of each track, −1 where it is not known."""
    return np.array([-1 if track.rank is None else track.rank for track in t.tracks], dtype=np.int64)


def device_pieces(t: Timeline, events: Events) -> Flags:
    """Which events are communication of devices, shape (n,)."""
    on_device = np.array([bool(track.device) for track in t.tracks], dtype=np.bool_)
    chosen = is_kind(events, "communication")
    return chosen & on_device[events.track] if len(chosen) else chosen


def host_pieces(t: Timeline, events: Events) -> Flags:
    """Which events are collectives of a backend that runs on the host, from when they begin to when they are done, shape (n,)."""
    named = np.array([_HOST.match(text) is not None for text in t.strings], dtype=np.bool_)
    none = np.zeros(len(events.start), dtype=np.bool_)
    if not named.any() or not len(none):
        return none
    on_host = np.array([not track.device for track in t.tracks], dtype=np.bool_)
    found: Flags = named[events.name] & on_host[events.track] & is_kind(events, "annotation", "operator", "communication", "other")
    return found


def meetings(t: Timeline, events: Events, chosen: Flags, *, host: bool = False) -> Meetings:
    """Collectives of the ranks of a timeline.

    Args:
        t: tracks of several ranks on one clock.
        events: its columns.
        chosen: pieces of communication, shape (n,).
        host: whether they are the host's.
    """
    ranks = ranks_of(t)
    at = np.flatnonzero(chosen)
    at = at[ranks[events.track[at]] >= 0] if len(at) else at
    rank, name = ranks[events.track[at]], np.unique(events.name[at], return_inverse=True)[1]
    order = np.lexsort((events.start[at], rank, name))
    at, rank, name = at[order], rank[order], name[order]
    unequal = _unequal(name, rank)
    met = _checked(t, events, ranks, _matched(events, at, rank, name, unequal), host)
    # Where most of a name do not fit in order, one file may have begun with another one.
    apart = unequal | _unfit(met, at, name, unequal)
    if not (apart > unequal).any():
        return met
    other = _checked(t, events, ranks, _matched(events, at, rank, name, apart), host)
    return other if len(other.first) > len(met.first) else met


def _unequal(name: Ints, rank: Ints) -> Flags:
    """Names of which the ranks that have one have unequally many; `name` and, within it, `rank` sorted."""
    run = np.flatnonzero((np.diff(name, prepend=-1) != 0) | (np.diff(rank, prepend=-1) != 0))
    sizes, of = np.diff(np.append(run, len(name))), name[run]
    count = int(name.max(initial=-1)) + 1
    least, most = np.full(count, len(name) + 1), np.zeros(count, dtype=np.int64)
    np.minimum.at(least, of, sizes)
    np.maximum.at(most, of, sizes)
    unequal: Flags = least != most
    return unequal


def _unfit(met: Meetings, at: Ints, name: Ints, unequal: Flags) -> Flags:
    """Names of which fewer than half of the pieces are in collectives."""
    fit = np.bincount(name[np.isin(at, met.event)], minlength=len(unequal))
    unfit: Flags = 2 * fit < np.bincount(name, minlength=len(unequal))
    return unfit


def _checked(t: Timeline, events: Events, ranks: Ints, matched: tuple[Ints, Ints], host: bool) -> Meetings:
    """Of pieces that match those that time does not contradict."""
    group, at = matched
    start, end = events.start[at], events.end[at]
    # The first to end is the first of its group; of several the one that came last.
    order = np.lexsort((at, -start, end, group))
    group, at, start, end = group[order], at[order], start[order], end[order]
    first = np.flatnonzero(np.diff(group, prepend=-1))
    if not len(first):
        none = np.zeros(0, dtype=np.int64)
        return Meetings(none, none, none, none, none, none, none)
    sizes = np.diff(np.append(first, len(group)))
    latest, spread = np.maximum.reduceat(start, first), np.maximum.reduceat(end, first) - end[first]
    took = end[first] - latest
    most = _HOST_SHARE * np.maximum.reduceat(end - start, first) if host else AGREE_SHARE * took
    fits = (took > 0) & (spread <= np.maximum(most, agree_s(host) / t.tick_s)) & (sizes > 1)
    keep = np.repeat(fits, sizes)
    starts = np.cumsum(sizes[fits]) - sizes[fits]
    matching = int((sizes > 1).sum())
    return Meetings(
        at[keep], ranks[events.track[at[keep]]], np.repeat(np.arange(int(fits.sum())), sizes[fits]), starts, latest[fits], took[fits], spread[fits],
        matching, matching - int(fits.sum()),
    )  # fmt: skip


def _matched(events: Events, at: Ints, rank: Ints, name: Ints, apart: Flags) -> tuple[Ints, Ints]:
    """(group, piece): the i-th of a name on each rank, or, of names `apart`, those that end next to one another.

    Args:
        events: columns.
        at, rank, name: pieces in order of name, rank and start, shape (k,).
        apart: names that are not matched in order.
    """
    run = np.cumsum((np.diff(name, prepend=-1) != 0) | (np.diff(rank, prepend=-1) != 0)) - 1
    sizes = np.bincount(run)
    ordinal = np.arange(len(at)) - (np.cumsum(sizes) - sizes)[run]
    keep = ~apart[name]
    group = name * (len(at) + 1) + ordinal
    parts = [(group[keep], at[keep])]
    for odd in np.flatnonzero(apart)[:_MOST_APART].tolist():
        mine = slice(*np.searchsorted(name, [odd, odd + 1]))
        place, pieces = _by_ends(events, at[mine], rank[mine])
        parts.append((odd * (len(at) + 1) + place, pieces))
    return np.concatenate([part[0] for part in parts]), np.concatenate([part[1] for part in parts])


def _by_ends(events: Events, at: Ints, rank: Ints) -> tuple[Ints, Ints]:
    """(number of the collective, piece) of one name: each piece of the rank that has fewest with those of all others that end nearest to it, where of
    all its pieces it is also the nearest to them.
    """
    order = np.lexsort((events.end[at], rank))
    at, rank = at[order], rank[order]
    first = np.flatnonzero(np.diff(rank, prepend=-1))
    pieces = np.split(at, first[1:])
    few = min(pieces, key=len)
    both, chosen = np.ones(len(few), dtype=np.bool_), [few]
    for other in (one for one in pieces if one is not few):
        near = _nearest(events.end[other], events.end[few])
        both &= _nearest(events.end[few], events.end[other])[near] == np.arange(len(few))
        chosen.append(other[near])
    found = np.flatnonzero(both)
    return np.tile(found, len(chosen)), np.concatenate([one[found] for one in chosen])


def _nearest(known: Ints, asked: Ints) -> Ints:
    """Index of what is nearest to each, of sorted ticks."""
    after = np.minimum(np.searchsorted(known, asked), len(known) - 1)
    before = np.maximum(after - 1, 0)
    return np.where(asked - known[before] <= np.abs(known[after] - asked), before, after)
