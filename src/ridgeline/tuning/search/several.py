"""Several objectives with any search: each proposal makes another mixture of them small, so that proposals spread along the front.

Mixtures are augmented Tchebycheff sums, by which every point of a front can be reached, of logarithms between the best and the worst of the front so
far. Their weights go over an even lattice in random order. What a search was told is told again by the weights of the next proposal.

Source: J. Knowles, "ParEGO: A Hybrid Algorithm with On-Line Landscape Approximation for Expensive Multiobjective Optimization Problems", IEEE TEC
10(1), 2006, section III.
"""

from __future__ import annotations

import itertools

import numpy as np
from numpy.typing import NDArray

from ridgeline.core import ModelFit, UsageError

from ..front import non_dominated
from .base import Strategy

__all__ = ["Several", "lattice"]

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]
#: Steps of a weight from 0 to 1, by the number of objectives.
_STEPS = {2: 10, 3: 4}
#: What the sum of all objectives counts beside the largest, so that of two equal in that the better one is lower.
_SUM = 0.05
#: Least span of an objective in logarithms: less is noise.
_LEAST_SPAN = 1e-3
#: Spans of the front beyond its best from which all is as bad.
_MOST = 20.0


class Several:
    """A search over two or three objectives.

    Args:
        inner: the search that is asked, told nothing yet; objectives: how many; seed: of the weights.

    Attributes:
        values: of each of `inner.rows` the median of each objective, (n, objectives), NaN where one is not there.
    """

    def __init__(self, inner: Strategy, objectives: int, seed: int = 0) -> None:
        if objectives not in _STEPS:
            raise UsageError(f"{' or '.join(map(str, _STEPS))} objectives", found=str(objectives), remedy="name as many")
        self.inner = inner
        self.values: Floats = np.zeros((0, objectives))
        self._weights = lattice(objectives, _STEPS[objectives])
        self._generator = np.random.default_rng([seed, objectives])
        self._turns: list[int] = []
        self._now: Floats = np.full(objectives, 1.0 / objectives)
        self._runs: list[list[Floats]] = []
        self._place: dict[int, int] = {}

    def ask(self, count: int = 1) -> Rows:
        """Up to so many configurations that were not asked for before, each for another mixture; none when nothing is left."""
        found = []
        for _ in range(count):
            self._turn()
            row = self.inner.ask(1)
            if not len(row):
                break
            found.append(row)
        return np.vstack(found) if found else self.inner.space.at([])

    def tell(self, rows: Rows, values: Floats) -> None:
        """What became of configurations: of each all objectives of one run, (n, objectives), above 0; NaN in any for one that failed."""
        values = np.asarray(values, np.float64).reshape(len(rows), -1)
        for number, value in zip(self.inner.space.numbers(rows).tolist(), values, strict=True):
            if number not in self._place:
                self._place[number] = len(self._runs)
                self._runs.append([])
                self.values = np.vstack((self.values, value[None]))
            runs = self._runs[self._place[number]]
            runs.append(value)
            self.values[self._place[number]] = np.median(runs, axis=0)
        mixed = self.mixed()
        self.inner.tell(rows, mixed[[self._place[number] for number in self.inner.space.numbers(rows).tolist()]])

    def fit(self) -> ModelFit | None:
        """Nothing: what the search believed was of another mixture each time."""
        return None

    def mixed(self) -> Floats:
        """What is made small now of each of `inner.rows`, (n,), NaN where an objective is not there."""
        logs = np.log(self.values)
        whole = ~np.isnan(logs).any(axis=1)
        if not whole.any():
            return np.full(len(logs), np.nan)
        front = logs[non_dominated(logs)]
        best, worst = front.min(axis=0), front.max(axis=0)
        scaled = np.minimum((logs - best) / np.maximum(worst - best, _LEAST_SPAN), _MOST)
        weighed = self._now * scaled
        return np.asarray(np.exp(weighed.max(axis=1) + _SUM * weighed.sum(axis=1)))

    def _turn(self) -> None:
        """The weights of the next proposal."""
        if not self._turns:
            self._turns = self._generator.permutation(len(self._weights)).tolist()
        self._now = self._weights[self._turns.pop()]
        if len(self.values):
            self.inner.retell(self.mixed())


def lattice(objectives: int, steps: int) -> Floats:
    """All weights of so many even steps that add up to 1, (n, objectives).

    >>> lattice(2, 2).tolist()
    [[0.0, 1.0], [0.5, 0.5], [1.0, 0.0]]
    """
    found = [each for each in itertools.product(range(steps + 1), repeat=objectives) if sum(each) == steps]
    return np.array(found, np.float64) / steps
