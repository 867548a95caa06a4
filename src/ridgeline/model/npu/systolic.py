"""Compute cycles of a systolic array without memory stalls, in closed form, for millions of shapes at once.

Decides how many passes (folds) a matrix product takes on an array of R rows and C columns, how long a pass is, and how much its SRAMs are read.
Leaves to `buffering` what DRAM adds, and to `shapes` how a convolution becomes a product.

Source: A. Samajdar et al., "A systematic methodology for characterizing scalability of DNN accelerators using SCALE-Sim", ISPASS 2020 (mapping of
the three dataflows, skewed feeding); the sums here are those of a pass whose operands enter skewed by one cycle a row and column. Equal to the
cycles that SCALE-Sim 3.0.0 counts one by one (`benchmarks/model/systolic.py`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

import msgspec
import numpy as np

from ._numbers import Counts, Reals, ceil_div, exact, whole
from .shapes import Products

__all__ = ["Dataflow", "Folds", "SystolicArray", "SystolicCycles", "folds", "systolic_cycles"]

#: What stays in the array while the other two operands stream through it.
Dataflow: TypeAlias = Literal["output", "weight", "input"]


class SystolicArray(msgspec.Struct, frozen=True, kw_only=True):
    """An array of multiply-add units that pass operands on to their neighbours.

    Args:
        rows: R, ≥ 1.
        columns: C, ≥ 1.
        dataflow: which operand is stationary.
    """

    rows: int
    columns: int
    dataflow: Dataflow

    def __post_init__(self) -> None:
        whole(rows=self.rows, columns=self.columns)


@dataclass(frozen=True, kw_only=True, eq=False)
class Folds:
    """How a product is cut to fit: the two dimensions on the array, the one that streams through it.

    Args:
        down: passes along the dimension mapped to the rows, ⌈rows used ÷ R⌉.
        across: passes along the dimension mapped to the columns.
        streamed: length of the dimension that streams, in steps.
        mapped: units with work, averaged over the passes, as a share of R · C.
    """

    down: Counts
    across: Counts
    streamed: Counts
    mapped: Reals


@dataclass(frozen=True, kw_only=True, eq=False)
class SystolicCycles:
    """What a systolic array does with each product; arrays of the queries' shape.

    Args:
        cycles: number of the cycle in which the last result leaves, the first being 0, without memory stalls; SCALE-Sim's total cycles.
        utilisation: multiply-adds ÷ ((cycles + 1) · R · C), 0 … 1.
        mapped: share of the units that have work at all, 0 … 1.
        activation_reads: elements read from the SRAM of the left operand.
        weight_reads: elements read from the SRAM of the right operand.
        result_writes: elements written to the SRAM of the result; partial sums each time.
    """

    cycles: Counts
    utilisation: Reals
    mapped: Reals
    activation_reads: Counts
    weight_reads: Counts
    result_writes: Counts


def folds(array: SystolicArray, products: Products) -> Folds:
    """Cut of one group: output-stationary m on rows and n on columns, weight-stationary k and n, input-stationary k and m.

    >>> from ridgeline.model.npu import gemm
    >>> cut = folds(SystolicArray(rows=8, columns=8, dataflow="weight"), gemm(31, 17, 9))
    >>> int(cut.down), int(cut.across), int(cut.streamed)
    (2, 3, 31)
    """
    m, n, k = products.m, products.n, products.k
    on_rows, on_columns, streamed = {"output": (m, n, k), "weight": (k, n, m), "input": (k, m, n)}[array.dataflow]
    down, across = ceil_div(on_rows, array.rows), ceil_div(on_columns, array.columns)
    mapped = on_rows / (down * float(array.rows)) * (on_columns / (across * float(array.columns)))
    return Folds(down=down, across=across, streamed=streamed, mapped=np.asarray(mapped))


def systolic_cycles(array: SystolicArray, products: Products) -> SystolicCycles:
    """Cycles = groups · (folds · pass) − 1, with pass = L + R + C − 2 (output-stationary, L = k: results drain while the next pass fills) or
    2R + C + L − 2 (weight- and input-stationary: R cycles to load the stationary operand, L = m or n).

    Args:
        array: rows, columns and dataflow.
        products: shapes, from `gemm` or `convolution`.

    Raises:
        OutOfRange: more than 2⁵³ cycles or accesses.

    Limits: one group after the other, dense, no memory stalls; a pass with units to spare takes as long as a full one.

    >>> from ridgeline.model.npu import gemm
    >>> int(systolic_cycles(SystolicArray(rows=8, columns=8, dataflow="output"), gemm(8, 16, 24)).cycles)
    75
    """
    cut = folds(array, products)
    load = 0 if array.dataflow == "output" else array.rows
    length = cut.streamed + (load + array.rows + array.columns - 2)
    passes = exact("passes", cut.down, cut.across, products.groups)
    cycles = exact("cycles", passes, length) - 1
    reads, weights, writes = _accesses(array.dataflow, cut, products)
    busy = products.macs / ((cycles + 1.0) * array.rows * array.columns)
    return SystolicCycles(
        cycles=cycles,
        utilisation=np.asarray(busy),
        mapped=cut.mapped,
        activation_reads=reads,
        weight_reads=weights,
        result_writes=writes,
    )


def _accesses(dataflow: Dataflow, cut: Folds, products: Products) -> tuple[Counts, Counts, Counts]:
    """Each operand once for every cut of the dimension that it does not have; sums once for every cut of k."""
    lowered = exact("activations", products.m, products.k, products.groups)
    once = np.ones_like(products.m)
    times = {"output": (cut.across, cut.down, once), "weight": (cut.across, once, cut.down), "input": (once, cut.across, cut.down)}[dataflow]
    return (
        exact("activation reads", lowered, times[0]),
        exact("weight reads", products.weights, times[1]),
        exact("result writes", products.results, times[2]),
    )
