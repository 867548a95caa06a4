"""Every search that comes with ridgeline keeps what a search must keep."""

from __future__ import annotations

import pytest

from ridgeline.core import UsageError
from ridgeline.tuning.search import Strategy, strategies, strategy
from ridgeline.tuning.search.bandit import Bandit
from ridgeline.tuning.search.guided import Guided
from ridgeline.tuning.search.plain import Exhaustive, Latin, Random
from ridgeline.tuning.search.testing import StrategyConformance, fake_space
from ridgeline.tuning.search.walking import Annealing, Evolutionary, Local
from ridgeline.tuning.space import Configurations


class TestFake(StrategyConformance):
    """The fake."""


class TestGuided(StrategyConformance):
    """The default."""

    def make(self, space: Configurations, seed: int) -> Strategy:
        return Guided(space, seed)


class TestExhaustive(StrategyConformance):
    """In order."""

    def make(self, space: Configurations, seed: int) -> Strategy:
        return Exhaustive(space, seed)


class TestRandom(StrategyConformance):
    """Drawn evenly."""

    def make(self, space: Configurations, seed: int) -> Strategy:
        return Random(space, seed)


class TestLatin(StrategyConformance):
    """Each value as often."""

    def make(self, space: Configurations, seed: int) -> Strategy:
        return Latin(space, seed)


class TestLocal(StrategyConformance):
    """Descent."""

    def make(self, space: Configurations, seed: int) -> Strategy:
        return Local(space, seed)


class TestAnnealing(StrategyConformance):
    """A walk."""

    def make(self, space: Configurations, seed: int) -> Strategy:
        return Annealing(space, seed)


class TestEvolutionary(StrategyConformance):
    """A population."""

    def make(self, space: Configurations, seed: int) -> Strategy:
        return Evolutionary(space, seed)


class TestBandit(StrategyConformance):
    """A choice among them."""

    def make(self, space: Configurations, seed: int) -> Strategy:
        return Bandit(space, seed)


def test_they_are_found_by_name() -> None:
    assert {"guided", "exhaustive", "random", "latin", "local", "annealing", "evolutionary", "bandit", "optuna"} <= set(strategies())
    assert isinstance(strategy("guided", fake_space(), 3), Guided)
    with pytest.raises(UsageError, match="did you mean 'guided'"):
        strategy("gided", fake_space())
