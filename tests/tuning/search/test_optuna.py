"""Samplers of Optuna: what each search must keep, invalid proposals made valid, failures told as such, and a word where it is not there."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from ridgeline.core import BackendUnavailable, Space, UsageError
from ridgeline.tuning.search import Strategy, strategy
from ridgeline.tuning.search.testing import StrategyConformance, fake_space, fake_values
from ridgeline.tuning.space import Configurations, categorical, integer


def test_without_the_package_it_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(BackendUnavailable, match=r"ridgeline\[optuna\]"):
        strategy("optuna", fake_space())


class TestTpe(StrategyConformance):
    """The default sampler."""

    sampler = "tpe"

    @pytest.fixture(autouse=True)
    def _there(self) -> None:
        pytest.importorskip("optuna")

    def make(self, space: Configurations, seed: int) -> Strategy:
        return strategy("optuna", space, seed, sampler=self.sampler)


class TestRandomSampler(TestTpe):
    """By chance."""

    sampler = "random"


def told(search: Strategy, trials: int) -> Strategy:
    for _ in range(trials):
        rows = search.ask(1)
        search.tell(rows, fake_values(search.space, rows))
    return search


@pytest.mark.parametrize("sampler", ["cmaes", "gp", "qmc"])
def test_other_samplers(sampler: str) -> None:
    pytest.importorskip("optuna")
    pytest.importorskip({"cmaes": "cmaes", "gp": "torch", "qmc": "scipy"}[sampler])
    search = told(strategy("optuna", fake_space(), 2, sampler=sampler), 14)
    assert len(search.rows) == 14


def test_what_is_told_is_what_optuna_knows() -> None:
    """Valid ones with ln(value), failures as failed, what it did not ask for as well, and nothing of it twice."""
    optuna = pytest.importorskip("optuna")
    space = fake_space()
    search = strategy("optuna", space, 1)
    earlier = space.at(np.arange(3))
    search.tell(earlier, fake_values(space, earlier))
    told(search, 40)
    search.tell(search.rows[:1], np.array([99.0]))
    trials = search._study.get_trials(deepcopy=False)
    values = sorted(trial.value for trial in trials if trial.state is optuna.trial.TrialState.COMPLETE)
    ran = ~np.isnan(fake_values(space, search.rows))
    known = np.log(fake_values(space, search.rows[ran]))
    assert set(np.round(values, 9)) == set(np.round(known, 9))
    assert min(values) == pytest.approx(known.min())
    failed = [trial for trial in trials if trial.state is optuna.trial.TrialState.FAIL]
    assert len(failed) >= (~ran).sum()
    assert not [trial for trial in trials if trial.state is optuna.trial.TrialState.RUNNING]


def test_where_hardly_anything_is_valid_the_nearest_is_taken() -> None:
    """Of 10,000 points 19 are valid; its proposals are none of them."""
    pytest.importorskip("optuna")
    parameters = (*(integer(f"p{place}", 0, 9) for place in range(3)), categorical("q", tuple("abcdefghij")))
    space = Configurations(Space(parameters=parameters, constraints=("p0 == p1 == p2", "q == 'a' or (q == 'b' and p0 < 9)")))
    assert space.count == 19
    search = strategy("optuna", space, 0)
    seen: list[int] = []
    while len(rows := search.ask(1)):
        seen += space.numbers(rows).tolist()
        search.tell(rows, 1.0 + rows.sum(axis=1))
    assert sorted(seen) == list(range(19))


def test_it_learns() -> None:
    """After sixty of 168 it has what chance has after twice as many."""
    pytest.importorskip("optuna")
    best = np.nanmin(fake_values(fake_space(), fake_space().at(np.arange(168))))
    found = [float(np.nanmin(told(strategy("optuna", fake_space(), seed), 60).values)) for seed in range(5)]
    assert np.median(found) <= 1.05 * best


def test_its_verbosity_is_left_as_it_was() -> None:
    optuna = pytest.importorskip("optuna")
    before = optuna.logging.get_verbosity()
    told(strategy("optuna", fake_space(), 0), 3)
    assert optuna.logging.get_verbosity() == before


def test_another_sampler_is_refused() -> None:
    pytest.importorskip("optuna")
    with pytest.raises(UsageError, match="tpe, random"):
        strategy("optuna", fake_space(), sampler="grid")
    with pytest.raises(UsageError, match="use sampler"):
        strategy("optuna", fake_space(), samplers="tpe")
