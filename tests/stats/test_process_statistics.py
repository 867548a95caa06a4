"""Chances, sizes and quantiles by process: against scipy, against each other, against numpy."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import mannwhitneyu

from ridgeline.core import UsageError
from ridgeline.stats import (
    clustered_quantile_interval,
    detectable_ratio,
    effect,
    hodges_lehmann_shift,
    least_processes,
    process_quantiles,
    processes_needed,
    quantile_interval,
    rank_sum_p_value,
)

numbers = st.lists(st.integers(-20, 20).map(float), min_size=1, max_size=18)


@settings(deadline=None)
@given(numbers, numbers, st.sampled_from([0.8, 0.9, 0.95, 0.97, 0.999]))
def test_the_chance_is_small_exactly_where_the_interval_leaves_out_zero(a, b, confidence):
    _, low, high = hodges_lehmann_shift(a, b, confidence)
    assert (low > 0 or high < 0) == (rank_sum_p_value(a, b) <= (1 - confidence) * (1 + 1e-9))


@settings(deadline=None, max_examples=50)
@given(st.integers(0, 2**20), st.integers(2, 18), st.integers(2, 18))
def test_without_ties_it_is_mann_and_whitneys_exact_chance(seed, m, n):
    generator = np.random.default_rng(seed)
    a, b = generator.standard_normal(m), generator.standard_normal(n)
    assert rank_sum_p_value(a, b) == pytest.approx(mannwhitneyu(a, b, method="exact").pvalue)


def test_beyond_the_exact_sizes_it_is_close_to_scipys():
    generator = np.random.default_rng(0)
    a, b = generator.standard_normal(80), generator.standard_normal(70) + 0.4
    assert rank_sum_p_value(a, b) == pytest.approx(mannwhitneyu(a, b, method="asymptotic").pvalue, rel=0.05)


@pytest.mark.parametrize("confidence", [0.9, 0.95, 0.97, 0.99, 0.999])
def test_one_process_less_than_the_least_can_never_tell(confidence):
    least = least_processes(confidence)
    apart = effect([[1.0 + 0.001 * i] for i in range(least)], [[2.0 + 0.001 * i] for i in range(least)], confidence)
    assert apart.differs
    fewer = effect([[1.0 + 0.001 * i] for i in range(least - 1)], [[2.0 + 0.001 * i] for i in range(least - 1)], confidence)
    assert not fewer.differs
    assert math.isinf(fewer.detectable_ratio)


@settings(deadline=None)
@given(st.floats(1e-4, 0.1), st.floats(1.002, 2.0))
def test_the_processes_needed_are_the_fewest_that_do(spread, ratio):
    needed = processes_needed(spread, ratio)
    assert needed is not None
    assert detectable_ratio(spread, needed, needed) <= ratio
    assert needed == least_processes() or detectable_ratio(spread, needed - 1, needed - 1) > ratio


def test_what_no_number_of_processes_finds_is_said():
    assert processes_needed(10.0, 1.0001) is None


@settings(deadline=None)
@given(st.lists(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=12), min_size=1, max_size=6), st.floats(0, 1))
def test_quantiles_of_all_processes_are_numpys(processes, q):
    found = process_quantiles(processes, (0.0, q, 1.0))
    assert found[1] == pytest.approx([np.quantile(process, q) for process in processes], rel=1e-9, abs=1e-9)
    assert found[0].tolist() == [min(process) for process in processes]
    assert found[2].tolist() == [max(process) for process in processes]


@pytest.mark.parametrize("processes", [[], [[1.0], []], [[float("nan")]]])
def test_no_values_are_refused(processes):
    with pytest.raises(UsageError):
        process_quantiles(processes, (0.5,))


def test_an_interval_over_processes_holds_that_over_samples():
    generator = np.random.default_rng(1)
    for _ in range(20):
        processes = [level * generator.exponential(size=60) for level in np.exp(0.3 * generator.standard_normal(10))]
        wide, plain = clustered_quantile_interval(processes, 0.9), quantile_interval(np.concatenate(processes), 0.9)
        assert wide.low <= plain.low <= wide.value <= plain.high <= wide.high


def test_processes_that_differ_make_it_wider_and_equal_ones_hardly():
    generator = np.random.default_rng(2)
    same, apart = [], []
    for _ in range(40):
        calls = generator.exponential(size=(20, 50)) + 10
        for levels, into in ((np.ones(20), same), (np.exp(0.1 * generator.standard_normal(20)), apart)):
            processes = list(levels[:, None] * calls)
            wide, plain = clustered_quantile_interval(processes, 0.5), quantile_interval(np.concatenate(processes), 0.5)
            into.append((wide.high - wide.low) / (plain.high - plain.low))
    assert np.median(same) < 1.2
    assert np.median(apart) > 3


def test_it_is_refused_below_the_sample_limit():
    assert clustered_quantile_interval([[1.0] * 149, [2.0] * 149], 0.99) is None
    assert clustered_quantile_interval([[1.0] * 149, [2.0] * 150], 0.99) is not None
