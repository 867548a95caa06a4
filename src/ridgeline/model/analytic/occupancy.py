"""Resident work-groups on one execution unit, which resource limits them, and how much memory latency they hide.

Decides counts from a kernel's needs and a unit's limits; the limits are data (`UnitLimits`), from a device description or given. Sources: NVIDIA,
"CUDA C++ Best Practices Guide", section "Calculating Occupancy" (allocation granularity); NVIDIA, "Nsight Compute Profiling Guide" (registers
belong to the partitions of a unit, a subgroup lives in one of them); AMD: LLVM, `AMDGPUSubtarget` (waves by vector registers of a SIMD). Latency:
J. Little, Operations Research 9(3), 1961, as used by V. Volkov, "Understanding latency hiding on GPUs", UC Berkeley, 2016.
"""

from __future__ import annotations

from dataclasses import dataclass

import msgspec
import numpy as np
from numpy.typing import ArrayLike

from ...core.device import Device
from ...core.errors import UsageError
from ._arrays import COUNT, COUNT_OR_NONE, POSITIVE, Indices, Reals, ceil_div, choose, numbers, round_up, smaller

__all__ = ["LIMITS", "Occupancy", "UnitLimits", "bytes_in_flight_needed", "latency_bound_bandwidth", "limits_of", "resident_groups"]

#: What may limit the resident work-groups, in the order of `Occupancy.binding`.
LIMITS = ("work-group slots", "subgroup slots", "registers", "shared memory")


class UnitLimits(msgspec.Struct, frozen=True, kw_only=True):
    """What one execution unit (SM, CU, Xe core) can hold; every number from its vendor's document.

    Args:
        subgroup_width: threads of a warp, wave or subgroup.
        subgroups: slots for resident subgroups.
        work_groups: slots for resident work-groups.
        work_group_threads: most threads of one work-group.
        registers: 32-bit registers of the unit, over all its threads.
        register_unit: registers are handed out to a subgroup in multiples of this.
        partitions: parts of the unit with registers and subgroup slots of their own; a subgroup lives in one.
        thread_registers: most registers of one thread.
        shared_bytes: shared or local memory of the unit that work-groups may use, B.
        shared_unit_bytes: it is handed out in multiples of this.
        group_shared_bytes: most of it for one work-group; all of it if 0.
        reserved_bytes: taken by the system for each resident work-group on top, B.
    """

    subgroup_width: int
    subgroups: int
    work_groups: int
    work_group_threads: int
    registers: int
    register_unit: int
    thread_registers: int
    shared_bytes: int
    partitions: int = 1
    shared_unit_bytes: int = 1
    group_shared_bytes: int = 0
    reserved_bytes: int = 0

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            least = 0 if name in ("group_shared_bytes", "reserved_bytes", "shared_bytes") else 1
            if getattr(self, name) < least:
                raise UsageError(f"UnitLimits.{name} ≥ {least}", found=str(getattr(self, name)), remedy="take it from the vendor's document")
        for name in ("registers", "subgroups"):
            if getattr(self, name) % self.partitions:
                found = f"{name} {getattr(self, name)} over {self.partitions} partitions"
                raise UsageError(f"UnitLimits.{name} to divide over the partitions", found=found, remedy="give them for the whole unit")


@dataclass(frozen=True, eq=False)
class Occupancy:
    """Resident work-groups by kernel.

    Args:
        groups: work-groups on one unit, whole; 0 if not even one can start, which is no launch.
        subgroups: their subgroups; share: subgroups ÷ slots: the occupancy, in [0, 1].
        binding: index into `LIMITS` of the resource that allows the fewest work-groups; the first of equals.
        by_limit: work-groups that each resource alone would allow; infinite where the kernel does not use it.
    """

    groups: Reals
    subgroups: Reals
    share: Reals
    binding: Indices
    by_limit: dict[str, Reals]


def limits_of(
    device: Device,
    *,
    subgroup_width: int,
    subgroups: int,
    work_groups: int,
    work_group_threads: int,
    register_unit: int,
    thread_registers: int,
    partitions: int = 1,
    shared_unit_bytes: int = 1,
    group_shared_bytes: int = 0,
    reserved_bytes: int = 0,
) -> UnitLimits:
    """The limits of a device's unit: registers (32 bit) and shared memory from the device, the rest from its compute capability.

    Raises:
        UsageError: a device without registers or shared memory, or a number out of its range.
    """
    if device.registers_bytes is None or device.shared_memory_bytes is None:
        missing = "registers_bytes" if device.registers_bytes is None else "shared_memory_bytes"
        raise UsageError(f"a device with {missing}", found=f"{device.name} without", remedy="complete the description, or give UnitLimits")
    return UnitLimits(
        subgroup_width=subgroup_width,
        subgroups=subgroups,
        work_groups=work_groups,
        work_group_threads=work_group_threads,
        registers=device.registers_bytes // 4,
        register_unit=register_unit,
        partitions=partitions,
        thread_registers=thread_registers,
        shared_bytes=device.shared_memory_bytes,
        shared_unit_bytes=shared_unit_bytes,
        group_shared_bytes=group_shared_bytes,
        reserved_bytes=reserved_bytes,
    )


