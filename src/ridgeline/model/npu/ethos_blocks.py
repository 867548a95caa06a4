"""Which blocks a layer is cut into on an Ethos-U: of the cuts that the core's memory holds the one that moves least through SRAM.

Decides unit, order of the sums and block of a layer. A compiler decides them by a search that no document describes. The rules here were made from
what Arm's compiler (ethos-u-vela 5.2) chose for layers made for the purpose; where they choose otherwise, the cycles of most layers move by a few
per cent (`benchmarks/model/vela.py`). It does not choose by its own cycles: with more channels or a larger window its cut may be a luckier one, and
its cycles fewer. A matrix takes the cut of fewest cycles, so that more rows never take less.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ._numbers import Counts, Reals, ceil_div
from .ethos_config import EthosU
from .ethos_cycles import Blocks, block_cycles
from .ethos_layers import EthosLayers
from .ethos_traffic import ethos_traffic

__all__ = ["chosen_blocks"]

# Heights and widths of a block that are tried, in units; output channels.
SIZES = np.array([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 14, 16, 18, 20, 24, 28, 32, 40, 48, 64])
DEPTHS = np.array([8, 16, 32, 48, 64, 80, 96, 112, 128, 256])
# Bytes of an accumulator; inputs are bytes. Both are there twice.
ACCUMULATOR = 4
#: Past any bytes that a cut moves: it does not fit; and what a byte weighs where cycles are equal.
NOWHERE, EQUAL = 1e18, 1e-9
#: Input channels up to which the newest processors take the window first.
FEW_CHANNELS = 32


def chosen_blocks(npu: EthosU, layers: EthosLayers) -> Blocks:
    """Blocks of each layer, arrays of its length."""
    unit, first = _units(npu, layers), _window_first(npu, layers)
    cuts = _cuts(npu, layers, unit)
    whole = Blocks(height=cuts[0], width=cuts[1], channels=cuts[2], unit=unit, window_first=first)
    weight = _moved(npu, layers, cuts, first)
    matrices = np.flatnonzero(layers.of("fully-connected"))
    if matrices.size:
        weight[:, matrices] = _cycles(npu, layers.some(matrices), whole.some(matrices), weight[:, matrices])
    place, picked = weight.argmin(axis=0), np.arange(len(layers.kind))
    height, width, depth = (each[place, picked] for each in cuts)
    return Blocks(height=height, width=width, channels=depth, unit=unit, window_first=first)


def _cycles(npu: EthosU, layers: EthosLayers, cuts: Blocks, moved: Reals) -> Reals:
    """Cycles of each cut without fetching weights, of equals less where less moves; past any for one that does not fit."""
    traffic = ethos_traffic(npu, layers, cuts)
    cycles = np.maximum(block_cycles(npu, layers, cuts), np.maximum(traffic.sram_cycles, traffic.off_chip_cycles))
    return np.where(moved < NOWHERE, cycles + EQUAL * moved, moved)


def _cuts(npu: EthosU, layers: EthosLayers, unit: tuple[Counts, Counts, Counts]) -> tuple[Counts, Counts, Counts]:
    """Heights, widths and channels of blocks to try, (cuts, layers) each: whole units, no more than the layer has."""
    # Only the newest processors have blocks deeper than 128.
    depths = DEPTHS if npu.scale_cycles else DEPTHS[DEPTHS <= 128]
    down, over, deep = (each.ravel()[:, None] for each in np.meshgrid(SIZES, SIZES, depths, indexing="ij"))
    tall, wide, channels = (ceil_div(size, of) * of for size, of in zip((layers.height, layers.width, layers.channels), unit, strict=True))
    # Below sixteen channels a block is as deep as its unit, from there on whole sixteens or all there are.
    least = np.where(layers.channels <= unit[2], unit[2], np.minimum(16, channels))
    depth = np.minimum(np.maximum(ceil_div(deep, unit[2]) * unit[2], least), channels)
    height, width, depth = np.broadcast_arrays(np.minimum(down * unit[0], tall), np.minimum(over * unit[1], wide), depth)
    return height, width, depth


def _units(npu: EthosU, layers: EthosLayers) -> tuple[Counts, Counts, Counts]:
    """The unit that computes least beyond the layer's edges."""
    pooled = layers.of("depthwise", "max-pool", "average-pool") if npu.scale_cycles else layers.of("max-pool", "average-pool")
    found = []
    for units in (npu.units, npu.pool_units):
        options = np.array(units)
        padded = np.ones((len(units), len(layers.kind)))
        for axis, size in enumerate((layers.height, layers.width, layers.channels)):
            padded = padded * ceil_div(size, options[:, axis, None]) * options[:, axis, None]
        # A matrix of any number of rows takes the unit of one row, which is the first.
        found.append(options[np.where(layers.of("fully-connected"), 0, padded.argmin(axis=0))])
    unit = np.where(pooled[:, None], found[1], found[0])
    return unit[:, 0], unit[:, 1], unit[:, 2]


