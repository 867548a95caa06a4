"""No prediction by formulas and forms goes the wrong way, on any device of the catalogue: more work never takes less, and neither a higher clock,
bandwidth or power, nearer cores nor fewer neighbours take more.

More work is more of one size with all others as they are; chains of sizes stand about the edges of tiles, vectors and waves. Left out are:

- more experts for as many tokens, a convolution that becomes a depthwise one, a window where there was none: these are other kernels;
- on an Ethos-U images, windows and channels of convolutions, and images of pooling: they are cut by rules made from its compiler's choices, and by
  the cycles of the compiler itself some larger ones take less (on U85 by the rules alone). Its matrices are held to the rule from eight columns and
  eight sums on: fewer lie in pieces of which most is thrown away.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import NamedTuple, get_args

import msgspec
import numpy as np
import pytest
from numpy.typing import NDArray

from ridgeline.core import Device, Neighbour, OutOfRange, Precision, SystemState, Workload
from ridgeline.device.catalogue import catalogue
from ridgeline.model.operators.pricing import priced
from ridgeline.model.operators.roofs import roofs

Sizes = dict[str, int]
EXACT = 1e-9
EDGES = [1, 2, 4, 5, 8, 9, 16, 17, 32, 33, 48, 64, 65, 127, 128, 129, 200, 256, 257, 511, 512, 513, 1024, 1025, 2047, 2048, 2049, 4096, 4097]
FEW = [each for each in EDGES if each <= 129]
#: Family → sizes from which chains start.
STARTS: dict[str, tuple[Sizes, ...]] = {
    "gemm": ({"m": 64, "n": 4096, "k": 4096}, {"m": 1, "n": 1000, "k": 300}, {"m": 257, "n": 237, "k": 1187}, {"m": 3000, "n": 130, "k": 70},
             {"m": 33, "n": 40, "k": 9, "batch": 3}, {"m": 128, "n": 128, "k": 64, "batch": 12, "groups": 12}),
    "convolution": ({"n": 1, "c": 64, "h": 56, "w": 56, "k": 64, "p": 56, "q": 56, "r": 3, "s": 3},
                    {"n": 2, "c": 3, "h": 96, "w": 96, "k": 24, "p": 48, "q": 48, "r": 3, "s": 3},
                    {"n": 1, "c": 96, "h": 28, "w": 28, "k": 96, "p": 28, "q": 28, "r": 3, "s": 3, "groups": 96},
                    {"n": 1, "c": 511, "h": 7, "w": 7, "k": 130, "p": 7, "q": 7}),
    "elementwise": ({"elements": 1000, "inputs": 2}, {"elements": 100_000}), "copy": ({"elements": 5000},),
    "softmax": ({"rows": 64, "columns": 512}, {"rows": 3, "columns": 5000}),
    "normalisation": ({"rows": 64, "columns": 768}, {"rows": 1, "columns": 100}),
    "reduction": ({"rows": 64, "columns": 512},), "pooling": ({"n": 1, "c": 64, "h": 28, "w": 28, "p": 14, "q": 14, "r": 3, "s": 3},),
    "gather": ({"rows": 1000, "width": 64, "indices": 32}, {"rows": 50_000, "width": 8, "indices": 4000}),
    "attention": ({"batch": 1, "heads": 32, "kv_heads": 8, "queries": 1, "keys": 2048, "head_size": 128, "causal": 1},
                  {"batch": 2, "heads": 8, "kv_heads": 8, "queries": 300, "keys": 500, "head_size": 64, "causal": 1},
                  {"batch": 1, "heads": 12, "kv_heads": 12, "queries": 197, "keys": 197, "head_size": 64},
                  {"batch": 1, "heads": 16, "kv_heads": 4, "queries": 129, "keys": 4096, "head_size": 80, "causal": 1, "window": 1000}),
    "moe": ({"tokens": 16, "hidden": 1024, "inner": 1500, "experts": 8, "active": 2},
            {"tokens": 500, "hidden": 300, "inner": 80, "experts": 64, "active": 4}),
    "recurrent": ({"steps": 10, "input": 64, "hidden": 64}, {"steps": 30, "input": 300, "hidden": 127, "batch": 4}),
    "collective": ({"elements": 100_000, "ranks": 4},), "call": ({"nodes": 10},),
}  # fmt: skip
#: Family → names of axes: a size, or several that grow together.
AXES: dict[str, tuple[str, ...]] = {
    "gemm": ("m", "n", "k", "batch", "batch+groups"), "convolution": ("n", "c", "k", "h+w+p+q", "r+s", "c+k+groups"),
    "elementwise": ("elements", "inputs"), "copy": ("elements",), "softmax": ("rows", "columns"), "normalisation": ("rows", "columns"),
    "reduction": ("rows", "columns"), "pooling": ("n", "c", "h+w+p+q", "r+s"), "gather": ("rows", "width", "indices"),
    "attention": ("batch", "heads", "heads+kv_heads", "queries", "keys", "head_size", "window"),
    "moe": ("tokens", "hidden", "inner", "active", "shared"), "recurrent": ("steps", "input", "hidden", "batch"), "collective": ("elements",),
    "call": ("nodes",),
}  # fmt: skip
#: Not held to the rule on an Ethos-U, for its compiler's choice of cuts decides them; and sizes of matrices below which they lie in pieces.
CUT_BY_COMPILER = {("convolution", axis) for axis in ("c", "k", "h+w+p+q", "r+s", "c+k+groups")} | {("pooling", "h+w+p+q")}
PIECES = 8


class Chain(NamedTuple):
    """Operators along one axis, in rising order of work."""

    kind: str
    axis: str
    works: tuple[Workload, ...]


def grown(start: Sizes, axis: str, value: int) -> Sizes | None:
    """The sizes with those of the axis at a value (an image's at its stride); null where that is no operator of the kind, or not more of it."""
    names = axis.split("+")
    sizes = dict(start)
    if names[0] == "h":
        stride = start["h"] // start["p"]
        sizes |= {"h": value * stride, "w": value * stride, "p": value, "q": value}
    else:
        sizes |= dict.fromkeys(names, value)
    groups = sizes.get("groups", 1)
    if axis in ("c", "k") and start.get("groups", 1) > 1:
        return None
    if "groups" in names and (groups < 2 or ("c" in names and start.get("groups", 1) == 1)):
        return None
    if "window" in names and not start.get("causal"):
        return None
    if "heads" in sizes and (sizes["heads"] % sizes["kv_heads"] or sizes["queries"] > sizes["keys"]):
        return None
    if sizes.get("active", 0) > sizes.get("experts", 0):
        return None
    return sizes


@cache
def chains(precision: Precision) -> tuple[Chain, ...]:
    return tuple(_chains(precision))


def _chains(precision: Precision) -> Iterator[Chain]:
    for kind, axes in AXES.items():
        for axis in axes:
            for start in STARTS[kind]:
                values = [1, 2, 3, 4] if axis == "inputs" else [1, 2, 3, 5, 7, 11] if axis == "r+s" else FEW if axis == "batch+groups" else EDGES
                found = [sizes for value in values if (sizes := grown(start, axis, value)) is not None]
                if len(found) > 1:
                    yield Chain(kind, axis, tuple(Workload(kind=kind, precision=precision, sizes=sizes, variant="gelu") for sizes in found))


@cache
def works(precision: Precision) -> tuple[Workload, ...]:
    """Some of each family, for states of the machine."""
    return tuple(each.works[place * len(each.works) // 4] for each in chains(precision) for place in (1, 3))


def precisions(device: Device) -> tuple[Precision, ...]:
    stated = {each.precision for each in device.ceilings if each.engine == "fma"}
    return tuple(each for each in get_args(Precision) if each in stated)


def seconds(device: Device, listed: tuple[Workload, ...], state: SystemState | None = None) -> NDArray[np.float64]:
    """Of each alone; on an Ethos-U, whose weights are fetched while the layer before runs, of each with a layer of next to nothing before it."""
    under = roofs(device, state)
    if not device.name.startswith("Arm Ethos-U"):
        return priced(listed, under, state).seconds
    nothing = Workload(kind="elementwise", precision="int8", variant="relu", sizes={"elements": 1})
    return priced([each for work in listed for each in (nothing, work)], under, state).seconds.reshape(-1, 2).sum(axis=1)


def counted(device: Device, chain: Chain) -> Chain:
    """What of a chain is held to the rule on the device."""
    if not device.name.startswith("Arm Ethos-U"):
        return chain
    kept = [work for work in chain.works if chain.kind != "gemm" or min(work.sizes["n"], work.sizes["k"]) >= PIECES]
    return chain._replace(works=tuple(kept) if (chain.kind, chain.axis) not in CUT_BY_COMPILER else ())


DEVICES = pytest.mark.parametrize("device", catalogue(), ids=lambda device: device.name)


@DEVICES
def test_more_work_never_takes_less(device: Device) -> None:
    for precision in precisions(device):
        kept = [chain for each in chains(precision) if len((chain := counted(device, each)).works) > 1]
        found = seconds(device, tuple(work for chain in kept for work in chain.works))
        for chain, times in zip(kept, np.split(found, np.cumsum([len(each.works) for each in kept])[:-1]), strict=True):
            before = np.maximum.accumulate(times)[:-1]
            worst = int(np.argmin(times[1:] / before))
            told = f"{precision} {chain.kind} {chain.axis}: {chain.works[worst].sizes} {before[worst]:.4g} s, then {chain.works[worst + 1].sizes}"
            assert times[worst + 1] >= before[worst] * (1 - EXACT), told


def falls(device: Device, states: list[tuple[Device, SystemState | None]], what: str) -> None:
    """States from the worst to the best: no operator takes more in a better one."""
    for precision in precisions(device):
        before = None
        for better, state in states:
            now = seconds(better, works(precision), state)
            if before is not None:
                worst = int(np.argmax(now / before))
                assert now[worst] <= before[worst] * (1 + EXACT), (
                    f"{precision} {what}: {works(precision)[worst]} {before[worst]:.4g} s, {now[worst]:.4g} s"
                )
            before = now


@DEVICES
def test_a_higher_clock_never_takes_more(device: Device) -> None:
    if device.clock_hz is not None:
        clock = device.clock_hz.value
        falls(device, [(device, SystemState(core_clock_hz=clock * share)) for share in (0.3, 0.5, 0.7, 0.8, 0.9, 1.0, 1.1, 1.3)], "clock")


@DEVICES
def test_more_power_never_takes_more(device: Device) -> None:
    if device.power_w is not None:
        watts = device.power_w.value
        caps = [SystemState(power_cap_w=watts * share) for share in (0.3, 0.4, 0.5, 0.57, 0.58, 0.6, 0.7, 0.85, 1.0, 1.2)]
        kept = [cap for cap in caps if answered(device, cap)]
        # Caps that leave no power for work are refused; by the shares that are assumed, those are below 0.58.
        assert len(kept) >= 6
        falls(device, [(device, cap) for cap in kept], "power")


def answered(device: Device, state: SystemState) -> bool:
    try:
        roofs(device, state)
    except OutOfRange:
        return False
    return True


@pytest.mark.parametrize("device", [each for each in catalogue() if each.kind == "cpu"], ids=lambda device: device.name)
def test_nearer_cores_never_take_more(device: Device) -> None:
    falls(device, [(device, SystemState(core_to_core_s=distance)) for distance in (1e-6, 1e-7, 5e-8, 1e-9)], "distance")


@DEVICES
def test_more_of_the_bandwidth_never_takes_more(device: Device) -> None:
    falls(device, [(device, SystemState(memory_contention=share)) for share in (0.8, 0.5, 0.3, 0.1, 0.0)], "contention")
    falls(device, [(_wider(device, share), None) for share in (0.5, 0.8, 1.0, 1.25, 2.0)], "bandwidth")


def _wider(device: Device, share: float) -> Device:
    ceilings = [
        msgspec.structs.replace(each, rate=msgspec.structs.replace(
            each.rate, value=each.rate.value * share, low=each.rate.low * share, high=each.rate.high * share))
        if each.engine in ("read", "copy", "add", "triad", "fill") else each for each in device.ceilings
    ]  # fmt: skip
    return msgspec.structs.replace(device, ceilings=tuple(ceilings))


@DEVICES
def test_fewer_neighbours_never_take_more(device: Device) -> None:
    rate = max(each.rate.value for each in device.ceilings if each.engine in ("copy", "read"))
    cores = (device.execution_units or 1) / 2
    busy = Neighbour(name="busy", cores=cores, byte_per_s=rate / 3, cache_bytes=1e6)
    streaming = Neighbour(name="streaming", byte_per_s=rate)
    falls(device, [(device, SystemState(neighbours=each)) for each in ((busy, busy, streaming), (busy, streaming), (busy,), ())], "neighbours")
