"""The default search on spaces of which everything is known."""

from __future__ import annotations

import numpy as np
import pytest

from ridgeline.core import Space
from ridgeline.tuning.search.guided import Guided
from ridgeline.tuning.search.plain import Random
from ridgeline.tuning.search.testing import fake_space, fake_values
from ridgeline.tuning.search.transfer import recorded_guess
from ridgeline.tuning.space import Configurations, categorical, integer


def large() -> Configurations:
    parameters = (*(integer(f"n{place}", 1, 8) for place in range(4)), categorical("how", tuple("abcde")))
    return Configurations(Space(parameters=parameters, constraints=("n0 * n1 <= 40",)))


def seconds(space: Configurations, rows: np.ndarray) -> np.ndarray:
    """A valley along two numbers together, and one name that is much better than the others."""
    numbers = rows[:, :4] + 1.0
    off = np.abs(numbers[:, 0] - 4) + np.abs(numbers[:, 1] * numbers[:, 2] - 12) / 4 + 0.3 * np.abs(numbers[:, 3] - 6)
    return 1e-3 * np.exp(0.3 * off) * np.array([3.0, 2.0, 1.0, 2.5, 4.0])[rows[:, 4]]


def reached(search: Guided | Random, trials: int) -> list[float]:
    """The best after each trial ÷ the best of all."""
    space, found = search.space, []
    best = seconds(space, space.at(np.arange(space.count))).min()
    for _ in range(trials):
        rows = search.ask(1)
        search.tell(rows, seconds(space, rows))
        assert search.best is not None
        found.append(float(search.values[search.best] / best))
    return found


def test_it_finds_the_best_of_fifteen_thousand_within_sixty() -> None:
    found = [reached(Guided(large(), seed), 60)[-1] for seed in range(5)]
    assert np.median(found) < 1.02
    assert np.median([reached(Random(large(), seed), 60)[-1] for seed in range(5)]) > 1.1


def test_a_recording_of_another_device_is_a_start() -> None:
    """The best of it is tried first, and soon the best of all is found, though everything takes 1.7 times as long and the best lies elsewhere."""
    space = large()
    rows = space.drawn(2000, np.random.default_rng(0))
    guess = recorded_guess(space, [(rows, 1.7 * seconds(space, rows) * (1.0 + 0.05 * rows[:, 3]))])
    found = reached(Guided(space, 1, guess), 12)
    assert found[0] < 1.3
    assert found[-1] < 1.05


def test_a_recording_that_misleads_is_dropped() -> None:
    """What was best elsewhere is worst here: after fifty trials no worse than without it."""
    space = large()
    rows = space.drawn(2000, np.random.default_rng(0))
    guess = recorded_guess(space, [(rows, 1.0 / seconds(space, rows))])
    with_it = [reached(Guided(space, seed, guess), 50)[-1] for seed in range(5)]
    without = [reached(Guided(space, seed), 50)[-1] for seed in range(5)]
    assert np.median(with_it) < max(1.05, 1.05 * float(np.median(without)))


def test_after_a_guess_that_misled_the_search_begins_as_without_it() -> None:
    """What an upside-down guess has led to lies all in the worst corner, where nothing is learned about the rest."""
    space = large()
    rows = space.drawn(2000, np.random.default_rng(0))
    plain = Guided(space, 1)
    start = set(space.numbers(plain.ask(8)).tolist())
    search = Guided(space, 1, recorded_guess(space, [(rows, 1.0 / seconds(space, rows))]))
    reached(search, 40)
    assert start <= set(space.numbers(search.rows).tolist())
    faithful = Guided(space, 1, recorded_guess(space, [(rows, seconds(space, rows))]))
    reached(faithful, 40)
    assert not start <= set(space.numbers(faithful.rows).tolist())


def test_failures_of_a_recording_are_bad_there() -> None:
    space = fake_space()
    rows = space.at(np.arange(space.count))
    values = fake_values(space, rows)
    guessed = recorded_guess(space, [(rows, values)])(rows)
    assert guessed[np.isnan(values)].min() > np.median(guessed)
    assert np.argmin(guessed) == np.nanargmin(values)


def test_what_was_not_recorded_is_interpolated() -> None:
    space = large()
    rows = space.drawn(1500, np.random.default_rng(1))
    other = space.drawn(300, np.random.default_rng(2))
    guessed = recorded_guess(space, [(rows, seconds(space, rows))])(other)
    assert np.corrcoef(guessed, np.log(seconds(space, other)))[0, 1] > 0.9


@pytest.mark.parametrize("batch", [1, 4, 16])
def test_batches_hold_what_differs(batch: int) -> None:
    """Configurations that are asked for at once lie apart, and the best is found all the same."""
    space = large()
    search = Guided(space, 0)
    while len(search.rows) < 96:
        rows = search.ask(batch)
        assert len(np.unique(rows, axis=0)) == batch
        search.tell(rows, seconds(space, rows))
    assert np.nanmin(search.values) < 1.1 * seconds(space, space.at(np.arange(space.count))).min()


def test_what_it_believed_is_held_against_what_is_found() -> None:
    """Of configurations that it had not seen; the start is spread, and nothing is believed of it."""
    space = large()
    search = Guided(space, 3)
    assert search.fit() is None
    believed: dict[int, float] = {}
    for _ in range(60):
        rows = search.ask(1)
        believed.update(search.expected)
        search.tell(rows, seconds(space, rows))
    fit = search.fit()
    assert fit is not None
    assert fit.trials == len(search.expected) == 52
    assert search.expected == believed, "never changed afterwards"
    found = np.log(seconds(space, space.at(list(believed))))
    assert fit.median_error == pytest.approx(float(np.median(np.abs(found - np.array(list(believed.values()))))))
    assert fit.median_error < 0.3
    assert fit.rank_correlation is not None
    assert fit.rank_correlation > 0.3


def test_what_it_believes_of_a_guess_is_in_the_unit_of_what_is_told() -> None:
    """A recording that is a thousand times as slow and right in all else: nothing is off after the first few."""
    space = large()
    rows = space.at(np.arange(space.count))
    search = Guided(space, 0, recorded_guess(space, [(rows, 1000.0 * seconds(space, rows))]))
    reached(search, 24)
    fit = search.fit()
    assert fit is not None
    assert fit.median_error < 0.05


def test_failures_are_held_against_nothing_and_a_search_without_a_model_has_none() -> None:
    space = large()
    search = Guided(space, 0)
    for number in range(30):
        rows = search.ask(1)
        search.tell(rows, seconds(space, rows) if number < 12 else np.array([np.nan]))
    fit = search.fit()
    assert fit is not None
    assert (fit.trials, fit.rank_correlation) == (4, None)
    chance = Random(space, 0)
    reached(chance, 5)
    assert chance.fit() is None
