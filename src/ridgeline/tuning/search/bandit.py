"""A choice among searches: each proposal is left to the one that found better configurations lately, or that was asked least.

Source: A. Fialho et al., "Analyzing Bandit-based Adaptive Operator Selection Mechanisms", Annals of Mathematics and AI 60 (2010): the area under the
curve of successes in a window, and an upper bound of confidence; J. Ansel et al., "OpenTuner", PACT 2014, for searches as its arms.
"""

from __future__ import annotations

from collections import deque

import numpy as np
from numpy.typing import NDArray

from ..space import Configurations
from .base import Strategy
from .guided import Guided
from .plain import Random
from .transfer import Guess
from .walking import Annealing, Evolutionary, Local

__all__ = ["Bandit"]

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]
_WINDOW, _EXPLORE = 100, 0.05


class Bandit(Strategy):
    """The guided search, descent, annealing, evolution and chance take turns by success.

    Args:
        guess: for the guided one.
    """

    name = "bandit"
    takes_guess = True

    def __init__(self, space: Configurations, seed: int = 0, guess: Guess | None = None) -> None:
        super().__init__(space, seed)
        others = (Local, Evolutionary, Annealing, Random)
        self._arms: tuple[Strategy, ...] = (Guided(space, seed, guess), *(kind(space, seed + place) for place, kind in enumerate(others, 1)))
        self.expected = self._arms[0].expected
        #: (arm, whether its proposal was better than all before), the latest last.
        self._window: deque[tuple[int, bool]] = deque(maxlen=_WINDOW)
        self._whose: dict[int, int] = {}

    @property
    def trust(self) -> float | None:
        """Of the guided one."""
        return self._arms[0].trust

    def propose(self, count: int) -> Rows:
        """Each from the search whose turn it is."""
        found: list[Rows] = []
        for _ in range(count):
            arm = self._choice()
            row = self._arms[arm].ask(1)
            if len(row):
                self._whose.setdefault(int(self.space.numbers(row)[0]), arm)
                found.append(row)
        return np.vstack(found) if found else self.space.at([])

    def tell(self, rows: Rows, values: Floats) -> None:
        """Every search is told, and the one that proposed gets the credit."""
        for row, value in zip(rows, np.asarray(values, np.float64).tolist(), strict=True):
            number = int(self.space.numbers(row[None])[0])
            before = np.inf if self.best is None else float(self.values[self.best])
            if number in self._whose:
                self._window.append((self._whose.pop(number), value < before))
        super().tell(rows, values)
        for arm in self._arms:
            arm.tell(rows, values)

    def retell(self, values: Floats) -> None:
        """Every search is told; all of them hold the same."""
        super().retell(values)
        for arm in self._arms:
            arm.retell(values)

    def _choice(self) -> int:
        uses = np.bincount([arm for arm, _ in self._window] + list(self._whose.values()), minlength=len(self._arms))
        if (uses == 0).any():
            return int(np.argmin(uses))
        return int(np.argmax([self._area(arm) + _EXPLORE * np.sqrt(2 * np.log(uses.sum()) / uses[arm]) for arm in range(len(self._arms))]))

    def _area(self, arm: int) -> float:
        """Under the curve of successes of an arm, 0 to 1: late ones count more."""
        own = [better for each, better in self._window if each == arm]
        weights = np.arange(1, len(own) + 1)
        return float(weights @ np.array(own, float) / weights.sum()) if own else 0.0
