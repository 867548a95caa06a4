"""What kernels ask of a GPU's data sheet, and two things that follow from it: whether its clock holds, and how much it is like another GPU.

This module decides which numbers of a `Device` those are and what a state of the machine does to them. Where the numbers are from is decided in the
catalogue, what is made of them in `gemm` and `streams`.
"""

from __future__ import annotations

import math

import msgspec
import numpy as np

from ridgeline.core import Device, OutOfRange, SystemState

from .constants import Generation, constants

__all__ = ["GpuSheet", "hold_ratio", "likeness", "node_energy", "sheet"]

#: Generations apart at which one GPU says e times less of another.
_APART = 0.6
#: GEMM rows of a device that throttles say more of its governor than of its kernels: trust falls with this power of the share of the clock it holds.
_TRUST_POWER = 8.0
#: What a device with another kind of memory says of streams.
_OTHER_MEMORY = 0.5
#: What remains at any distance, and what a device of another vendor says.
_FAINT, _FOREIGN = 1e-4, 1e-6
_TILE = 128


class GpuSheet(msgspec.Struct, frozen=True, kw_only=True):
    """One GPU as a program sees it (of a package of several dies: one of them), dense fp32.

    Args:
        name: of the device; vendor, architecture: as in the catalogue.
        generation: of its execution units; units: how many there are.
        matrix_flop_per_s: peak of the circuits that run fp32 matrix products (matrix cores where they take fp32, else the vector lanes), FLOP/s.
        vector_flop_per_s: peak of plain fp32 multiply-adds, FLOP/s.
        dram_byte_per_s, l2_bytes, power_w, node_nm: of the data sheet.
    """

    name: str
    vendor: str
    architecture: str
    generation: Generation
    units: int
    matrix_flop_per_s: float
    vector_flop_per_s: float
    dram_byte_per_s: float
    l2_bytes: float
    power_w: float
    node_nm: float

    @property
    def amd(self) -> bool:
        """Whether AMD's libraries run on it."""
        return self.vendor == "AMD"


def sheet(device: Device, state: SystemState | None = None) -> GpuSheet:
    """The numbers that kernels ask for, in a state of the machine.

    Args:
        device: of the catalogue or a plugin.
        state: a core clock scales the peaks, contention takes bandwidth, a power cap replaces the board's.

    Raises:
        OutOfRange: no GPU, a generation without known kernels, or a number that the data sheet lacks.
    """
    state = state or SystemState()
    known = constants()
    if device.kind != "gpu":
        raise OutOfRange("a GPU", found=f"{device.name}, a device of kind {device.kind}", remedy="ask the model of that kind")
    lanes = next((each.per_unit for each in device.lanes if each.precision == "fp32" and each.units == "vector"), None)
    generation = next((each for each in known.generations if (each.architecture, each.lanes) == (device.architecture, lanes)), None)
    if generation is None:
        names = ", ".join(dict.fromkeys(each.architecture for each in known.generations))
        found = f"{device.name}, {device.architecture or 'no architecture'} with {lanes or 'unknown'} fp32 lanes a unit"
        raise OutOfRange(f"a GPU of a generation whose kernels are known: {names}", found=found, remedy="take one of those, or measure the device")
    vector = _ceiling(device, "vector")
    given: dict[str, float | None] = {
        "units": device.execution_units, "vector_flop_per_s": vector, "matrix_flop_per_s": _ceiling(device, "matrix") or vector,
        "dram_byte_per_s": next((each.rate.value for each in device.ceilings if each.engine == "copy" and each.level == "DRAM"), None),
        "l2_bytes": next((float(each.capacity_bytes) for each in device.levels if each.name == "L2"), None),
        "power_w": state.power_cap_w or (device.power_w.value if device.power_w else None), "node_nm": device.process_nm,
    }  # fmt: skip
    missing = [name for name, value in given.items() if not value]
    if missing:
        raise OutOfRange(
            "a data sheet with all that kernels ask for", found=f"{device.name} without {', '.join(missing)}", remedy="add it with its source"
        )
    dies = known.dies.get(device.name, 1)
    clock = state.core_clock_hz / device.clock_hz.value if state.core_clock_hz and device.clock_hz else 1.0
    number = {name: float(value or 0) for name, value in given.items()}
    return GpuSheet(
        name=device.name, vendor=device.vendor, architecture=device.architecture, generation=generation, units=round(number["units"] / dies),
        matrix_flop_per_s=number["matrix_flop_per_s"] * clock / dies, vector_flop_per_s=number["vector_flop_per_s"] * clock / dies,
        dram_byte_per_s=number["dram_byte_per_s"] * (1 - state.memory_contention) / dies, l2_bytes=number["l2_bytes"],
        power_w=number["power_w"] / dies, node_nm=number["node_nm"],
    )  # fmt: skip


def _ceiling(device: Device, units: str) -> float | None:
    return next((each.rate.value for each in device.ceilings if each.engine == "fma" and each.precision == "fp32" and each.units == units), None)


def node_energy(node_nm: float) -> float:
    """Energy of an operation as a share of that at 12 nm, interpolated between known nodes and constant beyond them."""
    energy = constants().energy
    return float(np.interp(node_nm, energy.nodes_nm, energy.of_12nm))


def hold_ratio(gpu: GpuSheet) -> float:
    """Power of the board ÷ what products at full clock in tiles of 128 × 128 draw; below 1 the clock cannot be held for long.

    A FLOP costs its own energy and that of 4 · 2 ÷ (2 · 128) operand bytes from L2.
    """
    energy = constants().energy
    flop_j = (energy.flop_j + 4.0 / _TILE * energy.near_byte_j) * node_energy(gpu.node_nm) * (energy.matrix_share if gpu.amd else 1.0)
    return gpu.power_w / (gpu.matrix_flop_per_s * flop_j)


def likeness(query: GpuSheet, known: GpuSheet, *, products: bool) -> float:
    """How much measurements of `known` say of `query`: e^(−generations apart ÷ 0.6) × trust, in (0, 1].

    Args:
        products: for matrix products trust is min(1, `hold_ratio`)⁸; for streams it is halved where the kind of memory differs.
    """
    if query.vendor != known.vendor:
        return _FOREIGN
    near = math.exp(-abs(query.generation.order - known.generation.order) / _APART) + _FAINT
    if products:
        return near * float(min(1.0, hold_ratio(known)) ** _TRUST_POWER)
    return near * (1.0 if query.generation.stacked == known.generation.stacked else _OTHER_MEMORY)
