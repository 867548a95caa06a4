"""What a search is: it is asked for configurations and told what became of them, and never measures.

A search is an entry point of group `ridgeline.strategies`. What all of them share is here: none is proposed twice, what is asked for and not yet told
is remembered, several runs of a configuration count as their median, and a failure is a value of its own.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ridgeline.core import ModelFit, UsageError
from ridgeline.stats import spearman

from ..space import Configurations

__all__ = ["Strategy"]

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]
Array = NDArray[Any]
#: Draws of a number that was not asked for yet, before all that are left are listed.
_DRAWS = 64
#: Configurations of a space up to which those that are left are listed; larger ones are never exhausted.
_LISTED = 2_000_000
#: Configurations from which a rank correlation says something.
_LEAST_RANKED = 8


class Strategy:
    """Base of a search. Register the class in group `ridgeline.strategies`, named as `name`.

    Args:
        space: the valid configurations.
        seed: the same proposals for the same seed and the same answers.

    Attributes:
        name: such as `random`; takes_guess: whether it is made with a `guess` (see `transfer.Guess`).
        rows: the configurations that were told, (n, parameters), in the order of their first telling.
        values: the median of the runs of each, NaN of one that failed, (n,), in whatever unit is told.
        expected: number of a configuration → ln(value) that was expected of it when it was proposed; empty of a search that expects nothing.
    """

    name: str = ""
    takes_guess: bool = False

    def __init__(self, space: Configurations, seed: int = 0) -> None:
        if not space.count:
            raise UsageError("a space with a valid configuration", found="none", remedy="loosen a constraint")
        self.space, self.generator = space, np.random.default_rng(seed)
        self.rows: Rows = np.zeros((0, len(space.names)), np.int64)
        self.values: Floats = np.zeros(0)
        self.expected: dict[int, float] = {}
        self._place: dict[int, int] = {}
        self._runs: list[list[float]] = []
        #: Numbers that were asked for, told or not.
        self._asked: set[int] = set()
        self._left: list[int] | None = None

    @property
    def trust(self) -> float | None:
        """How much of its guess it believes, 0 to 1; null of a search that has none."""
        return None

    def fit(self) -> ModelFit | None:
        """How far off what it expected was, of configurations that ran; null where it expected nothing."""
        pairs = [(log, self.values[self._place[number]]) for number, log in self.expected.items() if number in self._place]
        expected, found = np.array([(log, np.log(value)) for log, value in pairs if not np.isnan(value)]).reshape(-1, 2).T
        if not len(found):
            return None
        order = spearman(expected.tolist(), found.tolist()) if len(found) >= _LEAST_RANKED else None
        return ModelFit(median_error=float(np.median(np.abs(expected - found))), rank_correlation=order, trials=len(found))

    @property
    def waiting(self) -> int:
        """Configurations that were asked for and not told."""
        return len(self._asked.difference(self._place))

    def ask(self, count: int = 1) -> Rows:
        """Up to so many configurations that were not asked for before, (≤ count, parameters); none when nothing is left."""
        found: list[int] = []
        if count > 0 and len(self._asked) < self.space.count:
            for number in self.space.numbers(self.propose(count)).tolist():
                if number >= 0 and number not in self._asked and len(found) < count:
                    found.append(number)
                    self._asked.add(number)
            while len(found) < count and len(self._asked) < self.space.count:
                found.append(self._fresh())
        return self.space.at(found)

    def tell(self, rows: Rows, values: Floats) -> None:
        """What became of configurations, asked for or not: one run each, NaN for one that failed; the same one may come again.

        Args:
            rows: (n, parameters); values: (n,), above 0.

        Raises:
            UsageError: a row that is no configuration of the space, or a value that is neither positive nor NaN.
        """
        values = np.asarray(values, np.float64)
        numbers = self.space.numbers(rows).tolist()
        if min(numbers, default=0) < 0:
            raise UsageError("configurations of the space", found=str(np.asarray(rows)[numbers.index(-1)].tolist()), remedy="tell what was asked for")
        if ((values <= 0) | np.isinf(values)).any():
            raise UsageError("values above 0, NaN for failures", found=str(values[(values <= 0) | np.isinf(values)][0]), remedy="tell times")
        fresh = [place for place, number in enumerate(numbers) if number not in self._place]
        for place, (number, value) in enumerate(zip(numbers, values.tolist(), strict=True)):
            self._take(number, value, np.asarray(rows)[place])
        self.told(self._places(numbers), len(fresh))

    def retell(self, values: Floats) -> None:
        """Other values of all that was told, as where something else is made small from now on.

        Args:
            values: of each of `rows`, (n,), above 0, NaN of failures.
        """
        self.values = np.array(values, np.float64)
        self._runs = [[value] for value in self.values.tolist()]
        self.retold()

    def _take(self, number: int, value: float, row: Rows) -> None:
        self._asked.add(number)
        if number not in self._place:
            self._place[number] = len(self._runs)
            self._runs.append([])
            self.rows = np.vstack((self.rows, row[None]))
            self.values = np.append(self.values, np.nan)
        runs = self._runs[self._place[number]]
        runs.append(value)
        # A configuration that failed once and ran once is one that fails.
        self.values[self._place[number]] = np.nan if np.isnan(runs).any() else float(np.median(runs))

    def _places(self, numbers: Iterable[int]) -> list[int]:
        return [self._place[number] for number in numbers]

    def propose(self, count: int) -> Rows:
        """What to try next, best first, (n, parameters); fewer or known ones are made up for by configurations drawn evenly."""
        raise NotImplementedError

    def told(self, places: list[int], fresh: int) -> None:
        """After new values: their places in `rows` and `values`, and how many of them are new."""

    def retold(self) -> None:
        """After other values of all that was told: what a search keeps of values beside `values` is worked out anew."""

    @property
    def best(self) -> int | None:
        """The place of the best configuration so far; null where none ran."""
        return None if np.isnan(self.values).all() else int(np.nanargmin(self.values))

    def _fresh(self) -> int:
        """The number of a configuration that was not asked for, drawn evenly."""
        count = self.space.count
        if self._left is None:
            for _ in range(_DRAWS):
                number = int(self.space.numbers(self.space.drawn(1, self.generator))[0])
                if number not in self._asked:
                    self._asked.add(number)
                    return number
            if count > _LISTED:
                raise UsageError(f"a space of at most {_LISTED:,} to be tried whole", found=f"{count:,}", remedy="ask for fewer")
            self._left = [number for number in self.generator.permutation(count).tolist() if number not in self._asked]
        while True:
            number = self._left.pop()
            if number not in self._asked:
                self._asked.add(number)
                return number
