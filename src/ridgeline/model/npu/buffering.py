"""What DRAM adds to an array of multipliers whose SRAMs are double buffered: traffic by operand, and the cycles that the array waits for it.

Decides which operand is fetched more than once and how much of its transfer hides behind computing. Leaves the cycles of computing to `systolic` and
`mac_array`.

Half of each buffer is worked on while the other half is filled, so an operand that is swept again and again comes from DRAM once where it fits into
half of its buffer, and once a sweep where it does not. The first operands cannot hide behind anything, nor can the last results:

    total = fill + max(compute, transfer − fill − drain) + drain

Source: the double buffer of A. Samajdar et al., "SCALE-Sim: systolic CNN accelerator simulator", arXiv:1811.02883; the bound itself is
the overlap of two streams. Limits: bandwidth is constant, latency is hidden, banks do not conflict, and a sweep that fits half way is fetched whole.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import msgspec
import numpy as np
from numpy.typing import ArrayLike

from ._numbers import Counts, Reals, exact, reals, whole
from .shapes import Products
from .systolic import SystolicArray, folds

__all__ = ["Buffers", "DramTraffic", "dram_traffic", "stalled"]


class Buffers(msgspec.Struct, frozen=True, kw_only=True):
    """The SRAMs beside an array and the way to DRAM.

    Args:
        activation_bytes, weight_bytes, result_bytes: capacity of each SRAM, both halves together.
        dram_bytes_per_cycle: of the DRAM port, in cycles of the array.
        ports: `shared` if all operands share that bandwidth, `separate` if each has as much.
        element_bytes: size of an activation, weight or result.
        sum_bytes: size of a partial sum.
        partial_sums: `kept` leaves sums in half of the result SRAM where they fit, else they are written and read again for each part of k;
            `written` writes them for each part of k and never counts a read, as SCALE-Sim does.
    """

    activation_bytes: float
    weight_bytes: float
    result_bytes: float
    dram_bytes_per_cycle: float
    ports: Literal["shared", "separate"] = "shared"
    element_bytes: float = 1
    sum_bytes: float = 4
    partial_sums: Literal["kept", "written"] = "kept"

    def __post_init__(self) -> None:
        reals(
            activation_bytes=self.activation_bytes,
            weight_bytes=self.weight_bytes,
            result_bytes=self.result_bytes,
            dram_bytes_per_cycle=self.dram_bytes_per_cycle,
            element_bytes=self.element_bytes,
            sum_bytes=self.sum_bytes,
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class DramTraffic:
    """Bytes between DRAM and the SRAMs; arrays of the queries' shape.

    Args:
        activation_bytes, weight_bytes: read.
        result_bytes: results and spilled sums written.
        sum_bytes: spilled sums read again.
        fill_bytes: activations and weights of the first pass, nothing to hide behind.
        drain_bytes: results of the last pass.
    """

    activation_bytes: Reals
    weight_bytes: Reals
    result_bytes: Reals
    sum_bytes: Reals
    fill_bytes: tuple[Reals, Reals]
    drain_bytes: Reals

    @property
    def total_bytes(self) -> Reals:
        """All of it, both directions."""
        return self.activation_bytes + self.weight_bytes + self.result_bytes + self.sum_bytes


def dram_traffic(array: SystolicArray, products: Products, buffers: Buffers) -> DramTraffic:
    """Bytes by operand: each at least once, the swept ones once a sweep where half of their buffer cannot hold what is swept.

    Output-stationary: the columns' dimension is outermost, so activations are swept once for each cut of n, a slab of k × C weights once for each cut
    of m. Weight-stationary: activations once for each cut of n. Input-stationary: weights once for each cut of m.

    Raises:
        OutOfRange: more than 2⁵³ bytes.

    >>> from ridgeline.model.npu import gemm
    >>> small = Buffers(activation_bytes=1024, weight_bytes=1024, result_bytes=1024, dram_bytes_per_cycle=4)
    >>> traffic = dram_traffic(SystolicArray(rows=8, columns=1, dataflow="output"), gemm(46, 41, 23), small)
    >>> int(traffic.activation_bytes), int(traffic.weight_bytes)
    (43378, 943)
    """
    cut, size = folds(array, products), buffers.element_bytes
    tile_rows, tile_columns = _tile(array, products)
    lowered = exact("activations", products.m, products.k)
    read, weights = products.activations.astype(np.float64) * size, products.weights.astype(np.float64) * size
    if array.dataflow != "input":
        resweep = np.where(lowered * size < buffers.activation_bytes / 2, 1, cut.across)
        # A convolution read in place has fewer elements than its lowered matrix; each sweep reads those.
        read = read * resweep
    if array.dataflow == "output":
        weights = weights * np.where(products.k * tile_columns * size < buffers.weight_bytes / 2, 1, cut.down)
    elif array.dataflow == "input":
        weights = weights * np.where(products.n * products.k * size < buffers.weight_bytes / 2, 1, cut.across)
    written, again = _results(array, products, buffers, cut.down)
    depth = products.k if array.dataflow == "output" else np.minimum(products.k, array.rows)
    wide = np.minimum(products.n, array.columns) if array.dataflow == "weight" else products.n if array.dataflow == "input" else tile_columns
    tall = products.m if array.dataflow == "weight" else tile_rows if array.dataflow == "output" else np.minimum(products.m, array.columns)
    _limit(read, weights, written, again)
    return DramTraffic(
        activation_bytes=read,
        weight_bytes=weights,
        result_bytes=written,
        sum_bytes=again,
        fill_bytes=(_half(tall * depth * size, buffers.activation_bytes), _half(wide * depth * size, buffers.weight_bytes)),
        drain_bytes=_half(tall * wide * size, buffers.result_bytes),
    )


def _tile(array: SystolicArray, products: Products) -> tuple[Counts, Counts]:
    return np.minimum(products.m, array.rows), np.minimum(products.n, array.columns)


def _half(needed: ArrayLike, capacity: float) -> Reals:
    """What must be there before the first step, or is left after the last: never more than the half that is worked on."""
    return np.minimum(np.asarray(needed, np.float64), capacity / 2)


def _results(array: SystolicArray, products: Products, buffers: Buffers, parts: Counts) -> tuple[Reals, Reals]:
    """Bytes written and read again for results that are summed up in several parts of k."""
    once = products.results.astype(np.float64) * buffers.element_bytes
    if array.dataflow == "output":
        return once, np.zeros_like(once)
    if buffers.partial_sums == "written":
        return once * parts, np.zeros_like(once)
    wide = np.minimum(products.n, array.columns) if array.dataflow == "weight" else products.n
    tall = products.m if array.dataflow == "weight" else np.minimum(products.m, array.columns)
    spilled = np.where(tall * wide * buffers.sum_bytes <= buffers.result_bytes / 2, 0, parts - 1)
    sums = products.results.astype(np.float64) * buffers.sum_bytes * spilled
    return once + sums, sums


def _limit(*amounts: Reals) -> None:
    whole(0, **{f"bytes_of_{name}": np.ceil(amount) for name, amount in zip(("activations", "weights", "results", "sums"), amounts, strict=True)})


def stalled(compute_cycles: Counts | Reals, traffic: DramTraffic, buffers: Buffers) -> Reals:
    """Cycles with DRAM: fill + max(compute, transfer − fill − drain) + drain; the stalls are what that is more than `compute_cycles`.

    Args:
        compute_cycles: without stalls, from the model of the array.
        traffic: of the same queries.
        buffers: whose bandwidth counts.

    >>> from ridgeline.model.npu import gemm, systolic_cycles
    >>> array, product = SystolicArray(rows=8, columns=8, dataflow="weight"), gemm(64, 64, 64)
    >>> narrow = Buffers(activation_bytes=65536, weight_bytes=65536, result_bytes=65536, dram_bytes_per_cycle=1)
    >>> float(stalled(systolic_cycles(array, product).cycles, dram_traffic(array, product, narrow), narrow))
    12288.0
    """
    (computing,) = reals(False, compute_cycles=compute_cycles)
    rate = buffers.dram_bytes_per_cycle
    reading, weights = (part / rate for part in (traffic.activation_bytes, traffic.weight_bytes))
    writing = (traffic.result_bytes + traffic.sum_bytes) / rate
    first, second = (part / rate for part in traffic.fill_bytes)
    drain = traffic.drain_bytes / rate
    if buffers.ports == "shared":
        fill, moving = first + second, reading + weights + writing - first - second - drain
    else:
        fill = np.maximum(first, second)
        moving = np.maximum(np.maximum(reading - first, weights - second), writing - drain)
    return np.asarray(fill + np.maximum(computing, moving) + drain)
