"""Fronts: exactly what nothing beats, volumes against counting points, and who is not told from whom."""

from __future__ import annotations

import numpy as np
import pytest

from ridgeline.tuning.front import covered, hypervolume, non_dominated, untold


@pytest.mark.parametrize("objectives", [1, 2, 3])
def test_the_front_is_what_no_other_one_beats(objectives: int) -> None:
    generator = np.random.default_rng(objectives)
    values = generator.integers(0, 12, (200, objectives)).astype(float)
    values[::17, 0] = np.nan
    right = [
        not np.isnan(row).any() and not any((other <= row).all() and (other < row).any() for other in values)
        for row in values
    ]  # fmt: skip
    assert non_dominated(values).tolist() == right


def test_of_equal_ones_all_are_on_the_front_and_of_none_none_is() -> None:
    assert non_dominated(np.array([[1.0, 2.0], [1.0, 2.0], [2.0, 2.0]])).tolist() == [True, True, False]
    assert non_dominated(np.zeros((0, 2))).tolist() == []
    assert non_dominated(np.full((2, 2), np.nan)).tolist() == [False, False]


@pytest.mark.parametrize("objectives", [1, 2, 3])
def test_the_volume_is_that_of_counted_cells(objectives: int) -> None:
    """On whole numbers each unit cell is dominated or not."""
    generator = np.random.default_rng(4 + objectives)
    points = generator.integers(0, 9, (9, objectives)).astype(float)
    corner = np.full(objectives, 8.0)
    cells = np.stack(np.meshgrid(*[np.arange(8)] * objectives), -1).reshape(-1, objectives)
    dominated = (points[None, :, :] <= cells[:, None, :]).all(axis=2).any(axis=1)
    assert hypervolume(points, corner) == pytest.approx(dominated.sum())


def test_the_share_that_is_covered_has_no_unit() -> None:
    front, best, worst = np.array([[1.0, 8.0], [2.0, 2.0], [8.0, 1.0]]), np.array([1.0, 1.0]), np.array([16.0, 16.0])
    share = covered(front, best, worst)
    factor = np.array([1e-6, 2**30])
    assert covered(front * factor, best * factor, worst * factor) == pytest.approx(share)
    # Steps of 1 × 4, 2 × 3 and 1 × 1 in powers of two, of 4 × 4.
    assert share == pytest.approx(11 / 16)
    assert covered(best[None], best, worst) == pytest.approx(1.0)
    assert covered(np.zeros((0, 2)), best, worst) == 0.0
    # What is the same everywhere tells nothing.
    assert covered(np.array([[1.0, 5.0]]), np.array([1.0, 5.0]), np.array([4.0, 5.0])) == pytest.approx(1.0)
    assert covered(np.array([[5.0, 5.0]]), np.array([5.0, 5.0]), np.array([5.0, 5.0])) == 1.0


def test_who_may_be_beaten() -> None:
    """Clearly apart in one objective is told; overlapping in all in which one is better is not."""
    apart = [[(1.0, 1.1), (5.0, 5.1)], [(2.0, 2.1), (4.0, 4.1)]]
    assert untold(apart) == [(), ()]
    close = [[(1.0, 2.1), (5.0, 5.1)], [(2.0, 2.2), (4.0, 4.1)]]
    assert untold(close) == [(1,), ()]
    same = [[(1.0, 2.0), (1.0, 2.0)], [(1.5, 2.5), (0.5, 1.5)]]
    assert untold(same) == [(1,), (0,)]
    assert untold([]) == []
