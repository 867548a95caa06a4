"""Lanes and stages that take turns though nothing that the file shows orders them, and what running them side by side would save.

Stages are devices, the classes of work of a device, its queues, host threads (less the calls that wait), named ranges and loading data on the
host. Two of them are serial if they take turns at least three times each and share no more than a hundredth of the shorter one. A turn is ordered if
what begins it follows from what ended before it: by the order of one thread or queue, and from track to track by links that wait, signal
or launch, over any number of them. Threads that feed one queue are ordered by it: side by side they would fill it in another order. A pair all of
whose turns are ordered (but for a twentieth of them) is left out. Of each step a pair takes the sum, and side by side it would take the longer
one: sum → max saves the shorter one, at the most. Steps are the iterations where several are found, else the turns: a single iteration in which they
take turns is no step, since all of it never runs side by side.
"""

from __future__ import annotations

from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ridgeline.core import LINK_KINDS, SerialPair, Timeline

from .events import HOST_ACTIVITY, Events, events_of, is_kind, links_of, window_of
from .grouping import distinct
from .intervals import Ticks, covered_before, grouped_union, merge, overlap_length, subtract
from .iterations import Spans, iteration_spans
from .use import work_of_devices

__all__ = ["serial_pairs"]

_LEAST_TURNS, _SHARED, _ORDERED = 3, 0.01, 0.95
#: A pair that could save less of the window than this is not looked at.
_WORTH = 0.001
#: Devices, and stages of each other sort, longest first; turns whose order is looked for, spread over all; links in a row.
_DEVICES, _STAGES, _TURNS, _HOPS = 64, 12, 40, 16
#: Intervals of the shorter stage that tell first whether a pair overlaps a lot, and the part from which it does.
_SAMPLE, _CLEARLY = 2000, 0.05
_NEVER = np.iinfo(np.int64).max


class _Stage(NamedTuple):
    """A stage: its sort, name and device, the events that it is made of, its merged times, and its track or −1 if it has several."""

    sort: str
    name: str
    device: str
    events: Ticks
    busy: tuple[Ticks, Ticks]
    track: int

    @property
    def length(self) -> int:
        return int((self.busy[1] - self.busy[0]).sum())


class _Turns(NamedTuple):
    """Where one stage ends and the other begins, shape (k,) each: which of the two ends, start and end of its last interval, start of the next."""

    ending: NDArray[np.int64]
    start: Ticks
    end: Ticks
    following: Ticks


def serial_pairs(t: Timeline) -> tuple[SerialPair, ...]:
    """The pairs that take turns, what would save most first; of the 64 devices, 12 threads and 12 named ranges with most time."""
    if not len(t):
        return ()
    events = events_of(t)
    start, end = window_of(t)
    order, queues = _Order(t, events), _queues_fed(t, events)
    spans = iteration_spans(t)
    found = []
    for one, other in _pairs(_stages(t, events)):
        if min(one.length, other.length) < _WORTH * (end - start) or t.tracks[_track(events, one)].clock != t.tracks[_track(events, other)].clock:
            continue
        if _feed_one_queue(events, len(t.tracks), queues, one, other):
            continue
        pair = _serial(t, events, one, other, order, spans)
        if pair is not None:
            found.append(pair)
    return tuple(sorted(found, key=lambda pair: (-pair.saved_s, pair.first, pair.second)))


def _track(events: Events, stage: _Stage) -> int:
    return int(events.track[stage.events[0]])


def _queues_fed(t: Timeline, events: Events) -> Ticks:
    """Distinct (thread, queue) of the launches, as thread × tracks + queue, ascending."""
    call, piece = links_of(t, "launch")
    return distinct(events.track[call].astype(np.int64) * len(t.tracks) + events.track[piece])


def _feed_one_queue(events: Events, tracks: int, queues: Ticks, one: _Stage, other: _Stage) -> bool:
    """Whether two stages of the host are on threads that launch into the same queue."""
    if not len(queues) or one.device or other.device:
        return False
    threads, fed = queues // tracks, queues % tracks
    sides = [fed[np.isin(threads, distinct(events.track[stage.events]))] for stage in (one, other)]
    return bool(np.isin(sides[0], sides[1]).any())


