"""The kernels in examples/tuning: what their specifications say holds, and configurations of all kinds give the right product."""

from __future__ import annotations

import shutil
from pathlib import Path

import msgspec
import pytest

from ridgeline.backends import attempt
from ridgeline.flows.tuning.reference import write_reference
from ridgeline.flows.tuning.resolve import configurations_of, job_of, reference_job
from ridgeline.flows.tuning.sources import read_spec

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "tuning"
PLAIN = {"MC": 24, "KC": 64, "NC": 64, "MR": 1, "NR": 1, "VECTOR": 4, "UNROLL": 1, "PACK_A": False, "PACK_B": False, "PREFETCH": 0, "THREADS": 1}


@pytest.mark.parametrize(("name", "least"), [("gemm", 1_000_000), ("convolution", 1000)])
def test_the_specification_holds(name: str, least: int) -> None:
    assert configurations_of(read_spec(EXAMPLES / f"{name}.toml")).count > least


@pytest.mark.skipif(shutil.which("gcc") is None, reason="no gcc")
@pytest.mark.parametrize(
    "changed",
    [
        {},
        # Tiles and blocks that do not divide the side have edges.
        {"MC": 84, "NC": 96, "MR": 7, "NR": 3, "VECTOR": 8, "UNROLL": 4, "PACK_A": True, "PACK_B": True, "PREFETCH": 8, "THREADS": 2},
        {"MC": 32, "MR": 8, "NR": 2, "VECTOR": 8, "UNROLL": 2, "PACK_B": True, "PREFETCH": 4, "THREADS": 2},
        {"MC": 48, "MR": 6, "NR": 4, "UNROLL": 8, "PACK_A": True},
    ],
)
def test_the_product_is_right(changed: dict[str, int | bool], tmp_path: Path) -> None:
    spec = read_spec(EXAMPLES / "gemm.toml")
    spec = msgspec.structs.replace(spec, kernel=msgspec.structs.replace(spec.kernel, constants={**spec.kernel.constants, "N": 128}))
    right, cache = reference_job(spec), str(tmp_path / "cache")
    assert right is not None
    write_reference(right, str(tmp_path / "right.npz"), cache)
    found = attempt(job_of(spec, {**PLAIN, **changed}, str(tmp_path / "right.npz")), runs=1, cache=cache)
    assert found.failure is None, found.text
