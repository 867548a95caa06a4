"""Levels of made-up values: one is rarely taken for several, several are found where they are."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ridgeline.core import UsageError
from ridgeline.stats import levels

ONE_LEVEL = {
    "normal": lambda g, n: np.exp(0.03 * g.standard_normal(n)),
    "log-normal": lambda g, n: np.exp(0.5 * g.standard_normal(n)),
    "Pareto": lambda g, n: 1 + g.pareto(2, n),
    "exponential": lambda g, n: 1 + 0.05 * g.exponential(size=n),
    "uniform": lambda g, n: 1 + 0.2 * g.random(n),
    "ticks": lambda g, n: np.round(100 * (1 + 0.05 * g.exponential(size=n))),
}


@pytest.mark.parametrize("kind", ONE_LEVEL)
@pytest.mark.parametrize("n", [4, 6, 10, 20, 60, 300])
def test_one_level_is_rarely_taken_for_several(kind, n):
    """Designed for about 1 %: of 300, 11 and more happen less than once in a thousand times."""
    generator = np.random.default_rng(n)
    assert sum(levels(ONE_LEVEL[kind](generator, n)) != () for _ in range(300)) <= 10


@pytest.mark.parametrize(("n", "share"), [(8, 0.5), (20, 0.3), (60, 0.3), (300, 0.2), (3000, 0.1)])
def test_two_levels_far_apart_are_found_with_their_shares(n, share):
    generator = np.random.default_rng(1)
    slow = np.arange(n) < round(share * n)
    found = levels(np.where(slow, 1.5, 1.0) * np.exp(0.01 * generator.standard_normal(n)))
    assert [level.value for level in found] == pytest.approx([1.0, 1.5], rel=0.02)
    assert found[1].share == pytest.approx(round(share * n) / n, abs=0.02)


def test_three_levels_are_three():
    generator = np.random.default_rng(2)
    found = levels(np.repeat([1.0, 1.3, 2.0], 200) * np.exp(0.01 * generator.standard_normal(600)))
    assert [level.value for level in found] == pytest.approx([1.0, 1.3, 2.0], rel=0.02)


def test_a_tail_is_no_level():
    generator = np.random.default_rng(3)
    values = np.exp(0.01 * generator.standard_normal(1000))
    values[:20] *= 10
    assert levels(values) == ()


@settings(deadline=None)
@given(st.lists(st.floats(1e-9, 1e6), min_size=1, max_size=80))
def test_shares_add_up_and_levels_rise(values):
    found = levels(values)
    assert found == () or sum(level.share for level in found) == pytest.approx(1)
    assert [level.value for level in found] == sorted(level.value for level in found)
    assert len(found) != 1


@pytest.mark.parametrize("values", [[], [0.0, 1.0], [float("inf")] * 5])
def test_what_is_no_time_is_refused(values):
    with pytest.raises(UsageError):
        levels(values)
