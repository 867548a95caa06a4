"""Limits of a device that constraints may look at by name: what each is called, and what a `Device` says of it."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from ridgeline.core import Device, UsageError

__all__ = ["DEVICE_LIMITS", "limits_of"]

#: A register of a GPU's thread holds 32 bits (CUDA C Programming Guide, compute capabilities: "number of 32-bit registers per multiprocessor").
_REGISTER_BYTES = 4
_CACHES = {"l1_bytes": "L1", "l2_bytes": "L2", "l3_bytes": "L3"}
#: Name → what it is.
DEVICE_LIMITS: Mapping[str, str] = {
    "max_threads_per_block": "threads of a work-group at most",
    "max_threads_per_unit": "threads resident on one execution unit at most",
    "max_groups_per_unit": "work-groups resident on one execution unit at most",
    "shared_memory_bytes": "shared memory of one execution unit, bytes",
    "shared_memory_per_block_bytes": "shared memory of a work-group at most, bytes",
    "registers": "32-bit registers of one execution unit",
    "registers_bytes": "registers of one execution unit, bytes",
    "warp_threads": "threads that run in step",
    "execution_units": "cores, SMs, CUs or tiles",
    "vector_bits": "SIMD width, bits",
    "l1_bytes": "first data cache of a core, bytes",
    "l2_bytes": "second cache, bytes",
    "l3_bytes": "third cache, bytes",
    "memory_bytes": "memory of the device, bytes",
}


def limits_of(names: Collection[str], device: Device | None, known: Mapping[str, int] | None = None) -> dict[str, int]:
    """Name → value of these limits.

    Args:
        names: of `DEVICE_LIMITS`.
        known: values that go before those of the device, such as what its driver says.

    Raises:
        UsageError: no device, or one that does not say it.
    """
    found: dict[str, int] = {}
    for name in names:
        value = (known or {}).get(name)
        if value is None and device is not None:
            value = _of_device(name, device)
        if value is None:
            what = f"{name} ({DEVICE_LIMITS[name]}) of the device, which a constraint looks at"
            said = "no device" if device is None else f"{device.name}, of which it is not known"
            raise UsageError(what, found=said, remedy=f"give a device that says it, or {name} as a constant of the kernel")
        found[name] = value
    return found


def _of_device(name: str, device: Device) -> int | None:
    if name == "registers":
        return None if device.registers_bytes is None else device.registers_bytes // _REGISTER_BYTES
    if name in _CACHES:
        return next((int(level.capacity_bytes) for level in device.levels if level.name == _CACHES[name] and level.capacity_bytes), None)
    value = getattr(device, name, None)
    return value if isinstance(value, int) else None
