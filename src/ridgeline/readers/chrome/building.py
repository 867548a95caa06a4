"""Columns to a `Timeline`: pairs joined, kinds named, what cannot be believed left out, links drawn.

This module decides which events count. A duration is impossible where it is more than a thousand times all else that the trace holds (its shorter
durations and the time over which events start) and more than a minute on a device or ten days on a host, which may well sleep for an hour; device
work at time 0 without a duration is a record that was never filled in.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ridgeline.core.caution import Caution
from ridgeline.core.column import Column
from ridgeline.core.timeline import DEVICE_WORK, CounterTrack, Marks, Timeline
from ridgeline.core.timeline import Links as TimelineLinks
from ridgeline.core.units import format_quantity

from .columns import Columns
from .events import ABSENT
from .flows import Spans
from .kineto import CLASSES, KIND, kind_of_name
from .launches import FLOW, SIGNAL, WAIT, Links, Recorded, event_waits, linked
from .matching import Groups
from .origins import Slot
from .pairs import Marked, paired
from .times import LONGEST_NS
from .tracks import Lane, lanes_of

__all__ = ["Built", "build"]

Ints = NDArray[np.int64]
_TICK_S = 1e-9
_TIMES = 1000
_LONG_ON_DEVICE = 60 * 10**9
_LONG_ON_HOST = 10 * 86400 * 10**9
_WORK = np.array([KIND[kind] for kind in DEVICE_WORK])
_STEP = re.compile(r"(\d+)")
#: What the arrows of launches were called in the first traces of PyTorch.
_OLD_LAUNCH = "async"
#: Categories of arrows that have a meaning: PyTorch's from a forward operator to its backward one, and what ridgeline itself writes.
_ARROWS = {"fwdbwd": SIGNAL, "ridgeline.wait": WAIT}
_TO_HOST = re.compile(r"^(?!.*Pinned).*(?:DtoH|DeviceToHost|Device -> (?:Pageable|Host))")
_WAITS_OF_FRAMEWORKS = re.compile(r"wait for completion|BlockUntilReady|BlockHostUntil|\bAwait\b|SynchronizeAllActivity", re.IGNORECASE)


class Built:
    """A timeline in the making: rows of spans, then what is known between them."""

    def __init__(self, columns: Columns, rank: int | None) -> None:
        self.columns = columns
        self.lanes: list[Lane] = []
        self.warnings: list[Caution] = []
        self._rank = rank
        self._rows: dict[str, NDArray[Any]] = {}
        self._sparse: dict[str, tuple[Ints, NDArray[Any]]] = {}

    def timeline(self) -> Timeline:
        """Put it together."""
        columns = self.columns
        self._rows = {name: grown.array() for name, grown in columns.spans.items()}
        self._sparse = {name: (row.array(), value.array()) for name, (row, value) in columns.arguments.sparse.items()}
        self._pair("begin", "end")
        self._pair("begin_async", "end_async")
        self.lanes = lanes_of(columns, self._rank, self._used())
        self._rows["kind"] = self._kinds()
        self._believed()
        links = self._links()
        return self._assembled(links)

    def _used(self) -> NDArray[np.bool_]:
        """Which slots hold an event or a mark; many only carry names."""
        slots = (self._rows["slot"], self.columns.points["mark"]["slot"].array())
        return np.asarray(sum(np.bincount(each, minlength=len(self.columns.slots)) for each in slots) > 0)

    # ── rows ────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

    def _pair(self, opening: str, closing: str) -> None:
        begin = {name: grown.array() for name, grown in self.columns.points[opening].items()}
        end = {name: grown.array() for name, grown in self.columns.points[closing].items()}
        if not len(begin["time"]) and not len(end["time"]):
            return
        # An end without a name (an empty text) closes whatever began last.
        nameless = self.columns.names.get("", self.columns.names.get(None, -1))
        end_name = np.where(end["name"] == nameless, -1, end["name"])
        pairs = paired(_marked(begin, begin["name"]), _marked(end, end_name))
        for reason, rows, events in (("a begin without an end", pairs.open_begins, begin), ("an end without a begin", pairs.surplus_ends, end)):
            if len(rows):
                self.columns.exclude(reason, f"event {int(events['event'][rows].min()) + 1}", len(rows))
        first, last = pairs.begin, pairs.end
        added = {
            "start": begin["time"][first], "duration": end["time"][last] - begin["time"][first], "name": begin["name"][first],
            "slot": begin["slot"][first], "cls": begin["cls"][first], "event": begin["event"][first],
        }  # fmt: skip
        self._rows = {name: np.concatenate([values, added[name].astype(values.dtype)]) for name, values in self._rows.items()}

    def _kinds(self) -> NDArray[np.int8]:
        """The kind of each row: by its class, by its lane where its class says nothing, and by its name within some."""
        by_class: NDArray[np.int8] = np.zeros(len(CLASSES), np.int8)
        for each in CLASSES.values():
            by_class[each.number] = each.kind
        kind = by_class[self._rows["cls"]]
        by_slot = np.array([lane.kind for lane in self.lanes], np.int8) if self.lanes else np.empty(0, np.int8)
        of_slot = by_slot[self._rows["slot"]]
        kind = np.where((of_slot >= 0) & (kind == KIND["other"]), of_slot, kind).astype(np.int8)
        names = self.columns.names.all
        framework = any(lane.framework for lane in self.lanes)
        refined = np.arange(len(names))
        # Ranges on a device repeat those of the host that launched what is in them.
        on_host = np.array([not lane.track.device for lane in self.lanes], np.bool_)[self._rows["slot"]]
        for wanted in ("compute", "runtime", "annotation", "operator"):
            rows = np.flatnonzero((kind == KIND[wanted]) & (on_host | (wanted == "compute")))
            if len(rows):
                used = np.flatnonzero(np.bincount(self._rows["name"][rows], minlength=len(names)))
                refined[used] = [self._named(KIND[wanted], names[number], framework) for number in used.tolist()]
                kind[rows] = refined[self._rows["name"][rows]]
        return np.asarray(kind)

    def _named(self, kind: int, name: str, framework: bool) -> int:
        if framework and kind == KIND["operator"]:
            if name.startswith("$"):
                return KIND["python"]
            if _WAITS_OF_FRAMEWORKS.search(name):
                return KIND["wait"]
        return kind_of_name(kind, name)

    # ── what is left out ────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

    def _believed(self) -> None:
        """Leave out times that cannot be true."""
        start, duration, kind = self._rows["start"], self._rows["duration"], self._rows["kind"]
        if not len(start):
            return
        unfilled = np.isin(kind, _WORK) & (start == 0) & (duration == 0)
        impossible = _impossible(start, duration, _LONG_ON_HOST)
        impossible |= np.isin(kind, _WORK) & _impossible(start, np.where(impossible, 0, duration), _LONG_ON_DEVICE)
        astray = _astray(start) & ~unfilled & ~impossible
        if unfilled.any():
            self._say_both_windows(unfilled, impossible | astray)
        for reason, rows in (
            ("impossible duration", impossible),
            ("a start of 0, far from all others", astray),
            ("device work at time 0 without a duration", unfilled),
        ):
            if rows.any():
                first = int(np.argmax(rows))
                self.columns.exclude(reason, f"event {int(self._rows['event'][first]) + 1}", int(rows.sum()))
        left_out = unfilled | impossible | astray
        if left_out.any():
            self._keep(~left_out)

    def _keep(self, kept: NDArray[np.bool_]) -> None:
        renumbered = np.cumsum(kept) - 1
        self._rows = {name: values[kept] for name, values in self._rows.items()}
        for name, (row, value) in self._sparse.items():
            there = kept[row]
            self._sparse[name] = (renumbered[row[there]], value[there])

    def _say_both_windows(self, unfilled: NDArray[np.bool_], wrong: NDArray[np.bool_]) -> None:
        rows = self._rows
        work = np.isin(rows["kind"], _WORK) & ~wrong
        devices = np.array([lane.track.device for lane in self.lanes])[rows["slot"]]
        for device in np.unique(devices[unfilled]).tolist():
            own = work & (devices == device)
            spans = []
            for chosen in (own & ~unfilled, own):
                spans.append(int((rows["start"] + rows["duration"])[chosen].max() - rows["start"][chosen].min()) if chosen.any() else 0)
            without, with_them = (format_quantity(span * _TICK_S, "s") for span in spans)
            count = int((unfilled & (devices == device)).sum())
            what = f"{count} pieces of work of {device} at time 0 without a duration are left out"
            message = f"{what}: its window is {without} without, {with_them} with them"
            self.warnings.append(Caution(code="unfilled-records", message=message, effect="idle time depends on which window is meant"))

    # ── links ───────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

    def _links(self) -> Links:
        parts = []
        if self.columns.known or "correlation" in self._sparse:
            parts.append(self._recorded_links())
        if any(len(grown["time"].array()) for group, grown in self.columns.points.items() if group.startswith("flow")):
            arrows = self._flow_links()
            if (arrows.kind == WAIT).any():  # the file says them all itself
                parts = [Links(*(column[part.kind != WAIT] for column in part)) for part in parts]
            parts.append(arrows)
        empty = np.empty(0, np.int64)
        return Links(*(np.concatenate([empty, *(getattr(part, field) for part in parts)]).astype(np.int64) for field in Links._fields))

    def _full(self, name: str) -> Ints:
        full = np.full(len(self._rows["start"]), ABSENT)
        if name in self._sparse:
            row, value = self._sparse[name]
            full[row] = value
        return full

    def _recorded_links(self) -> Links:
        rows, kind = self._rows, self._rows["kind"]
        on_device = np.array([bool(lane.track.device) and lane.track.role == "queue" for lane in self.lanes], np.bool_)[rows["slot"]]
        calls = np.isin(kind, (KIND["runtime"], KIND["wait"])) & ~on_device
        if any(lane.framework for lane in self.lanes):
            calls = ~on_device
        syncs = np.flatnonzero((kind == KIND["sync"]) & ~on_device)
        work = np.flatnonzero(np.isin(kind, _WORK) & on_device)
        recorded = Recorded(
            start=rows["start"], end=rows["start"] + rows["duration"], track=rows["slot"].astype(np.int64), process=self._places()[rows["slot"]],
            correlation=self._full("correlation"),
            external=self._full("external"), calls=np.flatnonzero(calls), work=work,
            operators=np.flatnonzero(kind == KIND["operator"]), waits=np.flatnonzero(kind == KIND["wait"]), syncs=syncs,
            **self._syncs(syncs), to_host=self._to_host(work), absent=ABSENT,
        )  # fmt: skip
        links, skew, unlinked, waiting = linked(recorded)
        if "waits_for" in self._sparse:
            said = (self._full(name) for name in ("waits_for", "recorded_on", "sequence"))
            events = event_waits(recorded, np.flatnonzero((kind == KIND["sync"]) & on_device), *said)
            links = Links(*(np.concatenate(pair) for pair in zip(links, events, strict=True)))
        kind[waiting] = KIND["wait"]
        if skew.early:
            longest = format_quantity(skew.longest * _TICK_S, "s")
            message = f"{skew.early} of {skew.launches} pieces of device work start before the call that launched them, by up to {longest}"
            effect = f"the clocks of host and device differ by at least {longest}: no delay between launch and start can be told"
            self.warnings.append(Caution(code="clock-skew", message=message, effect=effect))
        if unlinked and skew.launches:
            message = f"{unlinked} of {unlinked + skew.launches} pieces of device work have no call that launched them in the file"
            self.warnings.append(
                Caution(code="unlinked-work", message=message, effect="what started them cannot be told; they count as work all the same")
            )
        return links

    def _to_host(self, work: Ints) -> NDArray[np.bool_]:
        """Which of the rows of work are copies to memory of the host that is not pinned."""
        name = self._rows["name"][work]
        names, table = self.columns.names.all, np.zeros(len(self.columns.names.all), np.bool_)
        used = np.flatnonzero(np.bincount(name, minlength=len(names)))
        table[used] = [_TO_HOST.search(names[number]) is not None for number in used.tolist()]
        return np.asarray(table[name])

    def _places(self) -> Ints:
        """Slot → the number of its process, or of its device."""
        numbers: dict[tuple[str, str], int] = {}
        found = [numbers.setdefault((slot.process, slot.device), len(numbers)) for slot in self.columns.slots]
        return np.array(found, np.int64)

    def _syncs(self, syncs: Ints) -> dict[str, Any]:
        """What each synchronisation record says, its streams as slots."""
        names = self.columns.names.all
        kind, stream, record = (self._full(name)[syncs] for name in ("sync_kind", "wait_stream", "record"))
        slots = list(self.columns.slots)
        queues = {(slot.device, slot.thread): number for number, slot in enumerate(slots) if slot.where == "queue"}
        own = [slots[number] for number in self._rows["slot"][syncs].tolist()]
        kinds = [names[number] if number >= 0 else "" for number in kind.tolist()]
        source = [
            queues.get((slot.device, names[number] if number >= 0 else slot.thread), -1) for slot, number in zip(own, stream.tolist(), strict=True)
        ]
        target = [queues.get((slot.device, slot.thread), -1) for slot in own]
        return {
            "sync_kind": kinds, "sync_source": np.array(source, np.int64), "sync_target": np.array(target, np.int64), "sync_record": record,
        }  # fmt: skip

    def _flow_links(self) -> Links:
        points = {
            group: {name: grown.array() for name, grown in self.columns.points[group].items()} for group in ("flow_start", "flow_step", "flow_end")
        }
        starts, steps, ends = (self._flow_points(points[group]) for group in ("flow_start", "flow_step", "flow_end"))
        lanes = np.zeros(len(self.columns.slots), np.bool_)
        lanes[np.concatenate([starts["slot"], steps["slot"], ends["slot"]])] = True
        rows = np.flatnonzero(lanes[self._rows["slot"]])
        start, duration = self._rows["start"][rows], self._rows["duration"][rows]
        spans = Spans(self._rows["slot"][rows].astype(np.int64), start, start + duration)
        at_end = np.where(ends["key"] % 2 == 1, spans.enclosing(ends["slot"], ends["time"]), spans.next(ends["slot"], ends["time"]))
        at_start, at_step = (spans.enclosing(each["slot"], each["time"]) for each in (starts, steps))
        at_start, at_step, at_end = (
            np.where(found >= 0, rows[np.maximum(found, 0)], -1) if len(rows) else found for found in (at_start, at_step, at_end)
        )
        key, time = (np.concatenate([starts[name], steps[name]]) for name in ("key", "time"))
        bound = np.concatenate([at_start, at_step])
        target_key, target_time = (np.concatenate([steps[name], ends[name]]) for name in ("key", "time"))
        target = np.concatenate([at_step, at_end])
        # A step leads on from what came before it, not from itself.
        asked = target_time - np.concatenate([np.ones(len(steps["time"]), np.int64), np.zeros(len(ends["time"]), np.int64)])
        source = Groups(key // 2, time).latest_or_first(target_key // 2, asked)
        meaning = np.concatenate([starts["cls"], steps["cls"]])
        found = source >= 0
        source_row = bound[np.maximum(source, 0)] if len(bound) else source
        good = found & (source_row >= 0) & (target >= 0) & (source_row != target)
        if len(target) > int(good.sum()):
            self.warnings.append(
                Caution(code="loose-arrows", message=f"{len(target) - int(good.sum())} of {len(target)} arrows lead from or to no event")
            )
        kind = meaning[np.maximum(source, 0)] if len(meaning) else source
        return Links(source_row[good], target[good], kind[good])

    def _flow_points(self, points: dict[str, NDArray[Any]]) -> dict[str, Ints]:
        """Flow events but those that repeat launches; `cls`: what the category says of how what is behind the arrow needs what is before it."""
        categories = {number: key[0] for key, number in self.columns.keys.items()}
        of_key = [categories[number] for number in (points["key"] // 2).tolist()]
        repeated = np.array([self.columns.known and each == _OLD_LAUNCH for each in of_key], np.bool_)
        needs = np.array([_ARROWS.get(each, FLOW) for each in of_key], np.int64)
        found = {name: points[name].astype(np.int64)[~repeated] for name in ("key", "time", "slot")}
        return {**found, "slot": self._holding()[found["slot"]], "cls": needs[~repeated]}

    def _holding(self) -> Ints:
        """Slot → the slot that its arrows lead from and to: device work is not on the thread that it is written under."""
        used = np.bincount(self._rows["slot"], minlength=len(self.columns.slots)) > 0
        found = np.arange(len(self.columns.slots))
        for slot, number in self.columns.slots.items():
            if not used[number] and slot.where == "thread":
                beside = self.columns.slots.get(Slot("ranges", slot.process, slot.thread), number)
                found[number] = self.columns.queues.get((slot.process, slot.thread), beside)
        return found

    # ── the whole ───────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

    def _assembled(self, links: Links) -> Timeline:
        rows, names = self._rows, self.columns.names.all
        numbers, texts = self._numbers(), self._texts()
        marks = {name: grown.array() for name, grown in self.columns.points["mark"].items()}
        used = self._used()
        track = (np.cumsum(used) - 1).astype(np.int32)
        kinds = None if not self.columns.known and not any(lane.kind >= 0 for lane in self.lanes) and not rows["kind"].any() else rows["kind"]
        return Timeline(
            tick_s=_TICK_S,
            start_tick=Column(rows["start"], "1"),
            duration_tick=Column(rows["duration"], "1"),
            name=Column(rows["name"], "1"),
            track=Column(track[rows["slot"]], "1"),
            strings=tuple(names),
            tracks=tuple(lane.track for lane, is_used in zip(self.lanes, used.tolist(), strict=True) if is_used),
            kind=Column(kinds, "1") if kinds is not None else None,
            links=_timeline_links(links),
            numbers=numbers,
            texts=texts,
            marks=Marks(tick=Column(marks["time"], "1"), name=Column(marks["name"], "1"), track=Column(track[marks["slot"]], "1"))
            if len(marks["time"])
            else None,
            counters=self._counters(),
        )

    def _numbers(self) -> dict[str, Column]:
        found = {}
        n = len(self._rows["start"])
        for name, unit, dtype, divisor in (("bytes", "B", np.int64, 1), ("occupancy", "1", np.float32, 100), ("graph", "1", np.int64, 1)):
            if name in self._sparse and len(self._sparse[name][0]):
                full = np.full(n, -1, dtype)
                row, value = self._sparse[name]
                full[row] = np.maximum(value / divisor if divisor != 1 else value, -1)
                found[name] = Column(full, unit)
        steps = np.flatnonzero(self._rows["kind"] == KIND["iteration"])
        if len(steps):
            full = np.full(n, -1, np.int64)
            texts = [self.columns.names.all[number] for number in self._rows["name"][steps].tolist()]
            full[steps] = [int(found_number.group(1)[:15]) if (found_number := _STEP.search(text)) else -1 for text in texts]
            found["iteration"] = Column(full, "1")
        return found

    def _texts(self) -> dict[str, Column]:
        found: dict[str, Column] = {}
        for name in ("shapes", "types", "concrete"):
            if name in self._sparse:
                full = np.full(len(self._rows["start"]), -1, np.int32)
                row, value = self._sparse[name]
                full[row] = value
                found[name] = Column(full, "1")
        return found

    def _counters(self) -> tuple[CounterTrack, ...]:
        tracks = []
        for (process, name, series), (times, values) in self.columns.counters.items():
            order = np.argsort(np.array(times, np.int64), kind="stable")
            title = name if name == series else f"{name} {series}".strip()
            tick, value = np.array(times, np.int64)[order], np.array(values, np.float64)[order]
            tracks.append(CounterTrack(name=title, tick=Column(tick, "1"), value=Column(value, "1"), process=process))
        return tuple(tracks)


def build(columns: Columns, rank: int | None) -> tuple[Timeline, list[Caution]]:
    """The timeline of all that was read, and what is to be said of it."""
    built = Built(columns, rank)
    return built.timeline(), built.warnings


def _marked(points: dict[str, NDArray[Any]], name: Ints) -> Marked:
    return Marked(points["key"], points["time"], points["event"], name)


def _impossible(start: Ints, duration: Ints, long: int) -> NDArray[np.bool_]:
    """Durations from the first one on that is `long` and a thousand times all shorter ones and the time over which events start."""
    spread = int(start.max()) - int(start.min())
    # Between a begin and its end may lie more than a duration may be, whatever it is compared with.
    beyond = duration > LONGEST_NS
    floor = max(spread, long // _TIMES)
    if int(duration.max()) <= _TIMES * floor:
        return beyond
    ordered = np.sort(duration)
    shorter = np.maximum(np.concatenate([[0], ordered[:-1]]), floor).astype(np.float64)
    jumps = np.flatnonzero(ordered > _TIMES * shorter)
    if not len(jumps) or jumps[0] == 0:
        return beyond
    return np.asarray(beyond | (duration >= ordered[jumps[0]]))


def _astray(start: Ints) -> NDArray[np.bool_]:
    """Starts of exactly 0 that lie more than a thousand times farther from the others than these from each other, and more than a minute."""
    zero = start == 0
    if not zero.any() or zero.all():
        return np.zeros(len(start), np.bool_)
    others = start[~zero]
    spread = int(others.max()) - int(others.min())
    far = int(np.abs(others).min()) > _TIMES * max(spread, _LONG_ON_DEVICE // _TIMES)
    return zero if far else np.zeros(len(start), np.bool_)


def _timeline_links(links: Links) -> TimelineLinks | None:
    if not len(links.source):
        return None
    kind = links.kind.astype(np.int8)
    return TimelineLinks(source=Column(links.source.astype(np.int32), "1"), target=Column(links.target.astype(np.int32), "1"), kind=Column(kind, "1"))
