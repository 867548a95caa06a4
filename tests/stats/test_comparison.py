"""Comparison by processes: error rates on equal versions, power, sizes, and the ugly pairs."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ridgeline.core.errors import UsageError
from ridgeline.stats.comparison import detectable_of, detectable_ratio, effect


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


def cycle(generator, count, times, *, between=0.002):
    """Processes whose calls go through `times`, each process from another place and with another number of calls."""
    found = []
    for level in np.exp(between * generator.standard_normal(count)):
        order = (np.arange(100 + int(generator.integers(0, 9))) + int(generator.integers(0, 5))) % len(times)
        found.append(level * np.asarray(times)[order] * (1 + 0.05 * generator.exponential(size=order.size)))
    return found


@pytest.mark.parametrize("between", [0.002, 0.03])
@pytest.mark.parametrize("count", [5, 7, 15])
@pytest.mark.parametrize(("times", "low", "high"), [((0.8, 0.8, 1.8, 1.8, 1.8), 1.5, 1.9), ((1, 1, 2, 2, 2), 1.7, 2.1), ((1, 2), 1.2, 2.1)])
def test_the_fastest_calls_do_not_speak_for_a_median_that_contradicts_them(times, low, high, count, between):
    """Of 2 or 3 calls in 5 the minimum says faster, or nothing; the typical call takes so many times as long."""
    generator = np.random.default_rng(3)
    found = effect(cycle(generator, count, [1.0], between=between), cycle(generator, count, times, between=between))
    assert found.statistic == "median"
    assert low < found.ratio < high
    assert found.low > 1


mixtures = st.lists(st.sampled_from([0.5, 0.8, 1.0, 1.3, 2.0]), min_size=1, max_size=5)


@settings(deadline=None, max_examples=100)
@given(mixtures, mixtures, st.integers(3, 9), st.sampled_from([0.0, 0.002, 0.05]), st.sampled_from([0.8, 0.97, 0.995]), st.integers(0, 2**20))
def test_no_verdict_lies_on_the_other_side_of_the_medians_interval(before, after, count, between, confidence, seed):
    generator = np.random.default_rng(seed)
    sides = [cycle(generator, count, times, between=between) for times in (before, after)]
    found = effect(*sides, confidence)
    low, high = effect([[np.median(process)] for process in sides[0]], [[np.median(process)] for process in sides[1]], confidence).intervals["median"]
    assert not (found.low > 1 and high < 1)
    assert not (found.high < 1 and low > 1)
    assert found.differs == (found.p_value <= (1 - confidence) * (1 + 1e-9))


@pytest.mark.parametrize("count", [5, 10, 20])
def test_two_statistics_that_know_nothing_of_each_other_hold_the_error_rate_of_one(count):
    """A steady minimum beside a median that wanders by itself: both may speak, and 400 pairs at 3 % still give no more than 23 (as above)."""
    generator = np.random.default_rng(12)

    def independent():
        steady, wandering = np.exp(0.005 * generator.standard_normal(count)), np.exp(0.02 * generator.standard_normal(count))
        calls = 1.05 * wandering[:, None] * (1 + 0.003 * generator.random((count, 20)))
        return list(np.column_stack([steady, calls]))

    found = [effect(independent(), independent()) for _ in range(400)]
    assert sum(each.steadiest == "minimum" for each in found) > 300
    assert sum(each.steadiest != each.statistic for each in found) > 3
    assert sum(each.differs for each in found) <= 23


@pytest.mark.parametrize(("share", "far"), [(0.1, 0.3), (0.2, 0.3), (0.2, 0.05), (0.3, 1.0)])
@pytest.mark.parametrize("count", [10, 15, 25])
def test_what_could_be_seen_is_found_though_single_processes_are_far_out(count, share, far):
    """A robust spread alone promised what was found in a third of the comparisons, beside intervals that said otherwise."""
    generator = np.random.default_rng(14)

    def contaminated(ratio=1.0):
        levels = ratio * np.exp(0.005 * generator.standard_normal(count) + far * generator.random(count) * (generator.random(count) < share))
        return [[level] for level in levels]

    seen = float(np.median([effect(contaminated(), contaminated()).detectable_ratio for _ in range(60)]))
    found = sum(effect(contaminated(), contaminated(seen)).low > 1 for _ in range(200))
    # 0.8 is meant at the least; 0.72 is three standard deviations below it.
    assert found / 200 >= 0.72


def test_what_could_be_seen_is_no_less_than_the_interval_reaches():
    generator = np.random.default_rng(15)
    for _ in range(50):
        sides = [[[level] for level in np.exp(0.01 * generator.standard_t(1.5, 9))] for _ in "ab"]
        found = effect(*sides)
        assert found.detectable_ratio >= max(found.high / found.ratio, found.ratio / found.low)


def test_what_a_benchmark_could_see_is_that_of_a_comparison_with_its_like():
    generator = np.random.default_rng(16)
    times = np.exp(0.01 * generator.standard_normal(2000))
    assert detectable_of(times) == pytest.approx(detectable_ratio(0.01, 2000, 2000), rel=1e-4)
    few = np.exp(0.01 * generator.standard_normal(9))
    far = np.concatenate([few[:6], [2.0, 3.0, 4.0]])
    assert detectable_of(far) > 1.2 > detectable_of(few)


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
