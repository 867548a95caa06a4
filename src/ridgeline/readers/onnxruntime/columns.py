"""Events of onnxruntime as columns, filled piece by piece: what each event is, and on which track.

This module decides the kind of each event by its category, and which times are none. It keeps no event: a file of a million costs some fifty bytes
for each.
"""

from __future__ import annotations

from array import array

import numpy as np
from numpy.typing import NDArray

from ridgeline.core import EVENT_KINDS, Column, Excluded, Timeline, Track

from .decoding import Event

__all__ = ["KIND", "TICK_S", "Columns"]

#: Times are whole microseconds.
TICK_S = 1e-6
KIND = {name: index for index, name in enumerate(EVENT_KINDS)}
_LATEST = 2**53
_KERNEL_SUFFIX = "_kernel_time"
#: Nodes that onnxruntime inserts, by what they are for.
_PURPOSES = {"MemcpyToHost": "copy", "MemcpyFromHost": "copy", "ReorderInput": "layout", "ReorderOutput": "layout"}
_TEXTS = ("provider", "operator", "purpose", "shapes")


class Columns:
    """Columns of the events whose times are sound.

    Attributes:
        strings: interned texts; seen: events in all; session: µs of session events by name; ours: whether any event is onnxruntime's own.
    """

    def __init__(self) -> None:
        self.strings: dict[str, int] = {}
        self.seen = 0
        self.ours = False
        self.session: dict[str, int] = {}
        self._tracks: dict[tuple[str, ...], int] = {}
        self._whole = {name: array("q") for name in ("start", "duration", "node", "output")}
        self._index = {name: array("i") for name in ("name", "track", *_TEXTS)}
        self._kind = array("B")
        self._odd: dict[str, tuple[int, str]] = {}

    def __len__(self) -> int:
        return len(self._kind)

    def add(self, events: list[Event]) -> None:
        """Take the events of a piece; those without a possible time are counted as left out."""
        for event in events:
            self.seen += 1
            reason = _wrong(event)
            if reason:
                count, first = self._odd.get(reason, (0, f"event {event.name[:60]!r} at ts {event.ts}"))
                self._odd[reason] = (count + 1, first)
            else:
                self._take(event)

    def _take(self, event: Event) -> None:
        kind, arguments = _kind(event), event.args
        self.ours = self.ours or event.cat in ("Node", "Session")
        start, duration = int(event.ts or 0), int(event.dur or 0)
        if event.cat == "Session":
            self.session[event.name] = duration
        self._whole["start"].append(start)
        self._whole["duration"].append(duration)
        self._whole["node"].append(_number(arguments.node_index))
        self._whole["output"].append(_number(arguments.output_size))
        name = event.name.removesuffix(_KERNEL_SUFFIX) if event.cat == "Node" else event.name
        self._index["name"].append(self.strings.setdefault(name, len(self.strings)))
        self._index["track"].append(self._tracks.setdefault(_track(event), len(self._tracks)))
        shapes = bytes(arguments.input_type_shape)
        texts = (
            arguments.provider,
            arguments.op_name,
            _PURPOSES.get(arguments.op_name, ""),
            shapes.decode("utf-8", "replace") if len(shapes) < 4096 else "",
        )
        for column, text in zip(_TEXTS, texts, strict=True):
            self._index[column].append(self.strings.setdefault(text, len(self.strings)) if text else -1)
        self._kind.append(KIND[kind])

    def whole(self, name: str) -> NDArray[np.int64]:
        """A column of ticks or counts, shape (n,)."""
        return np.array(self._whole[name], dtype=np.int64)

    def index(self, name: str) -> NDArray[np.int32]:
        """A column of indices, −1 where an event has none, shape (n,)."""
        return np.array(self._index[name], dtype=np.int32)

    @property
    def kind(self) -> NDArray[np.uint8]:
        """Index into `EVENT_KINDS`, shape (n,)."""
        return np.array(self._kind, dtype=np.uint8)

    def excluded(self) -> list[Excluded]:
        """Events whose times were none, by reason."""
        return [Excluded(reason=reason, events=count, first=first) for reason, (count, first) in self._odd.items()]

    def timeline(self) -> Timeline:
        """All of it."""
        texts = {name: self.index(name) for name in _TEXTS}
        return Timeline(
            tick_s=TICK_S,
            start_tick=Column(self.whole("start"), "count"),
            duration_tick=Column(self.whole("duration"), "count"),
            name=Column(self.index("name"), "count"),
            track=Column(self.index("track"), "count"),
            strings=tuple(self.strings),
            tracks=tuple(_made(key) for key in self._tracks),
            kind=Column(self.kind, "count"),
            texts={name: Column(values, "count") for name, values in texts.items() if len(values) and values.max() >= 0},
            numbers=self._numbers(),
        )

    def _numbers(self) -> dict[str, Column]:
        output = self.whole("output")
        copies = self.index("purpose") == self.strings.get("copy", -2)
        columns = {"node": self.whole("node"), "output_bytes": output, "bytes": np.where(copies, output, -1)}
        return {name: Column(values, "count") for name, values in columns.items() if len(values) and values.max() >= 0}


def _wrong(event: Event) -> str:
    start, duration = event.ts, event.dur
    if event.ph != "X":
        return "not an event with a duration"
    if start is None or duration is None:
        return "without a start or a duration"
    if duration < 0:
        return "a negative duration"
    return "" if abs(start) < _LATEST and duration < _LATEST else "an impossible time"


def _number(value: str | int) -> int:
    """A count as it is written, or −1."""
    if isinstance(value, str):
        return int(value) if value.isascii() and value.isdigit() and len(value) < 18 else -1
    return value if 0 <= value < 2**60 else -1


def _kind(event: Event) -> str:
    if event.cat == "Node":
        # Older versions also write a fence before and after each kernel: a wait, not the kernel.
        return "operator" if event.name.endswith(_KERNEL_SUFFIX) else "other"
    if event.cat == "Session":
        return "iteration" if event.name == "model_run" else "annotation"
    if event.cat == "Kernel":
        low = event.name[:6].casefold()
        return "copy" if low == "memcpy" else "fill" if low == "memset" else "compute"
    return "runtime" if event.cat.casefold() == "api" else "other"


def _track(event: Event) -> tuple[str, ...]:
    """Device kernels on a queue each, the rest on its thread."""
    if event.cat == "Kernel":
        return ("queue", str(event.pid), str(event.args.stream), str(event.args.device))
    return ("thread", str(event.pid), str(event.tid))


def _made(key: tuple[str, ...]) -> Track:
    if key[0] == "queue":
        device = f"GPU {key[3] or 0}"
        name = f"{device} stream {key[2] or '?'}, process {key[1]}"
        return Track(name=name, device=device, role="queue", clock="onnxruntime", process=key[1], thread=key[2])
    return Track(name=f"thread {key[2]} of process {key[1]}", role="thread", clock="onnxruntime", process=key[1], thread=key[2])
