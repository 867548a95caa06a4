"""Whether a device is as fast as it was, by a configuration that is run again and again."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ridgeline.tuning.levels import Level

ANCHORS = ("a", "b", "c", "d")


def told(factors: dict[int, float], count: int = 96, every: int = 12, noise: float = 0.0) -> Level:
    """Trials of which each `every`-th looks at one of four, at others until nothing is odd; from each number on all are slower by its factor."""
    generator, level = np.random.default_rng(0), Level()
    for number in range(count):
        slow = math.prod(factor for since, factor in factors.items() if number >= since)
        look = number > len(ANCHORS) and (number % every == every - 1 or bool(level.odd))
        key = next(each for each in ANCHORS if level.serves(each)) if look else ANCHORS[number] if number < len(ANCHORS) else f"c{number}"
        seconds = 1.0 + number % 7 if key not in ANCHORS else 2.0 + ANCHORS.index(key)
        level.add(key, seconds * slow * math.exp(noise * generator.standard_normal()), look=look)
    return level


def test_a_steady_device_stays_at_its_level() -> None:
    level = told({}, noise=0.02)
    assert (level.now, level.moves, any(level.unsure)) == (0.0, 0, False)


@pytest.mark.parametrize("factor", [1.5, 0.6])
def test_a_device_that_throttles_is_noticed_at_the_third_look_and_what_lies_between_is_doubtful(factor: float) -> None:
    level = told({40: factor})
    assert level.moves == 1
    assert level.now == pytest.approx(math.log(factor))
    # Looks at 35 (well) and 47, 48, 49.
    assert [place for place, unsure in enumerate(level.unsure) if unsure] == list(range(36, 47))
    assert level.logs[35] == 0.0
    assert level.logs[47] == pytest.approx(math.log(factor))


def test_back_again() -> None:
    level = told({20: 1.4, 60: 1 / 1.4})
    assert level.moves == 2
    assert level.now == pytest.approx(0.0)


def looked(values: dict[str, float], *, before: float = 1.0) -> Level:
    """Looks at several in this order, each of which took `before`."""
    level = Level()
    for key in values:
        level.add(key, before, look=False)
    for key, value in values.items():
        level.add(key, value, look=True)
    return level


def test_one_that_is_fast_and_slow_by_turns_does_not_move_the_device() -> None:
    """A hundred times as slow alone, then the next is as it was; it is not looked at again."""
    level = looked({"a": 100.0, "b": 1.01})
    assert (level.moves, level.odd) == (0, {})
    assert (level.serves("a"), level.serves("b")) == (False, True)


def test_what_moves_each_one_otherwise_is_no_move_of_the_device() -> None:
    """A neighbour on one of two cores slows what runs on both, and hardly what runs on one."""
    level = looked({"a": 10.0, "b": 1.15, "c": 9.0})
    assert (level.moves, level.odd, level.now) == (0, {}, 0.0)


def test_what_waits_for_memory_feels_a_clock_less() -> None:
    level = looked({"a": 1.5, "b": 1.4, "c": 1.6})
    assert level.moves == 1
    assert math.exp(level.now) == pytest.approx(1.5)


def test_the_same_one_again_and_again_is_one_voice() -> None:
    level = Level()
    for value in (1.0, 3.0, 3.0, 3.0, 3.0):
        level.add("a", value, look=True)
    assert (level.moves, list(level.odd)) == (0, ["a"])


def test_one_look_that_was_held_up_is_no_move() -> None:
    level = Level()
    for value in (1.0, 1.0, 3.0, 1.0, 1.01):
        level.add("a", value, look=True)
    assert (level.moves, level.odd) == (0, {})


def test_failures_tell_nothing() -> None:
    level = Level()
    for value in (1.0, math.nan, math.nan, math.nan, 1.0):
        level.add("a", value, look=True)
    assert (level.moves, len(level.logs)) == (0, 5)
