"""Whether a device is as fast as it was, by a configuration that is run again and again."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ridgeline.tuning.levels import Level


def told(factors: dict[int, float], count: int = 96, every: int = 12, noise: float = 0.0) -> Level:
    """Trials of which each `every`-th looks at the first, again until nothing is odd; from each number on the device is slower by its factor."""
    generator, level = np.random.default_rng(0), Level()
    for number in range(count):
        slow = math.prod(factor for since, factor in factors.items() if number >= since)
        look = number % every == every - 1 or bool(level.odd)
        seconds = 1.0 if look or number == 0 else 1.0 + number % 7
        level.add("first" if look or number == 0 else f"c{number}", seconds * slow * math.exp(noise * generator.standard_normal()), look=look)
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


def test_one_look_that_was_held_up_is_no_move() -> None:
    level = Level()
    for value in (1.0, 1.0, 3.0, 1.0, 1.01):
        level.add("a", value, look=True)
    assert (level.moves, level.odd) == (0, [])


def test_failures_tell_nothing() -> None:
    level = Level()
    for value in (1.0, math.nan, math.nan, math.nan, 1.0):
        level.add("a", value, look=True)
    assert (level.moves, len(level.logs)) == (0, 5)
