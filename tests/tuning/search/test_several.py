"""Several objectives with any search: no proposal twice, the front is found, failures and objectives that are not there, other values all at once."""

from __future__ import annotations

import numpy as np
import pytest

from ridgeline.core import UsageError
from ridgeline.tuning.front import covered, non_dominated
from ridgeline.tuning.search import strategies, strategy
from ridgeline.tuning.search.several import Several, lattice
from ridgeline.tuning.search.surrogate import Surrogate, distances
from ridgeline.tuning.search.testing import fake_space, fake_values

SPACE = fake_space()
ROWS = SPACE.at(np.arange(SPACE.count))
TIMES = fake_values(SPACE, ROWS)


def memory_of(rows):
    """What is faster takes more: a front of its own."""
    configs = [SPACE.config(row) for row in rows]
    return np.array([1e6 * config["tile"] * (1 + 2 * config["pack"]) / config["unroll"] for config in configs])


BOTH = np.stack([TIMES, memory_of(ROWS)], axis=1)


def searched(name, count, seed=0, at_once=1, values=BOTH):
    search, seen = Several(strategy(name, SPACE, seed), 2, seed), []
    while len(seen) < count and len(rows := search.ask(at_once)):
        numbers = SPACE.numbers(rows)
        seen += numbers.tolist()
        search.tell(rows, values[numbers])
    return search, seen


@pytest.mark.parametrize("name", strategies())
def test_every_search_goes_over_all_and_its_front_is_exactly_what_nothing_beats(name):
    search, seen = searched(name, 1000, at_once=3)
    assert sorted(seen) == list(range(SPACE.count))
    assert len(search.ask(1)) == 0
    right = {int(number) for number in np.flatnonzero(non_dominated(BOTH))}
    found = {int(SPACE.numbers(search.inner.rows[place][None])[0]) for place in np.flatnonzero(non_dominated(search.values))}
    assert found == right
    # A configuration that failed is on no front.
    assert not np.isnan(BOTH[sorted(found)]).any()


def test_the_front_is_found_with_far_fewer_than_all():
    whole = BOTH[~np.isnan(BOTH).any(axis=1)]
    best, worst = whole.min(axis=0), whole.max(axis=0)
    full = covered(whole[non_dominated(whole)], best, worst)

    def missing(name):
        shares = []
        for seed in range(6):
            values = searched(name, 40, seed)[0].values
            shares.append(1.0 - covered(values[non_dominated(values)], best, worst) / full)
        return float(np.mean(shares))

    # Of 168 configurations, 40 were tried.
    guided = missing("guided")
    assert guided < 0.03
    assert guided < 0.25 * missing("random")


def test_what_learns_nothing_proposes_the_same_as_with_one_objective():
    for name in ("random", "exhaustive"):
        alone, seen = strategy(name, SPACE, 4), []
        for _ in range(30):
            rows = alone.ask(1)
            seen += SPACE.numbers(rows).tolist()
            alone.tell(rows, TIMES[SPACE.numbers(rows)])
        assert searched(name, 30, 4)[1] == seen


def test_an_objective_that_is_not_there_is_a_failure_and_several_runs_are_their_median():
    search = Several(strategy("guided", SPACE), 2)
    rows = ROWS[20:24]
    search.tell(rows, np.array([[1.0, 2.0], [2.0, np.nan], [2.0, 1.0], [3.0, 3.0]]))
    assert np.isnan(search.mixed()).tolist() == [False, True, False, False]
    search.tell(rows[[0, 0]], np.array([[9.0, 2.0], [3.0, 2.0]]))
    assert search.values[0].tolist() == [3.0, 2.0]
    assert len(search.ask(2)) == 2


def test_where_everything_fails_proposals_go_on():
    search, seen = searched("guided", 30, values=np.full_like(BOTH, np.nan))
    assert len(set(seen)) == len(seen) == 30
    assert np.isnan(search.mixed()).all()


def test_an_objective_that_never_changes_costs_nothing():
    same = np.stack([TIMES, np.full(len(TIMES), 7.0)], axis=1)
    search, _ = searched("guided", 40, values=same)
    assert np.nanmin(search.values[:, 0]) == pytest.approx(np.nanmin(TIMES))


@pytest.mark.parametrize("objectives", [1, 4])
def test_one_objective_is_no_matter_for_it_and_four_are_too_many(objectives):
    with pytest.raises(UsageError, match="2 or 3 objectives"):
        Several(strategy("random", SPACE), objectives)


def test_weights_add_up_to_one():
    assert lattice(3, 4).sum(axis=1) == pytest.approx(np.ones(15))
    assert len(lattice(2, 10)) == 11


def test_other_values_of_what_a_process_holds_are_as_if_it_had_been_told_them():
    generator = np.random.default_rng(0)
    rows, target = ROWS[generator.permutation(len(ROWS))[:40]], generator.standard_normal((2, 40))
    one, other = Surrogate(distances(SPACE), ROWS), Surrogate(distances(SPACE), ROWS)
    one.take(rows, target[0])
    one.retarget(target[1])
    other.take(rows, target[1])
    for found, right in zip(one.believed(), other.believed(), strict=True):
        assert found == pytest.approx(right, abs=1e-4)
    # What comes later goes on from there.
    one.add(ROWS[50], 0.3)
    other.add(ROWS[50], 0.3)
    assert one.believed()[0] == pytest.approx(other.believed()[0], abs=1e-4)


@pytest.mark.parametrize("name", strategies())
def test_a_search_that_is_told_other_values_goes_for_those(name):
    """The values of another objective, all at once: its best is that of these."""
    search = strategy(name, SPACE, 1)
    for _ in range(30):
        rows = search.ask(1)
        search.tell(rows, TIMES[SPACE.numbers(rows)])
    memory = memory_of(search.rows)
    search.retell(memory)
    assert search.best == int(np.argmin(memory))
    rows = search.ask(5)
    search.tell(rows, memory_of(rows))
    assert len(search.rows) == 35
