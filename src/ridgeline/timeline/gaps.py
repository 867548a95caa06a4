"""The times in which a device did nothing between two pieces of work: what ended before, what the next piece waited for, what the host did meanwhile.

*Waited for*: the last of what the next piece needed. Its launch: ready when the call began, plus the least time that any launch of this device
took; if that is within the gap, the piece waited for the `launch` (the call had begun before the gap) or for the `host` (it had not).
Else the piece before it in its queue, or one that a `wait` or `signal` orders before it, whichever ended last: `copy` if that was a copy or a
fill, `other stream` if it was on another track, and `nothing known` if the queue simply went on.

*Because*: what the thread that launched the next piece did in the gap (without a link: the thread that launched most on the device, or the only
thread there is). At each moment the innermost event counts: a call that waits is `synchronisation`; one that launches a copy is `copy`; operators and
calls of the device's library are `launch-bound` if they launch work or lie in an operator that does, and `operator` if not; all within loading data
is `data loading`, all within the recorder's own work `profiler`. The class with most time wins, and `nothing known` is one of them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ridgeline.core import DEVICE_WORK, EVENT_KINDS, Gap, Timeline

from .events import Events, devices_of, events_of, is_kind, is_work, links_of, window_of
from .grouping import distinct, numbered, summed
from .intervals import Ticks, intersect, merge
from .nesting import ancestors, inside_of, own_pieces, parents
from .use import work_of_devices

__all__ = ["AHEAD", "BECAUSE", "Filled", "IdleReasons", "filled", "gaps", "idle_because", "idle_reasons"]

#: What can fill a gap; of classes with the same time the first one counts.
BECAUSE = ("synchronisation", "data loading", "launch-bound", "copy", "python", "operator", "profiler", "nothing known")
_UNKNOWN = BECAUSE.index("nothing known")
_DEVICE = tuple(EVENT_KINDS.index(kind) for kind in DEVICE_WORK)


class _Idle(NamedTuple):
    """All gaps, shape (g,) each: device, start and end in ticks, the piece before and after, the launch of the next one or −1, and its thread."""

    device: Ticks
    start: Ticks
    end: Ticks
    before: Ticks
    after: Ticks
    launch: Ticks
    thread: Ticks


class Filled(NamedTuple):
    """All gaps of a timeline, the devices that they are of, and what fills them: what every question about gaps needs."""

    events: Events
    idle: _Idle
    names: tuple[str, ...]
    fill: _Fill


def filled(t: Timeline, up: Ticks | None = None) -> Filled:
    """All gaps and what fills them.

    Args:
        t: the timeline.
        up: `nesting.parents(t)`, where the caller has them.
    """
    events = events_of(t)
    idle, names = _idle(t, events)
    return Filled(events, idle, names, _fill(t, events, idle, up))


def gaps(t: Timeline, *, most: int = 200, up: Ticks | None = None, found: Filled | None = None) -> tuple[tuple[Gap, ...], int]:
    """(the longest gaps, longest first, how many there are in all).

    Args:
        t: the timeline.
        most: how many are told.
        up: `nesting.parents(t)`, where the caller has them.
        found: `filled(t)`, likewise.
    """
    events, idle, names, fill = filled(t, up) if found is None else found
    count = len(idle.start)
    if not count:
        return (), 0
    order = np.lexsort((idle.start, idle.start - idle.end))[: max(most, 0)]
    chosen = _Idle(*(column[order] for column in idle))
    waits = _Waits(t, events)
    origin = window_of(t)[0]
    because = fill.classes.argmax(axis=1)
    because, activity, ticks = (column[order] for column in (because, *fill.largest(because)))
    return tuple(
        Gap(
            device=names[chosen.device[index]],
            start_s=(int(chosen.start[index]) - origin) * t.tick_s,
            duration_s=int(chosen.end[index] - chosen.start[index]) * t.tick_s,
            after=t.strings[events.name[chosen.before[index]]],
            before=t.strings[events.name[chosen.after[index]]],
            waiting_for=waits.of(chosen, index),
            because=BECAUSE[because[index]],
            activity=t.strings[activity[index]] if activity[index] >= 0 else "",
            covered_share=int(ticks[index]) / int(chosen.end[index] - chosen.start[index]),
        )
        for index in range(len(order))
    ), count


def idle_because(t: Timeline, up: Ticks | None = None) -> dict[str, dict[str, float]]:
    """Device → what fills its gaps (`BECAUSE`) → seconds, over all its gaps, moment by moment; they add up to its idle time.

    Args:
        t: the timeline.
        up: `nesting.parents(t)`, where the caller has them.
    """
    return {name: reasons.because for name, reasons in idle_reasons(t, up).items()}


class IdleReasons(NamedTuple):
    """Idle seconds of a device by what fills them, the same of gaps that began while the host waited, and what of these goes if it does not wait."""

    because: dict[str, float]
    drained: dict[str, float]
    ahead_s: float


#: What a host that does not wait for results does beside the work of the device.
AHEAD = ("synchronisation", "launch-bound", "python", "operator")
_AHEAD = [BECAUSE.index(each) for each in AHEAD]


def idle_reasons(t: Timeline, up: Ticks | None = None, found: Filled | None = None) -> dict[str, IdleReasons]:
    """Device → what fills its gaps, over all of them; gaps that began while the thread that feeds the device waited are of a queue that was drained.

    A thread that does not wait is ahead by as much as it waited: of each wait and the gaps that began in it the shorter one goes, at the most.

    Args:
        t: the timeline.
        up: `nesting.parents(t)`, where the caller has them.
        found: `filled(t)`, likewise.
    """
    events, idle, names, fill = filled(t, up) if found is None else found
    if not len(idle.start):
        return {}
    wait, waited = _begun_in(t, events, idle)
    reasons: dict[str, IdleReasons] = {}
    for device in distinct(idle.device).tolist():
        mine = idle.device == device
        drained = np.flatnonzero(mine & (wait >= 0))
        each, place = numbered(wait[drained])
        first = np.zeros(len(each), dtype=np.int64)
        first[place] = waited[drained]
        ahead = int(np.minimum(first, summed(place, fill.classes[drained][:, _AHEAD].sum(axis=1), len(each))).sum())
        parts = [_by_class(t, fill.classes[chosen].sum(axis=0)) for chosen in (mine, drained)]
        reasons[names[device]] = IdleReasons(parts[0], parts[1], ahead * t.tick_s)
    return reasons


def _by_class(t: Timeline, ticks: Ticks) -> dict[str, float]:
    return {BECAUSE[at]: int(ticks[at]) * t.tick_s for at in np.argsort(-ticks, kind="stable").tolist() if ticks[at]}


def _begun_in(t: Timeline, events: Events, idle: _Idle) -> tuple[Ticks, Ticks]:
    """(which wait of its thread each gap began in, −1 for none, how many ticks that took), shape (g,) each; of overlapping waits their union."""
    which, took = np.full(len(idle.start), -1, dtype=np.int64), np.zeros(len(idle.start), dtype=np.int64)
    waiting, count = np.flatnonzero(is_kind(events, "wait")), 0
    for thread in distinct(idle.thread[idle.thread >= 0]).tolist():
        gap, mine = np.flatnonzero(idle.thread == thread), waiting[events.track[waiting] == thread]
        start, end = merge(events.start[mine], events.end[mine])
        if not len(start) or t.tracks[thread].clock != _clock_of(t, events, idle, gap):
            continue
        at = np.searchsorted(start, idle.start[gap], "right") - 1
        inside = (at >= 0) & (end[at] >= idle.start[gap])
        which[gap[inside]], took[gap[inside]] = at[inside] + count, (end - start)[at[inside]]
        count += len(start)
    return which, took


def _idle(t: Timeline, events: Events) -> tuple[_Idle, tuple[str, ...]]:
    names = devices_of(t)[0]
    launch = _launch_of(t, len(t))
    parts = []
    for name, work in work_of_devices(t, events):
        start, end, before, after = _between(events, work)
        thread = np.where(launch[after] >= 0, events.track[launch[after]], _usual_thread(t, events, launch[work]))
        parts.append(_Idle(np.full(len(start), names.index(name)), start, end, before, after, launch[after], thread))
    if not parts:
        return _Idle(*(np.zeros(0, dtype=np.int64) for _ in range(7))), names
    return _Idle(*(np.concatenate(columns) for columns in zip(*parts, strict=True))), names


def _launch_of(t: Timeline, count: int) -> Ticks:
    """The call that launched each event, −1 where none is known; the first in the file of several."""
    source, target = links_of(t, "launch")
    out = np.full(count, -1, dtype=np.int64)
    out[target[::-1]] = source[::-1]
    return out


def _between(events: Events, work: Ticks) -> tuple[Ticks, Ticks, Ticks, Ticks]:
    """(start, end) of the gaps of one device, the piece that ended last before each, and the first one after it."""
    order = work[np.argsort(events.start[work], kind="stable")]
    start, end = events.start[order], events.end[order]
    reach = np.maximum.accumulate(end)
    at = np.flatnonzero(start[1:] > reach[:-1])
    # The last one to end: where the running maximum rose to what it is at the gap.
    rose = np.concatenate(([True], end[1:] > reach[:-1]))
    holder = np.maximum.accumulate(np.where(rose, np.arange(len(order)), 0))
    return reach[at], start[at + 1], order[holder[at]], order[at + 1]


def _usual_thread(t: Timeline, events: Events, launches: Ticks) -> int:
    known = launches[launches >= 0]
    if len(known):
        return int(np.bincount(events.track[known]).argmax())
    used = np.bincount(events.track, minlength=len(t.tracks))
    threads = [index for index, track in enumerate(t.tracks) if not track.device and used[index]]
    return threads[0] if len(threads) == 1 else -1


class _Waits:
    """What a piece of work could have waited for."""

    def __init__(self, t: Timeline, events: Events) -> None:
        self._t, self._events = t, events
        source, target = links_of(t, "wait", "signal")
        order = np.argsort(target, kind="stable")
        self._source, self._target = source[order], target[order]
        call, piece = links_of(t, "launch")
        self._latency = self._least_latency(call, piece)
        work = np.flatnonzero(is_work(t, events) | is_kind(events, "sync"))
        self._queue = work[np.lexsort((work, events.start[work], events.track[work]))]
        self._place = np.full(len(t), -1, dtype=np.int64)
        self._place[self._queue] = np.arange(len(self._queue))

    def _least_latency(self, call: Ticks, piece: Ticks) -> dict[int, int]:
        """Device → the least time from the beginning of a call to that of its work: nothing on it ever began sooner."""
        device = devices_of(self._t)[1][self._events.track[piece]]
        took = self._events.start[piece] - self._events.start[call]
        return {int(at): max(int(took[device == at].min()), 0) for at in distinct(device)}

    def of(self, idle: _Idle, index: int) -> str:
        """In the words of `Gap.waiting_for`."""
        begun, call = int(idle.start[index]), int(idle.launch[index])
        if call >= 0 and int(self._events.start[call]) + self._latency[int(idle.device[index])] > begun:
            return "launch" if int(self._events.start[call]) <= begun else "host"
        return self._needed(int(idle.after[index]))

    def _needed(self, piece: int) -> str:
        """What ended last of what had to end before a piece."""
        needs = self._ordered_before(piece)
        place = int(self._place[piece])
        if place > 0 and self._events.track[self._queue[place - 1]] == self._events.track[piece]:
            before = int(self._queue[place - 1])
            # A queue that waits does so for something else: that is what the piece waited for, too.
            needs += [before, *(self._ordered_before(before) if self._events.kind[before] == EVENT_KINDS.index("sync") else [])]
        needs = [each for each in needs if self._events.kind[each] in _DEVICE]
        if not needs:
            return "nothing known"
        last = max(needs, key=lambda each: (int(self._events.end[each]), -each))
        if self._events.kind[last] in (EVENT_KINDS.index("copy"), EVENT_KINDS.index("fill")):
            return "copy"
        return "other stream" if self._events.track[last] != self._events.track[piece] else "nothing known"

    def _ordered_before(self, piece: int) -> list[int]:
        low, high = np.searchsorted(self._target, [piece, piece + 1])
        found: list[int] = self._source[low:high].tolist()
        return found


class _Fill(NamedTuple):
    """Ticks of each gap by class, shape (g, classes), and by (gap, class, name) in the order of `key`, shape (p,)."""

    classes: NDArray[np.int64]
    gap: Ticks
    kind: Ticks
    name: Ticks
    ticks: Ticks

    def largest(self, kind: Ticks) -> tuple[Ticks, Ticks]:
        """(name, ticks) of what fills most of each gap within the class given for it, the first name of several; (−1, 0) for nothing. Shape (g,)."""
        width = len(BECAUSE)
        order = np.lexsort((-self.ticks, self.gap * width + self.kind))
        keys, first = np.unique((self.gap * width + self.kind)[order], return_index=True)
        wanted = np.arange(len(kind)) * width + kind
        if not len(keys):
            return np.full(len(kind), -1), np.zeros(len(kind), dtype=np.int64)
        place = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        there, best = keys[place] == wanted, order[first[place]]
        return np.where(there, self.name[best], -1), np.where(there, self.ticks[best], 0)


def _fill(t: Timeline, events: Events, idle: _Idle, up: Ticks | None) -> _Fill:
    """What the threads of the gaps did in them: the innermost event at each moment."""
    up = parents(t) if up is None else up
    launching = _launching(t, events, up)
    found = [_fill_of_thread(t, events, idle, up, thread, launching) for thread in distinct(idle.thread[idle.thread >= 0]).tolist()]
    gap, kind, name, ticks = (np.concatenate([part[at] for part in found]) if found else np.zeros(0, dtype=np.int64) for at in range(4))
    width = len(BECAUSE)
    classes = summed(gap * width + kind, ticks, len(idle.start) * width).reshape(-1, width)
    classes[:, _UNKNOWN] += idle.end - idle.start - classes.sum(axis=1)
    keys = (gap * width + kind) * max(len(t.strings), 1) + name
    unique, place = numbered(keys)
    names = max(len(t.strings), 1)
    return _Fill(classes, unique // (names * width), unique // names % width, unique % names, summed(place, ticks, len(unique)))


class _Launching(NamedTuple):
    """By event, shape (n,): whether it, or something in it, launches work; and whether it launches a copy itself."""

    work: NDArray[np.bool_]
    copy: NDArray[np.bool_]


def _launching(t: Timeline, events: Events, up: Ticks) -> _Launching:
    call, piece = links_of(t, "launch")
    working = is_work(t, events)[piece]
    copies = np.zeros(len(t), dtype=np.bool_)
    copies[call[working & is_kind(events, "copy", "fill")[piece]]] = True
    return _Launching(ancestors(up, call[working]), copies)


def _fill_of_thread(t: Timeline, events: Events, idle: _Idle, up: Ticks, thread: int, launching: _Launching) -> tuple[Ticks, Ticks, Ticks, Ticks]:
    """(gap, class, name, ticks) of what one thread did in the gaps that are its."""
    mine = np.flatnonzero(idle.thread == thread)
    # Gaps of two devices overlap: one device after the other, so that the gaps are in order and apart.
    found = [_fill_of_device(t, events, idle, up, thread, launching, mine[idle.device[mine] == device]) for device in distinct(idle.device[mine])]
    gap, kind, name, ticks = (np.concatenate([part[at] for part in found]) for at in range(4))
    return gap, kind, name, ticks


def _fill_of_device(
    t: Timeline, events: Events, idle: _Idle, up: Ticks, thread: int, launching: _Launching, mine: Ticks
) -> tuple[Ticks, Ticks, Ticks, Ticks]:
    mine = mine[np.argsort(idle.start[mine], kind="stable")]
    low, high = idle.start[mine], idle.end[mine]
    chosen = np.flatnonzero(events.track == thread)
    chosen = chosen[np.searchsorted(high, events.start[chosen], "right") < np.searchsorted(low, events.end[chosen], "left")]
    if t.tracks[thread].clock != _clock_of(t, events, idle, mine):
        chosen = chosen[:0]  # times of two clocks do not compare
    pieces = own_pieces(events, up, chosen)
    order = np.argsort(pieces.start, kind="stable")
    event, start, end = pieces.event[order], pieces.start[order], pieces.end[order]
    # Of events that overlap in part both have pieces of their own; the one that began first keeps what they share.
    start = np.maximum(start, np.concatenate((start[:1], np.maximum.accumulate(end)[:-1])))
    keep = end > start
    event, start, end = event[keep], start[keep], end[keep]
    piece_low, piece_high = intersect((start, end), (low, high))
    source = np.searchsorted(start, piece_low, "right") - 1
    gap = mine[np.searchsorted(low, piece_low, "right") - 1]
    event = event[source]
    return gap, _classes(events, up, launching, event), events.name[event].astype(np.int64), piece_high - piece_low


def _clock_of(t: Timeline, events: Events, idle: _Idle, mine: Ticks) -> str:
    return t.tracks[int(events.track[idle.after[mine[0]]])].clock


def _classes(events: Events, up: Ticks, launching: _Launching, event: Ticks) -> Ticks:
    """Class of what a thread does when each of the events is the innermost one."""
    unique, place = numbered(event)
    kind = np.full(len(unique), _UNKNOWN, dtype=np.int64)
    dispatching = launching.work[unique] | inside_of(up, launching.work & is_kind(events, "operator"), unique)
    own = {name: events.kind[unique] == EVENT_KINDS.index(name) for name in ("operator", "runtime", "python", "wait")}
    called = own["operator"] | own["runtime"]
    kind[called] = BECAUSE.index("operator")
    kind[called & dispatching] = BECAUSE.index("launch-bound")
    kind[own["python"]] = BECAUSE.index("python")
    kind[own["wait"]] = BECAUSE.index("synchronisation")
    kind[launching.copy[unique] & (own["runtime"] | own["wait"])] = BECAUSE.index("copy")
    kind[inside_of(up, is_kind(events, "input"), unique)] = BECAUSE.index("data loading")
    kind[inside_of(up, is_kind(events, "profiler"), unique)] = BECAUSE.index("profiler")
    return kind[place]
