"""What a layer takes on an Arm Ethos-U in one of Arm's example systems: cycles, multiply-adds, bytes by memory.

Decides how computing, SRAM and the memory off chip overlap: a layer takes as long as the slowest of them. Cycles of computing are `ethos_cycles`,
cuts are `ethos_blocks`, the processors are `ethos_config`.

Limits: 8-bit data, batch 1, layer after layer (no cascades, no chained operators), weights fetched while the layer before them runs or streamed.
A network takes the sum of its layers. Operators that the processor lacks, softmax among them, are not known here.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ._numbers import Counts, Reals, ceil_div
from .ethos_blocks import chosen_blocks
from .ethos_config import EthosU
from .ethos_cycles import Blocks, block_cycles
from .ethos_layers import SCALE_BYTES, EthosLayers

__all__ = ["EthosCost", "ethos_cost"]

# An image of fewer channels than a brick has is fetched pixel by pixel, at one rate up to so many channels, at another up to so many.
IMAGE_CHANNELS, BRICK = (1, 4), 16
# Of the latency off chip: two thirds before the first input, a third after the last result.
BEFORE, AFTER = 2 / 3, 1 / 3


@dataclass(frozen=True, kw_only=True, eq=False)
class EthosCost:
    """What each layer takes; arrays of the layers' length.

    Args:
        cycles: the slowest of the following three.
        compute_cycles: of the core.
        sram_cycles: of its SRAM port.
        off_chip_cycles: of flash or DRAM.
        macs: multiply-adds done; zeros that the core skips do not count.
        utilisation: multiply-adds ÷ (cycles · multipliers), at most 1.
        sram_bytes: inputs read and results written.
        off_chip_bytes: weights and scales, and the network's input or result where the arena is there.
        blocks: the cut that was used.
    """

    cycles: Reals
    compute_cycles: Reals
    sram_cycles: Reals
    off_chip_cycles: Reals
    macs: Counts
    utilisation: Reals
    sram_bytes: Reals
    off_chip_bytes: Reals
    blocks: Blocks


def ethos_cost(npu: EthosU, layers: EthosLayers, *, blocks: Blocks | None = None) -> EthosCost:
    """cycles = max(compute, SRAM, off chip) for each layer.

    Args:
        npu: from `ethos_u`.
        layers: from `ethos_layers`.
        blocks: how the layers are cut, where it is known; else `chosen_blocks`.

    Raises:
        OutOfRange: counts past 2⁵³.

    >>> from ridgeline.model.npu import ethos_layers, ethos_u
    >>> pointwise = ethos_layers("convolution", height=25, width=5, channels=64, in_channels=64)
    >>> cost = ethos_cost(ethos_u("ethos-u55-128"), pointwise)
    >>> int(cost.macs[0]), 5000 < float(cost.cycles[0]) < 7000
    (512000, True)
    """
    cut = chosen_blocks(npu, layers) if blocks is None else blocks
    compute = block_cycles(npu, layers, cut)
    compute = compute + npu.off_chip_latency * (BEFORE * layers.off_chip_input + AFTER * layers.off_chip_result)
    spatial = ceil_div(layers.height, cut.height) * ceil_div(layers.width, cut.width)
    across = ceil_div(layers.channels, cut.channels)
    read = _read_bytes(layers, cut, across)
    written = layers.results * ~layers.off_chip_result
    # Weights wait in SRAM where more than one block uses them, and are read for each.
    staged = np.where(spatial > 1, layers.weight_bytes * spatial, 0.0)
    sram_bytes = read * ~layers.off_chip_input + written + staged
    outside = layers.weight_bytes + read * layers.off_chip_input + layers.results * layers.off_chip_result
    off_chip = np.maximum(_weights(npu, layers, compute, spatial), np.maximum(_scales(npu, layers, cut, spatial), _image(npu, layers, cut, read)))
    sram = (read * ~layers.off_chip_input * _padding(layers.in_channels) + written * _padding(layers.channels) + staged) / npu.sram_bytes_per_cycle
    cycles = np.maximum(np.maximum(compute, sram), off_chip)
    macs = layers.macs // np.where(_skips(npu, layers), 2, 1)
    return EthosCost(
        cycles=cycles,
        compute_cycles=compute,
        sram_cycles=sram,
        off_chip_cycles=np.asarray(off_chip),
        macs=np.asarray(macs),
        utilisation=np.asarray(macs / (cycles * npu.macs)),
        sram_bytes=np.asarray(sram_bytes, np.float64),
        off_chip_bytes=np.asarray(outside, np.float64),
        blocks=cut,
    )


def _skips(npu: EthosU, layers: EthosLayers) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    sparse = layers.sparse | (layers.in_channels <= 2)
    return np.asarray(sparse & layers.of("convolution", "fully-connected") & (npu.scale_cycles > 0))


def _read_bytes(layers: EthosLayers, cut: Blocks, across: Counts) -> Reals:
    """Input with the edges of its windows, once for each block; convolutions read all channels for each block of results' channels."""
    tall = _reach(layers.height, cut.height, layers.stride_down, layers.kernel_height)
    wide = _reach(layers.width, cut.width, layers.stride_across, layers.kernel_width)
    convolved = layers.of("convolution", "fully-connected")
    deep = np.where(convolved, layers.in_channels * across, layers.channels)
    operands = np.where(layers.of("add", "multiply"), 2, 1)
    return np.asarray(tall * wide * deep * operands, np.float64)


def _padding(channels: Counts) -> Reals:
    """Bytes that pass for each that is wanted: channels lie in bricks of sixteen, fewer than eight in pieces."""
    return np.asarray(np.where(channels < 8, 4.0, 16 * ceil_div(channels, 16) / channels))


def _reach(size: Counts, block: Counts, stride: Counts, kernel: Counts) -> Counts:
    """Rows (or columns) of input that all blocks fetch: those under the results, and what the windows of neighbours share."""
    return np.asarray(size * stride + (ceil_div(size, block) - 1) * np.maximum(kernel - stride, 0))


def _weights(npu: EthosU, layers: EthosLayers, compute: Reals, spatial: Counts) -> Reals:
    """Weights are fetched while the layer before runs, where they are used for more than one block; else they are streamed."""
    before = np.concatenate(([0.0], compute[:-1]))
    streaming = layers.weight_bytes / npu.off_chip_bytes_per_cycle
    return np.asarray(np.maximum(streaming - np.where(spatial > 1, before, 0), 0))


def _image(npu: EthosU, layers: EthosLayers, cut: Blocks, read: Reals) -> Reals:
    """The network's input from DRAM."""
    one, few, more = npu.image_cycles
    pixel = np.where(layers.in_channels <= IMAGE_CHANNELS[0], one, np.where(layers.in_channels <= IMAGE_CHANNELS[1], few, more))
    pixels = np.where(layers.in_channels < BRICK, read / layers.in_channels * pixel, read / npu.off_chip_bytes_per_cycle)
    return np.asarray(np.where(layers.off_chip_input & (npu.off_chip == "dram"), pixels, 0))


def _scales(npu: EthosU, layers: EthosLayers, cut: Blocks, spatial: Counts) -> Reals:
    """Biases and scales are fetched again for each block down and across."""
    weighted = layers.weight_bytes > 0
    each = npu.scale_cycles if npu.scale_cycles else SCALE_BYTES / npu.off_chip_bytes_per_cycle
    unit = np.maximum(16, cut.unit[2])
    channels = unit * ceil_div(layers.channels, unit) if npu.scale_cycles else layers.channels
    return np.asarray(np.where(weighted, each * channels * spatial, 0.0))
