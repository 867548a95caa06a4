"""What no measurement on a device can be faster than: its peaks of arithmetic and memory, each row against them.

Utilisation is FLOP ÷ (latency × peak of the precision); bandwidth utilisation counts only what cannot have been in the largest cache,
(bytes − capacity) ÷ (latency × bandwidth). Both are at most 1 wherever work, time, unit, precision and device are right (S. Williams, A. Waterman,
D. Patterson, "Roofline", CACM 52, 2009). This module decides which ceiling of a device counts; what follows from a row above it is decided in `rows`.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
import numpy as np
from numpy.typing import NDArray

from ridgeline.core import Device, LatencyTable
from ridgeline.core.device import MEMORY_MIXES

__all__ = ["Against", "against_peaks"]

Floats = NDArray[np.float64]


class Against(msgspec.Struct, frozen=True, kw_only=True):
    """Rows against the peaks of their devices; 0 where the device, its peak, or the work is not known.

    Args:
        utilisation, bandwidth: shares of the peaks, dimensionless, shape (n,).
        least_s: seconds that the row takes at both peaks, the longer.
        arithmetic_checked, memory_checked: rows for which peak and work are known.
    """

    utilisation: Floats
    bandwidth: Floats
    least_s: Floats
    arithmetic_checked: NDArray[np.bool_]
    memory_checked: NDArray[np.bool_]


def against_peaks(table: LatencyTable, devices: Mapping[str, Device]) -> Against:
    """Each row against its device.

    Args:
        table: latencies > 0; `flop` and `bytes` where they are known.
        devices: name in the table → the device.
    """
    count = len(table)
    peak, bandwidth, cache = np.zeros(count), np.zeros(count), np.zeros(count)
    for code, name in enumerate(table.devices):
        device = devices.get(name)
        own = table.device.values == code
        if device is None or not own.any():
            continue
        bandwidth[own], cache[own] = _memory(device)
        for number, precision in enumerate(table.precisions):
            peak[own & (table.precision.values == number)] = _peak(device, precision)
    latency = table.latency_s.values
    flop, beyond = table.optional("flop"), np.maximum(0.0, table.optional("bytes") - cache)
    with np.errstate(divide="ignore", invalid="ignore"):
        arithmetic_s = np.where(peak > 0, flop / peak, 0.0)
        memory_s = np.where(bandwidth > 0, beyond / bandwidth, 0.0)
    return Against(
        utilisation=arithmetic_s / latency, bandwidth=memory_s / latency, least_s=np.maximum(arithmetic_s, memory_s),
        arithmetic_checked=(peak > 0) & (flop > 0), memory_checked=(bandwidth > 0) & (table.optional("bytes") > 0),
    )  # fmt: skip


def _peak(device: Device, precision: str) -> float:
    """The highest rate in FLOP/s of multiply-adds in that precision; 0 where none is known."""
    return max((c.rate.high for c in device.ceilings if c.engine == "fma" and c.precision == precision and c.rate.unit == "FLOP/s"), default=0.0)


def _memory(device: Device) -> tuple[float, float]:
    """(Highest bandwidth in B/s of the memory behind all caches, capacity in bytes of all caches that may hold a part)."""
    rates = [c for c in device.ceilings if c.engine in MEMORY_MIXES and c.rate.unit == "B/s"]
    units = device.execution_units or 1
    # A level has as many instances as its sharers leave room for: a CPU of eight dies has eight last-level caches.
    caches = {
        level.name: level.capacity_bytes * max(1, -(-units // level.shared_by) if level.shared_by else 1)
        for level in device.levels
        if level.name.upper().startswith(("L1", "L2", "L3", "L4", "SLC", "CACHE"))
    }
    outer = [c.rate.high for c in rates if (c.level or "DRAM") not in caches]
    return max(outer, default=0.0), float(max(caches.values(), default=0))
