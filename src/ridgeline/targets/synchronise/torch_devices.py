"""torch: tensors on CUDA, XPU and MPS devices, and devices that are at work although nothing of theirs is returned.

Sources: the documentation of `torch.cuda.synchronize`, `torch.xpu.synchronize` (one device, the current one by default) and `torch.mps.synchronize`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

from .base import Synchroniser, Wait
from .clocks import TorchClock, clock_of, place_of
from .timer import DeviceTimer, MarkTimer

__all__ = ["TorchDevices"]

#: Device types that a function may give work to and return nothing of.
_STARTED = ("cuda", "xpu")


class TorchDevices(Synchroniser):
    """Waits for the devices of the tensors, and for those that are started in this process."""

    def waiting(self, result: Any, leaves: Sequence[Any]) -> Wait | None:
        """Wait for whole devices: a tensor does not know its stream."""
        waits = [wait for place in self._places(leaves) if (wait := _wait_for(*place)) is not None]
        if not waits:
            return None
        if len(waits) == 1:
            only = waits[0]
            return lambda value: only()

        def wait_all(value: Any) -> None:
            for wait in waits:
                wait()

        return wait_all

    def timer(self, result: Any, leaves: Sequence[Any]) -> Callable[[], DeviceTimer] | None:
        """Events on the current stream of the device; none where several take part, for there is no one time then."""
        places = self._places(leaves)
        if len(places) != 1 or not _has_events(places[0][0]):
            return None
        kind, number = places[0]
        clock = clock_of(place_of(kind if number is None else f"{kind}:{number}"))
        return (lambda: MarkTimer(clock)) if isinstance(clock, TorchClock) else None

    def unfinished(self, leaf: Any) -> str:
        """A tensor on a device type that has no `synchronize`."""
        kind, _ = _device(leaf)
        return f"a tensor on the device {kind!r}" if kind and _module(kind) is None else ""

    def knows(self, leaf: Any) -> bool:
        """A tensor on a device."""
        return bool(_device(leaf)[0])

    def _places(self, leaves: Sequence[Any]) -> list[tuple[str, int | None]]:
        found = {_device(leaf) for leaf in leaves} - {("", None)}
        for kind in _STARTED:
            started = getattr(_module(kind), "is_initialized", None)
            if started is not None and started() and not any(kind == other for other, _ in found):
                found.add((kind, None))
        return sorted(found, key=lambda place: (place[0], place[1] if place[1] is not None else -1))


def _device(leaf: Any) -> tuple[str, int | None]:
    """Type and number of the device of a tensor that is not on the host; ("", None) for anything else."""
    tensor = getattr(sys.modules.get("torch"), "Tensor", None)
    if not isinstance(tensor, type) or not isinstance(leaf, tensor):
        return "", None
    kind, _, number = str(getattr(leaf, "device", "cpu")).partition(":")
    return ("", None) if kind in {"cpu", "meta"} else (kind, int(number) if number.isdecimal() else None)


def _module(kind: str) -> Any:
    module = getattr(sys.modules.get("torch"), kind, None)
    return module if hasattr(module, "synchronize") else None


def _has_events(kind: str) -> bool:
    module = _module(kind)
    return hasattr(getattr(module, "event", None) if kind == "mps" else module, "Event")


def _wait_for(kind: str, number: int | None) -> Callable[[], Any] | None:
    module = _module(kind)
    if module is None:
        return None
    synchronize: Callable[..., Any] = module.synchronize
    return synchronize if number is None or kind not in _STARTED else lambda: synchronize(number)
