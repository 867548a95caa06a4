"""Operators for which a room of their own knows better than the general formulas: GPU kernels in fp32 and in half precision, layers on an Ethos-U.

This module decides which room answers for which operators, and puts its answer in the place of the estimate: seconds, parts and, where the room has
them, ends of an interval. Where a room refuses, the estimate stays.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from ridgeline.core import Device, OutOfRange, SystemState, Workload

from ..gpu.kernels import FAMILIES as GPU_FAMILIES
from ..gpu.kernels import kernels
from ..gpu.model import GpuModel, answer
from ..gpu.sheet import GpuSheet, sheet
from ..kernels.timing import FAMILIES as HALF_FAMILIES
from ..kernels.timing import kernel_times
from .ethos import ethos_times
from .roofs import Roofs

__all__ = ["Formed", "formed"]

Floats = NDArray[np.float64]
_HALF = ("bf16", "fp16", "fp8")


class Formed(NamedTuple):
    """N operators, (N,) each.

    `seconds`: nan where no room answers; `compute`, `memory`: parts, s; `outer`, `near`: bytes of the outermost memory and of one on the chip beside
    it; `low`, `high`: ends of the interval, nan where the room has none; `learned`: whether measurements of GPUs corrected it; `reasons` → for which.
    """

    seconds: Floats
    compute: Floats
    memory: Floats
    outer: Floats
    near: Floats
    low: Floats
    high: Floats
    learned: NDArray[np.bool_]
    reasons: dict[str, NDArray[np.bool_]]


def formed(workloads: Sequence[Workload], under: Roofs, state: SystemState | None = None, trained: GpuModel | None = None) -> Formed:
    """The answers of the rooms that know the device.

    Args:
        workloads: N operators; under: roofs of the device; state: of the machine, which is in them.
        trained: a model of GPU operators; without it the forms answer alone.
    """
    count, device = len(workloads), under.device
    state = _beside_others(state or SystemState(), under)
    unknown = [np.full(count, np.nan) for _ in range(5)]
    found = Formed(unknown[0], unknown[1], unknown[2], np.zeros(count), np.zeros(count), unknown[3], unknown[4], np.zeros(count, bool), {})
    if device.kind == "gpu":
        _fp32(found, workloads, device, state, trained)
        _half(found, workloads, device, _at_its_clock(state, under))
    elif device.kind == "npu":
        times = ethos_times(workloads, device, clock_ratio=under.clock_ratio, memory_left=under.memory_left)
        if times is not None:
            for name, values in zip(("seconds", "compute", "memory", "outer", "near"), times, strict=True):
                getattr(found, name)[:] = values
    for values in (found.seconds, found.low, found.high):
        values *= under.stretch
    return found


def _beside_others(state: SystemState, under: Roofs) -> SystemState:
    """Neighbours as what they take of the memory's rate, which is how the rooms are told of them."""
    return msgspec.structs.replace(state, neighbours=(), memory_contention=max(0.0, 1.0 - under.memory_left))


def _at_its_clock(state: SystemState, under: Roofs) -> SystemState:
    """A power cap as the clock that it leaves, for rooms that know no power; what the host needs for a launch is counted for the whole network."""
    clock = under.clock_hz if under.clock_ratio != 1.0 and under.clock_hz > 0 else state.core_clock_hz
    return msgspec.structs.replace(state, core_clock_hz=clock, dispatch_s=0.0)


def _grouped(workloads: Sequence[Workload], keep: Mapping[int, tuple[str, ...]]) -> dict[tuple[str, ...], list[int]]:
    groups: dict[tuple[str, ...], list[int]] = {}
    for place, key in keep.items():
        groups.setdefault((*key, *sorted(workloads[place].sizes)), []).append(place)
    return groups


def _sizes(workloads: Sequence[Workload], places: Sequence[int]) -> dict[str, Floats]:
    return {name: np.array([workloads[place].sizes[name] for place in places], np.float64) for name in workloads[places[0]].sizes}


def _fp32(found: Formed, workloads: Sequence[Workload], device: Device, state: SystemState, trained: GpuModel | None) -> None:
    try:
        gpu = sheet(device, state)
    except OutOfRange:
        return
    keep = {
        place: (work.kind, "linear" if _single(work) else work.variant.lower() if work.kind != "gemm" else "")
        for place, work in enumerate(workloads)
        if work.kind in GPU_FAMILIES and work.precision in ("fp32", "any") and work.weight_precision is None and work.sparsity is None
    }
    for (kind, variant, *_), places in _grouped(workloads, keep).items():
        _put_fp32(found, kind, variant, _sizes(workloads, places), places, gpu, trained)


def _single(work: Workload) -> bool:
    return work.kind == "gemm" and work.sizes.get("groups", 1) == 1


def _put_fp32(found: Formed, kind: str, variant: str, sizes: dict[str, Floats], places: list[int], gpu: GpuSheet, trained: GpuModel | None) -> None:
    if trained is None:
        made = kernels(kind, variant, sizes, gpu, heat=1.0)
        found.seconds[places] = made.seconds
    else:
        given = answer(trained, kind, variant, sizes, gpu, heat=1.0)
        made = given.kernels
        found.seconds[places], found.low[places], found.high[places] = given.seconds, given.low_s, given.high_s
        found.learned[places] = not given.unlike
        if given.outside.any() and not given.unlike:
            reason = f"{kind} beyond all operators that were measured"
            found.reasons.setdefault(reason, np.zeros(len(found.seconds), bool))[places] = given.outside
    found.compute[places], found.memory[places], found.outer[places] = made.compute, made.memory, made.bytes


def _half(found: Formed, workloads: Sequence[Workload], device: Device, state: SystemState) -> None:
    keep = {
        place: (work.kind, work.precision, work.variant)
        for place, work in enumerate(workloads)
        if work.kind in HALF_FAMILIES and work.precision in _HALF and work.weight_precision in (None, work.precision) and work.sparsity is None
    }
    for (kind, precision, variant, *_), places in _grouped(workloads, keep).items():
        try:
            made = kernel_times(kind, _sizes(workloads, places), device, _named(precision), variant=variant, state=state)
        except OutOfRange:
            continue
        found.seconds[places], found.low[places], found.high[places] = made.seconds, made.low, made.high
        found.compute[places], found.memory[places], found.outer[places] = made.compute, made.memory, made.bytes
        for reason, where in made.out_of_range.items():
            found.reasons.setdefault(reason, np.zeros(len(workloads), bool))[places] = where


def _named(precision: str) -> Literal["bf16", "fp16", "fp8"]:
    return "bf16" if precision == "bf16" else "fp16" if precision == "fp16" else "fp8"
