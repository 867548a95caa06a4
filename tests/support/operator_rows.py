"""Tables of operators whose true time is known: the estimate times a smooth factor that the tests know, with noise."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray

from ridgeline.core import Device, LatencyTable, Workload
from ridgeline.device import find
from ridgeline.model.operators.estimates import estimates

__all__ = ["DEVICE", "OTHER", "device", "factor", "made_rows", "workloads_of"]

DEVICE, OTHER = "AMD EPYC 7763", "AMD EPYC 9654"
KINDS = ("gemm", "elementwise", "softmax")
_SIZES = {"gemm": ("m", "n", "k"), "elementwise": ("elements",), "softmax": ("rows", "columns")}
_MOST = {"gemm": (8, 1500), "elementwise": (1000, 2_000_000), "softmax": (8, 1500)}
_VARIANTS = {"gemm": ("matmul",), "elementwise": ("Add", "Exp", "Relu"), "softmax": ("",)}


@cache
def device(name: str = DEVICE) -> Device:
    return find(name)


def factor(variants: Sequence[str], estimated_s: NDArray[np.float64], name: str = DEVICE) -> NDArray[np.float64]:
    """How many times the estimate the made operators take: more for long ones, for exponentials, and on the other device."""
    slow = np.array([0.8 if variant == "Exp" else 0.0 for variant in variants])
    return np.asarray((1.4 + 0.4 * np.tanh(np.log(estimated_s / 1e-5)) + slow) * (1.3 if name == OTHER else 1.0))


def made_rows(
    count: int = 120, *, noise: float = 0.02, seed: int = 0, kinds: Sequence[str] = KINDS, name: str = DEVICE, repeats: int = 1
) -> LatencyTable:  # fmt: skip
    """`count` shapes of each kind, each measured `repeats` times."""
    draw = np.random.default_rng(seed)
    tables = []
    for kind in kinds:
        low, high = _MOST[kind]
        sizes = {size: np.exp(draw.uniform(np.log(low), np.log(high), count)).astype(int) for size in _SIZES[kind]}
        sizes = {size: np.repeat(values, repeats) for size, values in sizes.items()}
        variants = np.repeat(draw.choice(_VARIANTS[kind], count), repeats).tolist()
        work = [
            Workload(kind=kind, variant=variant, sizes={size: int(values[at]) for size, values in sizes.items()})
            for at, variant in enumerate(variants)
        ]
        estimated = estimates(work, device(name)).latency_s
        seconds = estimated * factor(variants, estimated, name) * np.exp(noise * draw.standard_normal(len(work)))
        tables.append(
            LatencyTable.of(
                latency_s=seconds, kind=kind, variant=variants, precision="fp32", device=name, file="made.csv", sizes=sizes, source="made up"
            )
        )
    return LatencyTable.joined(tables)


def workloads_of(table: LatencyTable) -> list[Workload]:
    """The rows of a made table as workloads."""
    sizes = {name: column.values.tolist() for name, column in table.sizes.items()}
    texts = zip(table.texts("kind"), table.texts("variant"), strict=True)
    return [
        Workload(kind=kind, variant=variant, sizes={name: values[at] for name, values in sizes.items() if values[at]})
        for at, (kind, variant) in enumerate(texts)
    ]
