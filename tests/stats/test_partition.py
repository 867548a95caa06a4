"""Optimal partitions against every partition there is, on series short enough to try them all."""

from __future__ import annotations

from itertools import combinations, pairwise

import numpy as np
import pytest

from ridgeline.stats.partition import Levels, Lines, optimal_cuts


def level_error(piece: np.ndarray) -> float:
    return float(np.sum((piece - piece.mean()) ** 2))


def line_error(piece: np.ndarray) -> float:
    at = np.arange(piece.size)
    fitted = np.polyval(np.polyfit(at, piece, 1), at) if piece.size > 1 else piece
    return float(np.sum((piece - fitted) ** 2))


def cheapest(values, error, penalty, least):
    """By trying every set of cuts."""
    size = len(values)
    best = (np.inf, ())
    for count in range(size):
        for cuts in combinations(range(1, size), count):
            edges = (0, *cuts, size)
            if any(b - a < least for a, b in pairwise(edges)):
                continue
            cost = sum(error(values[a:b]) for a, b in pairwise(edges)) + penalty * (count + 1)
            best = min(best, (cost, cuts))
    return best


@pytest.mark.parametrize(("fit", "error"), [(Levels, level_error), (Lines, line_error)])
@pytest.mark.parametrize("least", [1, 2, 3])
@pytest.mark.parametrize("seed", range(6))
def test_no_partition_is_cheaper(fit, error, least, seed):
    values = np.random.default_rng(seed).normal(size=11) + np.repeat([0.0, 3.0, 1.0], [4, 4, 3])
    for penalty in (0.3, 2.0):
        cuts = tuple(optimal_cuts(fit(values), values.size, penalty, least))
        cost = sum(error(values[a:b]) for a, b in pairwise((0, *cuts, values.size))) + penalty * (len(cuts) + 1)
        assert cost == pytest.approx(cheapest(values, error, penalty, least)[0], rel=1e-9)
        assert all(b - a >= least for a, b in pairwise((0, *cuts, values.size)))


@pytest.mark.parametrize(("fit", "error"), [(Levels, level_error), (Lines, line_error)])
def test_the_error_of_a_piece_is_that_of_its_least_squares_fit(fit, error):
    values = 1e6 + np.random.default_rng(3).normal(size=40)
    starts = np.array([0, 7, 20, 38])
    assert fit(values).error(starts, 40) == pytest.approx([error(values[start:]) for start in starts], rel=1e-6, abs=1e-6)


def test_too_short_for_two_pieces_is_one():
    values = np.array([1.0, 1.0, 9.0, 9.0, 9.0])
    assert optimal_cuts(Levels(values), 5, 0.1, least=3) == []
    assert optimal_cuts(Levels(values), 5, 0.1, least=2) == [2]
