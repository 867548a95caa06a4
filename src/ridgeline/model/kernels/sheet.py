"""What kernels ask of a device's data sheet: the dense peak of one precision, the bandwidth, the units that share the work, and the cache.

This module decides which numbers of a `Device` those are and what a state of the machine does to them. It leaves their sources to the catalogue.
"""

from __future__ import annotations

import msgspec

from ridgeline.core import Device, OutOfRange, Precision, SystemState

__all__ = ["KernelSheet", "kernel_sheet"]


class KernelSheet(msgspec.Struct, frozen=True, kw_only=True):
    """One device for products of one precision.

    Args:
        name: of the device.
        flop_per_s: dense peak of its matrix units, FLOP/s.
        byte_per_s: peak of its own memory, B/s.
        units: execution units that work is spread over.
        cache_bytes: of the cache that all units share, B; 0 where the data sheet does not say.
    """

    name: str
    flop_per_s: float
    byte_per_s: float
    units: int
    cache_bytes: float = 0.0


def kernel_sheet(device: Device, precision: Precision, state: SystemState | None = None) -> KernelSheet:
    """The numbers for one precision, in a state of the machine.

    Args:
        device: of the catalogue or a plugin.
        precision: of the arithmetic; there is no fall-back to another one.
        state: a core clock scales the peak, a memory clock is not known to, contention takes bandwidth.

    Raises:
        OutOfRange: no GPU, or one whose data sheet lacks the rate of its memory, its units, or a peak of matrix units for that precision.

    >>> from ridgeline.device import find
    >>> sheet = kernel_sheet(find("h200"), "fp8")
    >>> sheet.units, sheet.flop_per_s / 1e12, sheet.byte_per_s / 1e12
    (132, 1978.0, 4.8)
    """
    state = state or SystemState()
    if device.kind != "gpu":
        raise OutOfRange("a GPU", found=f"{device.name}, a device of kind {device.kind}", remedy="ask the model of that kind")
    peak = _peak(device, precision)
    rate = next((each.rate.value for each in device.ceilings if each.engine in ("copy", "read") and each.level == "DRAM"), None)
    found = {f"dense peak of matrix units in {precision}": peak, "rate of its memory": rate, "execution units": device.execution_units}
    missing = [name for name, value in found.items() if not value]
    if missing or not peak or not rate or not device.execution_units:
        lacks = f"{device.name} without {', '.join(missing)}"
        raise OutOfRange("a data sheet with all that kernels ask for", found=lacks, remedy="add it with its source")
    clock = state.core_clock_hz / device.clock_hz.value if state.core_clock_hz and device.clock_hz else 1.0
    cache = max((float(each.capacity_bytes) for each in device.levels if each.name in ("L2", "L3")), default=0.0)
    return KernelSheet(
        name=device.name, flop_per_s=peak * clock, byte_per_s=rate * (1.0 - state.memory_contention), units=device.execution_units, cache_bytes=cache
    )


def _peak(device: Device, precision: Precision) -> float | None:
    """The matrix units' peak, never that of the vector lanes; the two 16-bit formats run at one rate where only one of them is listed."""
    same = {"bf16": ("bf16", "fp16"), "fp16": ("fp16", "bf16")}.get(precision, (precision,))
    listed = {each.precision: each.rate.value for each in device.ceilings if each.engine == "fma" and each.units == "matrix"}
    return next((listed[name] for name in same if name in listed), None)
