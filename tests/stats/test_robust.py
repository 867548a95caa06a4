"""Robust statistics against brute force, against scipy's independent versions, and at their nominal coverage."""

import math
from itertools import combinations

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from ridgeline.core import UsageError
from ridgeline.stats import (
    block_medians,
    hodges_lehmann_shift,
    mad,
    mad_sigma,
    median_pairwise_distance,
    noise_floor,
    paired_ratio,
    ratio_of_medians,
    theil_sen_slope,
)
from ridgeline.stats.robust import _mann_whitney_counts

series = st.lists(st.floats(-1e3, 1e3), min_size=2, max_size=60)
times = st.lists(st.floats(1e-6, 1e3), min_size=20, max_size=120)


def within(share, expected, runs):
    """Whether a simulated coverage is within four standard errors of the nominal one."""
    return abs(share - expected) < 4 * math.sqrt(expected * (1 - expected) / runs)


@given(series)
def test_scales_against_brute_force(values):
    centre = np.median(values)
    assert mad(values) == pytest.approx(np.median([abs(value - centre) for value in values]))
    assert mad_sigma(values) == pytest.approx(scipy.stats.median_abs_deviation(values, scale="normal"), rel=1e-6, abs=1e-9)
    assert median_pairwise_distance(values) == pytest.approx(np.median([abs(a - b) for a, b in combinations(values, 2)]))


def test_one_wild_value_moves_no_scale():
    values = [1.0, 1.1, 0.9, 1.05, 0.95, 1.02, 0.98, 1.01, 0.99]
    for scale in (mad, median_pairwise_distance):
        assert scale([*values, 1e9]) < 2 * scale(values)


def test_normal_scales_estimate_sigma():
    values = np.random.default_rng(0).normal(5, 2, 20_000)
    assert mad_sigma(values) == pytest.approx(2, rel=0.05)
    assert 1.0483 * median_pairwise_distance(values) == pytest.approx(2, rel=0.05)


def test_block_medians():
    assert block_medians([1, 2, 3, 10, 20, 30], 2).tolist() == [2.0, 20.0]
    with pytest.raises(UsageError):
        block_medians([1.0], 2)


