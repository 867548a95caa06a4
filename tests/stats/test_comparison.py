"""Comparison by processes: error rates on equal versions, power, sizes, and the ugly pairs."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ridgeline.core.errors import UsageError
from ridgeline.stats.comparison import effect


def processes(generator, count, ratio=1.0, *, between=0.015, within=0.02, samples=30):
    """Log-normal processes with an exponential tail inside each, as call times have."""
    levels = ratio * np.exp(between * generator.normal(size=count))
    return [level * (1 + within * generator.exponential(size=samples)) for level in levels]


def test_equal_versions_differ_as_often_as_is_said():
    """400 pairs at 3 %: more than 23 would happen once in a hundred (99 % quantile of Binomial(400, 3.3 %))."""
    generator = np.random.default_rng(5)
    alarms = sum(effect(processes(generator, 10), processes(generator, 10)).differs for _ in range(400))
    assert alarms <= 23


def test_pooled_samples_would_not_hold_that_rate():
    """The same processes, their samples taken for independent ones: the reason why the process is the unit."""
    generator = np.random.default_rng(5)
    alarms = 0
    for _ in range(60):
        before, after = processes(generator, 5), processes(generator, 5)
        alarms += effect([[value] for value in np.concatenate(before)], [[value] for value in np.concatenate(after)]).differs
    assert alarms > 20


def test_the_detectable_effect_is_found_about_nine_times_of_ten():
    generator = np.random.default_rng(8)
    detectable = float(np.median([effect(processes(generator, 15), processes(generator, 15)).detectable_ratio for _ in range(40)]))
    found = sum(effect(processes(generator, 15), processes(generator, 15, detectable)).low > 1 for _ in range(200))
    assert 0.8 <= found / 200 <= 0.98


def test_the_interval_holds_the_true_ratio():
    generator = np.random.default_rng(6)
    held = sum((found := effect(processes(generator, 8), processes(generator, 8, 1.1))).low <= 1.1 <= found.high for _ in range(300))
    # 97 % of 300 is 291; below 281 happens less than once in a thousand.
    assert held >= 281


def test_the_minimum_is_taken_where_medians_wander():
    generator = np.random.default_rng(2)

    def disturbed(count, ratio=1.0):
        return [ratio * np.concatenate([[1.0], 1 + 0.2 * generator.random() + 0.01 * generator.random(30)]) for _ in range(count)]

    found = effect(disturbed(10), disturbed(10, 1.02))
    assert found.statistic == "minimum"
    assert found.ratio == pytest.approx(1.02)


def test_the_sides_mirror_each_other():
    generator = np.random.default_rng(4)
    a, b = processes(generator, 7), processes(generator, 9, 1.05)
    forth, back = effect(a, b), effect(b, a)
    assert forth.ratio == pytest.approx(1 / back.ratio)
    assert forth.low == pytest.approx(1 / back.high)
    assert forth.processes == (7, 9)


def test_one_against_one_cannot_tell():
    found = effect([[1.0]], [[2.0]])
    assert (found.low, found.high, found.detectable_ratio) == (0.0, math.inf, math.inf)
    assert not found.differs
    assert found.ratio == pytest.approx(2.0)


def test_constant_times_are_equal():
    found = effect([[1.0]] * 5, [[1.0]] * 5)
    assert (found.ratio, found.low, found.high, found.differs) == (1.0, 1.0, 1.0, False)


def test_five_far_apart_from_five():
    found = effect([[115], [114], [115], [115], [115]], [[78.8]] * 5)
    assert found.differs
    assert found.ratio == pytest.approx(1 - 0.31, abs=0.01)


def test_one_wild_process_among_nineteen():
    found = effect([[1.00]] * 20, [[1.05]] * 19 + [[30.0]])
    assert found.ratio == pytest.approx(1.05)
    assert found.differs


@pytest.mark.parametrize(("before", "after"), [([], [[1.0]]), ([[1.0]], [[]]), ([[0.0]], [[1.0]]), ([[math.nan]], [[1.0]]), ([[-1.0]], [[1.0]])])
def test_what_is_no_time_is_refused(before, after):
    with pytest.raises(UsageError):
        effect(before, after)
