"""CUDA and Triton: the conformance tests where there is a GPU, and what is said where there is none."""

from __future__ import annotations

import msgspec
import pytest

from ridgeline.backends import find
from ridgeline.backends.testing import RunnerConformance, fake_job

CUDA = """
#include "by.h"
#if TILE > 64
#error "the tile is too large"
#endif
extern "C" __global__ void add(const float *a, const float *b, float *total)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < 15)
        total[i] = BY * (a[i] + b[i]);
}
"""

TRITON = """
import triton
import triton.language as tl


@triton.jit
def add(a, b, total, TILE: tl.constexpr):
    i = tl.program_id(0) * TILE + tl.arange(0, TILE)
    inside = i < 15
    tl.store(total + i, tl.load(a + i, mask=inside) + tl.load(b + i, mask=inside), mask=inside)
"""


class TestCuda(RunnerConformance):
    def runner(self):
        return find("cuda")

    def good(self, folder):
        (folder / "add.cu").write_text(CUDA)
        (folder / "by.h").write_text("#define BY 1\n")
        options = {"source": str(folder / "add.cu"), "function": "add", "grid_size": [2], "block_size": [8]}
        return msgspec.structs.replace(fake_job({"TILE": 8}), runner="cuda", options=options)

    def others(self, folder):
        job = self.good(folder)
        yield "flags", msgspec.structs.replace(job, options={**job.options, "flags": ["--use_fast_math"]})
        yield "launch", msgspec.structs.replace(job, options={**job.options, "grid_size": [3]})
        (folder / "by.h").write_text("#define BY 1.0f\n")
        yield "included file", job

    def broken(self, folder):
        job = self.good(folder)
        (folder / "add.cu").write_text(CUDA.replace("b[i]", "c[i]"))
        return job

    def invalid(self, folder):
        job = self.good(folder)
        return msgspec.structs.replace(job, options={**job.options, "block_size": [4096]})


class TestTriton(RunnerConformance):
    def runner(self):
        return find("triton")

    def good(self, folder):
        (folder / "add.py").write_text(TRITON)
        options = {"source": str(folder / "add.py"), "function": "add", "grid_size": [2]}
        return msgspec.structs.replace(fake_job({"TILE": 8, "num_warps": 1}), runner="triton", options=options)

    def others(self, folder):
        job = self.good(folder)
        yield "launch", msgspec.structs.replace(job, options={**job.options, "grid_size": [3]})
        (folder / "add.py").write_text(TRITON + "\n")
        yield "source", job

    def broken(self, folder):
        job = self.good(folder)
        (folder / "add.py").write_text(TRITON.replace("tl.load(b", "tl.load(c"))
        return job


@pytest.mark.parametrize("name", ["cuda", "triton"])
def test_what_is_missing_is_said_with_what_brings_it(name):
    missing = find(name).missing()
    if not missing:
        pytest.skip("there is a GPU")
    assert "not installed: pip install" in missing or "no CUDA device" in missing or "sees no GPU" in missing
