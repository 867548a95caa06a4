"""What a layer takes on an Arm Ethos-U in one of Arm's example systems: cycles, multiply-adds, bytes by memory.

Decides how computing, SRAM and the memory off chip overlap: a layer takes as long as the slowest of them. Cycles of computing are `ethos_cycles`,
what passes the memories is `ethos_traffic`, cuts are `ethos_blocks`, the processors are `ethos_config`.

Limits: 8-bit data, batch 1, layer after layer (no cascades, no chained operators), weights fetched while the layer before them runs or streamed.
A network takes the sum of its layers. Operators that the processor lacks, softmax among them, are not known here.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ._numbers import Counts, Reals
from .ethos_blocks import chosen_blocks
from .ethos_config import EthosU
from .ethos_cycles import Blocks, block_cycles
from .ethos_layers import EthosLayers
from .ethos_traffic import ethos_traffic

__all__ = ["EthosCost", "ethos_cost"]

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


def ethos_cost(npu: EthosU, layers: EthosLayers, *, blocks: Blocks | None = None, passes: Reals | None = None) -> EthosCost:
    """cycles = max(compute, SRAM, off chip) for each layer.

    Args:
        npu: from `ethos_u`.
        layers: from `ethos_layers`.
        blocks: how the layers are cut, where it is known; else `chosen_blocks`.
        passes: how often each layer runs, (n,), ≥ 1, if not once; the cycles are those of one pass.

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
    moved = ethos_traffic(npu, layers, cut)
    off_chip = np.maximum(_weights(npu, layers, _before(compute, passes), moved.spatial), moved.off_chip_cycles)
    sram = moved.sram_cycles
    cycles = np.maximum(np.maximum(compute, sram), off_chip)
    macs = layers.macs // np.where(_skips(npu, layers), 2, 1)
    return EthosCost(
        cycles=cycles,
        compute_cycles=compute,
        sram_cycles=sram,
        off_chip_cycles=np.asarray(off_chip),
        macs=np.asarray(macs),
        utilisation=np.asarray(macs / (cycles * npu.macs)),
        sram_bytes=moved.sram_bytes,
        off_chip_bytes=moved.off_chip_bytes,
        blocks=cut,
    )


def _skips(npu: EthosU, layers: EthosLayers) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    sparse = layers.sparse | (layers.in_channels <= 2)
    return np.asarray(sparse & layers.of("convolution", "fully-connected") & (npu.scale_cycles > 0))


def _before(compute: Reals, passes: Reals | None) -> Reals:
    """Cycles of the layer before each, for each of its passes."""
    times = np.ones_like(compute) if passes is None else passes
    return np.concatenate(([0.0], (compute * times)[:-1])) / times


def _weights(npu: EthosU, layers: EthosLayers, before: Reals, spatial: Counts) -> Reals:
    """Weights are fetched while the layer before runs, where they are used for more than one block; else, and of a matrix, they are streamed."""
    streaming = layers.weight_bytes / npu.off_chip_bytes_per_cycle
    # Were those of a matrix fetched ahead from some number of rows on, a network of more rows would take less.
    hidden = (spatial > 1) & ~layers.of("fully-connected")
    return np.asarray(np.maximum(streaming - np.where(hidden, before, 0), 0))
