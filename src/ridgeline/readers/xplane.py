"""`XPlane`: the XSpace protobuf that the profilers of JAX and TensorFlow write (`*.xplane.pb`): planes of lines of events, to a timeline.

This module decides what a plane and its lines are: a device's streams (and a TPU's operations) are work, lines derived from them (steps, modules,
name scopes) are ranges beside it, threads of the host are what their names say. Ticks are picoseconds from the first line's beginning: an event's
time is its line's `timestamp_ns` and its own `offset_ps`, and together they would not fit from an epoch. Bytes are decoded by `wire`, which says why.
Schema: `xplane.proto` of OpenXLA. Seen: JAX on AMD GPUs; NVIDIA and TPU planes as the sources of the profiler name them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import islice

import numpy as np

from ridgeline.core import Profile, Track

from .assembling import Assembly, kind_of
from .databases import MISSING
from .joining import matches
from .kinds import bare_call, bare_kernel, call_kind, device_kind, iteration_of
from .source import Source
from .wire import LENGTH, WireError, as_double, fields, signed

__all__ = ["XPlane"]

_PLANES = (b"/host:", b"/device:", b"Task Environment", b"/task:")
_DEVICE = re.compile(r"^/device:(?P<type>[A-Za-z]+):(?P<number>\d+)$")
_CALL = re.compile(r"^(?:cuda|cu[A-Z]|hip[A-Z]|hsa_|nccl[A-Z])")
#: A function of Python: `$file.py:12 function`.
_PYTHON = re.compile(r"^\$")
#: Lines of a device that retell what its other lines did, or name it.
_DERIVED = frozenset({
    "Steps", "XLA Modules", "Framework Ops", "Framework Name Scope", "TensorFlow Ops", "TensorFlow Name Scope", "Source code", "Source",
    "Launch Stats",
    "XLA TraceMe", "XLA Async Ops", "Host Offload Ops", "Sparse Core Steps", "Sparse Core Modules",
})  # fmt: skip
_TPU_COPY = re.compile(r"copy-(?:start|done)|^infeed|^outfeed|host[-_ ]?offload", re.IGNORECASE)
_SIZE = re.compile(r"(?:^|\s)size:(\d{1,18})(?:\s|$)")
#: Statistics that are looked at.
_WANTED = frozenset({"correlation_id", "hlo_op", "hlo_module", "step_num", "memcpy_details", "tf_op", "bytes_accessed", "graph_id", "cuda_graph_id"})
_Stats = dict[str, int | float | str]


class XPlane:
    """Reads XSpace files."""

    format = "xplane"
    title = "XSpace protobuf (JAX, TensorFlow: xplane.pb)"

    def recognises(self, source: Source) -> int:
        """By the name of its first plane."""
        head = source.head
        if head[:1] != b"\x0a":
            return 0
        try:
            # The first plane is mostly longer than the head, so it is walked without its length.
            start = next(place for place in range(1, 8) if place < len(head) and head[place] < 0x80) + 1
            for number, wire, value in islice(fields(head[start:]), 4):
                if number == 2 and wire == LENGTH and isinstance(value, bytes):
                    return 95 if value.startswith(_PLANES) else 0
        except (WireError, StopIteration):
            return 0
        return 0

    def read(self, source: Source) -> Profile:
        """All planes; raises `ReadError` for a damaged file or one without events."""
        try:
            planes = [_Plane(value, source) for number, _, value in fields(memoryview(source.data)) if number == 1 and not isinstance(value, int)]
            space = _Space(planes, source)
        except WireError as error:
            raise source.damaged("a whole XSpace", str(error), "it is cut short or damaged: copy or record it again") from error
        timeline, excluded = space.assembly.timeline()
        if timeline is None:
            raise source.damaged("planes with events", f"none in {len(planes)} planes", "record again, with the device in use")
        return Profile(
            format=self.format,
            files=(source.name,),
            tool="JAX or TensorFlow profiler",
            resolution_s=1e-12,
            timeline=timeline,
            facts=space.facts,
            excluded=excluded,
        )


class _Plane:
    """One plane, its names decoded, its lines not yet."""

    def __init__(self, data: memoryview, source: Source) -> None:
        self._limits = source.limits
        self._source = source
        self.name = ""
        self.lines: list[memoryview] = []
        self.events: dict[int, str] = {}
        self.stats: dict[int, str] = {}
        own: list[memoryview] = []
        for number, _, value in fields(data):
            if isinstance(value, int):
                continue
            if number == 2:
                self.name = self.text(value)
            elif number == 3:
                self.lines.append(value)
            elif number == 4:
                key, name = self._named(value)
                self.events[key] = name
            elif number == 5:
                key, name = self._named(value)
                self.stats[key] = name
            elif number == 6:
                own.append(value)
        self.own = self.statistics(own, wanted=None)

    def text(self, value: memoryview) -> str:
        """A text within the limits."""
        if len(value) > 4 * self._limits.name_characters:
            raise self._source.damaged(f"names of at most {self._limits.name_characters} characters", "a longer one", "raise the limit on names")
        return bytes(value).decode("utf-8", "replace")

    def _named(self, entry: memoryview) -> tuple[int, str]:
        """Key and name of an entry of a table of names; the display name where there is one."""
        key, name, display = 0, "", ""
        for number, _, value in fields(entry):
            if number == 1 and isinstance(value, int):
                key = signed(value)
            elif number == 2 and not isinstance(value, int):
                for inner, _, part in fields(value):
                    if inner == 2 and not isinstance(part, int):
                        name = self.text(part)
                    elif inner == 4 and not isinstance(part, int):
                        display = self.text(part)
        # A TPU's operations are named by their whole HLO text, and displayed by their name.
        return key, display or name

    def statistics(self, messages: Iterable[memoryview], wanted: frozenset[str] | None = _WANTED) -> _Stats:
        """Values by the name of the statistic."""
        found: _Stats = {}
        for message in messages:
            name, value = "", None
            for number, _, raw in fields(message):
                if number == 1 and isinstance(raw, int):
                    name = self.stats.get(signed(raw), "")
                    if wanted is not None and name not in wanted:
                        break
                else:
                    value = self._value(number, raw)
            if name and value is not None:
                found[name] = value
        return found

    def _value(self, number: int, raw: int | memoryview) -> int | float | str | None:
        if isinstance(raw, int):
            if number == 7:
                return self.stats.get(signed(raw))
            return as_double(raw) if number == 2 else signed(raw) if number == 4 else raw
        return self.text(raw) if number == 5 else None


class _Line:
    """One line: its events by column."""

    def __init__(self, data: memoryview, plane: _Plane) -> None:
        self.name, self.display, self.identifier, self.start_ns = "", "", 0, 0
        self._events: list[memoryview] = []
        for number, _, value in fields(data):
            if isinstance(value, int):
                if number == 1:
                    self.identifier = signed(value)
                elif number == 3:
                    self.start_ns = signed(value)
            elif number == 2:
                self.name = plane.text(value)
            elif number == 11:
                self.display = plane.text(value)
            elif number == 4:
                self._events.append(value)

    def rows(self) -> Iterable[tuple[int, int, int, list[memoryview]]]:
        """Name, offset in ps (`MISSING` where an event only counts occurrences), duration in ps, and statistics of each event."""
        for event in self._events:
            name, offset, duration = 0, 0, 0
            stats: list[memoryview] = []
            for number, _, value in fields(event):
                if not isinstance(value, int):
                    if number == 4:
                        stats.append(value)
                elif number == 1:
                    name = signed(value)
                elif number == 2:
                    offset = signed(value)
                elif number == 3:
                    duration = signed(value)
                elif number == 5:
                    offset = MISSING
            yield name, offset, duration, stats

    def __len__(self) -> int:
        return len(self._events)


class _Space:
    """All planes of a file, put together."""

    def __init__(self, planes: list[_Plane], source: Source) -> None:
        self.assembly = Assembly(1e-12)
        self.facts: dict[str, str] = {}
        self._source = source
        lines = [(plane, _Line(data, plane)) for plane in planes for data in plane.lines]
        if sum(len(line) for _, line in lines) > source.limits.events:
            raise source.damaged(f"at most {source.limits.events} events", "more", "raise the limit on events, or record less")
        # Whole nanoseconds from here on; a line without events says nothing about when the recording began.
        self._origin_ns = min((line.start_ns for _, line in lines if len(line)), default=0)
        self._work: list[tuple[int, int]] = []
        self._calls: list[tuple[int, int]] = []
        for plane, line in lines:
            if len(line):
                self._add(plane, line)
        self._link()
        for plane in planes:
            self._tell(plane)

    def _add(self, plane: _Plane, line: _Line) -> None:
        device = _device(plane.name)
        derived = bool(device) and (line.name in _DERIVED or line.display in _DERIVED)
        lane = self.assembly.lane(_track(plane.name, device, line, derived))
        base = (line.start_ns - self._origin_ns) * 1000
        rows: list[tuple[int, int, int, int, int, int, int]] = []
        correlated: list[tuple[int, int]] = []
        for name, offset, duration, messages in line.rows():
            stats = plane.statistics(messages)
            text = plane.events.get(name, "[unnamed]")
            kind, shown, step = _host(text, stats) if not device else _on_device(text, line, derived, stats)
            start = base + offset if offset != MISSING and abs(base + offset) < 2**61 else MISSING
            end = start + duration if start != MISSING and abs(duration) < 2**61 else MISSING
            correlation = stats.get("correlation_id", 0)
            if isinstance(correlation, int) and 0 < correlation < 2**62 and not derived:
                correlated.append((len(rows), correlation))
            operation = stats.get("hlo_op", "")
            rows.append(
                (start, end, self.assembly.name(shown), kind_of(kind), step, _bytes(stats), self.assembly.name(str(operation)) if operation else -1)
            )
        start, end, name, kind, step, size, operation = np.array(rows, np.int64).T
        numbers = {key: values for key, values in (("iteration", step), ("bytes", size)) if (values >= 0).any()}
        texts = {"hlo": operation} if (operation >= 0).any() else {}
        events = self.assembly.add(start, end, name=name, lane=lane, kind=kind, numbers=numbers, texts=texts, place=f"plane {plane.name} event")
        (self._work if device else self._calls).extend((int(events[row]), number) for row, number in correlated)

    def _link(self) -> None:
        work, calls = (np.array(rows, np.int64).reshape(-1, 2) for rows in (self._work, self._calls))
        call = matches(np.zeros(len(calls), np.int64), calls[:, 1], np.zeros(len(work), np.int64), work[:, 1])
        linked = call >= 0
        self.assembly.link(calls[call[linked], 0], work[linked, 0], "launch")

    def _tell(self, plane: _Plane) -> None:
        device = _device(plane.name)
        for key in ("device_vendor", "device_type_string", "profile_start_time"):
            if key in plane.own and (device or key == "profile_start_time") and (len(plane.lines) or not device):
                self.facts[f"{device} {key}".strip()] = str(plane.own[key])


def _device(name: str) -> str:
    """`GPU 0` of `/device:GPU:0`; empty on the host."""
    found = _DEVICE.match(name)
    if found:
        return f"{found['type'].upper()} {found['number']}"
    return name.removeprefix("/device:") if name.startswith("/device:") else ""


def _track(plane: str, device: str, line: _Line, derived: bool) -> Track:
    name = line.display or line.name or str(line.identifier)
    if not device:
        return Track(name=f"{plane} {name}" if plane != "/host:CPU" else name, role="thread", process=plane, thread=str(line.identifier))
    return Track(name=f"{device} {name}", device=device, role="ranges" if derived else "queue", thread=str(line.identifier))


def _on_device(text: str, line: _Line, derived: bool, stats: _Stats) -> tuple[str, str, int]:
    """Kind, name and step of an event of a device."""
    name = bare_kernel(text)
    if derived:
        step = _step(text, stats) if "Steps" in line.name else -1
        if "Steps" in line.name and step < 0 and text.isascii() and text.isdigit() and len(text) < 12:
            step = int(text)
        return ("iteration" if step >= 0 else "annotation"), name, step
    kind = device_kind(name)
    if kind == "compute" and ("memcpy_details" in stats or _TPU_COPY.search(name[:200])):
        kind = "copy"
    return kind, name, -1


def _host(text: str, stats: _Stats) -> tuple[str, str, int]:
    """Kind, name and step of an event of the host."""
    step = _step(text, stats)
    if step >= 0:
        return "iteration", text, step
    if _PYTHON.match(text):
        return "python", text.removeprefix("$").strip(), -1
    if _CALL.match(text):
        return call_kind(bare_call(text)), bare_call(text), -1
    return ("operator" if "hlo_op" in stats or "tf_op" in stats else "other"), text, -1


def _step(text: str, stats: _Stats) -> int:
    number = stats.get("step_num", -1)
    return number if isinstance(number, int) and 0 <= number < 2**53 else iteration_of(text)


def _bytes(stats: _Stats) -> int:
    found = _SIZE.search(str(stats.get("memcpy_details", "")))
    return int(found[1]) if found else -1
