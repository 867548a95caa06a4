"""Kernels of a GPU that pass over their operands: elementwise functions, softmax and normalisation of rows, copies; fp32.

    memory = 4 accesses × elements ÷ (share of the bandwidth that streams reach: 0.80 of HBM, 0.75 of GDDR)
    functions = cost of the function × elements ÷ peak of plain fp32; of rows, with lanes filled up to 128
    seconds = 3 µs + (memory⁶ + functions⁶)^(1/6)

A softmax reads its row once while registers hold it, twice beyond; a normalisation reads it twice. Numbers and their sources: `data/kernels.toml`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .constants import constants
from .sheet import GpuSheet

__all__ = ["FEATURES", "Streams", "streams"]

Floats = NDArray[np.float64]

#: Names of the columns of `Streams.features`.
FEATURES = ("accesses", "memory", "functions", "floors", "columns", "aligned", "lane-fill", "rows-per-unit")
_SHARP = 6.0
_MOST_ROWS = 5.0


class Streams(NamedTuple):
    """Streams of N shapes, (N,) each: `seconds`, `memory` and `functions` of which they are made, `bytes` moved; `features`: (N, 8), ratios."""

    seconds: Floats
    memory: Floats
    functions: Floats
    bytes: Floats
    features: Floats


def streams(kind: str, function: str, rows: Floats, columns: Floats, inputs: Floats, gpu: GpuSheet, floor_s: float) -> Streams:
    """Seconds and what they are made of.

    Args:
        kind: `elementwise`, `softmax`, `normalisation` or `copy`.
        function: of an elementwise one, such as `gelu`; one that is not known costs as much as an addition.
        rows, columns: of the operand, ≥ 1, shape (N,); of `elementwise` and `copy` in any split.
        inputs: operands of an elementwise one that are as large as its result, (N,).
        floor_s: the least that the host needs between launches: how far a kernel is above it is a feature.
    """
    stream = constants().stream
    count = rows * columns
    accesses = _accesses(kind, columns, inputs, stream.row_in_registers)
    moved = 4.0 * accesses * count
    memory = moved / (gpu.dram_byte_per_s * (stream.stacked_share if gpu.generation.stacked else stream.plain_share))
    functions = count * _cost(kind, function, columns, inputs, gpu) / gpu.vector_flop_per_s
    if kind in ("softmax", "normalisation"):
        functions = functions * np.ceil(columns / stream.row_lanes) * stream.row_lanes / columns
    large, small = np.maximum(memory, functions), np.minimum(memory, functions)
    seconds = stream.kernel_s + large * (1.0 + (small / large) ** _SHARP) ** (1.0 / _SHARP)
    shown = np.maximum(seconds, floor_s)
    lanes = 2.0 ** np.ceil(np.log2(columns))
    features = np.column_stack([
        accesses, np.log(memory / shown), np.log(functions / memory), np.log(seconds / floor_s), np.log(columns / stream.row_in_registers),
        columns % 4 == 0, columns / lanes, np.minimum(np.log(rows / gpu.units), _MOST_ROWS),
    ])  # fmt: skip
    return Streams(seconds, memory, functions, moved, features)


def _accesses(kind: str, columns: Floats, inputs: Floats, held: int) -> Floats:
    if kind == "softmax":
        return np.where(columns <= held, 2.0, 3.0)
    if kind == "normalisation":
        return np.full_like(columns, 3.0)
    return inputs + 1.0 if kind == "elementwise" else np.full_like(columns, 2.0)


def _cost(kind: str, function: str, columns: Floats, inputs: Floats, gpu: GpuSheet) -> Floats:
    """FLOPs of plain fp32 that take as long as the function of one element, (N,)."""
    known = constants()
    table = known.cost_amd if gpu.amd else known.cost
    name = kind if kind in ("softmax", "normalisation") else function
    cost = np.where(inputs < 2, table.get(f"{name}_scalar", table.get(name, table[""])), table.get(name, table[""]))
    if gpu.amd and kind == "softmax":
        stream = known.stream
        return np.asarray(cost * np.where(columns <= stream.row_in_registers, stream.amd_softmax_short, stream.amd_softmax_long))
    return np.asarray(np.broadcast_to(cost, columns.shape), np.float64)
