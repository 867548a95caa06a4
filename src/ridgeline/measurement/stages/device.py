"""How long the work of a stage took on an asynchronous device: by the device's own events, or by waiting for it.

A stage that only gives work to a queue is over in microseconds while the device works for milliseconds; such a time is never reported. Which
devices have events is decided here; the recorder calls `opening` and `closing` around each stage and `resolved` when all is over. Sources: the
documentation of torch (`torch.cuda.Event`, `torch.xpu.Event`, `torch.mps.event.Event`: `record`, `synchronize`, `elapsed_time` in ms) and of
OpenCL (clEnqueueMarkerWithWaitList, CL_PROFILING_COMMAND_END in ns, queues with CL_QUEUE_PROFILING_ENABLE).
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ridgeline import _native

__all__ = ["DeviceClock", "DeviceTimes", "OpenClClock", "TorchClock"]

_TORCH_DEVICES = ("cuda", "xpu", "mps")


class DeviceClock(Protocol):
    """A device's own clock."""

    def mark(self) -> Any:
        """An event behind all work that was given to the device so far."""

    def wait(self, mark: Any) -> None:
        """Return when the event has happened."""

    def elapsed_s(self, first: Any, second: Any) -> float:
        """Seconds from one event to a later one; both have happened."""


class TorchClock:
    """A torch stream, or the current stream of a torch device type."""

    def __init__(self, kind: str, stream: Any = None) -> None:
        module = getattr(sys.modules["torch"], kind)
        self._make = module.event.Event if kind == "mps" else module.Event
        self._stream = stream

    def mark(self) -> Any:
        """Record an event on the stream."""
        event = self._make(enable_timing=True)
        if self._stream is None:
            event.record()
        else:
            event.record(self._stream)
        return event

    def wait(self, mark: Any) -> None:
        """Wait for it."""
        mark.synchronize()

    def elapsed_s(self, first: Any, second: Any) -> float:
        """Seconds between two events."""
        return float(first.elapsed_time(second)) / 1e3


class OpenClClock:
    """An OpenCL queue with profiling switched on."""

    def __init__(self, queue: Any) -> None:
        self._queue, self._opencl = queue, sys.modules["pyopencl"]

    def mark(self) -> Any:
        """Enqueue a marker."""
        return self._opencl.enqueue_marker(self._queue)

    def wait(self, mark: Any) -> None:
        """Wait for it."""
        self._queue.flush()
        mark.wait()

    def elapsed_s(self, first: Any, second: Any) -> float:
        """Seconds between the ends of two markers."""
        return float(second.profile.end - first.profile.end) / 1e9


class DeviceTimes:
    """The device side of one recording.

    Attributes:
        everywhere: whether stages that name no device are timed too, since torch has started one.
        problems: one sentence for each device whose work could not be timed.
    """

    def __init__(self, wait: Callable[[], Any] | None = None, clock_of: Callable[[Any], DeviceClock | None] | None = None) -> None:
        self.everywhere = _torch_in_use() is not None
        self.problems: list[str] = []
        self._wait = wait
        self._clock_of = clock_of or _clock_of
        self._clocks: dict[int, tuple[Any, DeviceClock | None, Any, int]] = {}
        self._marks: list[tuple[int, int, Any, Any]] = []

    def opening(self, stage: _native.Stage) -> Any:
        """A mark in front of the stage's work, `None` where its device has no events or it has no device."""
        key = self._key(stage)
        clock = self._clocks[key][1] if key is not None else None
        return None if clock is None else (key, clock.mark())

    def closing(self, stage: _native.Stage, opened: Any, identity: int) -> bool:
        """A mark behind it, or waiting; whether it waited, so that the end must be read again."""
        if opened is not None:
            key, first = opened
            clock = self._clocks[key][1]
            assert clock is not None
            last = clock.mark()
            self._marks.append((identity, key, first, last))
            if stage.synchronise:
                clock.wait(last)
            return stage.synchronise
        if stage.device is None and not stage.synchronise:
            return False
        return self._waited(stage.device)

    def resolved(self, events: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.float64]]:
        """The events with the device's start and end where it has its own, and the seconds by it (NaN elsewhere), both of shape (n,)."""
        device_s = np.full(len(events), np.nan)
        if not self._marks:
            return events, device_s
        places = {int(identity): index for index, identity in enumerate(events["id"])}
        for identity, key, first, last in self._marks:
            _, clock, origin, origin_ns = self._clocks[key]
            if clock is None or identity not in places:
                continue
            index = places[identity]
            clock.wait(last)
            begin, length = clock.elapsed_s(origin, first), clock.elapsed_s(first, last)
            device_s[index] = max(0.0, length)
            # The device is done at the earliest when it was given the work, whatever its clock drifts.
            start = max(origin_ns + int(begin * 1e9), int(events["start_ns"][index]))
            events["start_ns"][index], events["end_ns"][index] = start, max(start + int(device_s[index] * 1e9), int(events["end_ns"][index]))
        return events, device_s

    def _key(self, stage: _native.Stage) -> int | None:
        device = stage.device if stage.device is not None else _torch_in_use()
        if device is None:
            return None
        key = hash(device) if isinstance(device, str) else id(device)
        if key not in self._clocks:
            clock = self._clock_of(device)
            origin, origin_ns = None, 0
            if clock is not None:
                # Once, the device's clock is laid on ours: an event that we wait for has happened when we return.
                origin = clock.mark()
                clock.wait(origin)
                origin_ns = _native.clock_ns()
            self._clocks[key] = (device, clock, origin, origin_ns)  # the device is kept, so that its id stays its own
        return key

    def _waited(self, device: Any) -> bool:
        for name in ("synchronize", "synchronise", "finish", "block_until_ready"):
            waiting = getattr(device, name, None)
            if callable(waiting):
                waiting()
                return True
        if self._wait is not None:
            self._wait()
            return True
        said = f"nothing is known of waiting for a {type(device).__name__}" if device is not None else "nothing to wait for was found"
        if said not in self.problems:
            self.problems.append(said)
        return False


def _torch_in_use() -> str | None:
    """Type of the device that torch has started in this process, so that a stage may have given it work; `None` for none."""
    torch = sys.modules.get("torch")
    for kind in ("cuda", "xpu"):
        started = getattr(getattr(torch, kind, None), "is_initialized", None)
        if started is not None and started():
            return kind
    return None


def _clock_of(device: Any) -> DeviceClock | None:
    """The clock of a device, stream or queue; `None` where it has no events of its own."""
    torch, opencl = sys.modules.get("torch"), sys.modules.get("pyopencl")
    if opencl is not None and isinstance(device, opencl.CommandQueue):
        return OpenClClock(device) if device.properties & opencl.command_queue_properties.PROFILING_ENABLE else None
    if torch is None:
        return None
    module = type(device).__module__
    if module.startswith("torch") and hasattr(device, "record_event"):
        kind = next((kind for kind in _TORCH_DEVICES if f".{kind}" in module), getattr(getattr(device, "device", None), "type", ""))
        return TorchClock(kind, device) if kind in _TORCH_DEVICES else None
    kind = str(device).split(":")[0]
    return TorchClock(kind) if kind in _TORCH_DEVICES and hasattr(torch, kind) else None
