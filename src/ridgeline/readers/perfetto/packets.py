"""Packets of a Perfetto trace, one after the other, to events: the state of each writer (names, defaults) and the tracks of all."""

from __future__ import annotations

from collections import Counter, defaultdict
from operator import itemgetter

import numpy as np

from ridgeline.core import Excluded, Timeline, Track

from ..assembling import Assembly, Whole, kind_of
from ..databases import MISSING
from ..kinds import bare_call, call_kind, device_kind, iteration_of
from ..source import Source
from ..wire import signed
from . import messages
from .clocks import BOOTTIME, Clocks
from .ftrace import Switches
from .messages import Event, Packet
from .tracks import Tracks

__all__ = ["Reading"]

_BEGIN, _END, _INSTANT, _COUNTER = 1, 2, 3, 4
_CLEARED, _NEEDED = 1, 2
_DROPPED = 42
#: What Chrome's letters mean; those of asynchronous events, which have a lane of their own.
_PHASES = {"B": _BEGIN, "E": _END, "I": _INSTANT, "i": _INSTANT, "R": _INSTANT, "b": _BEGIN, "e": _END, "n": _INSTANT, "S": _BEGIN, "F": _END}
_ASYNCHRONOUS = frozenset(map(ord, "benSTpF"))
#: What a packet may hold, for a person; what is neither here nor read is called by its number.
_HOLDS = {9: "process statistics", 66: "samples of stacks", 63: "logs of the GPU", 65: "calls of Vulkan", 37: "heaps", 5: "Chrome's older events"}
_QUIET = {2, 6, 12, 33, 35, 36, 43, 44, 45, 59, 60, 89}


class _Sequence:
    """State of one writer."""

    def __init__(self) -> None:
        self.clear()
        self.valid = False

    def clear(self) -> None:
        self.names: dict[int, dict[int, str]] = {}
        self.track, self.clock = 0, 0
        self.thread = (0, 0)
        self.valid = True


#: Beginning or end of a slice: time, number of the packet, index of the name (−1: an end), flows.
_Edge = tuple[int, int, int, tuple[int, ...]]


