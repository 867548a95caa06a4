"""Changes in a history: false ones on noise of many kinds, real ones of known place, drift told from steps, ugly values."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import rankdata

from ridgeline.stats.change_points import _chance_of_the_largest, _ranks, history
from ridgeline.stats.partition import Levels, Lines, Tabulated, optimal_cuts

SIZE = 100


def correlated(generator, share):
    shocks, values = generator.normal(size=SIZE + 50), np.zeros(SIZE + 50)
    for at in range(1, SIZE + 50):
        values[at] = share * values[at - 1] + shocks[at]
    return 1 + 0.01 * values[50:]


def spiky(generator):
    values = 1 + 0.01 * generator.normal(size=SIZE)
    values[generator.random(SIZE) < 0.05] *= 1 + generator.exponential(0.5)
    return values


NOISE = {
    "normal": (lambda g: 1 + 0.02 * g.normal(size=SIZE), 0.01),
    "exponential tail": (lambda g: 1 + 0.02 * g.exponential(size=SIZE), 0.01),
    "spikes": (spiky, 0.01),
    "two modes": (lambda g: np.where(g.random(SIZE) < 0.5, 1.0, 1.1) + 0.01 * g.normal(size=SIZE), 0.01),
    "a rare mode": (lambda g: np.where(g.random(SIZE) < 0.2, 1.0, 1.1) + 0.005 * g.normal(size=SIZE), 0.01),
    "autocorrelation 0.6": (lambda g: correlated(g, 0.6), 0.05),
}


@pytest.mark.parametrize("name", NOISE)
def test_noise_without_a_change_is_flat(name):
    """150 series each; more flagged than the 1 % (5 %) that is allowed would give with a chance of one in a hundred is a failure."""
    make, allowed = NOISE[name]
    generator = np.random.default_rng(7)
    flagged = sum(history(make(generator)).shape != "flat" for _ in range(150))
    # The 99 % quantiles of Binomial(150, 1 %) and Binomial(150, 5 %).
    assert flagged <= (5 if allowed == 0.01 else 14)


@pytest.mark.parametrize(("noise", "step"), [(0.01, 1.05), (0.02, 1.1), (0.002, 1.01)])
def test_a_plain_step_is_found_where_it_is(noise, step):
    generator = np.random.default_rng(11)
    for place in (20, 50, 85):
        values = 1 + noise * generator.normal(size=SIZE)
        values[place:] *= step
        found = history(values)
        assert found.shape == "steps"
        (change,) = found.changes
        assert abs(change.index - place) <= 2
        assert change.after / change.before == pytest.approx(step, rel=noise)
        assert change.chance < 1e-3


def test_a_step_up_and_back_is_two_steps():
    values = 1 + 0.01 * np.random.default_rng(2).normal(size=SIZE)
    values[40:60] *= 1.1
    assert [change.index for change in history(values).changes] == pytest.approx([40, 60], abs=2)


def test_a_ramp_is_a_drift_and_not_steps():
    """+0.3 % a run over 60 runs."""
    values = 1.003 ** np.arange(60) * (1 + 0.002 * np.random.default_rng(5).normal(size=60))
    found = history(values)
    assert (found.shape, found.changes) == ("drift", ())


def test_the_step_does_not_depend_on_the_unit():
    values = 1 + 0.01 * np.random.default_rng(3).normal(size=SIZE)
    values[30:] *= 1.08
    seconds, nanoseconds = history(values), history(values * 1e9)
    assert [change.index for change in seconds.changes] == [change.index for change in nanoseconds.changes]


def test_what_is_no_number_is_passed_over_and_counted():
    values = 1 + 0.01 * np.random.default_rng(4).normal(size=SIZE)
    values[50:] *= 1.1
    holes = values.copy()
    holes[[10, 20, 70]] = [math.nan, math.inf, -math.inf]
    found = history(holes)
    assert found.left_out == 3
    assert [change.index for change in found.changes] == [change.index for change in history(values).changes]


@pytest.mark.parametrize("values", [[], [1.0], [1.0] * 50, [math.nan] * 20, [1.0, 2.0] * 3, [0.0] * 30, [-1.0] * 30])
def test_too_little_to_tell_is_flat(values):
    assert history(values).shape == "flat"


def test_values_that_are_not_above_zero_are_taken_as_they_are():
    values = np.random.default_rng(6).normal(size=SIZE)
    values[50:] += 5
    assert [change.index for change in history(values).changes] == pytest.approx([50], abs=2)


def test_ranks_share_ties():
    values = np.random.default_rng(1).integers(0, 6, 60).astype(float)
    assert list(_ranks(values)) == list(rankdata(values))


def test_two_levels_of_eight_values_are_a_step():
    """Perfectly apart: 2 of 12,870 orders are; with the search over nine places the chance is about one in a thousand."""
    (change,) = history([1.0, 1.01, 0.99, 1.02, 0.98, 1.03, 1.04, 0.97, 1.3, 1.31, 1.29, 1.33, 1.28, 1.34, 1.27, 1.32]).changes
    assert change.index == 8
    assert change.chance < 0.005


def test_the_price_of_the_search_is_that_of_simulated_bridges():
    """P(max over k of the standardised rank sum ≥ b) at n = 100: the formula is a little above what 4,000 permutations show, never far."""
    generator, size, least = np.random.default_rng(9), 100, 4
    place = np.arange(least, size - least + 1)
    ranks = np.arange(1, size + 1) - (size + 1) / 2
    scale = np.sqrt(ranks.var(ddof=1) * place * (size - place) / size)
    largest = [float(np.max(np.abs(np.cumsum(generator.permutation(ranks))[place - 1]) / scale)) for _ in range(4000)]
    for score in (2.8, 3.2):
        seen = float(np.mean(np.asarray(largest) >= score))
        assert 0.8 * seen <= _chance_of_the_largest(score, least / size) <= 2.5 * seen + 0.002


def test_spikes_in_a_row_are_no_drift():
    """Two spikes beside each other, three near the end: straight lines through them would explain much, and mean nothing."""
    for seed in range(40):
        generator = np.random.default_rng(seed)
        values = 1 + 0.01 * generator.normal(size=SIZE)
        place = int(generator.integers(0, SIZE - 15))
        values[place : place + 2] *= 1.6
        values[-3:-1] *= 1.3
        assert history(values).shape == "flat"


def test_a_table_of_errors_cuts_as_the_running_sums_do():
    values = np.random.default_rng(8).normal(size=60) + (np.arange(60) > 40) * 3
    for fit, least in ((Levels(values), 1), (Levels(values), 4), (Lines(values), 8)):
        for price in (0.5, 5.0, 50.0):
            assert optimal_cuts(Tabulated(fit, 60), 60, price, least) == optimal_cuts(fit, 60, price, least)
