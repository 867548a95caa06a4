"""Slots to tracks: what a lane is called, which device it is on, and what it means for its events.

This module decides names and roles. In PyTorch's traces the category of an event already says where it lies. TensorFlow and JAX say it in the names
of processes and threads (`/device:GPU:0`, `Stream #14(Compute)`, `XLA Ops`, `Steps`), which may stand at the end of the file.
Sources: tensorflow/tsl profiler, convert/trace_viewer and utils/xplane_schema.cc (names of planes and lines); tensorflow/python/client/timeline.py
(names of the older tracer); pytorch/kineto, libkineto/src/output_json.cpp (labels of processes).
"""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ridgeline.core.timeline import Track

from .columns import Columns
from .kineto import KIND
from .origins import Slot

__all__ = ["Lane", "lanes_of"]

_UNIT = re.compile(r"^[A-Z]+ \d+$")
_DEVICE = re.compile(r"/device:([A-Za-z_]+):(\d+)")
_STREAM = re.compile(r"^(?:stream|Stream)\s*#?")
#: How "no stream in particular" is written: as nothing, −1, and −1 taken for an unsigned number.
_NO_STREAM = ("", "-1", "4294967295")


class Lane(NamedTuple):
    """A track, and the kind of the events on it whose category says none (−1: none either); `framework`: of TensorFlow or JAX."""

    track: Track
    kind: int
    framework: bool


def lanes_of(columns: Columns, rank: int | None, used: NDArray[np.bool_]) -> list[Lane]:
    """One lane a slot, the names of those that are used told apart."""
    framework = any(_DEVICE.search(name) or name.startswith("/host:CPU") for name in columns.processes.values())
    has_streams = any(_STREAM.match(thread) for (process, _), thread in columns.threads.items() if _DEVICE.search(columns.processes.get(process, "")))
    lanes, taken = [], dict[str, int]()
    for slot, is_used in zip(columns.slots, used.tolist(), strict=True):
        lane = _framework_lane(columns, slot, has_streams) if framework and slot.where == "thread" else _lane(columns, slot)
        name = lane.track.name
        taken[name] = taken.get(name, 0) + is_used
        unique = name if taken[name] <= 1 else f"{name} ({taken[name]})"
        track = Track(
            name=unique, device=lane.track.device, role=lane.track.role, process=slot.process or slot.device, rank=rank, thread=lane.track.thread
        )
        lanes.append(Lane(track, lane.kind, framework))
    return lanes


def _lane(columns: Columns, slot: Slot) -> Lane:
    if slot.where in ("thread", "ranges"):
        return Lane(Track(name=_host_name(columns, slot), role=slot.where, thread=slot.thread), -1, False)
    if slot.where == "async":
        name = f"{_process_name(columns, slot.process)}, {slot.thread or 'ranges'} (asynchronous)"
        return Lane(Track(name=name, role="ranges", thread=slot.thread), KIND["annotation"], False)
    device = _device_name(columns, slot)
    stream = slot.thread
    name = f"{device} stream {stream}" if stream not in _NO_STREAM else device
    if slot.where == "queue":
        return Lane(Track(name=name, device=device, role="queue", thread=stream), -1, False)
    beside = "annotations" if slot.where == "annotations" else "synchronisation"
    return Lane(Track(name=f"{name} {beside}", device=device, role="ranges", thread=stream), -1, False)


def _device_name(columns: Columns, slot: Slot) -> str:
    label = columns.labels.get(slot.device, "")
    return label if _UNIT.match(label) and label.split()[1] == slot.device else f"{slot.unit} {slot.device}".strip()


def _process_name(columns: Columns, process: str) -> str:
    name = columns.processes.get(process, "")
    return f"{name} {process}".strip() if name and name != process else f"process {process}" if process else "process"


def _host_name(columns: Columns, slot: Slot) -> str:
    if not slot.process and not slot.thread:
        return "whole recording"
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
        kind = KIND["copy"] if rest.startswith("/memcpy") else KIND["compute"]
        return Lane(Track(name=name, device=device, role="queue", thread=slot.thread), kind, True)
    kind = KIND["iteration"] if thread == "Steps" else KIND["annotation"]
    return Lane(Track(name=name, device=device, role="ranges", thread=slot.thread), kind, True)
