"""The Arm Ethos-U processors as numbers: what `ethos_costs` needs to know of each, from `data/ethos_u.toml`.

Decides nothing; the file says where each number is from and which were fitted.
"""

from __future__ import annotations

from functools import cache
from importlib import resources
from typing import Literal

import msgspec

from ...core.errors import UsageError
from ._numbers import reals, whole

__all__ = ["EthosU", "ethos_u", "ethos_u_names"]


class EthosU(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One processor in one system.

    Args:
        macs: 8-bit multiply-adds a cycle, all cores.
        cores: which divide the output channels.
        units: outputs (height, width, channels) that are computed together; blocks are whole units.
        pool_units: the same for depthwise convolutions and pools.
        pool_cycles: cycles a unit for one element of a pool's window.
        accumulators: outputs of a block.
        buffer_bytes: for accumulators (4 bytes) and inputs (1 byte), both double buffered.
        sram_bytes_per_cycle, result_bytes_per_cycle: reading inputs, writing results.
        weights_per_cycle: that the decoder yields.
        off_chip: where weights are.
        off_chip_bytes_per_cycle: of long transfers from there.
        off_chip_latency: cycles before the first input and after the last result where those are in DRAM.
        scale_cycles: to fetch the bias and scale of a channel; 0 for 10 bytes at the rate of long transfers.
        image_cycles: to fetch a pixel of the network's input off chip, of 1, of up to 4 and of up to 15 channels.
        clock_hz: of the example system.
        system: name of the example system.
    """

    macs: int
    units: tuple[tuple[int, int, int], ...]
    pool_units: tuple[tuple[int, int, int], ...]
    pool_cycles: int
    accumulators: int
    buffer_bytes: int
    sram_bytes_per_cycle: float
    result_bytes_per_cycle: float
    weights_per_cycle: float
    off_chip: Literal["flash", "dram"]
    off_chip_bytes_per_cycle: float
    clock_hz: float
    system: str
    cores: int = 1
    off_chip_latency: float = 0
    scale_cycles: float = 0
    image_cycles: tuple[float, float, float] = (0, 0, 0)

    def __post_init__(self) -> None:
        whole(macs=self.macs, cores=self.cores, pool_cycles=self.pool_cycles, accumulators=self.accumulators, buffer_bytes=self.buffer_bytes)
        reals(
            sram_bytes_per_cycle=self.sram_bytes_per_cycle,
            result_bytes_per_cycle=self.result_bytes_per_cycle,
            weights_per_cycle=self.weights_per_cycle,
            off_chip_bytes_per_cycle=self.off_chip_bytes_per_cycle,
            clock_hz=self.clock_hz,
        )
        reals(False, off_chip_latency=self.off_chip_latency, scale_cycles=self.scale_cycles, image_cycles=self.image_cycles)
        whole(units=[each for unit in (*self.units, *self.pool_units) for each in unit])


@cache
def _all() -> dict[str, EthosU]:
    text = (resources.files(__package__) / "data" / "ethos_u.toml").read_text(encoding="utf-8")
    return msgspec.toml.decode(text, type=dict[str, EthosU])


def ethos_u_names() -> tuple[str, ...]:
    """Names that `ethos_u` knows, such as `ethos-u55-128`."""
    return tuple(_all())


def ethos_u(name: str) -> EthosU:
    """The processor of that name.

    Raises:
        UsageError: a name that is not known.

    >>> ethos_u("ethos-u55-128").macs
    128
    """
    try:
        return _all()[name]
    except KeyError:
        raise UsageError("an Ethos-U such as ethos-u55-128", found=f"{name!r:.60}", remedy=f"one of {', '.join(ethos_u_names())}") from None
