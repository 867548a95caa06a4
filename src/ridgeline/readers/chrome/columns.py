"""Decoded events, block by block, to columns: what is kept of each phase, with names and origins interned.

This module decides what of an event is kept. Nothing of a block outlives it but numbers in arrays and each distinct text once, so that memory is that
of the columns. What the columns mean together (pairs, links, lanes) is left to `pairs`, `flows`, `launches` and `building`.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from ridgeline.core import ReadError

from .arguments import Arguments, Given
from .events import ABSENT, EMPTY, Args, Event
from .interning import TOO_LONG, Grown, Names, as_text, finite
from .kineto import REPEATED
from .origins import GROUP, OURS, Origin, Origins, Slots, device_slot
from .stream import Block
from .times import ABSENT_NS, WRONG_NS

__all__ = ["Columns"]

#: Phase → what is said of events that are left out.
_UNUSED = {
    "N": "objects", "D": "objects", "O": "objects", "P": "samples", "": "no phase", OURS: "findings, gaps and the path that ridgeline wrote",
}  # fmt: skip
_WHOLE = re.compile(r"0|-?[1-9][0-9]{0,80}")
Ints = NDArray[np.int64]


class _CounterEvent(msgspec.Struct, gc=False):
    ph: Any = None
    args: msgspec.Raw = msgspec.Raw(b"")


_COUNTERS = msgspec.json.Decoder(list[_CounterEvent])


class Columns:
    """All that is kept of a file.

    Attributes:
        spans: of X events: `start`, `duration`, `name`, `slot`, `cls` (class of its category), `event` (its number in the file), shape (n,) each.
        arguments: what only some spans have.
        points: by group (`begin`, `end`, `begin_async`, `end_async`, `mark`, `flow_start`, `flow_step`, `flow_end`): `time`, `name`, `slot`, `event`,
            `key` (number of what it belongs to; of a flow end 1 more by `bp`), shape (k,) each.
        counters: (process, name, series) → times and values.
        processes, threads, labels: names that the file gives them.
        queues: process and thread → the slot of the device work that is written there.
        excluded: reason → [events, seconds, first place].
    """

    def __init__(self, name_characters: int, events: int, file: str) -> None:
        self.names = Names(name_characters)
        self.arguments = Arguments(self.names)
        self.slots = Slots()
        self.origins = Origins(self.slots, name_characters)
        self.spans = {name: Grown(dtype) for name, dtype in _SPANS.items()}
        self.points = {group: {name: Grown(dtype) for name, dtype in _POINTS.items()} for group in GROUP}
        self.counters: dict[tuple[str, str, str], tuple[list[int], list[float]]] = {}
        self.processes: dict[str, str] = {}
        self.threads: dict[tuple[str, str], str] = {}
        self.labels: dict[str, str] = {}
        self.excluded: dict[str, list[Any]] = {}
        self.queues: dict[tuple[str, str], int] = {}
        self.keys: dict[Any, int] = {}
        self.known = False
        self.events = 0
        self.whole_us = True
        self._most = events
        self.most_characters = name_characters
        self._file = file

    def exclude(self, reason: str, place: str, events: int = 1, total_s: float = 0.0) -> None:
        """Count what is in no column."""
        entry = self.excluded.setdefault(reason, [0, 0.0, place])
        entry[0] += events
        entry[1] += total_s

    def add(self, block: Block) -> None:
        """Take a block in.

        Raises:
            ReadError: more events than are allowed.
        """
        events = block.events
        if not events:
            return
        self.events += len(block)
        if self.events > self._most:
            raise ReadError(f"at most {self._most} events", found=f"{self._file}, which has more", remedy="record less, or raise the limit")
        origins = self.origins
        origin = events.origins(origins)
        groups = np.array([each.group for each in origins.all], np.int8)[origin]
        name = events.names(self.names)
        name[np.array([each.too_long for each in origins.all], np.bool_)[origin]] = TOO_LONG
        start = events.times("ts")
        timed = self._timed(block, groups, name, start)
        present = np.bincount(groups[timed], minlength=len(GROUP))
        for group, number in GROUP.items():
            if present[number]:
                rows = np.flatnonzero(timed & (groups == number))
                self._taken(group, block, rows, origin, name, start)

    def _taken(self, group: str, block: Block, rows: Ints, origin: NDArray[np.int32], name: NDArray[np.int32], start: Ints) -> None:
        if group == "span":
            self._spans(block, rows, origin[rows], name[rows], start[rows])
        elif group == "metadata":
            # Some recorders write the same again and again: the last of each origin and name is what holds.
            _, last = np.unique((origin[rows].astype(np.int64) << 32 | name[rows])[::-1], return_index=True)
            for event in block.events.at(np.sort(rows[len(rows) - 1 - last])):
                self._metadata(event)
        elif group == "counter":
            self._counters(block, rows, start)
        elif group == "ignored":
            self._ignored(block, rows, origin[rows])
        else:
            self._points(group, block, rows, origin[rows], name[rows], start[rows])

    def _timed(self, block: Block, groups: NDArray[np.int8], name: NDArray[np.int32], start: Ints) -> NDArray[np.bool_]:
        """Which events have what they need; the others are counted."""
        needless = (groups == GROUP["metadata"]) | (groups == GROUP["ignored"])
        if not ((start <= WRONG_NS).any() or (name == TOO_LONG).any()):
            self.whole_us = self.whole_us and not (start % 1000).any()
            return np.ones(len(start), np.bool_)
        for reason, bad in (
            ("no start", (start == ABSENT_NS) & ~needless),
            ("a start that is no time", (start == WRONG_NS) & ~needless),
            (f"a name of more than {self.most_characters} characters", (name == TOO_LONG) & ((start > WRONG_NS) | needless)),
        ):
            self._count(reason, block, np.flatnonzero(bad))
        return np.asarray(((start > WRONG_NS) | needless) & (name != TOO_LONG))

    def _count(self, reason: str, block: Block, rows: Ints) -> None:
        if len(rows):
            self.exclude(reason, "" if reason in self.excluded else block.place(int(rows[0])), len(rows))

    def _ignored(self, block: Block, rows: Ints, origin: NDArray[np.int32]) -> None:
        phases: dict[str, list[int]] = {}
        for row, number in zip(rows.tolist(), origin.tolist(), strict=True):
            phases.setdefault(self.origins.all[number].ignored, []).append(row)
        for phase, found in phases.items():
            what = _UNUSED.get(phase, f"phase {phase!r}, which is not known")
            self._count(what, block, np.array(found))

    # ── spans ───────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

    def _spans(self, block: Block, rows: Ints, origin: NDArray[np.int32], name: NDArray[np.int32], start: Ints) -> None:
        duration = block.events.times("dur")[rows]
        sound = duration >= 0
        if not sound.all():
            for reason, bad in (
                ("no duration", duration == ABSENT_NS),
                ("a duration that is no time", duration == WRONG_NS),
                ("negative duration", (duration < 0) & (duration > WRONG_NS)),
            ):
                self._count(reason, block, rows[bad])
            rows, origin, name, start, duration = rows[sound], origin[sound], name[sound], start[sound], duration[sound]
        if len(rows):
            self._kept(block, rows, origin, name, start, duration)

    def _kept(self, block: Block, rows: Ints, origin: NDArray[np.int32], name: NDArray[np.int32], start: Ints, duration: Ints) -> None:
        first = self.spans["start"].size
        self.whole_us = self.whole_us and not (duration % 1000).any()
        origins = self.origins.all
        slot = np.array([each.slot for each in origins], np.int32)[origin]
        cls = np.array([each.cls.number for each in origins], np.int8)[origin]
        self.known = self.known or any(origins[each].known for each in np.flatnonzero(np.bincount(origin)).tolist())
        wanted = np.flatnonzero(np.array([each.cls.args for each in origins], np.bool_)[origin])
        if len(wanted):
            self._arguments(block.events.arguments(rows[wanted]), wanted, origin, slot, first)
        for column, values in (("start", start), ("duration", duration), ("name", name), ("slot", slot), ("cls", cls), ("event", rows + block.index)):
            self.spans[column].add(values)

    def _arguments(self, args: Given, wanted: Ints, origin: NDArray[np.int32], slot: NDArray[np.int32], first: int) -> None:
        rows = wanted + first
        self.arguments.take(args, rows)
        beside = np.array([not each.on_host for each in self.origins.all], np.bool_)[origin[wanted]]
        chosen = np.flatnonzero(beside)
        if len(chosen):
            of_device = args.at(chosen)
            self.arguments.take_device(of_device, rows[chosen])
            slot[wanted[chosen]] = self._device_slots(of_device, origin[wanted[chosen]])

    def _device_slots(self, args: Given, origin: NDArray[np.int32]) -> NDArray[np.int32]:
        found, which = args.queues(origin)
        out = []
        for number, device, stream in found:
            own = self.origins.all[number]
            slot = self.slots[device_slot(own, device, stream)]
            if own.cls.where == "queue":
                self.queues.setdefault((own.process, own.thread), slot)
            out.append(slot)
        return np.array(out, np.int32)[which]

    # ── everything else ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

    def _points(self, group: str, block: Block, rows: Ints, origin: NDArray[np.int32], name: NDArray[np.int32], start: Ints) -> None:
        origins = self.origins.all
        if group.startswith("flow"):
            # PyTorch draws an arrow for each launch, which correlations already tell.
            own = ~np.array([each.category in REPEATED for each in origins], np.bool_)[origin]
            rows, origin, name, start = rows[own], origin[own], name[own], start[own]
            if not len(rows):
                return
        own_thread = np.array([each.slot for each in origins], np.int32)[origin]
        slot = own_thread.copy()
        beside = np.flatnonzero(np.array([not each.on_host for each in origins], np.bool_)[origin]) if group == "begin" else rows[:0]
        if len(beside):
            slot[beside] = self._device_slots(block.events.arguments(rows[beside]), origin[beside])
        if group.startswith("flow") or group.endswith("async"):
            key = 2 * self._keys(block, rows, origin, name if group.startswith("flow") else np.full(len(rows), ABSENT))
            if group == "flow_end":
                key += block.events.enclosing(rows)
        else:
            key = own_thread.astype(np.int64)
        points = self.points[group]
        cls = np.array([each.cls.number for each in origins], np.int8)[origin]
        self.known = self.known or any(origins[each].known for each in np.flatnonzero(np.bincount(origin)).tolist())
        for column, values in (("time", start), ("name", name), ("slot", slot), ("cls", cls), ("event", rows + block.index), ("key", key)):
            points[column].add(values)

    def _keys(self, block: Block, rows: Ints, origin: NDArray[np.int32], name: NDArray[Any]) -> Ints:
        """The number of what each event belongs to, shape (k,)."""
        identifiers = block.events.identifiers(rows)
        if identifiers is None:
            each = zip(block.events.at(rows), origin.tolist(), name.tolist(), strict=True)
            return np.array([self._key(event, self.origins.all[number], text) for event, number, text in each], np.int64)
        keys, categories = self.keys, [each.category for each in self.origins.all]
        plain = zip(origin.tolist(), identifiers, name.tolist(), strict=True)
        return np.array([keys.setdefault((categories[number], value, "", "", text), len(keys)) for number, value, text in plain], np.int64)

    def _key(self, event: Event, origin: Origin, name: int) -> int:
        """What an async event or a flow belongs to: by category and identifier, by process where that is local, and of a flow by its name."""
        value: Any = event.id
        process = ""
        if event.id2 is not None:
            value = event.id2.everywhere
            if value is None:
                value, process = event.id2.local, origin.process
        if type(value) is not int or value == ABSENT:
            text = as_text(value)
            value = int(text) if _WHOLE.fullmatch(text) else text
        key = (origin.category, value, "" if event.scope is None else as_text(event.scope), process, name)
        return self.keys.setdefault(key, len(self.keys))

    def _metadata(self, event: Event) -> None:
        args = event.args if isinstance(event.args, Args) else EMPTY
        process = as_text(event.pid)
        if event.name == "process_name" and args.name is not None:
            self.processes[process] = as_text(args.name)
        elif event.name == "process_labels" and args.labels is not None:
            self.labels[process] = as_text(args.labels)
        elif event.name == "thread_name" and args.name is not None:
            self.threads[process, as_text(event.tid)] = as_text(args.name)

    def _counters(self, block: Block, rows: Ints, start: Ints) -> None:
        again = block.events.again(rows, _COUNTERS)
        for row, event, counts in zip(rows.tolist(), block.events.at(rows), again, strict=True):
            try:
                series = msgspec.json.decode(counts.args, type=dict[str, int | float | str | None])
            except (msgspec.MsgspecError, RecursionError, ValueError):
                self._count("counters without numbers", block, np.array([row]))
                continue
            for name, value in series.items():
                number = finite(value)
                if number is not None:
                    times, values = self.counters.setdefault((as_text(event.pid), _counted(event), name), ([], []))
                    times.append(int(start[row]))
                    values.append(number)


_SPANS = {"start": np.int64, "duration": np.int64, "name": np.int32, "slot": np.int32, "cls": np.int8, "event": np.int64}
_POINTS = {"time": np.int64, "name": np.int32, "slot": np.int32, "cls": np.int8, "event": np.int64, "key": np.int64}


def _counted(event: Event) -> str:
    """What a counter is called: several of one name are told apart by their identifiers."""
    return f"{as_text(event.name)} {as_text(event.id)}".strip()