@given(times, st.floats(1e-3, 1e3))
def test_noise_floor_is_relative(values, factor):
    floor = noise_floor(values)
    assert floor is not None
    assert floor >= 0
    assert noise_floor([factor * value for value in values]) == pytest.approx(floor, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("spread", [0.01, 0.2])
def test_two_equal_versions_differ_by_less_than_the_floor(spread):
    generator = np.random.default_rng(11)
    runs, under = 800, 0
    for _ in range(runs):
        floor = noise_floor(np.exp(spread * generator.standard_normal(200)))
        a, b = (np.exp(spread * generator.standard_normal(100)) for _ in range(2))
        # Two interleaved versions of 100 calls each: the mean log ratio of their blocks.
        ratio = np.mean(np.log(block_medians(a, 20)) - np.log(block_medians(b, 20)))
        under += abs(ratio) < math.log1p(floor)
    # 95 % when series and comparison are of the same length; both are random here.
    assert under / runs > 0.9


def test_noise_floor_of_a_real_change_is_under_the_change():
    generator = np.random.default_rng(1)
    values = np.exp(0.02 * generator.standard_normal(500))
    assert 0.001 < noise_floor(values) < 0.02
    assert noise_floor(values[:19]) is None
    assert noise_floor(values, 0.99) > noise_floor(values, 0.8)


@given(st.lists(st.floats(-100, 100), min_size=3, max_size=40))
def test_slope_against_scipy(values):
    slope, low, high = theil_sen_slope(values)
    assert slope == pytest.approx(scipy.stats.theilslopes(values).slope, abs=1e-9)
    assert low <= slope <= high


def test_slope_coverage_and_robustness():
    generator = np.random.default_rng(5)
    runs, held = 1500, 0
    for _ in range(runs):
        _, low, high = theil_sen_slope(0.3 * np.arange(30) + generator.standard_t(3, 30))
        held += low <= 0.3 <= high
    assert held / runs > 0.95 - 4 * math.sqrt(0.95 * 0.05 / runs)
    assert held / runs < 0.985
    assert theil_sen_slope([0, 1, 2, 1e9, 4, 5, 6, 7, 8], at=range(0, 18, 2))[0] == 0.5
    with pytest.raises(UsageError):
        theil_sen_slope([1, 2, 3], at=[0, 2, 1])
    with pytest.raises(UsageError):
        theil_sen_slope([1, 2, 3], at=[0, 1])


@pytest.mark.parametrize(("m", "n"), [(1, 1), (2, 3), (4, 4), (5, 2)])
def test_rank_sum_counts_by_enumeration(m, n):
    counted = [0] * (m * n + 1)
    for chosen in combinations(range(m + n), n):
        rest = [i for i in range(m + n) if i not in chosen]
        counted[sum(b > a for a in rest for b in chosen)] += 1
    assert _mann_whitney_counts(m, n) == counted


@pytest.mark.parametrize(("m", "n"), [(8, 8), (30, 25)])
def test_shift_coverage(m, n):
    generator = np.random.default_rng(6)
    runs, held = 1500, 0
    for _ in range(runs):
        _, low, high = hodges_lehmann_shift(generator.standard_t(3, m), 2 + generator.standard_t(3, n))
        held += low <= 2 <= high
    # Discrete ranks make the small case cover a little more than asked.
    assert 0.95 - 4 * math.sqrt(0.95 * 0.05 / runs) < held / runs < 0.975


def test_shift_of_three_against_three_has_no_interval_at_95():
    shift, low, high = hodges_lehmann_shift([1, 2, 3], [11, 12, 13])
    assert (shift, low, high) == (10, -math.inf, math.inf)
    # P(U = 0) = 1/20 on each side: at 90 % the whole range of differences is the interval.
    assert hodges_lehmann_shift([1, 2, 3], [11, 12, 13], 0.9) == (10, 8, 12)


@given(times, st.floats(-100, 100))
def test_shift_follows_the_shift(values, delta):
    base = hodges_lehmann_shift(values, values)
    moved = hodges_lehmann_shift(values, [value + delta for value in values])
    assert base[0] == pytest.approx(0, abs=1e-9)
    for before, after in zip(base, moved, strict=True):
        assert after == pytest.approx(before + delta, abs=1e-6)


def test_paired_ratio_cancels_what_both_share():
    generator = np.random.default_rng(9)
    runs, held = 1500, 0
    for _ in range(runs):
        weather = np.exp(generator.standard_normal(40))
        before = weather * np.exp(0.02 * generator.standard_normal(40))
        after = 0.8 * weather * np.exp(0.02 * generator.standard_normal(40))
        _, low, high = paired_ratio(before, after)
        held += low <= 0.8 <= high
        assert high - low < 0.1
    # Ranks 14 and 27 of 40 cover 0.9615.
    assert within(held / runs, 0.9615, runs)
    assert paired_ratio([1.0] * 5, [1.0] * 5) is None


@pytest.mark.parametrize("paired", [True, False])
def test_ratio_of_medians_coverage(paired):
    generator = np.random.default_rng(10)
    runs, held = 400, 0
    for _ in range(runs):
        before, after = np.exp(0.1 * generator.standard_normal((2, 60)))
        _, low, high = ratio_of_medians(before, 1.5 * after, paired=paired, resamples=400)
        held += low <= 1.5 <= high
    # The percentile bootstrap of a median is a little off its nominal 0.95.
    assert 0.90 < held / runs < 0.99


def test_ratio_of_medians_repeats_and_checks():
    generator = np.random.default_rng(2)
    a, b = generator.uniform(1, 2, (2, 50))
    assert ratio_of_medians(a, b, seed=4) == ratio_of_medians(a, b, seed=4)
    assert ratio_of_medians(a, b, seed=4) != ratio_of_medians(a, b, seed=5)
    with pytest.raises(UsageError):
        ratio_of_medians([1.0, 2.0], [1.0])
    with pytest.raises(UsageError):
        ratio_of_medians([1.0, 0.0], [1.0, 1.0])
    with pytest.raises(UsageError):
        ratio_of_medians([1.0], [1.0], resamples=10)
