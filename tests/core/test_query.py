"""What a performance model may be asked: sizes that can be, and states that are."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from ridgeline.core import KernelParameters, Neighbour, Sparsity, SystemState, UsageError, Workload

KINDS = {"kernel": KernelParameters, "state": SystemState, "neighbour": Neighbour, "sparsity": Sparsity, "workload": Workload}


@pytest.mark.parametrize(
    ("kind", "fields", "named"),
    [
        ("kernel", {"unroll": 0}, "unroll"), ("kernel", {"tile": (1, 2, 3, 4)}, "tile"), ("kernel", {"work_group": (32, -1)}, "work_group"),
        ("kernel", {"padding_bytes": -1}, "padding_bytes"), ("kernel", {"registers": 2**60}, "registers"),
        ("state", {"core_clock_hz": math.nan}, "core_clock_hz"), ("state", {"power_cap_w": math.inf}, "power_cap_w"),
        ("state", {"memory_contention": 1.0}, "memory_contention"), ("state", {"memory_contention": math.nan}, "memory_contention"),
        ("neighbour", {"cores": -1.0}, "cores"), ("neighbour", {"byte_per_s": math.nan}, "byte_per_s"),
        ("sparsity", {"pattern": "unstructured", "density": 0.0}, "density"), ("sparsity", {"pattern": "structured", "density": 0.5}, "group"),
        ("sparsity", {"pattern": "structured", "density": 0.5, "group": (4, 2)}, "group"),
        ("sparsity", {"pattern": "unstructured", "density": 0.5, "group": (2, 4)}, "group"),
        ("workload", {"kind": "gemm", "sizes": {}}, "sizes"), ("workload", {"kind": "gemm", "sizes": {"m": 0}}, "sizes['m']"),
        ("workload", {"kind": "gemm", "sizes": {"m": 2**53}}, "sizes['m']"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused_by_name(kind: str, fields: dict[str, Any], named: str) -> None:
    with pytest.raises(UsageError) as refused:
        KINDS[kind](**fields)
    assert named in refused.value.expected


@pytest.mark.parametrize("make", [lambda size: Workload(kind="gemm", sizes={"m": size}), lambda size: KernelParameters(unroll=size)])
def test_what_is_too_large_is_not_called_negative(make: Callable[[int], object]) -> None:
    with pytest.raises(UsageError, match="less than 2⁵³, about 9e15; found: 4611686018427387904; to do: check its unit and its digits"):
        make(2**62)
    with pytest.raises(UsageError, match="a positive"):
        make(-1)


def test_they_travel_as_documents() -> None:
    asked = [
        KernelParameters(work_group=(16, 16), tile=(128, 128, 32), unroll=4, vector_width=4, padding_bytes=0, prefetch_distance=2, stages=3, split=2),
        SystemState(neighbours=(Neighbour(name="other", cores=2, byte_per_s=1e9),), core_clock_hz=1.4e9, power_cap_w=250, temperature_k=350),
        Workload(kind="gemm", sizes={"m": 1, "n": 2, "k": 3}, precision="fp16", weight_precision="int4",
                 sparsity=Sparsity(pattern="structured", density=0.5, group=(2, 4))),
    ]  # fmt: skip
    for each in asked:
        assert msgspec.json.decode(msgspec.json.encode(each), type=type(each)) == each
