"""Slots to tracks: what a lane is called, which device it is on, and what it means for its events.

This module decides names and roles. In PyTorch's traces the category of an event already says where it lies. TensorFlow and JAX say it in the names of
processes and threads (`/device:GPU:0`, `Stream #14(Compute)`, `XLA Ops`, `Steps`), which may stand at the end of the file.
Sources: tensorflow/tsl profiler, convert/trace_viewer and utils/xplane_schema.cc (names of planes and lines); tensorflow/python/client/timeline.py
(names of the older tracer); pytorch/kineto, libkineto/src/output_json.cpp (labels of processes).
"""

from __future__ import annotations

import re
from typing import NamedTuple

from ridgeline.core.timeline import Track

from .columns import Columns, Slot
from .kineto import KIND

__all__ = ["Lane", "lanes_of"]

_UNIT = re.compile(r"^[A-Z]+ \d+$")
_DEVICE = re.compile(r"/device:([A-Za-z_]+):(\d+)")
_STREAM = re.compile(r"^(?:stream|Stream)\s*#?")
_ANY_DEVICE = "compute"


class Lane(NamedTuple):
    """A track, and the kind of the events on it whose category says none (−1: that of their category). `host_python`: whether names with `$` are Python."""

    track: Track
    kind: int
    framework: bool


def lanes_of(columns: Columns, rank: int | None) -> list[Lane]:
    """One lane a slot, their names told apart."""
    framework = any(_DEVICE.search(name) or name.startswith("/host:CPU") for name in columns.processes.values())
    has_streams = any(_STREAM.match(thread) for (process, _), thread in columns.threads.items() if _DEVICE.search(columns.processes.get(process, "")))
    lanes, taken = [], dict[str, int]()
    for slot in columns.slots:
        lane = _framework_lane(columns, slot, has_streams) if framework and slot.where == "thread" else _lane(columns, slot)
        name = lane.track.name
        taken[name] = taken.get(name, 0) + 1
        unique = name if taken[name] == 1 else f"{name} ({taken[name]})"
        track = Track(
            name=unique, device=lane.track.device, role=lane.track.role, process=slot.process or slot.device, rank=rank, thread=lane.track.thread
        )
        lanes.append(Lane(track, lane.kind, framework))
    return lanes


def _lane(columns: Columns, slot: Slot) -> Lane:
    if slot.where == "thread":
        return Lane(Track(name=_host_name(columns, slot), role="thread", thread=slot.thread), -1, False)
    if slot.where == "async":
        name = f"{_process_name(columns, slot.process)}, {slot.thread or 'ranges'} (asynchronous)"
        return Lane(Track(name=name, role="ranges", thread=slot.thread), KIND["annotation"], False)
    device = _device_name(columns, slot)
    stream = _STREAM.sub("", slot.thread).strip() or slot.thread
    name = f"{device} stream {stream}" if stream not in ("", "-1") else device
    if slot.where == "queue":
        return Lane(Track(name=name, device=device, role="queue", thread=stream), -1, False)
    beside = "annotations" if slot.where == "annotations" else "synchronisation"
    return Lane(Track(name=f"{name} {beside}", device=device, role="ranges", thread=stream), -1, False)


def _device_name(columns: Columns, slot: Slot) -> str:
    number = slot.device or slot.process
    label = columns.labels.get(number, "")
    if _UNIT.match(label) and label.split()[1] == number:
        return label
    return number if re.match(r"^[^\d\W]\w* ?\d+$", number) else f"{slot.unit} {number}".strip()


def _process_name(columns: Columns, process: str) -> str:
    name = columns.processes.get(process, "")
    return f"{name} {process}".strip() if name and name != process else f"process {process}" if process else "process"


def _host_name(columns: Columns, slot: Slot) -> str:
    thread = columns.threads.get((slot.process, slot.thread), "")
    return f"{_process_name(columns, slot.process)}, {thread or f'thread {slot.thread}'.strip()}"


def _framework_lane(columns: Columns, slot: Slot, has_streams: bool) -> Lane:
    """A lane of TensorFlow or JAX."""
    process = columns.processes.get(slot.process, "")
    thread = columns.threads.get((slot.process, slot.thread), "")
    found = _DEVICE.search(process)
    name = _host_name(columns, slot)
    if found is None or found.group(1).upper() == "CPU" or process.startswith("/job:"):
        return Lane(Track(name=name, role="thread", thread=slot.thread), KIND["operator"], True)
    device = f"{found.group(1).upper()} {found.group(2)}"
    rest = process[found.end() :]
    if _STREAM.match(thread) or rest.startswith(("/stream", "/memcpy")) or (not has_streams and thread in ("XLA Ops", "Async XLA Ops")):
        kind = KIND["copy"] if rest.startswith("/memcpy") else KIND[_ANY_DEVICE]
        return Lane(Track(name=name, device=device, role="queue", thread=slot.thread), kind, True)
    kind = KIND["iteration"] if thread == "Steps" else KIND["annotation"]
    return Lane(Track(name=name, device=device, role="ranges", thread=slot.thread), kind, True)