def _serial(t: Timeline, events: Events, one: _Stage, other: _Stage, order: _Order, spans: Spans | None) -> SerialPair | None:
    shared = _shared(one, other)
    if shared is None:
        return None
    turns = _turns(one, other)
    if len(turns.ending) < 2 * _LEAST_TURNS - 1:
        return None
    ordered = order.share((one, other), turns)
    if ordered >= _ORDERED:
        return None
    lengths, shared, steps = _in_steps(one, other, shared, spans, (len(turns.ending) + 1) // 2)
    return SerialPair(
        first=one.name,
        second=other.name,
        first_s=lengths[0] * t.tick_s / steps,
        second_s=lengths[1] * t.tick_s / steps,
        overlapped_s=shared * t.tick_s / steps,
        saved_s=(min(lengths) - shared) * t.tick_s / steps,
        ordered=ordered,
        steps=steps,
    )


def _shared(one: _Stage, other: _Stage) -> int | None:
    """Ticks that two stages share; `None` where that is more than a hundredth of the shorter one."""
    short, long = sorted((one, other), key=lambda stage: stage.length)
    step = len(short.busy[0]) // _SAMPLE + 1
    starts, ends = short.busy[0][::step], short.busy[1][::step]
    sample = covered_before(long.busy, ends) - covered_before(long.busy, starts)
    if sample.sum() > _CLEARLY * (ends - starts).sum():
        return None
    shared = overlap_length(one.busy, other.busy)
    return shared if shared <= _SHARED * short.length else None


def _in_steps(one: _Stage, other: _Stage, shared: int, spans: Spans | None, turns: int) -> tuple[list[int], int, int]:
    """(lengths of both, what they share, steps): within the iterations where both run in them, else of all that was recorded."""
    lengths = [one.length, other.length]
    if spans is None or len(spans.start) < 2:
        return lengths, shared, turns
    inside = merge(spans.start, spans.end)
    within = [overlap_length(stage.busy, inside) for stage in (one, other)]
    if min(within) < (1 - _SHARED) * min(lengths):
        return lengths, shared, turns
    return within, min(shared, *within), len(spans.start)


def _turns(one: _Stage, other: _Stage) -> _Turns:
    starts = np.concatenate((one.busy[0], other.busy[0]))
    ends = np.concatenate((one.busy[1], other.busy[1]))
    side = np.repeat([0, 1], [len(one.busy[0]), len(other.busy[0])])
    order = np.lexsort((side, starts))
    side, starts, ends = side[order], starts[order], ends[order]
    at = np.flatnonzero(side[1:] != side[:-1])
    return _Turns(side[at], starts[at], ends[at], starts[at + 1])


def _stages(t: Timeline, events: Events) -> list[_Stage]:
    """All stages, in the order in which they are told."""
    work = work_of_devices(t, events)
    found = [_stage("device", name, name, mine, events) for name, mine in work]
    longest = sorted(range(len(found)), key=lambda at: -found[at].length)[:_DEVICES]
    found = [found[at] for at in sorted(longest)]
    kinds = {of[0]: is_kind(events, *of) for of in (("compute",), ("communication",), ("copy", "fill"))}
    for device in found[:]:
        name, mine = device.name, device.events
        parts = [(kind, mine[of[mine]]) for kind, of in kinds.items()]
        found += [_stage("class", f"{name}: {kind}", name, part, events) for kind, part in parts if 0 < len(part) < len(mine)]
        lengths = grouped_union(events.track[mine], events.start[mine], events.end[mine], len(t.tracks))
        found += [_stage("queue", t.tracks[at].name, name, part, events) for at, part in _by(events.track, mine, lengths) if len(part) < len(mine)]
    return [*found, *_threads(t, events), *_named(t, events)]


def _stage(sort: str, name: str, device: str, chosen: Ticks, events: Events, busy: tuple[Ticks, Ticks] | None = None) -> _Stage:
    tracks = events.track[chosen]
    one = int(tracks[0]) if len(tracks) and bool((tracks == tracks[0]).all()) else -1
    return _Stage(sort, name, device, chosen, merge(events.start[chosen], events.end[chosen]) if busy is None else busy, one)


def _longest(stages: list[_Stage]) -> list[_Stage]:
    return sorted(stages, key=lambda stage: -stage.length)[:_STAGES]


def _by(column: NDArray[np.int64], chosen: Ticks, lengths: Ticks) -> list[tuple[int, Ticks]]:
    """(value, its members of `chosen`) of the values of a column that have the greatest of the lengths given for each value, longest first."""
    order = chosen[np.argsort(column[chosen], kind="stable")]
    ordered = column[order]
    values = distinct(ordered)
    values = values[np.argsort(-lengths[values], kind="stable")][:_STAGES].tolist()
    return [(value, order[slice(*np.searchsorted(ordered, (value, value + 1)))]) for value in values]


def _threads(t: Timeline, events: Events) -> list[_Stage]:
    on_host = np.array([not track.device for track in t.tracks])[events.track]
    waiting = is_kind(events, "wait")
    called = np.flatnonzero(on_host & (waiting | is_kind(events, *HOST_ACTIVITY)))
    waits = called[waiting[called]]
    count = len(t.tracks)
    whole, waited = (grouped_union(events.track[mine], events.start[mine], events.end[mine], count) for mine in (called, waits))
    found = []
    for track, mine in _by(events.track, called, whole - waited):
        waits, active = mine[waiting[mine]], mine[~waiting[mine]]
        if len(active):
            busy = subtract(merge(events.start[active], events.end[active]), merge(events.start[waits], events.end[waits]))
            found.append(_stage("thread", t.tracks[track].name, "", active, events, busy))
    return found


def _named(t: Timeline, events: Events) -> list[_Stage]:
    """Named ranges that come again, by their names, and loading data."""
    on_host = np.array([not track.device for track in t.tracks])[events.track]
    ranges = np.flatnonzero(on_host & is_kind(events, "annotation"))
    often = np.bincount(events.name[ranges], minlength=len(t.strings)) >= _LEAST_TURNS
    ranges = ranges[often[events.name[ranges]]]
    lengths = grouped_union(events.name[ranges], events.start[ranges], events.end[ranges], len(t.strings))
    found = [_stage("range", t.strings[name], "", mine, events) for name, mine in _by(events.name, ranges, lengths)]
    loading = np.flatnonzero(on_host & is_kind(events, "input"))
    return _longest([*found, *([_stage("range", "data loading", "", loading, events)] if len(loading) else [])])


def _pairs(stages: list[_Stage]) -> list[tuple[_Stage, _Stage]]:
    """Those that could run side by side: classes and queues of one device with each other, and devices, threads and ranges."""
    found: list[tuple[_Stage, _Stage]] = []
    numbers: dict[tuple[bytes, bytes], int] = {}
    times = {id(stage): numbers.setdefault((stage.busy[0].tobytes(), stage.busy[1].tobytes()), len(numbers)) for stage in stages}
    told = set[frozenset[int]]()
    for one, other in combinations(stages, 2):
        inner = {"class", "queue"} & {one.sort, other.sort}
        if inner and (one.sort != other.sort or one.device != other.device):
            continue
        if one.track >= 0 and one.track == other.track:
            continue  # one thread or queue does one thing after the other
        # Pairs that are busy at the same times are told once: a class of work may have a queue of its own.
        both = frozenset((times[id(one)], times[id(other)]))
        if both not in told:
            told.add(both)
            found.append((one, other))
    return found


class _Order:
    """What the file says of the order between tracks."""

    def __init__(self, t: Timeline, events: Events) -> None:
        self._events = events
        self._in_order = np.array([track.role != "ranges" for track in t.tracks], dtype=np.bool_)
        parts = [(kind, *links_of(t, kind)) for kind in LINK_KINDS if kind != "flow"]
        source = np.concatenate([part[1] for part in parts])
        target = np.concatenate([part[2] for part in parts])
        waits = np.repeat([part[0] == "wait" for part in parts], [len(part[1]) for part in parts])
        order = np.argsort(events.start[source], kind="stable")
        source, target, waits = source[order], target[order], waits[order]
        self._from, self._to = events.track[source], events.track[target]
        self._start = events.start[source]
        # What waits goes on at its end; what was launched or signalled begins after its cause.
        self._arrives = np.where(waits, events.end[target], events.start[target])

    def share(self, stages: tuple[_Stage, _Stage], turns: _Turns) -> float:
        """Part of the turns that is ordered, of as many as are looked at."""
        chosen = np.unique(np.linspace(0, len(turns.ending) - 1, _TURNS).astype(np.int64))
        ends = [self._by_end(stage) for stage in stages]
        begins = [stage.events[np.argsort(self._events.start[stage.events], kind="stable")] for stage in stages]
        ordered = 0
        for at in chosen.tolist():
            side = int(turns.ending[at])
            source = self._source(stages[side], ends[side], int(turns.start[at]), int(turns.end[at]))
            target = self._target(stages[1 - side], begins[1 - side], int(turns.following[at]))
            ordered += self._follows(source, target)
        return ordered / len(chosen)

    def _by_end(self, stage: _Stage) -> Ticks:
        return stage.events[np.lexsort((self._events.start[stage.events], self._events.end[stage.events]))]

    def _source(self, stage: _Stage, by_end: Ticks, start: int, end: int) -> tuple[int, int]:
        """(track, tick from which all on it follows) of what ended a turn."""
        if stage.track >= 0:
            return stage.track, start
        last = by_end[max(int(np.searchsorted(self._events.end[by_end], end, "right")) - 1, 0)]
        return int(self._events.track[last]), int(self._events.start[last])

    def _target(self, stage: _Stage, by_start: Ticks, start: int) -> tuple[int, int]:
        """(track, tick) of what begins the next turn."""
        if stage.track >= 0:
            return stage.track, start
        at = min(int(np.searchsorted(self._events.start[by_start], start, "left")), len(by_start) - 1)
        return int(self._events.track[by_start[at]]), start

    def _follows(self, source: tuple[int, int], target: tuple[int, int]) -> bool:
        """Whether the target comes after the source by the order of tracks and links: the earliest tick of each track that follows, hop by hop."""
        reached = np.full(len(self._in_order), _NEVER, dtype=np.int64)
        reached[source[0]] = source[1]
        low = int(np.searchsorted(self._start, source[1], side="left"))
        high = int(np.searchsorted(self._start, target[1], side="right"))
        begins, comes, goes, arrives = (part[low:high] for part in (self._start, self._from, self._to, self._arrives))
        for _ in range(_HOPS):
            if reached[target[0]] <= target[1]:
                return True
            usable = (begins >= reached[comes]) & (arrives < reached[goes]) & (arrives <= target[1]) & self._in_order[goes]
            if not usable.any():
                return False
            np.minimum.at(reached, goes[usable], arrives[usable])
        return bool(reached[target[0]] <= target[1])