def _window_first(npu: EthosU, layers: EthosLayers) -> NDArray[np.bool_]:
    """Whether four places of the window are summed at a time: where that leaves fewer multipliers idle than taking channels first."""
    window = layers.kernel_height * layers.kernel_width
    chunk = 64 if npu.scale_cycles else 32
    places = window / (4.0 * ceil_div(window, 4)) * (layers.in_channels / (8.0 * ceil_div(layers.in_channels, 8)))
    deep = layers.in_channels / (float(chunk) * ceil_div(layers.in_channels, chunk))
    if npu.scale_cycles:
        three = (layers.kernel_height % 4 == 3) | (layers.kernel_width % 4 == 3)
        chosen = (layers.in_channels <= FEW_CHANNELS) | three | (places > deep)
    else:
        chosen = places >= deep
    return np.asarray(chosen & layers.of("convolution") & ~((window == 1) & (layers.in_channels > FEW_CHANNELS)))


def _moved(npu: EthosU, layers: EthosLayers, block: tuple[Counts, Counts, Counts], first: NDArray[np.bool_]) -> Reals:
    """Bytes through SRAM of each cut, (cuts, layers); past any for one that does not fit."""
    height, width, depth = block
    elements = height * width * depth
    convolved = layers.of("convolution", "fully-connected")
    few = np.minimum(ceil_div(layers.in_channels, 8) * 8, np.where(first, 16, 32))
    tall, wide = (height - 1) * layers.stride_down + layers.kernel_height, (width - 1) * layers.stride_across + layers.kernel_width
    buffered = tall * wide * np.where(convolved, few, depth)
    pooled = layers.of("depthwise", "max-pool", "average-pool")
    room = np.where(pooled & (npu.scale_cycles > 0), 2, 1) * npu.accumulators
    fits = (elements <= room) & (2 * ACCUMULATOR * elements + 2 * buffered <= npu.buffer_bytes)
    down, across = ceil_div(layers.height, height), ceil_div(layers.width, width)
    spatial = down * across
    # Where windows do not meet, what lies between those of two blocks is fetched all the same.
    tall = tall + np.where(down > 1, np.maximum(layers.stride_down - layers.kernel_height, 0), 0)
    wide = wide + np.where(across > 1, np.maximum(layers.stride_across - layers.kernel_width, 0), 0)
    sweeps = np.where(convolved, layers.in_channels * ceil_div(layers.channels, depth), layers.channels)
    # Weights as they are before compression: the cut is chosen before they are packed.
    weights = (
        layers.kernel_height
        * layers.kernel_width
        * layers.channels
        * np.where(convolved, layers.in_channels, 1)
        * layers.of("convolution", "depthwise", "fully-connected")
    )
    moved = spatial * (tall * wide * sweeps + weights)
    # Of equals the smaller block, but where channels do not mix the largest (of at most half the accumulators on the older ones); a cut that fits
    # nowhere is still a cut: the smallest is left.
    half = npu.accumulators * 2 if npu.scale_cycles else npu.accumulators // 2
    preferred = np.where(pooled & (elements <= half), half - elements, elements) * 1e-3
    return np.asarray(np.where(fits, moved + preferred, NOWHERE + elements), np.float64)
