"""Finals: the right one wins noisy runs, with fewer of them than a fixed number each takes, and what cannot be told is not said."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest

from ridgeline.core import UsageError
from ridgeline.tuning.belief import residuals
from ridgeline.tuning.finals import Finals, Standing

Draw = Callable[[int, int], float]


def raced(tried: Sequence[Sequence[float]], draw: Draw, **options: object) -> Standing:
    """The finals of these, with `draw(configuration, run of the device)` as the runs."""
    finals, done = Finals(tried, **options), 0  # type: ignore[arg-type]
    while asked := finals.ask():
        values = []
        for each in asked:
            values.append(draw(each, done))
            done += 1
        finals.tell(asked, values)
    return finals.standing()


def clock(generator: np.random.Generator) -> float:
    """What a GPU's clock does to a run: fast for a quarter of them, and one in thirty as long again."""
    factor = 0.93 if generator.random() < 0.25 else 1.0
    factor *= 2.0 if generator.random() < 1 / 32 else 1.0
    return factor * float(np.exp(0.002 * generator.standard_normal()))


@pytest.mark.parametrize("throttled", [1.0, 1.3])
def test_the_winner_of_noisy_runs_is_right_with_two_fifths_of_seven_runs_each(throttled: float) -> None:
    regrets, shares = [], []
    for seed in range(60):
        generator = np.random.default_rng(seed)
        truth = np.sort(1e-3 * np.exp(0.4 * np.abs(generator.standard_normal(150))))
        found = raced(
            [[each * clock(generator)] for each in truth],
            lambda number, run, truth=truth, generator=generator: truth[number] * clock(generator) * (throttled if run > 40 else 1.0),  # type: ignore[misc]
            seed=seed,
        )
        regrets.append(truth[found.best] / truth[0] - 1.0)
        shares.append((150 + found.runs) / (7 * 150))
    assert np.quantile(regrets, 0.95) <= 0.01
    assert max(shares) <= 0.4


def test_without_noise_the_lowest_wins_in_five_rounds() -> None:
    found = raced([[1.0 + 0.1 * place] for place in range(40)], lambda number, run: 1.0 + 0.1 * number)
    assert (found.verdict, found.best, found.median, found.ties) == ("won", 0, 1.0, ())
    assert found.probability_best[0] > 0.99
    assert found.runs <= 40


def test_two_within_the_indifference_are_a_tie() -> None:
    generator = np.random.default_rng(0)
    truth = [1.0, 1.001, *(1.5 + 0.05 * place for place in range(40))]
    found = raced([[each] for each in truth], lambda number, run: truth[number] * float(np.exp(0.004 * generator.standard_normal())), most_runs=400)
    assert found.verdict == "tie"
    assert {found.best, *found.ties} == {0, 1}
    assert found.probability_better <= 0.025


def test_too_few_runs_are_said_to_be() -> None:
    generator = np.random.default_rng(1)
    found = raced([[1.0]] * 30, lambda number, run: float(np.exp(0.2 * generator.standard_normal())), most_runs=12)
    assert (found.verdict, found.runs) == ("open", 12)
    assert found.low <= found.median <= found.high


def test_the_lucky_one_of_the_search_does_not_win() -> None:
    """A best picked from one lucky sample: what is lowest in the search takes a third longer ever after."""
    found = raced([[0.7], *([1.0 + 0.02 * place] for place in range(30))], lambda number, run: 1.3 if number == 0 else 0.98 + 0.02 * number)
    assert (found.best, found.verdict) == (1, "won")


def test_what_fails_in_the_finals_is_out() -> None:
    found = raced([[0.5], *([1.0 + 0.05 * place] for place in range(20))], lambda number, run: float("nan") if number == 0 else 0.95 + 0.05 * number)
    assert (found.best, found.probability_best[0]) == (1, 0.0)


@pytest.mark.parametrize("tried", [[], [[]], [[float("nan")], []]])
def test_nothing_that_ran_is_no_best(tried: list[list[float]]) -> None:
    finals = Finals(tried)
    assert finals.ask() == []
    assert (finals.standing().verdict, finals.standing().best) == ("none", -1)


def test_one_configuration_is_run_until_its_median_is_known() -> None:
    found = raced([[2.0]], lambda number, run: 2.0, most_runs=20)
    assert (found.verdict, found.best, found.median, found.probability_best.tolist()) == ("won", 0, 2.0, [1.0])


def test_rounds_are_in_random_order_and_the_same_for_the_same_seed() -> None:
    tried = [[1.0 + 0.001 * place] for place in range(30)]
    first, again, other = (Finals(tried, seed=seed).ask() for seed in (3, 3, 4))
    assert first == again != other
    assert sorted(first) != first


@pytest.mark.parametrize("wrong", [{"confidence": 1.0}, {"confidence": 0.0}, {"indifference": 0.0}, {"indifference": 1.0}])
def test_numbers_out_of_range_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(UsageError, match="a confidence in"):
        Finals([[1.0]], **wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("count", [3, 4, 5, 8])
def test_residuals_are_against_the_others(count: int) -> None:
    runs = np.random.default_rng(count).standard_normal(count)
    expected = [each - np.median(np.delete(np.sort(runs), place)) for place, each in enumerate(np.sort(runs))]
    assert residuals([runs, runs[:2]]) == pytest.approx(expected)
