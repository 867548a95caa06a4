"""Which devices, streams and queues have events of their own, and what these are called.

Only libraries that the program has loaded are touched, and no device is started. Sources: the documentation of torch (`torch.cuda.Event`,
`torch.xpu.Event`, `torch.mps.event.Event`: `record` on a stream of the event's device, `synchronize`, `elapsed_time` in ms between events that have
happened; "CUDA graphs": no waiting while a stream is captured), of CuPy (`cupy.cuda.Event`, `cupy.cuda.get_elapsed_time` in ms) and of OpenCL
(clEnqueueMarkerWithWaitList, CL_PROFILING_COMMAND_END in ns, queues with CL_QUEUE_PROFILING_ENABLE).
"""

from __future__ import annotations

import sys
from collections.abc import Hashable
from typing import Any, NamedTuple, Protocol

__all__ = ["CupyClock", "DeviceClock", "OpenClClock", "TorchClock", "TorchPlace", "clock_of", "place_of", "torch_in_use"]

_TORCH_DEVICES = ("cuda", "xpu", "mps")


class DeviceClock(Protocol):
    """A device's own clock."""

    def mark(self) -> Any:
        """An event behind all work that was given to the device so far; `None` where it takes none now."""

    def wait(self, mark: Any) -> None:
        """Return when the event has happened."""

    def elapsed_s(self, first: Any, second: Any) -> float:
        """Seconds from one event to a later one; both have happened."""


class TorchPlace(NamedTuple):
    """The current stream of a torch device, whichever that is when something is given to it."""

    kind: str
    number: int


class TorchClock:
    """A torch stream, or whichever stream of a device is the current one."""

    def __init__(self, kind: str, index: int, stream: Any = None) -> None:
        self._module = getattr(sys.modules["torch"], kind)
        self._make = self._module.event.Event if kind == "mps" else self._module.Event
        self._kind, self._index, self._stream = kind, index, stream
        self._capturing = getattr(self._module, "is_current_stream_capturing", None)

    def mark(self) -> Any:
        """Record an event on the stream; none while a graph is captured, of which it would become a part that has no time."""
        if self._capturing is not None and self._capturing():
            return None
        event = self._make(enable_timing=True)
        if self._kind == "mps":
            event.record()
        else:
            event.record(self._stream if self._stream is not None else self._module.current_stream(self._index))
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


class CupyClock:
    """The current stream of CuPy, whichever that is when something is given to it."""

    def __init__(self, cupy: Any) -> None:
        self._cuda = cupy.cuda

    def mark(self) -> Any:
        """Record an event on the stream; none while a graph is captured."""
        stream = self._cuda.get_current_stream()
        if getattr(stream, "is_capturing", lambda: False)():
            return None
        event = self._cuda.Event()
        event.record(stream)
        return event

    def wait(self, mark: Any) -> None:
        """Wait for it."""
        mark.synchronize()

    def elapsed_s(self, first: Any, second: Any) -> float:
        """Seconds between two events."""
        return float(self._cuda.get_elapsed_time(first, second)) / 1e3


class _Same:
    """An object that cannot be a key, by what it is and not by what it is equal to."""

    def __init__(self, device: Any) -> None:
        self.device = device

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other.device is self.device

    def __hash__(self) -> int:
        return id(self.device)


def torch_in_use() -> str | None:
    """Type of the device that torch has started in this process, so that a stage may have given it work; `None` for none."""
    torch = sys.modules.get("torch")
    for kind in ("cuda", "xpu"):
        started = getattr(getattr(torch, kind, None), "is_initialized", None)
        if started is not None and started():
            return kind
    return None


def place_of(device: Any) -> Hashable:
    """What stands for a device in a table: the same for the same device, stream or queue however it was named; `None` for the CPU and for none."""
    torch = sys.modules.get("torch")
    if isinstance(device, str) or (torch is not None and isinstance(device, torch.device)):
        kind, _, index = str(device).partition(":")
        if kind in ("cpu", "meta"):
            return None
        if kind in _TORCH_DEVICES and hasattr(torch, kind):
            # A name without a number is the device that is current where the stage is entered.
            current = getattr(getattr(torch, kind), "current_device", None)
            return TorchPlace(kind, int(index) if index.isdecimal() else current() if current is not None else 0)
    try:
        hash(device)
    except TypeError:
        return _Same(device)
    return device  # type: ignore[no-any-return]  # whatever can be a key


def clock_of(place: Any) -> DeviceClock | None:
    """The clock of a place; `None` where it has no events of its own."""
    torch, opencl = sys.modules.get("torch"), sys.modules.get("pyopencl")
    if opencl is not None and isinstance(place, opencl.CommandQueue):
        return OpenClClock(place) if place.properties & opencl.command_queue_properties.PROFILING_ENABLE else None
    if isinstance(place, TorchPlace):
        return TorchClock(place.kind, place.number)
    if torch is None or not hasattr(place, "record_event") or not type(place).__module__.startswith("torch"):
        return None
    of = getattr(place, "device", None)
    kind = getattr(of, "type", "")
    return TorchClock(kind, getattr(of, "index", None) or 0, place) if kind in _TORCH_DEVICES else None
