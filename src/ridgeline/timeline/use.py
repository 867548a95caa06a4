"""How much of the time devices and lanes were busy, what of it ran alone and what side by side: unions in whole ticks, never sums.

Busy is the union of a device's work (`DEVICE_WORK`), idle is what is left of the device's own window, from its first work to its last: never below
zero, because a union cannot leave its span. Exposed communication is what no compute covers; exposed copy (with fills) what neither covers.
Events on a device that are no work (named ranges, queues that wait) are in no figure here; `left_out` counts them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ridgeline.core import DeviceUse, Excluded, LaneUse, Timeline

from .events import Events, devices_of, events_of, is_kind, is_work, window_of
from .grouping import summed
from .intervals import Ticks, grouped_union, merge, overlap_length, twice_covered, union_length
from .nesting import partly_overlapping

__all__ = ["device_uses", "lane_uses", "left_out", "window_of", "work_of_devices"]

Merged = tuple[Ticks, Ticks]


def device_uses(t: Timeline) -> tuple[DeviceUse, ...]:
    """The use of each device that did any work, in order of its first track."""
    events = events_of(t)
    origin = window_of(t)[0]
    return tuple(_device_use(name, _only(events, mine), origin, t.tick_s) for name, mine in work_of_devices(t, events))


def work_of_devices(t: Timeline, events: Events) -> list[tuple[str, Ticks]]:
    """(name, indices of its work in order of the file) of each device with work."""
    names, table = devices_of(t)
    if not names:
        return []
    work = np.flatnonzero(is_work(t, events))
    device = table[events.track[work]]
    found = [(name, work[device == index]) for index, name in enumerate(names)]
    return [(name, mine) for name, mine in found if len(mine)]


def _only(events: Events, chosen: Ticks) -> Events:
    return Events(*(column[chosen] for column in events))


def _class(events: Events, *kinds: str) -> Merged:
    mine = is_kind(events, *kinds)
    return merge(events.start[mine], events.end[mine])


def _length(merged: Merged) -> int:
    return int((merged[1] - merged[0]).sum())


def _device_use(name: str, events: Events, origin: int, tick_s: float) -> DeviceUse:
    first, last = int(events.start.min()), int(events.end.max())
    busy = union_length(events.start, events.end)
    compute, communication = _class(events, "compute"), _class(events, "communication")
    copies, fills, both = _class(events, "copy"), _class(events, "fill"), _class(events, "copy", "fill")
    covering = merge(np.concatenate((compute[0], communication[0])), np.concatenate((compute[1], communication[1])))
    idle = last - first - int(busy)
    return DeviceUse(
        name=name,
        events=len(events.start),
        sum_s=int((events.end - events.start).sum()) * tick_s,
        start_s=(first - origin) * tick_s,
        window_s=(last - first) * tick_s,
        busy_s=busy * tick_s,
        idle_s=idle * tick_s,
        idle_share=idle / (last - first) if last > first else 0.0,
        compute_s=_length(compute) * tick_s,
        communication_s=_length(communication) * tick_s,
        copy_s=_length(copies) * tick_s,
        fill_s=_length(fills) * tick_s,
        exposed_communication_s=(_length(communication) - overlap_length(communication, compute)) * tick_s,
        exposed_copy_s=(_length(both) - overlap_length(both, covering)) * tick_s,
        overlapped_s=_length(twice_covered(events.start, events.end)) * tick_s,
    )


def lane_uses(t: Timeline, up: Ticks | None = None) -> tuple[LaneUse, ...]:
    """The use of each track that has events, in order of the tracks.

    Args:
        t: the timeline.
        up: `nesting.parents(t)`, where the caller has them.
    """
    if not len(t):
        return ()
    events = events_of(t)
    count = len(t.tracks)
    number = np.bincount(events.track, minlength=count)
    total = summed(events.track, events.end - events.start, count)
    union = grouped_union(events.track, events.start, events.end, count)
    overlapped = np.bincount(events.track[partly_overlapping(t, up)], minlength=count)
    first, last = np.full(count, np.iinfo(np.int64).max), np.full(count, np.iinfo(np.int64).min)
    np.minimum.at(first, events.track, events.start)
    np.maximum.at(last, events.track, events.end)
    return tuple(
        LaneUse(
            name=track.name,
            device=track.device,
            role=track.role,
            events=int(number[index]),
            sum_s=int(total[index]) * t.tick_s,
            busy_s=int(union[index]) * t.tick_s,
            window_s=int(last[index] - first[index]) * t.tick_s,
            overlapped_events=int(overlapped[index]),
        )
        for index, track in enumerate(t.tracks)
        if number[index]
    )


def left_out(t: Timeline) -> tuple[Excluded, ...]:
    """What lies on devices and keeps none of them busy, by kind."""
    events = events_of(t)
    table = devices_of(t)[1]
    idle = (table[events.track] >= 0) & ~is_work(t, events) if len(t) else np.zeros(0, dtype=np.bool_)
    return _counted(t, events, idle, (("annotation", "iteration"), ("sync",)))


def _counted(t: Timeline, events: Events, which: NDArray[np.bool_], classes: Sequence[tuple[str, ...]]) -> tuple[Excluded, ...]:
    words = {"annotation": "named ranges on a device, which are no work", "sync": "waits in the queue of a device, which are no work"}
    found = []
    named = np.zeros(len(t), dtype=np.bool_)
    for kinds in classes:
        mine = which & is_kind(events, *kinds)
        named |= mine
        found.append((words[kinds[0]], mine))
    found.append(("events on a device that are not known to be work", which & ~named))
    return tuple(
        Excluded(reason=reason, events=int(mine.sum()), total_s=int((events.end - events.start)[mine].sum()) * t.tick_s)
        for reason, mine in found
        if mine.any()
    )