def resident_groups(*, threads: ArrayLike, registers: ArrayLike, shared_bytes: ArrayLike = 0, limits: UnitLimits) -> Occupancy:
    """min over slots, subgroups, registers and shared memory of the work-groups that fit.

    Subgroups of a work-group w = ⌈threads/width⌉. Registers allow p ⌊(R/p) ÷ ⌈registers × width⌉ᵤ⌋ subgroups, p partitions, rounded up to units u;
    a work-group needs w of them. Shared memory allows ⌊S ÷ (⌈bytes⌉ᵤ + reserved)⌋.

    Args:
        threads: of a work-group, whole, ≥ 1.
        registers: of a thread, whole, ≥ 0; 0 if not known, which then limits nothing.
        shared_bytes: of a work-group, B, whole, ≥ 0.
        limits: of the unit.

    Raises:
        UsageError: a number out of its range.

    Limits: barriers, texture and accumulator registers (AMD AGPRs) are not counted; cluster launches and dynamic partitions neither.

    >>> volta = UnitLimits(subgroup_width=32, subgroups=64, work_groups=32, work_group_threads=1024, registers=65536, register_unit=256,
    ...                    partitions=4, thread_registers=255, shared_bytes=96 * 1024)
    >>> found = resident_groups(threads=[128, 320], registers=37, limits=volta)  # the guide: 12 blocks, 75 %; 4 blocks, 63 %
    >>> found.groups.tolist(), found.share.tolist(), LIMITS[found.binding[0]]
    ([12.0, 4.0], [0.75, 0.625], 'registers')
    """
    t, r, s = numbers(threads=(threads, COUNT), registers=(registers, COUNT_OR_NONE), shared_bytes=(shared_bytes, COUNT_OR_NONE))
    one = limits
    width = ceil_div(t, one.subgroup_width)
    by_limit = {
        "work-group slots": choose(t <= one.work_group_threads, float(one.work_groups), 0.0),
        "subgroup slots": _floor(one.subgroups / width),
        "registers": _by_registers(r, width, one),
        "shared memory": _by_shared(s, one),
    }
    terms = np.broadcast_arrays(*by_limit.values())
    binding = np.argmin(terms, axis=0)
    groups = np.asarray(np.min(terms, axis=0), np.float64)
    subgroups = groups * width
    return Occupancy(groups=groups, subgroups=subgroups, share=subgroups / one.subgroups, binding=np.asarray(binding, np.int64), by_limit=by_limit)


def _by_registers(registers: Reals, width: Reals, one: UnitLimits) -> Reals:
    handed_out = round_up(registers * one.subgroup_width, one.register_unit)
    fitting = one.partitions * _floor(one.registers / one.partitions / choose(registers > 0, handed_out, 1.0))
    allowed = choose(registers <= one.thread_registers, _floor(fitting / width), 0.0)
    return choose(registers > 0, allowed, np.inf)


def _by_shared(shared: Reals, one: UnitLimits) -> Reals:
    needed = round_up(shared, one.shared_unit_bytes) + one.reserved_bytes
    most = one.group_shared_bytes or one.shared_bytes
    allowed = choose(shared <= most, _floor(one.shared_bytes / choose(needed > 0, needed, 1.0)), 0.0)
    return choose(needed > 0, allowed, np.inf)


def _floor(number: Reals) -> Reals:
    found: Reals = np.floor(number)
    return found


def bytes_in_flight_needed(*, latency_s: ArrayLike, bandwidth: ArrayLike) -> Reals:
    """λ B in B: bytes that must be under way at once to reach a bandwidth (Little's law).

    Args:
        latency_s: of the memory, s, > 0.
        bandwidth: B/s, > 0.

    Raises:
        UsageError: a number out of its range.

    >>> float(bytes_in_flight_needed(latency_s=500e-9, bandwidth=2e12))
    1000000.0
    """
    latency, rate = numbers(latency_s=(latency_s, POSITIVE), bandwidth=(bandwidth, POSITIVE))
    return latency * rate


def latency_bound_bandwidth(*, in_flight_bytes: ArrayLike, latency_s: ArrayLike, bandwidth: ArrayLike) -> Reals:
    """min(B, in flight ÷ λ) in B/s: what a given number of outstanding bytes can reach.

    Args:
        in_flight_bytes: outstanding at once over the whole device: resident threads × loads of each × bytes; > 0.
        latency_s: λ, s, > 0.
        bandwidth: B, the ceiling, B/s, > 0.

    Raises:
        UsageError: a number out of its range.

    >>> float(latency_bound_bandwidth(in_flight_bytes=64 * 10, latency_s=100e-9, bandwidth=20e9))
    6400000000.0
    """
    flying, latency, rate = numbers(in_flight_bytes=(in_flight_bytes, POSITIVE), latency_s=(latency_s, POSITIVE), bandwidth=(bandwidth, POSITIVE))
    return smaller(rate, flying / latency)
