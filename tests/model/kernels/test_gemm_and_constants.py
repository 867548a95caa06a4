"""Products: tiles and waves in closed form, sensitivities against differences, constants found again."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ridgeline.core import OutOfRange, SystemState, UsageError
from ridgeline.device import find
from ridgeline.model.kernels.calibrated import (
    NAMES,
    GemmRows,
    adapt_constants,
    constant_variance,
    fit_constants,
    log_time,
    sensitivity,
)
from ridgeline.model.kernels.constants import constants
from ridgeline.model.kernels.gemm import FEATURES, GemmCost, gemm_cost, gemm_features
from ridgeline.model.kernels.sheet import KernelSheet, kernel_sheet

SHEET = KernelSheet(name="made up", flop_per_s=1e15, byte_per_s=4e12, units=100, cache_bytes=50e6)
edges = st.integers(1, 70_000)
LOG = np.log([3e-6, 0.8, 1.0, 4e-7, 6.0, 2e-5, 5e-7])


def shapes(count: int, seed: int = 0) -> tuple[np.ndarray, ...]:
    draw = np.random.default_rng(seed)
    return tuple(np.round(2.0 ** draw.uniform(0, 15, count)) for _ in range(3))


def rows(count: int = 300, seed: int = 0) -> GemmRows:
    m, n, k = shapes(count, seed)
    cost = gemm_cost(m, n, k, SHEET, in_bytes=1.0, out_bytes=2.0)
    return GemmRows(m, k, cost, np.full(count, 100.0), np.full(count, 4e12))


def by_hand(m: int, n: int, k: int) -> tuple[float, tuple[int, int, int]]:
    """Every tile and split, one at a time."""
    menu, found = constants().menu, []
    for tm, tn in menu.tiles:
        efficiency = 1 / (1 + 0.5 * menu.tile_half * (1 / min(tm, 128) + 1 / min(tn, 128)))
        tiles = min(math.ceil(m / tm) * math.ceil(n / tn), math.ceil(m / tn) * math.ceil(n / tm))
        for split in menu.splits:
            waves = math.ceil(tiles * split / SHEET.units)
            compute = waves * 2 * tm * tn * 64 * math.ceil(k / (64 * split)) / (SHEET.flop_per_s / SHEET.units * menu.peak_share * efficiency)
            memory = (2 * k * (m + n) + 2 * m * n + 8 * m * n * (split - 1)) / (SHEET.byte_per_s * menu.stream_share)
            found.append((math.hypot(compute, memory) + menu.wave_s * waves + menu.split_s * (split - 1), (tm, tn, split)))
    return min(found)


@settings(max_examples=60, deadline=None)
@given(edges, edges, edges)
def test_the_cheapest_of_the_menu(m: int, n: int, k: int) -> None:
    cost = gemm_cost(*(np.array([float(size)]) for size in (m, n, k)), SHEET, in_bytes=2.0, out_bytes=2.0)
    assert cost.time[0] == pytest.approx(by_hand(m, n, k)[0], rel=1e-9)
    assert 0 < cost.fill[0] <= 1
    assert cost.waves[0] == math.ceil(cost.waves[0])


def test_blocks_of_shapes_do_not_change_the_answer() -> None:
    m, n, k = shapes(9000)
    whole = gemm_cost(m, n, k, SHEET, in_bytes=2.0, out_bytes=2.0)
    part = gemm_cost(m[5000:5010], n[5000:5010], k[5000:5010], SHEET, in_bytes=2.0, out_bytes=2.0)
    for left, right in zip(whole, part, strict=True):
        np.testing.assert_array_equal(left[5000:5010], right)
    assert len(gemm_cost(m[:0], n[:0], k[:0], SHEET, in_bytes=2.0, out_bytes=2.0).time) == 0


def test_a_large_product_comes_near_the_sustained_peak() -> None:
    size = np.array([16384.0])
    cost = gemm_cost(size, size, size, SHEET, in_bytes=2.0, out_bytes=2.0)
    assert 0.6 < 2 * size[0] ** 3 / SHEET.flop_per_s / cost.compute[0] < constants().menu.peak_share


def test_features_are_finite() -> None:
    m, n, k = shapes(500)
    made = gemm_features(m, n, k, gemm_cost(m, n, k, SHEET, in_bytes=1.0, out_bytes=2.0), SHEET, in_bytes=1.0, out_bytes=2.0)
    assert made.shape == (500, len(FEATURES))
    assert np.isfinite(made).all()


def test_sensitivities_are_the_derivatives_and_sum_to_one() -> None:
    known = rows()
    slope = sensitivity(known, LOG)
    steps = np.eye(len(NAMES)) * 1e-5
    found = np.stack([(log_time(known, LOG + step) - log_time(known, LOG - step)) / 2e-5 for step in steps], axis=1)
    np.testing.assert_allclose(slope, found, atol=1e-8)
    np.testing.assert_allclose(slope.sum(axis=1), 1.0, atol=1e-12)


def test_the_time_is_no_less_than_launch_host_and_parts() -> None:
    known = rows()
    seconds = np.exp(log_time(known, LOG))
    assert (seconds >= 2e-5).all()
    assert (seconds >= 0.8 * known.cost.compute).all()
    assert (seconds >= known.cost.memory).all()


def test_constants_are_found_again() -> None:
    known = rows(1500)
    found = fit_constants(known, log_time(known, LOG), quantised=True)
    np.testing.assert_allclose(log_time(known, found), log_time(known, LOG), atol=1e-3)


def test_a_few_points_move_the_constants_towards_the_device() -> None:
    known = rows(1000, seed=1)
    truth = LOG + np.array([0.2, -0.2, 0.2, 0.5, -0.5, 1.0, 0.3])
    measured = log_time(known, truth)
    at = np.arange(20)
    fitted = adapt_constants(known.rows(at), measured[at], LOG, quantised=True)
    before, after = (np.abs(log_time(known, log) - measured).mean() for log in (LOG, fitted.log))
    assert after < before / 2
    np.testing.assert_allclose(fitted.covariance, fitted.covariance.T, rtol=1e-6)
    assert (constant_variance(known, fitted) >= 0).all()


def test_nothing_quantised_keeps_its_constants() -> None:
    known = rows(200)
    prior = LOG.copy()
    fitted = adapt_constants(known, log_time(known, LOG + 0.3), prior, quantised=False)
    np.testing.assert_allclose(fitted.log[3:5], prior[3:5], atol=0.02)


def test_rows_of_devices_are_joined() -> None:
    one, two = rows(10, seed=1), rows(20, seed=2)
    both = GemmRows.joined([one, two])
    np.testing.assert_array_equal(log_time(both, LOG), np.concatenate([log_time(one, LOG), log_time(two, LOG)]))
    assert isinstance(both.cost, GemmCost)


@pytest.mark.parametrize("bad", [np.array([np.nan]), np.array([])])
def test_bad_times_are_refused(bad: np.ndarray) -> None:
    with pytest.raises(UsageError, match="finite log time"):
        adapt_constants(rows(1), bad, LOG, quantised=True)


class TestSheet:
    def test_state_of_the_machine(self) -> None:
        device = find("h100 sxm")
        usual = kernel_sheet(device, "bf16")
        assert (usual.flop_per_s, usual.units, usual.cache_bytes) == (989e12, 132, 50 * 2**20)
        slow = kernel_sheet(device, "bf16", SystemState(core_clock_hz=990e6, memory_contention=0.25))
        assert slow.flop_per_s == pytest.approx(usual.flop_per_s / 2)
        assert slow.byte_per_s == pytest.approx(usual.byte_per_s * 0.75)

    @pytest.mark.parametrize(
        ("name", "precision", "missing"),
        [
            ("NVIDIA GB200 (one GPU)", "bf16", "execution units"),
            ("NVIDIA A40 48GB", "fp16", "dense peak"),
            ("NVIDIA H100 SXM 80GB", "fp4", "dense peak"),
            ("Hailo-8", "int8", "npu"),
        ],
    )
    def test_what_a_data_sheet_lacks_is_named(self, name: str, precision: str, missing: str) -> None:
        with pytest.raises(OutOfRange, match=missing):
            kernel_sheet(find(name), precision)  # type: ignore[arg-type]


def test_a_floor_of_the_host_cannot_be_negative() -> None:
    with pytest.raises(UsageError, match="dispatch_s"):
        SystemState(dispatch_s=-1e-6)
    assert SystemState(dispatch_s=0.0).dispatch_s == 0.0
