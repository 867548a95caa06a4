"""The process against the formulas of its source, written out."""

from __future__ import annotations

import numpy as np
import pytest

from ridgeline.core import Space
from ridgeline.tuning.search.parzen import parzen_score
from ridgeline.tuning.search.surrogate import Surrogate, distances
from ridgeline.tuning.search.testing import fake_space, fake_values
from ridgeline.tuning.space import Configurations, categorical, integer


def test_distances_by_hand() -> None:
    """Numbers by rank, names and flags equal or not, what is not there apart from everything."""
    space = Configurations(Space(parameters=(integer("n", 1, 9, 4), categorical("how", ("a", "b")), integer("pad", 1, 3, when="how == 'a'"))))
    number, name, pad = distances(space)
    assert number[0]
    assert number[1].tolist() == [[0, 0.5, 1], [0.5, 0, 0.5], [1, 0.5, 0]]
    assert not name[0]
    assert name[1].tolist() == [[0, 1], [1, 0]]
    assert pad[1].tolist() == [[0, 0.5, 1, 1], [0.5, 0, 0.5, 1], [1, 0.5, 0, 1], [1, 1, 1, 0]]


def held(count: int) -> tuple[Surrogate, np.ndarray, np.ndarray, np.ndarray]:
    space = fake_space()
    everything = space.at(np.arange(space.count))
    rows = everything[:: space.count // count][:count]
    target = np.log(np.nan_to_num(fake_values(space, rows), nan=5.0))
    surrogate = Surrogate(distances(space), everything)
    surrogate.take(rows, target)
    return surrogate, everything, rows, target


def kernel(surrogate: Surrogate, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The product of the kernels of all parameters, from their formulas."""
    found = np.ones((len(a), len(b)))
    for place, ((order, apart), reach) in enumerate(zip(distances(fake_space()), surrogate._reaches, strict=True)):
        scaled = apart[np.ix_(a[:, place], b[:, place])] / np.exp(reach)
        own = np.exp(-0.15 * (scaled > 0))
        found *= (1 + np.sqrt(5) * scaled + 5 / 3 * scaled**2) * np.exp(-np.sqrt(5) * scaled) * own if order else np.exp(-scaled)
    return found


@pytest.mark.parametrize("learned", [False, True])
def test_means_and_deviations_are_those_of_the_formula(learned: bool) -> None:
    surrogate, everything, rows, target = held(20)
    if learned:
        surrogate.learn(rows, target)
    inverse = np.linalg.inv(kernel(surrogate, rows, rows) + (surrogate.noise**2 + 1e-6) * np.eye(len(rows)))
    across = kernel(surrogate, everything, rows)
    mean, deviation = surrogate.believed()
    assert mean == pytest.approx(across @ inverse @ target, abs=2e-4)
    assert deviation**2 == pytest.approx(1 - np.einsum("ij,jk,ik->i", across, inverse, across), abs=2e-4)
    assert surrogate.misfit(target) == pytest.approx(target @ inverse @ target, rel=1e-6)


def test_what_is_believed_changes_deviations_only_and_is_dropped_again() -> None:
    surrogate, everything, _, _ = held(20)
    mean, deviation = (each.copy() for each in surrogate.believed())
    surrogate.add(everything[7], None)
    surrogate.add(everything[90], None)
    assert surrogate.believed()[0] == pytest.approx(mean, abs=1e-6)
    assert (surrogate.believed()[1][[7, 90]] < 0.5 * deviation[[7, 90]]).all()
    surrogate.drop(2)
    assert surrogate.held == 20
    assert surrogate.believed()[1] == pytest.approx(deviation, abs=1e-3)


def test_more_values_than_there_was_room_for() -> None:
    surrogate, everything, _, _ = held(20)
    for row in everything[:140]:
        surrogate.add(row, 1.0)
    assert surrogate.held == 160


def test_slopes_of_the_likelihood_are_differences() -> None:
    from ridgeline.tuning.search.surrogate import _unlikely

    _, _, rows, target = held(20)
    pairs = [(order, table, rows[:, place][:, None] * len(table) + rows[:, place]) for place, (order, table) in enumerate(distances(fake_space()))]
    point = np.array([0.3, 0.9, 0.1, 1.2, 0.6, -1.5])
    _, slopes = _unlikely(point, pairs, target)
    for place in range(len(point)):
        step = np.zeros(len(point))
        step[place] = 1e-5
        difference = (_unlikely(point + step, pairs, target)[0] - _unlikely(point - step, pairs, target)[0]) / 2e-5
        assert slopes[place] == pytest.approx(difference, rel=1e-4, abs=1e-5)


def test_the_ratio_of_densities_by_hand() -> None:
    """Ten configurations of one flag: of the best two both have it, of the others one of eight."""
    rows = np.array([[1], [1], [1], [0], [0], [0], [0], [0], [0], [0]])
    values = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, np.nan, 8.0, 9.0, 10.0])
    score = parzen_score(rows, values, np.array([[0], [1]]), np.array([2]))
    assert score == pytest.approx(np.log([(1 / 4) / (8 / 10), (3 / 4) / (2 / 10)]))
