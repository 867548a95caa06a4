"""CuPy: arrays on CUDA or ROCm devices.

Sources: the documentation of `cupy.cuda.Device.synchronize`, `cupy.cuda.MemoryPool.total_bytes` and `cupy.cuda.get_elapsed_time` (ms).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

from .base import Synchroniser, Wait
from .clocks import CupyClock
from .timer import DeviceTimer, MarkTimer

__all__ = ["CupyDevices"]


class CupyDevices(Synchroniser):
    """Waits for the devices of the arrays; where none is returned, for the current device if arrays have been made on it."""

    def waiting(self, result: Any, leaves: Sequence[Any]) -> Wait | None:
        """Wait for whole devices: an array does not know its stream."""
        devices = self._devices(leaves)
        if not devices:
            return None
        waits = [device.synchronize for device in devices]

        def wait_all(value: Any) -> None:
            for wait in waits:
                wait()

        return wait_all

    def timer(self, result: Any, leaves: Sequence[Any]) -> Callable[[], DeviceTimer] | None:
        """Events on the current stream; none where several devices take part."""
        return (lambda: MarkTimer(CupyClock(sys.modules["cupy"]))) if len(self._devices(leaves)) == 1 else None

    def knows(self, leaf: Any) -> bool:
        """An array on a device."""
        return type(leaf).__module__.split(".")[0] == "cupy" and hasattr(leaf, "device") and hasattr(leaf.device, "synchronize")

    def _devices(self, leaves: Sequence[Any]) -> list[Any]:
        found = {int(getattr(leaf.device, "id", 0)): leaf.device for leaf in leaves if self.knows(leaf)}
        cupy: Any = sys.modules["cupy"]
        pool = getattr(cupy, "get_default_memory_pool", None)
        if not found and pool is not None and pool().total_bytes() > 0:
            found[-1] = cupy.cuda.Device()
        return [found[number] for number in sorted(found)]
