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
from .nesting import own_pieces, own_ticks, parents, partly_overlapping
from .useful import work_of_events

__all__ = ["operator_uses"]


class _Groups(NamedTuple):
    """Events by name and kind: group of each event, shape (n,); name and kind of each group, shape (g,)."""

    of: Ticks
    name: Ticks
    kind: Ticks


def operator_uses(t: Timeline, *, most: int | None = None, up: Ticks | None = None) -> tuple[OperatorUse, ...]:
    """Uses by name and kind, the largest share first.

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
    total, own = summed(groups.of, duration, count), summed(groups.of, own_ticks(t, up), count)
    busy = _busy(t, events, up, groups, own)
    calls = np.bincount(groups.of, minlength=count)
    least, median, most_ticks = _spread(groups.of, duration, calls)
    device = _device_ticks(t, events, up, groups)
    flop, moved = _work(t, groups)
    order = np.lexsort((np.arange(count), -total, -busy))[:most]
    return tuple(
        OperatorUse(
            name=t.strings[groups.name[at]],
            kind=EVENT_KINDS[groups.kind[at]],
            calls=int(calls[at]),
            total_s=int(total[at]) * t.tick_s,
            own_s=int(own[at]) * t.tick_s,
            share=min(int(busy[at]) / (end - start), 1.0) if end > start else 0.0,
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


def _busy(t: Timeline, events: Events, up: Ticks, groups: _Groups, own: Ticks) -> Ticks:
    """Union of durations of groups on devices, of own times of groups on the host."""
    count = len(groups.name)
    on_device = event_devices(t) >= 0
    busy = grouped_union(groups.of[on_device], events.start[on_device], events.end[on_device], count)
    # On one track own times lie apart, as long as nothing on it overlaps in part; only the others need their pieces.
    host = np.flatnonzero(~on_device)
    first = np.full(count, len(t.tracks), dtype=np.int64)
    last = np.full(count, -1, dtype=np.int64)
    np.minimum.at(first, groups.of[host], events.track[host])
    np.maximum.at(last, groups.of[host], events.track[host])
    torn = np.zeros(len(t.tracks), dtype=np.bool_)
    torn[events.track[partly_overlapping(t, up)]] = True
    spread = last > first
    spread[groups.of[host[torn[events.track[host]]]]] = True
    spread[groups.of[on_device]] |= last[groups.of[on_device]] >= 0
    one = (last >= 0) & ~spread
    busy[one] = np.maximum(busy[one], own[one])
    if spread.any():
        pieces = own_pieces(events, up, _with_children(up, host, spread[groups.of[host]]))
        beside = np.flatnonzero(on_device & spread[groups.of])
        of = groups.of[np.concatenate((pieces.event, beside))]
        union = grouped_union(of, np.concatenate((pieces.start, events.start[beside])), np.concatenate((pieces.end, events.end[beside])), count)
        busy[spread] = union[spread]
    return busy


def _with_children(up: Ticks, host: Ticks, chosen: NDArray[np.bool_]) -> Ticks:
    """The chosen events of `host` and what lies directly in them, ascending."""
    marked = np.zeros(len(up), dtype=np.bool_)
    marked[host[chosen]] = True
    inner = up[host]
    return host[chosen | ((inner >= 0) & marked[inner])]


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
        keys.append(distinct(groups.of[call] * width + number))
        inner = up[call] >= 0
        call, number = up[call[inner]], number[inner]
    pairs = distinct(np.concatenate(keys))
    of, work = pairs // width, used[used_order][pairs % width] if len(used) else pairs
    out = np.full(len(groups.name), -1, dtype=np.int64)
    union = grouped_union(of, events.start[work], events.end[work], len(out))
    launching = distinct(of)
    out[launching] = union[launching]
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
