"""Operators as layers of an Arm Ethos-U: seconds by the cycle model of `model.npu`, at the clock and rates of the device.

This module decides which operators are layers that the processor runs; all others are left to the general formulas, as on its host. The compiler
takes one item of a batch: images run one after the other, each with its weights fetched again; rows of a matrix are one layer. Its cycles are those
of Arm's compiler, not of silicon.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

import msgspec
import numpy as np
from numpy.typing import NDArray

from ridgeline.core import Device, OutOfRange, UsageError, Workload

from ..npu.ethos_blocks import chosen_blocks
from ..npu.ethos_config import EthosU, ethos_u, ethos_u_names
from ..npu.ethos_costs import ethos_cost
from ..npu.ethos_cycles import Blocks
from ..npu.ethos_layers import EthosKind, EthosLayers, ethos_layers

__all__ = ["ethos_times"]

Floats = NDArray[np.float64]
_MULTIPLYING = frozenset(("mul", "quantizelinear"))
#: Families whose size `n` counts images.
_OF_IMAGES = frozenset(("convolution", "pooling"))
#: Channels of a brick, in which elements without a shape are taken to lie.
_BRICK = 16
_Layer = tuple[EthosKind, int, int, int, int, int, int, int, int]


def ethos_times(
    workloads: Sequence[Workload], device: Device, *, clock_ratio: float = 1.0, memory_left: float = 1.0
) -> tuple[Floats, Floats, Floats, Floats, Floats] | None:
    """(Seconds, of computing, of the slower memory, bytes off the chip, of its SRAM), (N,) each, nan for what is no layer; null on another device.

    Args:
        workloads: N operators in the order of the network, for weights are fetched while the layer before them runs.
        clock_ratio: clock ÷ the device's own; memory_left: share of the rate off the chip that others leave.
    """
    npu = _processor(device)
    if npu is None:
        return None
    layers = {place: layer for place, work in enumerate(workloads) if (layer := _layer(work)) is not None}
    items = np.array([workloads[place].sizes.get("n", 1) if workloads[place].kind in _OF_IMAGES else 1 for place in layers], np.float64)
    found = tuple(np.full(len(workloads), np.nan) for _ in range(5))
    if layers:
        try:
            chosen = list(layers.values())
            blocks = _blocks(npu, chosen)
            npu = _in_state(npu, clock_ratio, memory_left)
            cost = ethos_cost(npu, _layers(chosen), blocks=blocks, passes=items)
        except (OutOfRange, UsageError):
            return None
        places = list(layers)
        fetched = _fetched(items * cost.cycles, items * cost.off_chip_bytes / npu.off_chip_bytes_per_cycle)
        found[0][places] = np.maximum(items * cost.cycles, fetched) / npu.clock_hz
        found[1][places] = items * cost.compute_cycles / npu.clock_hz
        found[2][places] = np.maximum(items * np.maximum(cost.sram_cycles, cost.off_chip_cycles), fetched) / npu.clock_hz
        found[3][places], found[4][places] = items * cost.off_chip_bytes, items * cost.sram_bytes
    return found[0], found[1], found[2], found[3], found[4]


def _fetched(cycles: Floats, fetching: Floats) -> Floats:
    """Cycles from the start of each layer to the end of its fetching, at the earliest.

    The compiler hides the fetching of weights behind the layer before, also where the memory is still busy with the weights of that layer: of several
    such layers in a row that would be more bytes than the memory has time for.
    """
    found = np.zeros(len(cycles))
    before = start = free = 0.0
    for place, (alone, fetch) in enumerate(zip(cycles.tolist(), fetching.tolist(), strict=True)):
        free = max(free, before) + fetch
        found[place] = free - start
        before, start = start, start + max(alone, free - start)
    return found


def _processor(device: Device) -> EthosU | None:
    """The processor with the device's clock, and with its rates where they differ from the example system's."""
    name = "-".join(device.name.lower().removeprefix("arm ").split())
    if name not in ethos_u_names() or device.clock_hz is None:
        return None
    npu, clock = ethos_u(name), device.clock_hz.value
    rates = {each.level: each.rate.value / clock for each in device.ceilings if each.engine == "copy"}
    outside = rates.get("flash") or rates.get("DRAM")
    sram = rates.get("SRAM")
    return msgspec.structs.replace(
        npu,
        clock_hz=clock,
        sram_bytes_per_cycle=npu.sram_bytes_per_cycle if sram is None or math.isclose(sram, npu.sram_bytes_per_cycle, rel_tol=0.3) else sram,
        off_chip_bytes_per_cycle=npu.off_chip_bytes_per_cycle if outside is None else min(outside, npu.off_chip_bytes_per_cycle),
    )


def _in_state(npu: EthosU, clock_ratio: float, memory_left: float) -> EthosU:
    """What is off the chip takes as many seconds at any clock of the processor, thus more of its cycles at a higher one."""
    longer = clock_ratio / memory_left
    one, few, more = npu.image_cycles
    return msgspec.structs.replace(
        npu, clock_hz=npu.clock_hz * clock_ratio, off_chip_bytes_per_cycle=npu.off_chip_bytes_per_cycle / longer,
        off_chip_latency=npu.off_chip_latency * clock_ratio, scale_cycles=npu.scale_cycles * longer,
        image_cycles=(one * longer, few * longer, more * longer),
    )  # fmt: skip


def _blocks(npu: EthosU, layers: Sequence[_Layer]) -> Blocks:
    """The cut of each layer, which no state of the machine changes; a network has few different ones."""
    unlike = tuple(dict.fromkeys(layers))
    at = np.array([unlike.index(layer) for layer in layers])
    return _chosen(npu, unlike).some(at)


@lru_cache(maxsize=16)
def _chosen(npu: EthosU, layers: tuple[_Layer, ...]) -> Blocks:
    """Choosing takes longest."""
    return chosen_blocks(npu, _layers(layers))


def _layers(layers: Sequence[_Layer]) -> EthosLayers:
    kind, height, width, channels, deep, tall, wide, down, across = zip(*layers, strict=True)
    return ethos_layers(kind, height=height, width=width, channels=channels, in_channels=deep, kernel=(tall, wide), stride=(down, across))


def _layer(work: Workload) -> _Layer | None:
    """(Kind, height, width, channels, input channels, window, stride) of what runs at full rate."""
    s = work.sizes
    if work.kind == "convolution":
        if s.get("groups", 1) > 1 and s["k"] % s["groups"]:
            return None
        depthwise = s.get("groups", 1) > 1 and s["groups"] in (s["c"], s["k"])
        kind: EthosKind = "depthwise" if depthwise else "convolution"
        deep = s["c"] if depthwise else s["c"] // s.get("groups", 1)
        return kind, s["p"], s["q"], s["k"], deep, s.get("r", 1), s.get("s", 1), _stride(s["h"], s["p"]), _stride(s["w"], s["q"])
    if work.kind == "gemm" and s.get("groups", 1) == 1:
        rows = s.get("batch", 1) * s["m"]
        # The compiler lays rows out in two lines, so that units of more than one place have work.
        return "fully-connected", min(2, rows), math.ceil(rows / 2), s["n"], s["k"], 1, 1, 1, 1
    if work.kind == "pooling":
        name: EthosKind = "average-pool" if "average" in work.variant.lower() else "max-pool"
        return name, s["p"], s["q"], s["c"], s["c"], s.get("r", 1), s.get("s", 1), _stride(s["h"], s["p"]), _stride(s["w"], s["q"])
    if work.kind == "elementwise":
        variant = work.variant.lower()
        plain: EthosKind = "multiply" if variant in _MULTIPLYING else "add" if s.get("inputs", 1) > 1 else "unary"
        return plain, 1, math.ceil(s["elements"] / _BRICK), _BRICK, _BRICK, 1, 1, 1, 1
    return None


def _stride(size: int, out: int) -> int:
    return max(1, round(size / out))
