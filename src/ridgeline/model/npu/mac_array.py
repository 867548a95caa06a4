"""An abstract NPU: an array of multiply-add units, SRAMs that are double buffered, DRAM behind them; cycles, traffic and energy for millions of
shapes.

Decides how computing, the SRAM ports and DRAM overlap, and what each level costs in energy at given prices per access. Takes the cycles of computing
from `systolic` (operands handed from neighbour to neighbour) or counts them for units that are fed all at once, and DRAM from `buffering`. Every
number of the machine is an input; none is assumed here.

Source: V. Sze et al., "Efficient processing of deep neural networks: a tutorial and survey", Proc. IEEE 105(12), 2017, section V (dataflows, energy
as the sum of accesses times energy per access by level).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import msgspec
import numpy as np

from ._numbers import Counts, Reals, exact, reals
from .buffering import Buffers, DramTraffic, dram_traffic, stalled
from .shapes import Products
from .systolic import SystolicArray, SystolicCycles, folds, systolic_cycles

__all__ = ["AccessEnergy", "MacArray", "MacArrayCost", "mac_array_cost"]


class AccessEnergy(msgspec.Struct, frozen=True, kw_only=True):
    """Energy of one event at each level, in joules; 0 leaves a level out.

    Args:
        mac_j: one multiply-add with its registers.
        sram_j_per_byte: reading or writing an SRAM.
        dram_j_per_byte: reading or writing DRAM.
        static_w: power that flows whatever is done.
    """

    mac_j: float = 0
    sram_j_per_byte: float = 0
    dram_j_per_byte: float = 0
    static_w: float = 0

    def __post_init__(self) -> None:
        reals(False, mac_j=self.mac_j, sram_j_per_byte=self.sram_j_per_byte, dram_j_per_byte=self.dram_j_per_byte, static_w=self.static_w)


class MacArray(msgspec.Struct, frozen=True, kw_only=True):
    """An abstract NPU.

    Args:
        array: rows, columns, and which operand stays in the units.
        buffers: SRAMs and the port to DRAM.
        clock_hz: of the array, Hz.
        sram_bytes_per_cycle: of all SRAM ports together.
        feeding: `systolic` for operands that enter skewed; `broadcast` for rows and columns that are fed at once, where loading the next stationary
            operand hides behind the pass that runs.
        energy: prices of accesses; without them no energy is told.
    """

    array: SystolicArray
    buffers: Buffers
    clock_hz: float
    sram_bytes_per_cycle: float
    feeding: Literal["systolic", "broadcast"] = "systolic"
    energy: AccessEnergy | None = None

    def __post_init__(self) -> None:
        reals(clock_hz=self.clock_hz, sram_bytes_per_cycle=self.sram_bytes_per_cycle)


@dataclass(frozen=True, kw_only=True, eq=False)
class MacArrayCost:
    """What each product takes; arrays of the queries' shape.

    Args:
        cycles: with stalls.
        compute_cycles: of the array alone.
        sram_cycles: for which the SRAM ports are busy.
        dram_cycles: for which the DRAM ports are busy, were there nothing else.
        stall_cycles: cycles − compute_cycles, ≥ 0.
        latency_s: cycles ÷ clock.
        utilisation: multiply-adds ÷ (cycles · units), 0 … 1.
        sram_bytes, dram_bytes: both directions.
        traffic: DRAM by operand.
        mac_j, sram_j, dram_j, static_j: energy by level; none without prices.
    """

    cycles: Reals
    compute_cycles: Counts
    sram_cycles: Reals
    dram_cycles: Reals
    stall_cycles: Reals
    latency_s: Reals
    utilisation: Reals
    sram_bytes: Reals
    dram_bytes: Reals
    traffic: DramTraffic
    mac_j: Reals | None
    sram_j: Reals | None
    dram_j: Reals | None
    static_j: Reals | None

    @property
    def energy_j(self) -> Reals | None:
        """Sum over the levels; none without prices."""
        parts = [each for each in (self.mac_j, self.sram_j, self.dram_j, self.static_j) if each is not None]
        return np.asarray(sum(parts)) if parts else None


def mac_array_cost(npu: MacArray, products: Products) -> MacArrayCost:
    """cycles = fill + max(compute, SRAM ports, DRAM − fill − drain) + drain.

    Compute: as `systolic_cycles`; with `broadcast` feeding ⌈·⌉ · ⌈·⌉ · streamed length. SRAM bytes: what the array reads and writes, and what DRAM
    fills and drains.

    Args:
        npu: the machine.
        products: shapes, from `gemm` or `convolution`.

    Raises:
        OutOfRange: counts past 2⁵³.

    Limits: dense, one product at a time, constant bandwidths, no bank conflicts.

    >>> from ridgeline.model.npu import gemm
    >>> array = SystolicArray(rows=16, columns=16, dataflow="weight")
    >>> buffers = Buffers(activation_bytes=65536, weight_bytes=65536, result_bytes=65536, dram_bytes_per_cycle=16)
    >>> npu = MacArray(array=array, buffers=buffers, clock_hz=1e9, sram_bytes_per_cycle=256, feeding="broadcast")
    >>> cost = mac_array_cost(npu, gemm(128, 128, 128))
    >>> int(cost.compute_cycles), float(cost.dram_bytes)
    (8192, 49152.0)
    """
    counted = systolic_cycles(npu.array, products)
    compute = _computing(npu, products, counted)
    traffic = dram_traffic(npu.array, products, npu.buffers)
    moved = _sram_bytes(npu.buffers, products, counted, traffic)
    sram = moved / npu.sram_bytes_per_cycle
    total = stalled(np.maximum(compute, sram), traffic, npu.buffers)
    dram = _port_cycles(npu.buffers, traffic)
    energy, seconds = npu.energy, total / npu.clock_hz
    macs = products.macs.astype(np.float64)
    return MacArrayCost(
        cycles=total,
        compute_cycles=compute,
        sram_cycles=sram,
        dram_cycles=dram,
        stall_cycles=total - compute,
        latency_s=seconds,
        utilisation=macs / (total * npu.array.rows * npu.array.columns),
        sram_bytes=moved,
        dram_bytes=traffic.total_bytes,
        traffic=traffic,
        mac_j=None if energy is None else macs * energy.mac_j,
        sram_j=None if energy is None else moved * energy.sram_j_per_byte,
        dram_j=None if energy is None else traffic.total_bytes * energy.dram_j_per_byte,
        static_j=None if energy is None else seconds * energy.static_w,
    )


def _computing(npu: MacArray, products: Products, counted: SystolicCycles) -> Counts:
    """Cycles of the array alone; the systolic count is the number of the last cycle, so one more have passed."""
    if npu.feeding == "systolic":
        return counted.cycles + 1
    cut = folds(npu.array, products)
    return exact("cycles", cut.down, cut.across, cut.streamed, products.groups)


def _sram_bytes(buffers: Buffers, products: Products, counted: SystolicCycles, traffic: DramTraffic) -> Reals:
    """What the array reads and writes, sums in their own width, and what goes to and from DRAM."""
    operands = (counted.activation_reads + counted.weight_reads).astype(np.float64) * buffers.element_bytes
    # Results that are summed up in several parts of k are written once for each part, and read again for all but the first.
    writes = counted.result_writes.astype(np.float64)
    again = writes - products.results
    return np.asarray(operands + products.results * buffers.element_bytes + 2 * again * buffers.sum_bytes + traffic.total_bytes)


def _port_cycles(buffers: Buffers, traffic: DramTraffic) -> Reals:
    rate, written = buffers.dram_bytes_per_cycle, traffic.result_bytes + traffic.sum_bytes
    if buffers.ports == "shared":
        return np.asarray(traffic.total_bytes / rate)
    return np.asarray(np.maximum(np.maximum(traffic.activation_bytes, traffic.weight_bytes), written) / rate)
