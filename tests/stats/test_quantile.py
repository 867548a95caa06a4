"""Order-statistic intervals: exact by enumeration, at the textbook limits, and at their nominal coverage by simulation."""

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ridgeline.core import UsageError
from ridgeline.stats import interval_ranks, median_interval, minimum_samples, quantile_bound, quantile_interval, refusal


@pytest.mark.parametrize(
    ("q", "confidence", "n"), [(0.99, 0.95, 299), (0.95, 0.95, 59), (0.9, 0.95, 29), (0.5, 0.95, 5), (0.99, 0.99, 459), (0.999, 0.95, 2995)]
)
def test_one_sided_limits_of_the_textbooks(q, confidence, n):
    assert minimum_samples(q, confidence) == n
    assert minimum_samples(1 - q, confidence) == n


def test_two_sided_limits():
    assert minimum_samples(0.5, one_sided=False) == 6
    assert minimum_samples(0.99, one_sided=False) == 299


@given(q=st.floats(0.001, 0.999), confidence=st.floats(0.5, 0.999))
def test_the_limit_is_where_the_interval_begins(q, confidence):
    n = minimum_samples(q, confidence, one_sided=False)
    assert interval_ranks(n, q, confidence) is not None
    if n > 1:
        assert interval_ranks(n - 1, q, confidence) is None
        assert "at least" in (refusal(n - 1, q, confidence) or "")
    assert refusal(n, q, confidence) is None


def test_coverage_by_enumeration():
    # Each of 8 samples lies below the quantile with probability q; every one of the 256 cases is counted.
    n, q = 8, 0.4
    low, high, coverage = interval_ranks(n, q, 0.8)
    held = sum(math.prod(q if below else 1 - q for below in case) for case in product((True, False), repeat=n) if low <= sum(case) <= high - 1)
    assert coverage == pytest.approx(held)
    assert coverage >= 0.8


@given(n=st.integers(6, 3000), q=st.floats(0.05, 0.95), confidence=st.sampled_from([0.8, 0.9, 0.95, 0.99]))
def test_ranks_cover_and_are_tight(n, q, confidence):
    ranks = interval_ranks(n, q, confidence)
    if ranks is None:
        assert n < minimum_samples(q, confidence, one_sided=False)
        return
    low, high, coverage = ranks
    assert 1 <= low < high <= n
    assert coverage >= confidence - 1e-12
    # Mirror: the interval of q turned round is the interval of 1 − q, up to one rank where a tail is met to the last digit.
    mirrored = interval_ranks(n, 1 - q, confidence)
    assert abs(n + 1 - high - mirrored[0]) <= 1
    assert abs(n + 1 - low - mirrored[1]) <= 1


@pytest.mark.parametrize("draw", [lambda r, n: r.lognormal(0, 1, n), lambda r, n: r.standard_cauchy(n), lambda r, n: r.uniform(size=n)])
@pytest.mark.parametrize(("q", "n", "truth"), [(0.5, 25, 0.5), (0.99, 320, 0.99), (0.9, 100, 0.9)])
def test_coverage_by_simulation(draw, q, n, truth):
    generator = np.random.default_rng(7)
    reference = np.random.default_rng(8)
    exact = float(np.quantile(draw(reference, 2_000_000), truth))
    runs = 2000
    held = 0
    for _ in range(runs):
        found = quantile_interval(draw(generator, n), q)
        held += found.low <= exact <= found.high
    expected = found.coverage
    # Four standard errors, and a little for the reference quantile itself.
    assert abs(held / runs - expected) < 4 * math.sqrt(expected * (1 - expected) / runs) + 0.005


@given(st.lists(st.floats(-1e6, 1e6), min_size=6, max_size=200), st.floats(0.1, 10))
def test_median_interval_holds_the_median_and_scales(values, factor):
    found = median_interval(values)
    assert found.low <= found.value <= found.high
    assert found.value == pytest.approx(np.median(values))
    scaled = median_interval([factor * value for value in values])
    assert scaled.low == pytest.approx(factor * found.low)
    assert scaled.high == pytest.approx(factor * found.high)


def test_p99_is_refused_under_its_limit():
    assert quantile_interval(range(298), 0.99) is None
    assert refusal(298, 0.99) == "p99 needs at least 299 samples for 95% confidence; there are 298"
    assert quantile_interval(range(299), 0.99) is not None


def test_one_sided_bounds():
    values = list(range(1, 101))
    # P(B ≤ 58) = 0.956 for B ~ Bin(100, ½): the 59th value bounds the median from above, its mirror from below.
    assert quantile_bound(values, 0.5) == 59
    assert quantile_bound(values, 0.5, side="lower") == 42
    assert quantile_bound([1.0] * 4, 0.5) is None
    assert quantile_bound([1.0] * 4, 0.5, side="lower") is None


def test_as_quantity():
    quantity = median_interval([0.1, 0.2, 0.3, 0.4, 0.5, 0.6]).as_quantity("s", origin="wall clock")
    assert (quantity.unit, quantity.source, quantity.confidence) == ("s", "measured", 0.96875)


@pytest.mark.parametrize("values", [[], [[1.0, 2.0]], [math.nan] * 10, [1.0, math.inf]])
def test_bad_samples_are_refused(values):
    with pytest.raises(UsageError):
        quantile_interval(values, 0.5)


@pytest.mark.parametrize(("q", "confidence"), [(0, 0.95), (1, 0.95), (99, 0.95), (0.5, 0), (0.5, 1), (math.nan, 0.9)])
def test_bad_levels_are_refused(q, confidence):
    with pytest.raises(UsageError):
        minimum_samples(q, confidence)
    with pytest.raises(UsageError):
        quantile_interval([1.0] * 10, q, confidence)


def test_extreme_levels_come_back():
    assert minimum_samples(1 - 1e-15, 1 - 1e-15, one_sided=False) > 10**15
