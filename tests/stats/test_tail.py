"""Tails compared: false alarms on unlike distributions and on bursts, the seeded change that must be found, and what is too little."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ridgeline.core.errors import UsageError
from ridgeline.stats.tail import tail_effect

DISTRIBUTIONS = {
    "log-normal": lambda g, n: np.exp(0.3 * g.normal(size=n)),
    "two modes": lambda g, n: np.where(g.random(n) < 0.02, 2.0, 1.0) * np.exp(0.05 * g.normal(size=n)),
    "Pareto": lambda g, n: 1 + g.pareto(2.5, size=n),
}


def processes(generator, make, count=20, samples=500, tail=1.0):
    """`tail` stretches what lies beyond the 97th percentile, so that the median stays."""
    made = []
    for _ in range(count):
        values = make(generator, samples)
        edge = np.quantile(values, 0.97)
        made.append(np.where(values > edge, edge + (values - edge) + (tail - 1) * values, values))
    return made


def bursts(generator, count=12):
    """One process in three has a neighbour for a while: 8 % of its samples take three times as long."""
    made = []
    for _ in range(count):
        values = np.exp(0.1 * generator.normal(size=300))
        if generator.random() < 1 / 3:
            values[100:124] *= 3
        made.append(values)
    return made


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_equal_tails_are_rarely_told_apart(name):
    """100 pairs at 5 %: more than 11 would happen once in a hundred."""
    generator = np.random.default_rng(3)
    make = DISTRIBUTIONS[name]
    found = [tail_effect(processes(generator, make, 10, 200), processes(generator, make, 10, 200)) for _ in range(100)]
    assert sum(effect.worse or effect.better for effect in found) <= 11


def test_bursts_are_no_evidence_however_many_samples_they_hold():
    generator = np.random.default_rng(4)
    found = [tail_effect(bursts(generator), bursts(generator)) for _ in range(100)]
    assert sum(effect.worse or effect.better for effect in found) <= 11


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_a_tail_three_tenths_longer_is_found_though_the_median_stays(name):
    generator = np.random.default_rng(5)
    make = DISTRIBUTIONS[name]
    found = [tail_effect(processes(generator, make), processes(generator, make, tail=1.3)) for _ in range(20)]
    assert sum(effect.worse for effect in found) >= 17


def test_the_interval_holds_the_ratio_of_a_scaled_side():
    generator = np.random.default_rng(6)
    make = DISTRIBUTIONS["log-normal"]
    found = [tail_effect(processes(generator, make), [1.5 * times for times in processes(generator, make)]) for _ in range(40)]
    assert sum(effect.low <= 1.5 <= effect.high for effect in found) >= 34
    assert all(1.2 < effect.low <= effect.ratio * 1.2 for effect in found)


def test_constant_times_do_not_differ():
    found = tail_effect([[1.0] * 100] * 5, [[1.0] * 100] * 5)
    assert (found.ratio, found.worse, found.better) == (1.0, False, False)


def test_few_samples_are_said():
    generator = np.random.default_rng(7)
    make = DISTRIBUTIONS["log-normal"]
    assert tail_effect(processes(generator, make, 5, 100), processes(generator, make, 5, 100)).few
    assert not tail_effect(processes(generator, make, 5, 200), processes(generator, make, 5, 200)).few
    assert tail_effect(processes(generator, make, 5, 59), processes(generator, make, 5, 100)) is None
    assert tail_effect(processes(generator, make, 3, 500), processes(generator, make, 5, 500)) is None


@pytest.mark.parametrize(("q", "value"), [(0.3, 1.0), (1.0, 1.0), (math.nan, 1.0), (0.99, 0.0), (0.99, math.inf)])
def test_what_is_no_quantile_or_no_time_is_refused(q, value):
    with pytest.raises(UsageError):
        tail_effect([[value] * 100] * 5, [[value] * 100] * 5, q)
