"""All events of one name and kind together: calls, time, own time, the device work they started, and what they compute where shapes tell.

Own time is duration less what lies in an event on the same track. The share is a union in whole ticks over all tracks ÷ the window, so that threads
which run at once count once: of the own times on the host, of the durations on a device. Device time is the union of all work that the calls of the
name, and all that lies in them, launched.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ridgeline.core import EVENT_KINDS, OperatorUse, Timeline

from .events import Events, event_devices, events_of, is_work, links_of, window_of
from .grouping import distinct, numbered, summed
from .intervals import Ticks, grouped_union
from .nesting import own_pieces, parents
from .useful import work_of_events

__all__ = ["operator_uses"]


#: Events whose pieces are held at a time.
_BATCH = 1 << 19
#: Kinds that are no work; they are told after all that is.
_NAMES_ONLY = tuple(EVENT_KINDS.index(kind) for kind in ("annotation", "iteration", "profiler"))


class _Groups(NamedTuple):
    """Events by name and kind: group of each event, shape (n,); name and kind of each group, shape (g,)."""

    of: Ticks
    name: Ticks
    kind: Ticks


def operator_uses(t: Timeline, *, most: int | None = None, up: Ticks | None = None) -> tuple[OperatorUse, ...]:
    """Uses by name and kind, the largest share first; named ranges and the recorder's own work after all others.

    Args:
        t: the timeline.
        most: how many are told; all if not given.
        up: `nesting.parents(t)`, where the caller has them.
    """
    if not len(t):
        return ()
    events = events_of(t)
    up = parents(t) if up is None else up
    groups = _grouped(t, events)
    count = len(groups.name)
    duration = events.end - events.start
    start, end = window_of(t)
    total = summed(groups.of, duration, count)
    own, busy = _busy(events, up, groups, event_devices(t) >= 0, (start, end))
    calls = np.bincount(groups.of, minlength=count)
    least, median, most_ticks = _spread(groups.of, duration, calls)
    device = _device_ticks(t, events, up, groups)
    flop, moved = _work(t, groups)
    order = np.lexsort((np.arange(count), -total, -busy, np.isin(groups.kind, _NAMES_ONLY)))[:most]
    return tuple(
        OperatorUse(
            name=t.strings[groups.name[at]],
            kind=EVENT_KINDS[groups.kind[at]],
            calls=int(calls[at]),
            total_s=int(total[at]) * t.tick_s,
            own_s=int(own[at]) * t.tick_s,
            share=int(busy[at]) / (end - start) if end > start else 0.0,
            device_s=int(device[at]) * t.tick_s if device[at] >= 0 else None,
            median_s=float(median[at]) * t.tick_s,
            least_s=int(least[at]) * t.tick_s,
            most_s=int(most_ticks[at]) * t.tick_s,
            flop=float(flop[at]) if np.isfinite(flop[at]) else None,
            moved_bytes=float(moved[at]) if np.isfinite(moved[at]) else None,
        )
        for at in order.tolist()
    )


def _grouped(t: Timeline, events: Events) -> _Groups:
    kinds = len(EVENT_KINDS)
    used, of = numbered(events.name.astype(np.int64) * kinds + events.kind)
    return _Groups(of, used // kinds, used % kinds)


def _spread(of: Ticks, duration: Ticks, calls: NDArray[np.int64]) -> tuple[Ticks, NDArray[np.float64], Ticks]:
    """(least, median, most) of each group."""
    width = int(duration.max()) + 1
    fits = float(len(calls)) * width < 2.0**62  # then one number holds group and duration, which sorts several times faster
    ordered = np.sort(of * width + duration) % width if fits else duration[np.lexsort((duration, of))]
    first = np.cumsum(calls) - calls
    low, high = ordered[first + (calls - 1) // 2], ordered[first + calls // 2]
    return ordered[first], low + (high - low) / 2, ordered[first + calls - 1]


def _busy(events: Events, up: Ticks, groups: _Groups, on_device: NDArray[np.bool_], window: tuple[int, int]) -> tuple[Ticks, Ticks]:
    """(own times added up, union: of durations on devices, of own times on the host) of each group, some groups at a time to save memory.

    The union is of what lies in the window, since it becomes a share of that: named ranges, such as loading a model, may lie outside of it.
    """
    count = len(groups.name)
    own, busy = np.zeros(count, dtype=np.int64), np.zeros(count, dtype=np.int64)
    batch = np.cumsum(np.bincount(groups.of, minlength=count)) // _BATCH
    batch_of = batch[groups.of]
    for number in distinct(batch).tolist():
        mine = batch_of == number
        # What lies directly in them takes time from them.
        chosen = np.flatnonzero(mine | (mine[up] & (up >= 0)))
        pieces = own_pieces(events, up, chosen)
        kept = mine[pieces.event]
        event, start, end = (column[kept] for column in pieces)
        own += summed(groups.of[event], end - start, count)
        whole = np.flatnonzero(mine & on_device)
        if len(whole):
            host = ~on_device[event]
            event, start, end = np.concatenate((event[host], whole)), np.concatenate((start[host], events.start[whole])), end[host]
            end = np.concatenate((end, events.end[whole]))
        busy += grouped_union(groups.of[event], np.clip(start, *window), np.clip(end, *window), count)
    return own, busy


def _device_ticks(t: Timeline, events: Events, up: Ticks, groups: _Groups) -> Ticks:
    """Union of the work that the events of each group, and what lies in them, launched; −1 where none is linked."""
    call, piece = links_of(t, "launch")
    working = is_work(t, events)[piece]
    call, piece = call[working], piece[working]
    # Numbered in order of time, so that sorting (group, number) puts intervals in order as well.
    used, number = numbered(piece)
    used_order = np.argsort(events.start[used], kind="stable")
    place = np.empty(len(used), dtype=np.int64)
    place[used_order] = np.arange(len(used))
    number, width = place[number], max(len(used), 1)
    keys = [np.zeros(0, dtype=np.int64)]
    while len(call):
        keys.append(groups.of[call] * width + number)
        inner = up[call] >= 0
        call, number = up[call[inner]], number[inner]
    pairs = distinct(np.concatenate(keys))
    del keys
    out = np.full(len(groups.name), -1, dtype=np.int64)
    # Whole groups at a time: the pairs are many, and what a union needs beside them is several times as much.
    ends = np.flatnonzero(np.concatenate((pairs[1:] // width != pairs[:-1] // width, [True] * bool(len(pairs))))) + 1
    begin = 0
    for end in ends[np.concatenate((ends[1:] // _BATCH != ends[:-1] // _BATCH, [True] * bool(len(ends)))).astype(np.bool_)].tolist():
        of, work = pairs[begin:end] // width, used[used_order][pairs[begin:end] % width]
        launching = distinct(of)
        out[launching] = grouped_union(of, events.start[work], events.end[work], len(out))[launching]
        begin = end
    return out


def _work(t: Timeline, groups: _Groups) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """(FLOP, compulsory bytes) of the groups of which the shapes of every call tell them; NaN for the others."""
    flop, moved = np.full(len(groups.name), np.nan), np.full(len(groups.name), np.nan)
    known = work_of_events(t)
    for values, out in ((known.flop, flop), (known.moved_bytes, moved)):
        told = np.isfinite(values)
        part = np.bincount(groups.of, weights=np.where(told, values, 0.0), minlength=len(out))
        whole = np.bincount(groups.of, weights=told, minlength=len(out)) == np.bincount(groups.of, minlength=len(out))
        out[whole] = part[whole]
    return flop, moved
