"""Which rank is late: of the collectives that several ranks have in common, who came last, and how long the others waited.

A rank waits in a collective from when it comes until the last one has come. All of it are unions of such times, so that no rank waits longer than its
window. A rank came last if it came later than any other by more than the clocks can tell: than the ends of nine in ten of the collectives are apart,
which would be at one moment on one clock, and than the ends of this one. What is less is nobody's. Nothing is said where fewer than three collectives
end together, or fewer than half of those that match by name and order.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ridgeline.core import RankUse, Timeline

from .events import Events, events_of, is_kind
from .intervals import grouped_union
from .meetings import Meetings, device_pieces, host_pieces, meetings

__all__ = ["rank_uses"]

Ints = NDArray[np.int64]
_LEAST, _HALF = 3, 0.5
#: Part of the collectives whose ends are no further apart than what is told.
_MOST = 0.9


def rank_uses(t: Timeline) -> tuple[RankUse, ...]:
    """One row a rank that has collectives in common with another one, by number; empty where their clocks are not to be trusted."""
    if len({track.rank for track in t.tracks if track.rank is not None}) < 2 or not len(t):
        return ()
    events = events_of(t)
    chosen = device_pieces(t, events)
    host = not chosen.any()
    if host:
        chosen = host_pieces(t, events)
    met = meetings(t, events, chosen, host=host)
    count = len(met.first)
    if count < _LEAST or count < _HALF * met.matched:
        return ()
    return _rows(t, events, met)


class _Arrivals(NamedTuple):
    """Of each piece when it came and, `since`, when the first one came, in ticks; of each collective when the last but one came, which piece was the
    last, and what is told, `least` ticks; `clear` where the last one came later than the last but one by more.
    """

    start: Ints
    since: Ints
    second: Ints
    last: Ints
    least: Ints
    clear: NDArray[np.bool_]


def _arrivals(events: Events, met: Meetings) -> _Arrivals:
    start = events.start[met.event]
    order = np.lexsort((start, met.of))
    ends = np.append(met.first[1:], len(order)) - 1
    last, second = order[ends], start[order[ends - 1]]
    least = np.maximum(met.spread, int(np.ceil(np.quantile(met.spread, _MOST))))
    return _Arrivals(start, start[order[met.first]][met.of], second, last, least, met.latest - second > least)


def _rows(t: Timeline, events: Events, met: Meetings) -> tuple[RankUse, ...]:
    ranks, row = np.unique(met.rank, return_inverse=True)
    came = _arrivals(events, met)
    latest = met.latest[met.of]
    early = latest - came.start > came.least[met.of]
    waited = grouped_union(row[early], came.start[early], latest[early], len(ranks))
    # While only one is missing all others wait for it.
    late = row[came.last[came.clear]]
    awaited = grouped_union(late, came.second[came.clear], met.latest[came.clear], len(ranks))
    times = np.bincount(late, minlength=len(ranks))
    windows = _windows(t, events, met, ranks)
    told = int(came.least.min())
    found = []
    for at, rank in enumerate(ranks.tolist()):
        behind = int(np.median((came.start - came.since)[row == at]))
        found.append(
            RankUse(
                rank=rank,
                window_s=int(windows[at]) * t.tick_s,
                collectives=int((row == at).sum()),
                waited_s=int(waited[at]) * t.tick_s,
                waited_share=int(waited[at]) / int(windows[at]),
                last=int(times[at]),
                awaited_s=int(awaited[at]) * t.tick_s,
                late_s=behind * t.tick_s if behind > told else None,
                told_s=told * t.tick_s,
                unlike=met.unlike,
            )
        )
    return tuple(found)


def _windows(t: Timeline, events: Events, met: Meetings, ranks: Ints) -> Ints:
    """First start to last end of what counts in a window, and of the collectives, of each rank."""
    counts = ~is_kind(events, "annotation", "profiler")
    counts[met.event] = True
    number = {rank: at for at, rank in enumerate(ranks.tolist())}
    place = np.array([-1 if track.rank is None else number.get(track.rank, -1) for track in t.tracks], dtype=np.int64)[events.track]
    counts &= place >= 0
    low, high = np.full(len(ranks), np.iinfo(np.int64).max), np.full(len(ranks), np.iinfo(np.int64).min)
    np.minimum.at(low, place[counts], events.start[counts])
    np.maximum.at(high, place[counts], events.end[counts])
    windows: Ints = high - low
    return windows
