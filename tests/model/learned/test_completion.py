"""Factors, contention and scales of residuals: exact cases come back, side information carries, damage is refused."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest
from numpy.typing import NDArray

from ridgeline.core import Column, Neighbour, ReadError, UsageError
from ridgeline.core.documents import decode, encode
from ridgeline.model.contention import Contention, Pairs, fit_contention
from ridgeline.model.learned.completion import Completion, Factors, Side, fit_factors
from ridgeline.model.learned.group_scale import GroupScale, fit_group_scale

Floats = NDArray[np.float64]
ROWS, COLUMNS = 30, 24


def side() -> Side:
    return Side(np.ones((ROWS, 1)), np.ones((COLUMNS, 1)))


def matrix(seed: int = 0) -> Floats:
    """Main effects and one product."""
    draw = np.random.default_rng(seed)
    return np.asarray(
        draw.normal(size=ROWS)[:, None] + draw.normal(size=COLUMNS)[None] + 0.4 * np.outer(draw.normal(size=ROWS), draw.normal(size=COLUMNS)) - 5
    )


def measured(share: float = 0.7, seed: int = 1) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]]:
    rows, columns = (index.ravel() for index in np.meshgrid(np.arange(ROWS), np.arange(COLUMNS), indexing="ij"))
    return rows, columns, np.random.default_rng(seed).random(len(rows)) < share


def test_pairs_that_were_not_measured_come_back() -> None:
    rows, columns, known = measured()
    truth = matrix()[rows, columns]
    made = fit_factors(rows[known], columns[known], truth[known], side(), Completion(rank=3, ridge=0.05))
    assert np.abs(made.predict(rows[~known], columns[~known]) - truth[~known]).mean() < 0.03
    additive = fit_factors(rows[known], columns[known], truth[known], side(), Completion(rank=0, ridge=0.05))
    assert np.abs(additive.predict(rows[~known], columns[~known]) - truth[~known]).mean() > 0.1, "the product was there to be found"


def test_an_outlier_does_not_move_its_row() -> None:
    rows, columns, known = measured()
    truth = matrix()[rows, columns]
    spoiled = truth.copy()
    spoiled[np.flatnonzero(known)[5]] += 4.0
    made = fit_factors(rows[known], columns[known], spoiled[known], side(), Completion(rank=3, ridge=0.3))
    same = (rows == rows[np.flatnonzero(known)[5]]) & ~known
    assert np.abs(made.predict(rows[same], columns[same]) - truth[same]).mean() < 0.2


def test_what_is_known_of_a_row_stands_in_for_measurements() -> None:
    rows, columns, known = measured()
    kinds = np.eye(2)[np.arange(ROWS) % 2]
    truth = np.where(rows % 2, 2.0, -2.0) + matrix()[0, columns]
    known &= rows > 1
    made = fit_factors(rows[known], columns[known], truth[known], Side(np.c_[np.ones(ROWS), kinds], np.ones((COLUMNS, 1))), Completion(rank=2))
    assert made.row_counts.values[:2].tolist() == [0, 0]
    fresh = rows < 2
    assert np.abs(made.predict(rows[fresh], columns[fresh]) - truth[fresh]).max() < 0.3


def test_the_same_each_time_and_as_a_document() -> None:
    rows, columns, known = measured()
    truth = matrix()[rows, columns]
    one, two = (fit_factors(rows[known], columns[known], truth[known], side(), Completion(rank=2)) for _ in range(2))
    assert encode(one) == encode(two)
    assert decode(encode(one), Factors) == one
    for bad in (Column(np.zeros(5), "1"), Column(np.zeros(4 * ROWS, np.int32), "1")):
        with pytest.raises(ReadError):
            msgspec.structs.replace(one, row=bad)
    with pytest.raises(UsageError, match="indexes"):
        one.predict(np.array([ROWS]), np.array([0]))
    with pytest.raises(UsageError):
        fit_factors(rows, columns, np.full(len(rows), np.nan), side())
    with pytest.raises(UsageError):
        fit_factors(rows + 1, columns, truth, side())


def contention(trees: bool = False) -> tuple[Contention, Pairs]:
    draw = np.random.default_rng(3)
    platform, program, neighbour = draw.integers(ROWS, size=6000), draw.integers(COLUMNS, size=6000), draw.integers(COLUMNS, size=6000)
    alone = matrix()
    sensitive, pressing = draw.uniform(0.1, 0.5, (ROWS, COLUMNS)), draw.uniform(0, 0.6, COLUMNS)
    log_time = alone[platform, program] + sensitive[platform, 0] + pressing[neighbour]
    rows, columns, _ = measured()
    factors = fit_factors(rows, columns, alone[rows, columns], side(), Completion(rank=3, ridge=0.05))
    pairs = Pairs(platform, program, neighbour, log_time)
    names = [f"p{n}" for n in range(ROWS)], [f"w{n}" for n in range(COLUMNS)]
    if trees:
        pytest.importorskip("lightgbm", reason="lightgbm, which grows trees, is not installed")
        return fit_contention(*names, side(), factors, pairs), pairs
    return fit_contention(*names, side(), factors, pairs, trees=None), pairs


def test_a_stretch_is_what_the_program_feels_and_the_neighbour_presses() -> None:
    model, pairs = contention()
    rest = model.log_alone(pairs.platform, pairs.program) + model.log_stretch(*pairs[:3]) - pairs.log_time
    assert np.abs(rest).mean() < 0.02
    assert decode(encode(model), Contention) == model


def test_neighbours_of_the_state_by_name() -> None:
    model, _ = contention()
    nothing = model.stretch("p1", "w2", ())
    assert nothing == (1.0, ())
    one = model.stretch("p1", "w2", [Neighbour(name="w3")])
    where = np.array([1]), np.array([2]), np.array([3])
    assert one.factor == pytest.approx(float(np.exp(model.log_stretch(*where)[0])))
    assert not one.out_of_range
    two = model.stretch("p1", "w2", [Neighbour(name="w3", kernels=2)])
    assert two.factor == pytest.approx(one.factor**2)
    assert "one" in two.out_of_range[0]
    for platform, program, neighbour in (("p99", "w2", "w3"), ("p1", "w99", "w3"), ("p1", "w2", ""), ("p1", "w2", "w99")):
        with pytest.raises(UsageError, match="recorded"):
            model.stretch(platform, program, [Neighbour(name=neighbour)])
    with pytest.raises(ReadError):
        msgspec.structs.replace(model, platforms=("p0",))


def test_trees_take_what_is_left() -> None:
    plain, pairs = contention()
    model, _ = contention(trees=True)
    errors = [np.abs(each.log_alone(*pairs[:2]) + each.log_stretch(*pairs[:3]) - pairs.log_time).mean() for each in (plain, model)]
    assert errors[1] < errors[0]


def test_scales_hold_in_every_group() -> None:
    draw = np.random.default_rng(4)
    groups = draw.integers(3, size=(9000, 2))
    spread = np.array([0.01, 0.1, 0.5])[groups[:, 0]] * np.array([0.5, 1.0, 2.0])[groups[:, 1]]
    rest = spread * draw.standard_normal(9000)
    made = fit_group_scale(rest[:6000], groups[:6000])
    inside = np.abs(rest[6000:]) <= made.half_width(groups[6000:])
    assert 0.88 < inside.mean() < 0.92
    assert all(inside[groups[6000:, 0] == one].mean() > 0.86 for one in range(3))
    assert decode(encode(made), GroupScale) == made
    assert made.half_width(np.array([[-1, 99]])).shape == (1,), "a group that was never seen has no effect"


def test_scales_from_other_rows() -> None:
    draw = np.random.default_rng(6)
    groups = draw.integers(40, size=(5000, 1))
    spread = np.exp(draw.normal(size=40))[groups[:, 0]]
    rest = spread * draw.standard_normal(5000)
    few, many = slice(0, 200), slice(200, 3000)
    widths = [fit_group_scale(rest[few], groups[few], scale_rows=rows).half_width(groups[3000:]) for rows in (None, (rest[many], groups[many]))]
    worst = [min((np.abs(rest[3000:]) <= width)[groups[3000:, 0] == one].mean() for one in range(40)) for width in widths]
    assert worst[1] > worst[0]
    assert 0.84 < (np.abs(rest[3000:]) <= widths[1]).mean() < 0.96


def test_too_few_rows_promise_nothing() -> None:
    with pytest.raises(UsageError, match="enough"):
        fit_group_scale(np.ones(8), np.zeros((8, 1), np.int64))
    with pytest.raises(ReadError):
        GroupScale(base=0.0, effects=(), quantile=float("inf"), level=0.9, rows=9)
