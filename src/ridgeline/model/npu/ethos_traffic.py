"""What a layer that is cut into blocks moves on an Ethos-U: bytes and cycles by memory.

Decides traffic from blocks; leaves the choice of blocks to `ethos_blocks`, and what of the weights the layer before hides to `ethos_costs`. Found
from the cycles that Arm's compiler (ethos-u-vela 5.2) reports, as those of `ethos_cycles`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ._numbers import Counts, Reals, ceil_div
from .ethos_config import EthosU
from .ethos_cycles import Blocks
from .ethos_layers import SCALE_BYTES, EthosLayers

__all__ = ["EthosTraffic", "ethos_traffic"]

# An image of fewer channels than a brick has is fetched pixel by pixel, at one rate up to so many channels, at another up to so many.
IMAGE_CHANNELS, BRICK = (1, 4), 16


class EthosTraffic(NamedTuple):
    """Of n layers, or of (candidates, n).

    `spatial`: blocks down and across; `sram_bytes`, `sram_cycles`: inputs, results and weights that wait; `off_chip_bytes`: weights and what of the
    network's input and result is there; `off_chip_cycles`: scales and the network's input, without weights.
    """

    spatial: Counts
    sram_bytes: Reals
    sram_cycles: Reals
    off_chip_bytes: Reals
    off_chip_cycles: Reals


def ethos_traffic(npu: EthosU, layers: EthosLayers, cut: Blocks) -> EthosTraffic:
    """What a cut moves.

    Args:
        npu: the processor.
        layers: n layers.
        cut: of those layers; arrays of shape n, or (candidates, n).
    """
    spatial = ceil_div(layers.height, cut.height) * ceil_div(layers.width, cut.width)
    read = _read_bytes(layers, cut, ceil_div(layers.channels, cut.channels))
    written = layers.results * ~layers.off_chip_result
    # Weights wait in SRAM where more than one block uses them, and are read for each.
    staged = np.where(spatial > 1, layers.weight_bytes * spatial, 0.0)
    inside = read * ~layers.off_chip_input
    sram = (inside * _padding(layers.in_channels) + written * _padding(layers.channels) + staged) / npu.sram_bytes_per_cycle
    outside = layers.weight_bytes + read * layers.off_chip_input + layers.results * layers.off_chip_result
    off_chip = np.maximum(_scales(npu, layers, cut, spatial), _image(npu, layers, cut, read))
    return EthosTraffic(
        spatial, np.asarray(inside + written + staged, np.float64), np.asarray(sram), np.asarray(outside, np.float64), np.asarray(off_chip)
    )


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
