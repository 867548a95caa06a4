"""Cycles that an Ethos-U computes on layers whose blocks are given, its inputs and results in SRAM.

A layer is cut into blocks of outputs. A block fetches its input, runs the multipliers over the window and the input channels for each unit of
outputs, and drains through the output stage; blocks overlap, so a layer takes the longest of these for each block, plus what the first block fetches
and the last one drains.

Decides cycles from blocks; leaves the choice of blocks to `ethos_blocks` and off-chip memory to `ethos_costs`. The structure (units, channels
taken 8 at a time, windows of at most 8 × 8 at a time, double buffers, output stage) and the constants were found from the cycles which Arm's
compiler (ethos-u-vela 5.2) reports for layers made for the purpose; they hold to a few per cent for most (`benchmarks/model/vela.py`). The compiler
estimates too: nothing here was measured on silicon.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ._numbers import Counts, Reals, ceil_div
from .ethos_config import EthosU
from .ethos_layers import EthosLayers

__all__ = ["Blocks", "block_cycles"]

# Latency of a read and of a write, cycles.
LATENCY = 64.0
# A unit is not done sooner than this: its accumulators are used again.
LEAST_STEPS = 4
# Cycles of the output stage for a unit.
DRAIN = {"convolution": 8.0, "add": 24.0, "multiply": 12.0, "unary": 8.0}
# Weights a cycle of a matrix with one row on the newest processors.
ROW_WEIGHTS = 12.0
# The first block waits a fourth longer for its weights, less what six cycles a unit hide.
WAIT, HIDDEN = 0.25, 6.0


@dataclass(frozen=True, kw_only=True, eq=False)
class Blocks:
    """Outputs of a block and the order in which its sums are made.

    Args:
        height, width, channels: of a block.
        unit: (height, width, channels) computed together, three arrays.
        window_first: four places of the window at a time for few channels, else channels first.
    """

    height: Counts
    width: Counts
    channels: Counts
    unit: tuple[Counts, Counts, Counts]
    window_first: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]

    def some(self, at: Counts) -> Blocks:
        """Those of some of the layers, by their places."""
        unit = self.unit[0][at], self.unit[1][at], self.unit[2][at]
        height, width, channels = (each[..., at] for each in (self.height, self.width, self.channels))
        return Blocks(height=height, width=width, channels=channels, unit=unit, window_first=self.window_first[at])


def block_cycles(npu: EthosU, layers: EthosLayers, blocks: Blocks) -> Reals:
    """Cycles = latency + fetch + first block + drain + write + the other blocks, each the longest of multiplying, draining and moving.

    Args:
        npu: the processor.
        layers: n layers.
        blocks: of those layers; arrays of shape n, or (candidates, n).

    Limits: results in SRAM, batch 1, 8-bit data.
    """
    uh, uw, uc = blocks.unit
    across = ceil_div(layers.height, uh), ceil_div(layers.width, uw), ceil_div(layers.channels, uc)
    inside = tuple(
        np.minimum(ceil_div(size, unit), of)
        for size, unit, of in zip((blocks.height, blocks.width, blocks.channels), blocks.unit, across, strict=True)
    )
    units = inside[0] * inside[1] * inside[2]
    tall, wide, deep = (
        np.minimum(size, of)
        for size, of in zip((blocks.height, blocks.width, blocks.channels), (layers.height, layers.width, layers.channels), strict=True)
    )
    elements = (tall * wide * deep).astype(np.float64)
    more = np.maximum(across[0] * across[1] * across[2] / units - 1, 0)
    also = np.maximum(layers.results / elements - 1, 0)
    multiply = _multiplying(npu, layers, blocks, units, inside[2])
    drain = elements / (uh * uw * uc) * _drain(layers) / npu.cores
    first, moved = _input_bytes(layers, blocks, tall, wide, deep)
    fetch, write = first / npu.sram_bytes_per_cycle, elements / npu.result_bytes_per_cycle
    if npu.sram_bytes_per_cycle <= 8:
        # The narrow port of an Ethos-U55 takes twice as long for results of more than 16 channels.
        write = write * np.minimum(2, ceil_div(blocks.channels, 16))
    port = (moved + elements) / npu.sram_bytes_per_cycle
    # Rows of a matrix share their weights, so that more of them hide no more.
    wait = _waiting(npu, layers, multiply, np.where(layers.of("fully-connected"), inside[2], units))
    spatial = layers.of("depthwise", "max-pool", "average-pool", "add", "multiply", "unary")
    rest = np.maximum(np.maximum(more * multiply, also * drain), np.where(spatial, also * port, 0))
    if npu.sram_bytes_per_cycle <= 8:
        rest = rest + np.where(layers.of("depthwise") & (layers.channels > blocks.channels), 2.0 * units, 0)
    total = LATENCY + fetch + multiply + wait + drain + write + rest
    plain = layers.of("add", "multiply", "unary")
    return np.asarray(np.where(plain, _elementwise(layers, blocks, drain, also), total))


def _elementwise(layers: EthosLayers, blocks: Blocks, drain: Reals, also: Reals) -> Reals:
    """The output stage alone, on whole units along the width."""
    uw = blocks.unit[1]
    padded = ceil_div(layers.width, uw) * uw / layers.width
    return np.asarray(drain * (also + 1) * padded)


def _drain(layers: EthosLayers) -> Reals:
    cycles = np.full(layers.kind.shape, DRAIN["convolution"])
    for kind in ("add", "multiply", "unary"):
        cycles = np.where(layers.of(kind), DRAIN[kind], cycles)
    return cycles


def _steps(npu: EthosU, layers: EthosLayers, blocks: Blocks) -> Reals:
    """Steps of the multipliers for a unit: 8 input channels of one place of the window each."""
    window = (layers.kernel_height * layers.kernel_width).astype(np.float64)
    parts = _fours(layers.kernel_height, layers.kernel_width)
    chunks = ceil_div(layers.in_channels, 8)
    # Older processors always take 32 channels together; the others as many as there are.
    channels = np.maximum(LEAST_STEPS, chunks) if npu.scale_cycles else LEAST_STEPS * ceil_div(layers.in_channels, 32)
    few = np.where(layers.in_channels <= 8, 1, 2 * ceil_div(layers.in_channels, 16))
    deep = np.where(blocks.window_first, parts * few, window * channels)
    pooled = npu.pool_cycles * window
    steps = np.where(layers.of("depthwise"), np.maximum(LEAST_STEPS, parts), np.where(layers.of("max-pool", "average-pool"), pooled, deep))
    return np.asarray(steps * np.where(_halved(npu, layers), 0.5, 1.0))


def _halved(npu: EthosU, layers: EthosLayers) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    """Weights two in four, which the newest processors skip; one or two input channels are so by themselves."""
    sparse = layers.sparse | (layers.in_channels <= 2)
    return np.asarray(sparse & layers.of("convolution", "fully-connected") & (npu.scale_cycles > 0))


def _fours(height: Counts, width: Counts) -> Reals:
    """Places of the window rounded up to four in each part of at most 8 × 8."""
    total = np.zeros(np.shape(height))
    whole_tall, whole_wide = height // 8, width // 8
    rest_tall, rest_wide = height % 8, width % 8
    total = total + 64 * whole_tall * whole_wide
    total = total + whole_tall * 4 * ceil_div(8 * rest_wide, 4) + whole_wide * 4 * ceil_div(8 * rest_tall, 4)
    return np.asarray(total + 4 * ceil_div(rest_tall * rest_wide, 4))


def _multiplying(npu: EthosU, layers: EthosLayers, blocks: Blocks, units: Counts, channel_units: Counts) -> Reals:
    """Cycles of a block: the multipliers, or the weights that must be decoded for it."""
    steps = _steps(npu, layers, blocks)
    weighted = layers.of("convolution", "depthwise", "fully-connected")
    decoding = steps * channel_units * np.where(weighted, 8.0 * blocks.unit[2] / npu.weights_per_cycle, 0)
    if npu.scale_cycles:
        # A single row is not kept waiting by the decoder but by memory.
        decoding = np.where(
            layers.of("fully-connected"),
            layers.in_channels * 16.0 * ceil_div(np.minimum(blocks.channels, layers.channels), 16) / ROW_WEIGHTS,
            decoding,
        )
    return np.asarray(np.maximum(units * np.maximum(LEAST_STEPS, steps), decoding) / npu.cores)


def _waiting(npu: EthosU, layers: EthosLayers, multiply: Reals, units: Counts) -> Reals:
    """What the first block takes longer than the others."""
    wait = np.maximum(0, WAIT * multiply - HIDDEN / npu.cores * units)
    window = layers.kernel_height * layers.kernel_width
    # A pool has no weights to wait for; its window is walked once more.
    return np.asarray(np.where(layers.of("max-pool", "average-pool"), 0.8 / npu.cores * units * window, wait))


def _input_bytes(layers: EthosLayers, blocks: Blocks, tall: Counts, wide: Counts, deep: Counts) -> tuple[Reals, Reals]:
    """Bytes before the first unit can start, and bytes of a whole block with the edges of its windows."""
    down, over = (tall - 1) * layers.stride_down + 1, (wide - 1) * layers.stride_across + 1
    # The edges of windows are fetched too, as far as there is input; SAME padding has none beyond the strides.
    rows = np.minimum(down + layers.kernel_height - 1, np.maximum(layers.height * layers.stride_down, layers.kernel_height))
    columns = np.minimum(over + layers.kernel_width - 1, np.maximum(layers.width * layers.stride_across, layers.kernel_width))
    edges = rows * columns
    convolved = layers.of("convolution", "fully-connected")
    # Fewer than 8 channels are fetched in pieces that are mostly thrown away.
    chunk = np.where(blocks.window_first, 16, 32)
    few = np.where(layers.in_channels < 8, 4 * layers.in_channels, np.minimum(layers.in_channels, chunk))
    pooled = layers.of("max-pool", "average-pool")
    first = np.where(convolved, down * over * few, np.where(pooled, edges * deep, down * over * deep))
    return np.asarray(first, np.float64), np.asarray(edges * np.where(convolved, few, deep), np.float64)
