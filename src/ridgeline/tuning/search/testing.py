"""What every search must keep, as a class of tests for those who bring one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from ridgeline.core import Parameter, Space, UsageError

from ..space import Configurations, categorical, integer, power_of_two
from .base import Strategy

__all__ = ["FakeStrategy", "StrategyConformance", "fake_space", "fake_values"]

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]


class FakeStrategy(Strategy):
    """A search that always proposes the same."""

    name = "fake"

    def propose(self, count: int) -> Rows:
        """The first configuration, so many times."""
        return self.space.at([0] * count)


def fake_space() -> Configurations:
    """Numbers, names, a flag, and a parameter that is there only with the flag: 168 configurations."""
    parameters = (
        power_of_two("tile", 4, 64), integer("unroll", 1, 4), categorical("order", ("ij", "ji", "blocked")), categorical("pack", (False, True)),
        integer("pad", 0, 2, when="pack"),
    )  # fmt: skip
    return Configurations(Space(parameters=parameters, constraints=("tile * unroll <= 128", "unroll != 3")))


def fake_values(space: Configurations, rows: Rows) -> Floats:
    """Seconds of each, NaN for a part that fails; the best is unlike its neighbours in one name."""
    found = []
    for row in rows:
        config = space.config(row)
        value = 1.0 + abs(np.log2(config["tile"]) - 4) + 0.2 * config["unroll"] + {"ij": 0.5, "ji": 2.0, "blocked": 0.0}[config["order"]]
        value += 0.3 * config.get("pad", 4)
        found.append(np.nan if config["tile"] == 4 and config["pack"] else value)
    return np.array(found)


class StrategyConformance:
    """Override `make`."""

    def make(self, space: Configurations, seed: int) -> Strategy:
        """The search under test."""
        return FakeStrategy(space, seed)

    def test_every_proposal_is_valid_and_none_comes_twice(self) -> None:
        """Until nothing is left, and then there is none."""
        space = fake_space()
        search, seen = self.make(space, 1), list[int]()
        while len(rows := search.ask(5)):
            seen += space.numbers(rows).tolist()
            search.tell(rows, fake_values(space, rows))
        assert sorted(seen) == list(range(space.count))
        assert len(search.ask(1)) == 0
        assert search.best is not None
        assert search.values[search.best] == np.nanmin(fake_values(space, space.at(np.arange(space.count))))

    def test_the_same_seed_gives_the_same_search(self) -> None:
        """And what it proposes depends on nothing else."""
        space = fake_space()
        assert self._path(space, self.make(space, 7), 30) == self._path(space, self.make(space, 7), 30)

    def test_answers_may_be_late(self) -> None:
        """Several workers: proposals are asked for before the last are told, and told in another order."""
        space = fake_space()
        search, waiting, seen = self.make(space, 3), list[Rows](), list[int]()
        for _ in range(40):
            waiting.append(search.ask(1)[0])
            if len(waiting) == 4:
                row = waiting.pop(int(len(seen) % 3))
                search.tell(row[None], fake_values(space, row[None]))
                seen += space.numbers(row[None]).tolist()
        assert len(set(seen)) == len(seen)
        assert search.waiting == len(waiting)

    def test_failures_alone_do_not_stop_it(self) -> None:
        """Nothing ever runs."""
        space = fake_space()
        search = self.make(space, 0)
        for _ in range(40):
            rows = search.ask(1)
            assert len(rows) == 1
            search.tell(rows, np.array([np.nan]))
        assert search.best is None

    def test_more_runs_of_the_same_are_one_configuration(self) -> None:
        """Its value is their median, and a failed run makes it one that fails."""
        space = fake_space()
        search = self.make(space, 0)
        rows = search.ask(12)
        search.tell(rows, np.arange(1.0, 13.0))
        search.tell(rows[:1].repeat(2, axis=0), np.array([20.0, 30.0]))
        assert len(search.rows) == 12
        assert search.values[0] == 20.0
        search.tell(rows[1:2], np.array([np.nan]))
        assert np.isnan(search.values[1])
        assert len(search.ask(1)) == 1

    def test_what_was_not_asked_may_be_told(self) -> None:
        """Rows of an earlier search; they are not proposed again."""
        space = fake_space()
        search, known = self.make(space, 0), space.at(np.arange(100))
        search.tell(known, fake_values(space, known))
        assert min(space.numbers(search.ask(20)).tolist()) >= 100

    @pytest.mark.parametrize("value", [0.0, -1.0, np.inf])
    def test_values_that_are_no_times_are_refused(self, value: float) -> None:
        """Nothing of them is kept."""
        space = fake_space()
        search = self.make(space, 0)
        rows = search.ask(2)
        with pytest.raises(UsageError, match="above 0"):
            search.tell(rows, np.array([1.0, value]))
        assert len(search.rows) == 0

    @pytest.mark.parametrize("values", [(3,), (True,), ("only",), (False, True), ("a", "b")])
    def test_tiny_spaces(self, values: tuple[Any, ...]) -> None:
        """One point, one flag, one name."""
        space = Configurations(Space(parameters=(Parameter(name="p", values=values),)))
        search = self.make(space, 0)
        assert len(search.ask(5)) == len(values)
        search.tell(space.at(np.arange(len(values))), np.arange(1.0, 1.0 + len(values)))
        assert search.best == 0
        assert len(search.ask(5)) == 0

    def test_an_empty_space_is_refused(self) -> None:
        """In words."""
        with pytest.raises(UsageError, match="a valid configuration"):
            self.make(Configurations(Space(parameters=(integer("p", 1, 3),), constraints=("p > 5",))), 0)

    def test_a_space_that_cannot_be_listed(self) -> None:
        """10^12 configurations."""
        space = Configurations(Space(parameters=tuple(integer(f"p{place}", 0, 9) for place in range(12))))
        search = self.make(space, 0)
        for _ in range(20):
            rows = search.ask(1)
            search.tell(rows, 1.0 + rows.sum(axis=1))
        assert len(search.rows) == 20

    @staticmethod
    def _path(space: Configurations, search: Strategy, count: int) -> list[int]:
        found = list[int]()
        for _ in range(count):
            rows = search.ask(1)
            search.tell(rows, fake_values(space, rows))
            found += space.numbers(rows).tolist()
        return found
