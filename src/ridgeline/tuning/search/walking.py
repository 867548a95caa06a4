"""Searches that go from a configuration to one beside it: descent with fresh starts, annealing, and a population that is crossed and changed."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ridgeline.core import UsageError

from ..space import Configurations
from .base import Strategy

__all__ = ["Annealing", "Evolutionary", "Local"]

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]
#: Attempts at a child or step that is valid and new, before one is drawn evenly.
_ATTEMPTS = 20
_POPULATION, _TOURNAMENT, _MUTATION = 20, 3, 0.15
#: Temperatures in ln(value): with half of the value more a step is likely at first, with a hundredth at the end; and trials between both.
_HOT, _COLD, _COOLING, _MOST_COOLING = 0.5, 0.01, 200, 10_000_000


class Local(Strategy):
    """Descent: what differs in one parameter from the best of this start, first the next values, then any; a fresh start where none is better."""

    name = "local"

    def __init__(self, space: Configurations, seed: int = 0) -> None:
        super().__init__(space, seed)
        self._at: int | None = None
        self._beside: list[int] = []

    def propose(self, count: int) -> Rows:
        """What lies beside the best of this start and was not tried."""
        found: list[int] = []
        while self._beside and len(found) < count:
            number = self._beside.pop()
            if number not in self._asked:
                found.append(number)
        if not found and not self.waiting:
            self._at = None  # a fresh start: the first of what is told next
        return self.space.at(found)

    def told(self, places: list[int], fresh: int) -> None:
        """A better one becomes what is looked around."""
        for place in places:
            if np.isnan(self.values[place]):
                continue
            if self._at is None or self.values[place] < self.values[self._at]:
                self._at = place
                self._beside = self._around(self.rows[place])

    def _around(self, row: Rows) -> list[int]:
        """Numbers of neighbours, the next values last, so that they are taken first."""
        near = self.space.numbers(self.space.neighbours(row, "adjacent")).tolist()
        far = [number for number in self.space.numbers(self.space.neighbours(row)).tolist() if number not in near]
        return [*self.generator.permutation(far).astype(int).tolist(), *self.generator.permutation(near).astype(int).tolist()]


class Annealing(Strategy):
    """A walk that goes up less and less often. Source: S. Kirkpatrick et al., "Optimization by Simulated Annealing", Science 220 (1983)."""

    name = "annealing"

    def __init__(self, space: Configurations, seed: int = 0, cooling: int = _COOLING) -> None:
        super().__init__(space, seed)
        if not 1 <= cooling <= _MOST_COOLING:
            raise UsageError(f"1 to {_MOST_COOLING:,} trials as cooling of annealing", found=str(cooling)[:40], remedy="give another number")
        self._at: int | None = None
        self._cooling = cooling

    def propose(self, count: int) -> Rows:
        """What lies beside where the walk stands."""
        if self._at is None:
            return self.space.at([])
        beside = self.space.numbers(self.space.neighbours(self.rows[self._at])).tolist()
        fresh = [number for number in beside if number not in self._asked]
        return self.space.at(self.generator.permutation(fresh).astype(int).tolist()[:count])

    def told(self, places: list[int], fresh: int) -> None:
        """It goes to what is better, and to what is worse by chance."""
        part = min(1.0, len(self.rows) / self._cooling)
        temperature = _HOT * (_COLD / _HOT) ** part
        for place in places:
            if np.isnan(self.values[place]):
                continue
            if self._at is None:
                self._at = place
                continue
            worse = float(np.log(self.values[place] / self.values[self._at]))
            if worse <= 0 or self.generator.random() < np.exp(-worse / temperature):
                self._at = place


class Evolutionary(Strategy):
    """The best of a tournament are crossed, value by value, and changed now and then.

    Source: A. E. Eiben, J. E. Smith, "Introduction to Evolutionary Computing", Springer 2015, chapters 3 to 5: steady state, uniform crossover.
    """

    name = "evolutionary"

    def propose(self, count: int) -> Rows:
        """Children of the best."""
        ran = np.flatnonzero(~np.isnan(self.values))
        if len(ran) < _POPULATION // 2:
            return self.space.at([])
        best = ran[np.argsort(self.values[ran], kind="stable")[:_POPULATION]]
        return np.array([self._child(best) for _ in range(count)], np.int64).reshape(-1, len(self.space.names))

    def _child(self, population: Rows) -> Rows:
        for _ in range(_ATTEMPTS):
            mother, father = (self.rows[self._winner(population)] for _ in range(2))
            child = np.where(self.generator.random(len(mother)) < 0.5, mother, father)
            changed = self.generator.random(len(child)) < max(_MUTATION, 1.0 / len(child))
            child = np.where(changed, self.generator.integers(self.space.sizes), child)
            number = int(self.space.numbers(child[None])[0])
            if number >= 0 and number not in self._asked:
                return np.asarray(child, np.int64)
        beside = self.space.neighbours(self.rows[self._winner(population)])
        numbers = self.space.numbers(beside).tolist()
        fresh = beside[[number not in self._asked for number in numbers]]
        return np.asarray(fresh[int(self.generator.integers(len(fresh)))] if len(fresh) else self.rows[population[0]], np.int64)

    def _winner(self, population: Rows) -> int:
        # The population is sorted: the least of a few ranks is the best of a tournament.
        return int(population[int(self.generator.integers(len(population), size=_TOURNAMENT).min())])
