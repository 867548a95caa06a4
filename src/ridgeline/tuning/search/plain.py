"""Searches that learn nothing from what they are told: every configuration in turn, evenly drawn ones, and each value as often."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..space import Configurations
from .base import Strategy

__all__ = ["Exhaustive", "Latin", "Random"]

Rows = NDArray[np.int64]
#: Drawn configurations of which the one that fits best is taken.
_CANDIDATES = 64
#: Drawn configurations by which it is known how common each value is.
_SAMPLE = 2000


class Exhaustive(Strategy):
    """Every configuration in the order of the space."""

    name = "exhaustive"
    _next = 0

    def propose(self, count: int) -> Rows:
        """The next ones in the order of the space."""
        found: list[int] = []
        while len(found) < count and self._next < self.space.count:
            if self._next not in self._asked:
                found.append(self._next)
            self._next += 1
        return self.space.at(found)


class Random(Strategy):
    """Configurations drawn evenly, none twice."""

    name = "random"

    def propose(self, count: int) -> Rows:
        """None of its own: what is missing is drawn evenly."""
        return self.space.at([])


class Latin(Strategy):
    """Each value as often as among all valid configurations: a Latin hypercube where constraints leave none whole.

    Source: M. D. McKay et al., "A Comparison of Three Methods for Selecting Values of Input Variables", Technometrics 21 (1979), whose strata are
    here the values; of drawn configurations the one with the values that are furthest behind is taken.
    """

    name = "latin"

    def __init__(self, space: Configurations, seed: int = 0) -> None:
        super().__init__(space, seed)
        sample = space.drawn(_SAMPLE, self.generator, different=False)
        self._shares = [np.bincount(sample[:, place], minlength=size) / len(sample) for place, size in enumerate(space.sizes.tolist())]
        self._taken = [np.zeros(size) for size in space.sizes.tolist()]

    def propose(self, count: int) -> Rows:
        """Of drawn ones those whose values are furthest behind."""
        found = []
        for _ in range(count):
            drawn = self.space.drawn(_CANDIDATES, self.generator)
            numbers = self.space.numbers(drawn).tolist()
            drawn = drawn[[number not in self._asked for number in numbers]]
            if not len(drawn):
                break
            total = float(self._taken[0].sum()) + 1.0
            behind = np.zeros(len(drawn))
            for place, (share, taken) in enumerate(zip(self._shares, self._taken, strict=True)):
                lack = share * total - taken
                behind += (lack / np.sqrt(np.maximum(share, 1.0 / _SAMPLE)))[drawn[:, place]]
            row = drawn[int(np.argmax(behind))]
            for place, value in enumerate(row.tolist()):
                self._taken[place][value] += 1.0
            found.append(row)
        return np.array(found, np.int64).reshape(-1, len(self.space.names))
