"""Hypotheses on a CPU of round numbers: each changes its own term, and what cannot apply is left out."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ridgeline.core import Workload
from ridgeline.model.operators.estimates import estimates
from ridgeline.model.operators.hypotheses import hypotheses
from ridgeline.model.operators.roofs import Roofs, roofs
from support.predicted import cpu

LARGE = Workload(kind="gemm", sizes={"m": 512, "n": 512, "k": 512})
STREAM = Workload(kind="elementwise", sizes={"elements": 10_000_000}, variant="Add")


def under(threads: int = 2) -> Roofs:
    return roofs(cpu(threads=threads))


def test_arithmetic_through_one_lane_takes_as_many_times_as_there_are_lanes() -> None:
    found = hypotheses([LARGE], under())["no vector lanes"]
    # 256 bits are 8 lanes of fp32; dispatch and the knee of the roofline take a little off.
    assert 7.5 < found[0] <= 8.0


def test_one_thread_takes_twice_as_long_where_two_do_all_of_it() -> None:
    found = hypotheses([LARGE, STREAM], under())["one thread"]
    np.testing.assert_allclose(found, 2.0, rtol=0.05)
    assert "one thread" not in hypotheses([LARGE], under(1))


def test_a_second_dispatch_is_one_more_start() -> None:
    base = estimates([LARGE, STREAM], under()).latency_s
    np.testing.assert_allclose((hypotheses([LARGE, STREAM], under())["a second dispatch"] - 1) * base, 1e-6, rtol=1e-6)


def test_a_lower_clock_slows_what_is_on_the_chip_and_not_the_memory() -> None:
    found = hypotheses([LARGE, STREAM], under(), clock_share=0.5)["lower clock"]
    assert found[0] == pytest.approx(2.0, rel=0.05)
    assert 1.0 <= found[1] < 1.2
    assert "lower clock" not in hypotheses([LARGE], under())


def test_weights_come_from_the_next_level_outwards_only_where_there_is_one() -> None:
    near = Workload(kind="gemm", sizes={"m": 1, "n": 256, "k": 256}, reuse_bytes=300_000.0)
    far = Workload(kind="gemm", sizes={"m": 1, "n": 256, "k": 256}, reuse_bytes=1e9)
    found = hypotheses([near, far], under())
    # 256 KiB of weights at 10 GB/s a thread instead of 100.
    assert found["weights from DRAM"][0] > 3.0
    assert math.isnan(found["weights from DRAM"][1]), "they come from there already"
    assert "weights from L1" not in found


def test_nothing_is_faster_under_a_hypothesis() -> None:
    draw = np.random.default_rng(0)
    works = [Workload(kind="gemm", sizes={name: int(size) for name, size in zip("mnk", draw.integers(1, 900, 3), strict=True)}) for _ in range(100)]
    for name, ratio in hypotheses(works, under(), clock_share=0.8).items():
        known = ratio[np.isfinite(ratio)]
        assert (known >= 1 - 1e-9).all(), name
