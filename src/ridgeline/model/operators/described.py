"""Whether the numbers of a device's description can be: sizes, rates, clocks, powers, prices and costs.

A file of a device is written by a person or another tool. A clock of zero or a cost below it would end in a division by zero or in parts of a latency
that are negative, far from where the mistake is. This module decides what can be; a description in which a number is missing is none of its business.
"""

from __future__ import annotations

from collections.abc import Iterator

from ridgeline.core import Device, UsageError

__all__ = ["check_description"]

#: Beyond these, in SI units, no device is, and products of a few numbers leave the range of floats.
_LEAST, _MOST = 1e-30, 1e30
_COUNTS = (
    "execution_units", "vector_bits", "registers_bytes", "shared_memory_bytes", "warp_threads", "max_threads_per_unit", "max_groups_per_unit",
    "memory_bytes",
)  # fmt: skip
_QUANTITIES = ("clock_hz", "base_clock_hz", "boost_clock_hz", "power_w", "least_cap_w")


def check_description(device: Device) -> None:
    """Refuse a device with a number that cannot be.

    Raises:
        UsageError: the first such number, by name.
    """
    for name, value in _positive(device):
        if not _LEAST <= value <= _MOST:
            _refuse(device, f"{name} above zero, at most {_MOST:g}", f"{name} of {device.name} at {value:g}")
    for name, value in _not_negative(device):
        if not 0 <= value <= _MOST:
            _refuse(device, f"{name} of zero or more, at most {_MOST:g}", f"{name} of {device.name} at {value:g}")


def _refuse(device: Device, expected: str, found: str) -> None:
    raise UsageError(expected, found=found, remedy="mend the device's description")


def _positive(device: Device) -> Iterator[tuple[str, float]]:
    for each in (*device.ceilings, *device.sparse):
        yield f"{each.engine} ({each.rate.unit})", each.rate.value
    for name in _COUNTS:
        count = getattr(device, name)
        if count is not None:
            yield name, count
    for name in _QUANTITIES:
        quantity = getattr(device, name)
        if quantity is not None:
            yield f"{name} ({quantity.unit})", quantity.value
    for array in device.mac_arrays:
        yield from ((f"mac_arrays {name}", getattr(array, name)) for name in ("rows", "columns", "count"))
    for lane in device.lanes:
        yield "lanes per_unit", lane.per_unit


def _not_negative(device: Device) -> Iterator[tuple[str, float]]:
    for level in device.levels:
        yield f"capacity_bytes of {level.name}", level.capacity_bytes
        yield f"line_bytes of {level.name}", level.line_bytes
        if level.shared_by is not None:
            yield f"shared_by of {level.name}", level.shared_by
    for cost in device.costs:
        yield f"the cost {cost.name} (s)", cost.seconds.value
    if device.price_per_hour is not None:
        yield "price_per_hour", device.price_per_hour.value
