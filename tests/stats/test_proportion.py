"""Wilson's interval: textbook values, exact coverage by the binomial distribution, and its ends."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ridgeline.core import UsageError
from ridgeline.stats import share_quantity, wilson_interval


def test_ends():
    assert wilson_interval(0, 20)[0] == 0
    assert wilson_interval(20, 20)[1] == 1
    # At hits = 0 the upper end is z² ÷ (n + z²).
    z2 = 1.959963984540054**2
    assert wilson_interval(0, 20)[1] == pytest.approx(z2 / (20 + z2))


@given(n=st.integers(1, 10_000), data=st.data())
def test_it_holds_the_share_and_mirrors(n, data):
    hits = data.draw(st.integers(0, n))
    low, high = wilson_interval(hits, n)
    assert 0 <= low <= hits / n <= high <= 1
    mirrored = wilson_interval(n - hits, n)
    assert low == pytest.approx(1 - mirrored[1], abs=1e-12)
    wider = wilson_interval(hits, n, 0.99)
    assert wider[0] <= low
    assert wider[1] >= high


@pytest.mark.parametrize("share", [0.05, 0.09, 0.5, 0.8])
def test_exact_coverage_is_near_nominal(share):
    n = 200
    covered = math.fsum(
        math.comb(n, hits) * share**hits * (1 - share) ** (n - hits)
        for hits in range(n + 1)
        if wilson_interval(hits, n)[0] <= share <= wilson_interval(hits, n)[1]
    )
    assert 0.93 < covered < 0.975


def test_as_quantity():
    quantity = share_quantity(36, 400)
    assert quantity.value == 0.09
    assert quantity.low < 0.09 < quantity.high
    assert quantity.unit == "1"


@pytest.mark.parametrize(("hits", "n"), [(1, 0), (-1, 5), (6, 5), (math.nan, 5), (1, math.inf), (1, math.nan)])
def test_impossible_counts_are_refused(hits, n):
    with pytest.raises(UsageError):
        wilson_interval(hits, n)
