"""Whether a device is the one that a model was measured on: a name is shared by every machine with the same processor.

This module decides by three things: the fingerprint of a machine, where both sides have one; the peak of its arithmetic; and the bandwidth of its
memory. Two probes of one machine differ, so that ceilings count as the same within `NEAR`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Literal, NamedTuple

import msgspec

from ridgeline.core import Device
from ridgeline.core.units import format_quantity

from ..learned.scaling import damaged
from .roofs import memory_rate

__all__ = ["NEAR", "Likeness", "MeasuredDevice", "likeness", "measured_device"]

#: What is up to this factor beyond what was measured is near enough to it.
NEAR = 1.25
#: Beyond this, in SI units, no ceiling is.
_MOST = 1e30


class MeasuredDevice(msgspec.Struct, frozen=True, kw_only=True):
    """A device that rows are of.

    Args:
        kind: `cpu`, `gpu` or `npu`; vendor, architecture, fingerprint: as the device says.
        rows: that were learned from.
        threads: of the runtime that it was measured with; 0 for its own choice.
        peak_flop_per_s, memory_byte_per_s: its ceilings then, of multiply-adds in fp32 and of its memory; 0 where they are not known.
    """

    name: str
    kind: Literal["cpu", "gpu", "npu"]
    vendor: str = ""
    architecture: str = ""
    fingerprint: str = ""
    rows: int = 0
    threads: int = 0
    peak_flop_per_s: float = 0.0
    memory_byte_per_s: float = 0.0

    def __post_init__(self) -> None:
        if not (0 <= self.threads < 2**31 and 0 <= self.peak_flop_per_s <= _MOST and 0 <= self.memory_byte_per_s <= _MOST):
            raise damaged(f"{self.threads} threads, {self.peak_flop_per_s:g} FLOP/s or {self.memory_byte_per_s:g} B/s of a measured device")


class Likeness(NamedTuple):
    """`known`: whether what was measured there holds here; `far`: how far ceilings are apart, in log; `reason`: why it may not, else empty."""

    known: bool
    far: float = 0.0
    reason: str = ""


def measured_device(device: Device, *, rows: int, threads: int) -> MeasuredDevice:
    """A device as the model keeps it; rows and threads are counts."""
    peak, memory = _ceilings(device)
    return MeasuredDevice(
        name=device.name, kind=device.kind, vendor=device.vendor, architecture=device.architecture, fingerprint=device.fingerprint, rows=rows,
        threads=threads, peak_flop_per_s=peak, memory_byte_per_s=memory,
    )  # fmt: skip


def likeness(measured: MeasuredDevice | None, device: Device) -> Likeness:
    """How like a device of that name the measured one is; distances are logarithms of ratios.

    >>> likeness(None, Device(name="x", kind="cpu"))
    Likeness(known=False, far=0.0, reason='')
    """
    if measured is None:
        return Likeness(False)
    apart = list(_apart(measured, device))
    far = max((abs(math.log(now / then)) for _, then, now, _ in apart), default=0.0)
    alike, both = far <= math.log(NEAR), bool(measured.fingerprint and device.fingerprint)
    if alike and (not both or measured.fingerprint == device.fingerprint):
        return Likeness(True)
    said = ", ".join(f"{what} {format_quantity(then, unit)} there and {format_quantity(now, unit)} here" for what, then, now, unit in apart)
    if both and measured.fingerprint != device.fingerprint:
        reason = f"measured on another machine of the name {device.name}, or on this one before it was changed"
        return Likeness(True, far, reason) if alike else Likeness(False, far, f"{reason}, {said}: taken as not measured")
    if both:
        return Likeness(True, far, f"ceilings of {device.name} are not those of the measurement, {said}: probe it again with nothing else running")
    return Likeness(False, far, f"{device.name} is not as it was measured, {said}: taken as not measured")


def _apart(measured: MeasuredDevice, device: Device) -> Iterator[tuple[str, float, float, str]]:
    """(Ceiling, then, now, unit), where both are known."""
    then = (measured.peak_flop_per_s, measured.memory_byte_per_s)
    for what, before, now, unit in zip(("peak", "memory"), then, _ceilings(device), ("FLOP/s", "B/s"), strict=True):
        if before > 0 and now > 0:
            yield what, before, now, unit


def _ceilings(device: Device) -> tuple[float, float]:
    peak = max((each.rate.value for each in device.ceilings if each.engine == "fma" and each.precision == "fp32"), default=0.0)
    return peak, memory_rate(device)
