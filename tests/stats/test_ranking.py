"""Rank correlations: closed answers, and the same as scipy with any ties."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as reference

from ridgeline.core import UsageError
from ridgeline.stats import kendall, ranks, spearman

PAIRS = st.lists(st.tuples(st.integers(-4, 4), st.integers(-4, 4)), min_size=2, max_size=60)


def test_orders_that_agree_and_that_are_opposed() -> None:
    rising = [1.0, 2.0, 5.0, 9.0]
    assert spearman(rising, rising) == kendall(rising, rising) == 1.0
    assert spearman(rising, rising[::-1]) == kendall(rising, rising[::-1]) == -1.0


def test_what_has_no_order() -> None:
    assert spearman([1.0], [2.0]) is None
    assert kendall([], []) is None
    assert spearman([1, 1, 1], [1, 2, 3]) is None
    assert kendall([1, 2, 3], [1, 1, 1]) is None
    with pytest.raises(UsageError):
        spearman([1, 2], [1])
    with pytest.raises(UsageError):
        kendall([1, float("nan")], [1, 2])


@given(PAIRS)
def test_the_same_as_scipy(pairs: list[tuple[int, int]]) -> None:
    one, other = (np.array(side, float) for side in zip(*pairs, strict=True))
    assert ranks(one).tolist() == reference.rankdata(one).tolist()
    if np.ptp(one) == 0 or np.ptp(other) == 0:
        assert spearman(one, other) is None
        assert kendall(one, other) is None
        return
    assert spearman(one, other) == pytest.approx(reference.spearmanr(one, other).statistic, abs=1e-12)
    assert kendall(one, other) == pytest.approx(reference.kendalltau(one, other).statistic, abs=1e-12)


def test_many_values() -> None:
    draw = np.random.default_rng(3)
    one = draw.normal(size=5000)
    other = one + draw.normal(size=5000)
    assert kendall(one, other) == pytest.approx(reference.kendalltau(one, other).statistic, abs=1e-12)


@given(PAIRS)
def test_a_rising_change_of_scale_changes_nothing(pairs: list[tuple[int, int]]) -> None:
    one, other = (np.array(side, float) for side in zip(*pairs, strict=True))
    assert kendall(np.exp(one), other) == kendall(one, other)
    assert spearman(np.exp(one), other) == spearman(one, other)
    assert kendall(other, one) == kendall(one, other)