class Reading:
    """Takes packets; `close` gives the timeline."""

    def __init__(self, source: Source) -> None:
        self.packets = 0
        self.facts: dict[str, str] = {}
        self._source = source
        self._assembly = Assembly(1e-9)
        self._clocks, self._tracks, self._switches = Clocks(), Tracks(), Switches()
        self._sequences: dict[int, _Sequence] = defaultdict(_Sequence)
        self._edges: dict[object, list[_Edge]] = defaultdict(list)
        self._rows: list[tuple[int, int, int, object]] = []
        self._marks: list[tuple[int, int, object]] = []
        self._values: dict[int, list[tuple[int, float]]] = defaultdict(list)
        self._flows: dict[int, list[tuple[int, int]]] = defaultdict(list)
        self._stages: list[tuple[int, int, str, str]] = []
        self._unread: Counter[int] = Counter()

    def take(self, packet: Packet) -> None:
        """One packet, in the order of the file."""
        self.packets += 1
        if self.packets > self._source.limits.events:
            raise self._source.damaged(f"at most {self._source.limits.events} packets", "more", "raise the limit on events")
        numbers, held = packet
        number = numbers.get(messages.SEQUENCE, 0)
        sequence = self._sequences[number]
        flags = numbers.get(messages.FLAGS, 0)
        if numbers.get(_DROPPED):
            sequence.valid = False
        if flags & _CLEARED or numbers.get(messages.CLEARED):
            sequence.clear()
        self._state(sequence, number, held)
        if flags & _NEEDED and not sequence.valid:
            self._assembly.leave_out("packets whose names were lost before the recording began", 1, first=f"packet {self.packets}")
            return
        clock = numbers.get(messages.CLOCK) or sequence.clock or BOOTTIME
        at = self._clocks.on_trace(number, clock, numbers[messages.TIMESTAMP]) if messages.TIMESTAMP in numbers else None
        if 11 in held:
            self._event(sequence, messages.event_of(held[11]), at)
        elif 53 in held:
            self._stage(sequence, held[53], at)
        elif 1 in held:
            self._switches.take(held[1])
        for field in held.keys() - _QUIET - {11, 53, 1}:
            self._unread[field] += 1

    def close(self) -> tuple[Timeline | None, tuple[Excluded, ...]]:
        """All that was taken."""
        for key, edges in self._edges.items():
            self._pair(key, edges)
        lanes = {key: self._assembly.lane(self._tracks.lane(key)) for key in dict.fromkeys(row[3] for row in self._rows)}
        begun, ended, name = (np.array([row[index] for row in self._rows], np.int64) for index in range(3))
        strings = list(self._assembly.strings)
        kinds = np.array([kind_of(self._kind(strings[row[2]], row[3])) for row in self._rows], np.int64)
        steps = np.array([iteration_of(strings[row[2]]) for row in self._rows], np.int64)
        lane = np.array([lanes[row[3]] for row in self._rows], np.int64)
        numbers = {"iteration": steps} if (steps >= 0).any() else {}
        events = self._assembly.add(begun, ended, name=name, lane=lane, kind=kinds, numbers=numbers, place="slice")
        self._link(events)
        self._add_stages()
        self._switches.close(self._assembly, self._tracks)
        places = {key: self._assembly.lane(self._tracks.lane(key)) for key in dict.fromkeys(mark[2] for mark in self._marks)}
        marks = np.array([(tick, text, places[key]) for tick, text, key in self._marks], np.int64).reshape(-1, 3)
        self._assembly.mark(*marks.T)
        for track, pairs in self._values.items():
            ticks, values = np.array([tick for tick, _ in pairs], np.int64), np.array([value for _, value in pairs], np.float64)
            self._assembly.counter(*self._tracks.counter(track), ticks, values)
        for field, count in sorted(self._unread.items()):
            self._assembly.leave_out(f"packets that are not read: {_HOLDS.get(field, f'field {field}')}", count)
        return self._assembly.timeline()

    def _state(self, sequence: _Sequence, number: int, held: dict[int, bytes]) -> None:
        if 12 in held:
            for kind, names in messages.names_of(held[12]).items():
                sequence.names.setdefault(kind, {}).update(names)
        if messages.DEFAULTS in held:
            sequence.clock = messages.whole(held[messages.DEFAULTS], 58)[0]
            for defaults in messages.pairs(held[messages.DEFAULTS], 11):
                sequence.track = messages.whole(defaults, 11)[0]
        if 6 in held:
            self._clocks.snapshot(number, *messages.clocks_of(held[6]))
        if 60 in held:
            self._tracks.describe(held[60])
        if 44 in held:
            sequence.thread = self._tracks.thread(held[44])
        if 43 in held:
            self._tracks.process(held[43])
        if 2 in held:
            self._tracks.tree(held[2])

    def _event(self, sequence: _Sequence, event: Event, at: int | None) -> None:
        kind = event.type or (_PHASES.get(chr(event.legacy.phase & 0x7F), 0) if event.legacy else 0)
        if at is None and event.absolute_us:
            at = event.absolute_us * 1000
        if at is None:
            self._assembly.leave_out("events whose clock no snapshot ties to the trace", 1, first=f"packet {self.packets}")
            return
        key = self._key(sequence, event)
        name = event.name or sequence.names.get(2, {}).get(event.name_iid or (event.legacy.name_iid if event.legacy else 0), "")
        if len(name) > self._source.limits.name_characters:
            raise self._source.damaged(
                f"names of at most {self._source.limits.name_characters} characters", "a longer one", "raise the limit on names"
            )
        if event.legacy is not None and event.legacy.phase == ord("X"):
            self._slice(at, at + event.legacy.duration_us * 1000, self._assembly.name(name or "[unnamed]"), key, (*event.flows, *event.ending))
        elif kind == _BEGIN:
            self._edges[key].append((at, self.packets, self._assembly.name(name or "[unnamed]"), (*event.flows, *event.ending)))
        elif kind == _END:
            self._edges[key].append((at, self.packets, -1, ()))
        elif kind == _INSTANT:
            self._marks.append((_tick(at), self._assembly.name(name or "[unnamed]"), key))
        elif kind == _COUNTER and event.value is not None:
            self._values[event.track or sequence.track].append((_tick(at), event.value))
        else:
            self._assembly.leave_out("events of a type that is not read", 1, first=f"packet {self.packets}")

    def _key(self, sequence: _Sequence, event: Event) -> object:
        """The lane of an event: its track, or (older writers) its thread, or one of its own where it is asynchronous."""
        track = event.track or sequence.track
        if track and (event.legacy is None or not (event.legacy.thread or event.legacy.phase in _ASYNCHRONOUS)):
            return track
        process, thread = sequence.thread
        if event.legacy is None:
            return (process, thread)
        if event.legacy.phase in _ASYNCHRONOUS:
            return (event.legacy.process or process, event.legacy.scope, event.legacy.number)
        return (event.legacy.process or process, event.legacy.thread or thread)

    def _pair(self, key: object, edges: list[_Edge]) -> None:
        """Slices of one lane: packets of several writers lie in the file in any order."""
        opened: list[_Edge] = []
        for edge in sorted(edges, key=itemgetter(0)):
            at, packet, name, _ = edge
            if name >= 0:
                opened.append(edge)
            elif opened:
                begun, _, name, flows = opened.pop()
                self._slice(begun, at, name, key, flows)
            else:
                self._assembly.leave_out("ends of slices that began before the recording", 1, first=f"packet {packet}")
        if opened:
            self._assembly.leave_out("slices that were never closed", len(opened), first=f"packet {opened[0][1]}")

    def _slice(self, begun: int, ended: int, name: int, key: object, flows: tuple[int, ...]) -> None:
        for flow in flows:
            self._flows[flow].append((begun, len(self._rows)))
        self._rows.append((_tick(begun), _tick(ended), name, key))

    def _link(self, events: Whole) -> None:
        """Arrows: each slice of a flow to the next one, in order of time."""
        source: list[int] = []
        target: list[int] = []
        for ends in self._flows.values():
            rows = [row for _, row in sorted(ends)]
            source += rows[:-1]
            target += rows[1:]
        self._assembly.link(events[np.array(source, np.int64)], events[np.array(target, np.int64)], "flow")

    def _stage(self, sequence: _Sequence, data: bytes, at: int | None) -> None:
        duration, old_queue, old_stage, queue, stage, gpu = messages.whole(data, 2, 3, 4, 13, 14, 11)
        if at is None:
            self._assembly.leave_out("events whose clock no snapshot ties to the trace", 1, first=f"packet {self.packets}")
            return
        names = sequence.names.get(24, {})
        lane = names.get(queue, f"queue {queue or old_queue}")
        self._stages.append((_tick(at), _tick(at + signed(duration)), names.get(stage, f"stage {stage or old_stage}"), f"GPU {gpu}|{lane}"))

    def _add_stages(self) -> None:
        lanes = []
        for *_, where in self._stages:
            device, _, name = where.partition("|")
            lanes.append(self._assembly.lane(Track(name=f"{device} {name}", device=device, role="queue")))
        begun, ended = (np.array([stage[side] for stage in self._stages], np.int64) for side in (0, 1))
        names = self._assembly.names([stage[2] for stage in self._stages])
        kinds = np.array([kind_of(device_kind(stage[2])) for stage in self._stages], np.int64)
        self._assembly.add(begun, ended, name=names, lane=np.array(lanes, np.int64), kind=kinds, place="stage")

    def _kind(self, name: str, key: object) -> str:
        if self._tracks.device(key):
            return device_kind(name)
        if iteration_of(name) >= 0:
            return "iteration"
        bare = bare_call(name)
        return call_kind(bare) if bare.startswith(("cuda", "cu", "hip", "hsa_")) and bare[-1:].isalnum() and " " not in bare else "other"


def _tick(time: int) -> int:
    """A time as one of a timeline, `MISSING` where it is beyond any."""
    return time if abs(time) < 2**62 else MISSING
