"""Looking early without raising the error rate, and stopping as soon as it is certain: with a fake clock and a fake judge."""

from __future__ import annotations

import numpy as np
import pytest

from ridgeline.core import Comparison, TailComparison
from ridgeline.flows.comparing.live import Amount
from ridgeline.flows.comparing.watching import Enough
from ridgeline.stats import effect, looks


class Clock:
    def __init__(self, step_s):
        self.now_s, self.step_s = 0.0, step_s

    def __call__(self):
        return self.now_s


def verdict(word, tail="inconclusive", detectable=1.1):
    return Comparison(
        verdict=word, ratio=1.0, ratio_ci=None, confidence=0.97, tail=TailComparison(verdict=tail), keep=False, detectable_ratio=detectable,
        a=None, b=None,
    )  # fmt: skip


def watched(word="inconclusive", *, step_s=0.5, budget_s=20.0, most=1000, **options):
    """Number of processes at the end, the watcher, and the confidences at which it judged."""
    clock, asked, told = Clock(step_s), [], []
    enough = Enough(confidence=0.97, budget_s=budget_s, clock=clock, announce=told.append, **options)

    def judge(confidence):
        asked.append(confidence)
        return word(confidence) if callable(word) else verdict(word)

    for number in range(1, most + 1):
        clock.now_s += step_s
        if enough(number, judge):
            return number, enough, asked, told
    return most, enough, asked, told


def test_the_last_look_is_where_the_budget_ends():
    number, enough, _, _ = watched()
    assert number == 40
    assert [look.processes for look in enough.schedule] == [look.processes for look in looks(40, 5, 0.97)]


def test_the_error_rate_is_spent_and_never_more():
    _, enough, asked, _ = watched()
    # The first is the pilot's, whose verdict is not used.
    assert asked[0] == 0.97
    assert sum(1 - confidence for confidence in asked[1:]) == pytest.approx(0.03)
    assert 0.97 < enough.final_confidence < 1


def test_what_is_left_goes_to_an_end_between_two_looks():
    number, enough, asked, _ = watched(most=30)
    assert number == 30
    spent = sum(1 - confidence for confidence in asked[1:])
    assert 1 - enough.final_confidence + spent == pytest.approx(0.03)


@pytest.mark.parametrize("word", ["faster", "slower", "same", "incomparable"])
def test_it_stops_when_certain(word):
    number, enough, _, _ = watched(word)
    assert number == 5
    assert enough.certain is not None
    assert enough.certain.verdict == word
    assert "as soon as it was certain" in enough.told


def test_it_goes_on_for_the_tail():
    assert watched("slower", tail=True)[0] == 40
    assert watched(lambda confidence: verdict("slower", tail="same"), tail=True)[0] == 5


def test_the_error_rate_of_the_tail_is_spent_where_the_end_waits_for_it():
    assert Amount().tail_confidence(0.999) == pytest.approx(0.95)
    asked = watched(tail=True)[2][1:]
    amount = Amount(tail=True)
    assert sum(1 - amount.tail_confidence(confidence) for confidence in asked) == pytest.approx(0.05)


def test_a_number_of_processes_is_kept_to():
    number, enough, _, _ = watched(processes=7)
    assert number == 7
    assert enough.schedule[-1].processes == 7
    assert watched(processes=2)[0] == 2


def test_a_slow_target_is_measured_five_times():
    assert watched(step_s=30.0)[0] == 5


def test_what_will_be_seen_is_said_before():
    _, _, _, told = watched()
    assert len(told) == 1
    # 1.1 with five processes is 1.1 ** sqrt(5 / 40) with forty.
    assert f"{1.1 ** (5 / 40) ** 0.5 - 1:.1%}" in told[0]
    assert "up to 40 processes" in told[0]


def test_equal_versions_are_called_different_as_often_as_asked():
    """Sequential looks at the real test: 400 pairs without a difference, at 90 % so that few pairs say much."""
    random = np.random.default_rng(20261130)
    wrong = 0
    for _ in range(400):
        sides = [[[x] for x in np.exp(0.02 * random.standard_normal(30))] for _ in range(2)]
        clock = Clock(1.0)
        enough = Enough(confidence=0.9, budget_s=30.0, clock=clock)
        state = {"found": False}

        def judge(confidence, sides=sides, clock=clock, state=state):
            n = int(clock.now_s)
            found = effect(sides[0][:n], sides[1][:n], confidence)
            state["found"] = found.differs
            return verdict("slower" if found.differs else "inconclusive")

        for number in range(1, 31):
            clock.now_s = float(number)
            if enough(number, judge):
                break
        wrong += enough.certain is not None
    # 10 % are allowed; 400 × 0.1 = 40 with a standard deviation of 6.
    assert wrong <= 40 + 3 * 6
    assert wrong >= 8


def test_what_came_before_the_first_process_is_not_taken_for_its_cost() -> None:
    now = [0.0]
    enough = Enough(confidence=0.97, budget_s=40.0, clock=lambda: now[0])
    now[0] = 600.0  # a soak
    for processes in range(1, 6):
        now[0] += 1.0
        enough(processes, lambda confidence: None)
    assert enough.schedule[-1].processes == 40
