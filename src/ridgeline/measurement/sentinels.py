"""The ceilings of the moment: short FMA and stream loops between the samples, against what the probe found when the machine was quiet.

A slow kernel and a busy machine look alike from the kernel; from a loop whose speed is known they do not.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ridgeline import _native
from ridgeline.core import Ceiling, Device, Quantity

__all__ = ["SentinelLoop"]

_FMA_S = 0.003
_STREAM_S = 0.006
#: Working set of the stream sentinel: larger than the caches a core has to itself, small enough to touch in milliseconds.
_STREAM_BYTES = 8 << 20


class SentinelLoop:
    """Runs the sentinels and keeps their rates.

    Args:
        device: the probed machine; without it rates are kept against their own best.
        cpu: the CPU to run on.
    """

    def __init__(self, device: Device | None, cpu: int) -> None:
        self._cpu = cpu
        self._device = device
        self._fma: list[float] = []
        self._stream: list[float] = []

    def run(self) -> None:
        """One round of both loops, about ten milliseconds."""
        operations, seconds = _native.fma("fp32", _FMA_S, (self._cpu,))
        self._fma.append(operations / seconds)
        moved, seconds = _native.stream("read", _STREAM_BYTES, _STREAM_S, (self._cpu,))
        self._stream.append(moved / seconds)

    @property
    def fma_ratio(self) -> Quantity | None:
        """FMA rate now ÷ in the probe, `None` before the first round."""
        return _ratio(self._fma, _reference(self._device, "fma", "fp32", None), "FMA sentinel ÷ probe")

    @property
    def stream_ratio(self) -> Quantity | None:
        """Read bandwidth now ÷ in the probe at the nearest working set."""
        return _ratio(self._stream, _reference(self._device, "read", "any", _STREAM_BYTES), "stream sentinel ÷ probe")


def _reference(device: Device | None, engine: str, precision: str, working_set: int | None) -> float | None:
    if device is None:
        return None
    points: Sequence[Ceiling] = [c for c in device.ceilings if c.engine == engine and c.threads == 1 and c.precision in (precision, "any")]
    if working_set is None:
        return max((c.rate.value for c in points), default=None)
    sized = [c for c in points if c.working_set_bytes]
    nearest = min(sized, key=lambda c: abs(np.log((c.working_set_bytes or 1) / working_set)), default=None)
    return nearest.rate.value if nearest else None


def _ratio(rates: list[float], reference: float | None, origin: str) -> Quantity | None:
    if not rates:
        return None
    against = reference or max(rates)
    values = np.asarray(rates) / against
    return Quantity(
        value=float(np.median(values)),
        low=float(np.quantile(values, 0.1, method="lower")),
        high=float(np.quantile(values, 0.9, method="higher")),
        confidence=0.8,
        unit="1",
        source="measured",
        origin=origin if reference else f"{origin} (no probe: against its own best)",
    )
