"""`Device` and `System`: what a machine can do, as a flat table of ceilings and a few costs.

A ceiling is never one number: it belongs to an engine, a precision, an access mix, a memory level and a number of threads. The table is
flat so that a probe, a catalogue entry and a person can all write it, and `diagnosis` picks the one like the work it judges.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from .display import shown_inline
from .quantity import Quantity

__all__ = [
    "ARITHMETIC_ENGINES",
    "MEMORY_MIXES",
    "Ceiling",
    "Cost",
    "Device",
    "Engine",
    "Lanes",
    "Link",
    "MacArray",
    "MemoryLevel",
    "Port",
    "Precision",
    "System",
    "Units",
]

Precision = Literal["fp64", "fp32", "tf32", "bf16", "fp16", "fp8", "fp4", "int8", "int4", "any"]
#: Which circuits do the multiply-adds: the vector lanes that every kernel uses, or matrix (tensor) units that only products of blocks reach.
Units = Literal["vector", "matrix"]
#: fma: multiply-adds in FLOP/s. exp … sort: elements per second in op/s. read … fill: B/s. latency: s per dependent load.
Engine = Literal["fma", "add", "exp", "tanh", "erf", "divide", "reduce", "gather", "sort", "read", "copy", "triad", "fill", "latency"]
ARITHMETIC_ENGINES: tuple[Engine, ...] = ("fma", "add", "exp", "tanh", "erf", "divide", "reduce", "gather", "sort")
#: read: sum of one array. copy: b=a. triad: c=a+b (the "add" of STREAM: two reads, one write). fill: b=const. Rates count the bytes the
#: program names (copy of n bytes counts 2n), not the write-allocate reads below it, so that they compare with compulsory bytes.
MEMORY_MIXES: tuple[Engine, ...] = ("read", "copy", "triad", "fill")


class Ceiling(msgspec.Struct, frozen=True, kw_only=True):
    """The best rate seen (or specified) for one kind of work.

    Args:
        engine: the instruction kind or access mix.
        precision: number format, `any` for memory.
        threads: threads that did the work; 0 where a specification speaks of the whole device.
        level: memory level that held the data, `None` for arithmetic.
        working_set_bytes: bytes touched again and again, `None` for arithmetic and specifications.
        library: whose code reached it: `native`, `numpy`, `torch`, …, or `spec`.
        units: which circuits a specification speaks of; `None` where a library chose them.
        accumulates: format of the sums, where the specification says it.
        rate: FLOP/s, op/s, B/s, or seconds for `latency`.
        spread: relative spread of the repetitions (max − min) ÷ median, `None` for a specification.
        stable: whether repetitions agreed; False is said to the reader.
    """

    engine: Engine
    precision: Precision
    threads: int
    rate: Quantity
    level: str | None = None
    working_set_bytes: int | None = None
    library: str = "native"
    units: Units | None = None
    accumulates: Precision | None = None
    spread: float | None = None
    stable: bool = True


class MemoryLevel(msgspec.Struct, frozen=True, kw_only=True):
    """One level of the memory hierarchy: `L1`, `L2`, `L3`, `DRAM`, …

    Args:
        name: level name, used in `Ceiling.level`.
        capacity_bytes: size of one instance.
        shared_by: CPUs that share one instance; `None` if not known.
        line_bytes: transfer unit.
    """

    name: str
    capacity_bytes: int
    shared_by: int | None = None
    line_bytes: int = 64


class Cost(msgspec.Struct, frozen=True, kw_only=True):
    """A fixed cost in seconds: `timer-read`, `python-call`, `dispatch` (library torch, onnxruntime, numpy), `hand-off`, `page-fault`,
    `core-to-core` (a cache line from one CPU to another)."""

    name: str
    seconds: Quantity
    library: str = "native"


class Lanes(msgspec.Struct, frozen=True, kw_only=True):
    """Multiply-adds that one execution unit starts in one clock.

    So that `peak = execution_units × per_unit × 2 × clock`, and a tile that does not fill the lanes can be priced.

    Args:
        precision: number format of the factors.
        units: vector lanes or matrix units.
        per_unit: multiply-adds per execution unit and clock.
    """

    precision: Precision
    units: Units
    per_unit: int


class MacArray(msgspec.Struct, frozen=True, kw_only=True):
    """A two-dimensional array of multiply-accumulators, as of a systolic array.

    Args:
        rows, columns: multiply-accumulators along each side.
        count: arrays of that size in the whole device.
        precision: number format of the factors.
    """

    rows: int
    columns: int
    count: int
    precision: Precision


class Port(msgspec.Struct, frozen=True, kw_only=True):
    """Where a link ends: `NVLink`, `PCIe`, …; bandwidth in B/s in one direction, of all links of that kind together."""

    name: str
    bandwidth: Quantity


class Device(msgspec.Struct, frozen=True, kw_only=True, tag_field="schema", tag="ridgeline.device/1"):
    """What one device can do. Fields without a source at hand are null, never guessed.

    Args:
        name: such as `Intel Xeon @ host fingerprint` or `NVIDIA A100 80GB PCIe`.
        kind: `cpu`, `gpu` or `npu`.
        vendor, architecture: maker and generation, such as `NVIDIA` and `Ampere`; empty if not known.
        ceilings, levels, costs: see the nouns. Ceilings hold for dense operands.
        sparse: peaks in FLOP/s that hold only where two of four weights are zero (2:4); never among `ceilings`, nothing dense reaches them.
        execution_units: cores, SMs, CUs or tiles.
        lanes, mac_arrays: multiply-adds a clock, per execution unit and as arrays.
        vector_bits: SIMD width.
        registers_bytes, shared_memory_bytes: per execution unit.
        warp_threads: threads that run in step (warp, wavefront).
        max_threads_per_unit, max_groups_per_unit: threads and work-groups resident on one execution unit at most.
        memory_bytes: capacity of the device's own memory.
        clock_hz: the clock at which the ceilings hold; base_clock_hz, boost_clock_hz: guaranteed and highest, Hz.
        power_w: design power, W; least_cap_w: the lowest power cap that the board accepts, W.
        price_per_hour: of one device. All as Quantities with source and date in `origin`.
        price_date: when the price was read, ISO 8601; empty without a price.
        ports: what can be linked to other devices and the host.
        process_nm: name of the process node, nm.
        fingerprint: of the probed machine; empty for a catalogue entry.
        probed_at: ISO 8601 time of the probe or date of the specification.
    """

    name: str
    kind: Literal["cpu", "gpu", "npu"]
    vendor: str = ""
    architecture: str = ""
    ceilings: tuple[Ceiling, ...] = ()
    sparse: tuple[Ceiling, ...] = ()
    levels: tuple[MemoryLevel, ...] = ()
    costs: tuple[Cost, ...] = ()
    execution_units: int | None = None
    lanes: tuple[Lanes, ...] = ()
    mac_arrays: tuple[MacArray, ...] = ()
    vector_bits: int | None = None
    registers_bytes: int | None = None
    shared_memory_bytes: int | None = None
    warp_threads: int | None = None
    max_threads_per_unit: int | None = None
    max_groups_per_unit: int | None = None
    memory_bytes: int | None = None
    clock_hz: Quantity | None = None
    base_clock_hz: Quantity | None = None
    boost_clock_hz: Quantity | None = None
    power_w: Quantity | None = None
    least_cap_w: Quantity | None = None
    price_per_hour: Quantity | None = None
    price_date: str = ""
    ports: tuple[Port, ...] = ()
    process_nm: int | None = None
    fingerprint: str = ""
    probed_at: str = ""
    notes: tuple[str, ...] = ()

    def cost(self, name: str, library: str = "native") -> Quantity | None:
        """The fixed cost of that name and library, `None` if it was not measured."""
        return next((cost.seconds for cost in self.costs if cost.name == name and cost.library == library), None)

    def _repr_html_(self) -> str | None:
        """Its fragment for a notebook."""
        return shown_inline(self)


class Link(msgspec.Struct, frozen=True, kw_only=True):
    """A link between two devices of a system: bandwidth in B/s and latency in s."""

    between: tuple[str, str]
    bandwidth: Quantity
    latency: Quantity | None = None


class System(msgspec.Struct, frozen=True, kw_only=True, tag_field="schema", tag="ridgeline.system/1"):
    """Devices and the links between them."""

    name: str
    devices: tuple[Device, ...]
    links: tuple[Link, ...] = ()
