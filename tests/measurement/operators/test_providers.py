"""A cut read off the providers of rows."""

from __future__ import annotations

import msgspec
import pytest

from ridgeline.core import OperatorRow
from ridgeline.measurement.operators.providers import partitions_by_provider
from support.facts_by_hand import row

CPU, GPU = "CPUExecutionProvider", "CUDAExecutionProvider"


def on(provider: str, kind: str = "Conv", seconds: float = 1e-3) -> OperatorRow:
    made = row(kind, seconds, kind=kind)
    return msgspec.structs.replace(made, placement=msgspec.structs.replace(made.placement, provider=provider))


def test_one_provider_is_no_cut() -> None:
    assert partitions_by_provider([on(CPU), on(CPU)]) is None
    assert partitions_by_provider([on(GPU), on(GPU)]) is None
    assert partitions_by_provider([on(""), on("")]) is None
    assert partitions_by_provider([]) is None


def test_copies_are_the_cost_of_the_boundary_and_no_nodes() -> None:
    rows = [on(GPU), on(GPU, "Relu"), on(CPU, "MemcpyToHost", 2e-3), on(CPU, "NonZero"), on(CPU, "MemcpyFromHost", 3e-3), on(GPU)]
    found = partitions_by_provider(rows)
    assert found is not None
    assert [(part.provider, part.nodes, part.kinds) for part in found.partitions] == [
        (GPU, (0, 1), ("Conv", "Relu")), (CPU, (3,), ("NonZero",)), (GPU, (5,), ("Conv",)),
    ]  # fmt: skip
    assert found.delegate == GPU
    assert found.handoff_s is not None
    assert found.handoff_s.value == pytest.approx(5e-3)
    assert found.partitions[0].total_s is not None
    assert found.partitions[0].total_s.value == pytest.approx(2e-3)
