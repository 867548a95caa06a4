"""Peeking: the error rate over all looks, what peeking without it does, and when a large effect stops."""

from __future__ import annotations

import numpy as np
import pytest

from ridgeline.core.errors import UsageError
from ridgeline.stats.comparison import effect
from ridgeline.stats.peeking import Look, looks


def first_alarm(generator, plan, ratio=1.0):
    """The size at which a comparison by this plan says that the versions differ; 0 if never."""
    most = plan[-1].processes
    before, after = np.exp(0.015 * generator.normal(size=(2, most, 1)))
    for look in plan:
        found = effect(before[: look.processes], ratio * after[: look.processes], look.confidence)
        if found.differs:
            return look.processes
    return 0


def test_the_looks_add_up_to_the_whole():
    for most in (5, 10, 40, 100):
        plan = looks(most, confidence=0.97)
        assert sum(1 - look.confidence for look in plan) == pytest.approx(0.03)
        assert plan[-1].processes == most
        assert [look.processes for look in plan] == sorted({look.processes for look in plan})


def test_false_alarms_over_all_looks_stay_under_the_rate():
    """300 pairs at 3 %: more than 17 would happen once in a hundred."""
    generator = np.random.default_rng(1)
    assert sum(first_alarm(generator, looks(30)) > 0 for _ in range(300)) <= 17


def test_looking_at_the_full_level_each_time_would_not():
    generator = np.random.default_rng(1)
    careless = tuple(Look(processes=look.processes, confidence=0.97) for look in looks(30))
    assert sum(first_alarm(generator, careless) > 0 for _ in range(300)) > 17


def test_a_large_effect_stops_early_and_a_small_one_is_found_at_the_end():
    generator = np.random.default_rng(2)
    large = [first_alarm(generator, looks(30), 1.10) for _ in range(50)]
    small = [first_alarm(generator, looks(30), 1.015) for _ in range(50)]
    assert max(large) <= 13
    assert sum(size > 0 for size in small) >= 40


@pytest.mark.parametrize(("most", "least", "confidence"), [(4, 5, 0.97), (5, 0, 0.97), (5, 5, 1.0)])
def test_impossible_plans_are_refused(most, least, confidence):
    with pytest.raises(UsageError):
        looks(most, least, confidence)
