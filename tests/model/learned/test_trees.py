"""Trees as arrays: the same numbers as LightGBM, whatever is read is checked, and growing can stop anywhere."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ridgeline.core import Column, ReadError, UsageError
from ridgeline.core.documents import decode, encode
from ridgeline.model.learned.growing import Growth, grow, taken_over
from ridgeline.model.learned.trees import Forest, Trees

lightgbm = pytest.importorskip("lightgbm", reason="lightgbm, which grows trees, is not installed")
FEATURES = ("utilisation", "waves", "intensity")


def data(count: int = 400, seed: int = 1) -> tuple[Any, Any]:
    draw = np.random.default_rng(seed)
    rows = draw.normal(size=(count, 3))
    rows[: count // 4, 0] = 0.0
    return rows, np.sin(2 * rows[:, 0]) + rows[:, 1] ** 2 + 0.1 * draw.normal(size=count)


def by_hand(**changed: Any) -> Trees:
    """One tree: x ≤ 0 → 1; else y ≤ 5 → 2, else 3."""
    fields = {
        "root": Column([0], "1", np.int32), "feature": Column([0, -1, 1, -1, -1], "1", np.int32), "threshold": Column([0.0, 0, 5, 0, 0], "1"),
        "left": Column([1, 1, 3, 3, 4], "1", np.int32), "value": Column([0.0, 1, 0, 2, 3], "1"),
    }  # fmt: skip
    return Trees(features=("x", "y"), **(fields | changed))


def test_a_tree_by_hand() -> None:
    forest = Forest(by_hand())
    rows = np.array([[0.0, 9], [-1, 0], [0.1, 5], [0.1, 5.1]])
    assert forest.predict(rows).tolist() == [1, 1, 2, 3]
    assert forest.predict(rows[:0]).tolist() == []
    assert Forest(by_hand(root=Column([0, 0, 1], "1", np.int32))).predict(rows).tolist() == [3, 3, 5, 7]


@pytest.mark.parametrize(
    "growth", [Growth(), Growth(rounds=40, leaves=200, depth=30, least=1), Growth(loss="l1"), Growth(loss="quantile:0.9", rows=0.5)]
)
@pytest.mark.parametrize("rising", [None, {"waves": 1}])
def test_the_same_as_lightgbm(growth: Growth, rising: dict[str, int] | None) -> None:
    rows, target = data()
    if rising and growth.loss != "l2":
        with pytest.raises(UsageError, match="rise"):
            grow(rows, target, FEATURES, growth, rising=rising)
        return
    text = grow(rows, target, FEATURES, growth, rising=rising)
    asked = np.random.default_rng(2).normal(size=(1000, 3)) * 3
    asked[::7] = 0.0
    assert np.allclose(Forest(taken_over(text, FEATURES)).predict(asked), lightgbm.Booster(model_str=text).predict(asked), rtol=0, atol=1e-12)


def test_a_target_that_does_not_vary() -> None:
    rows, _ = data()
    forest = Forest(taken_over(grow(rows, np.full(len(rows), 0.25), FEATURES, Growth(rounds=5)), FEATURES))
    assert forest.predict(rows) == pytest.approx(np.full(len(rows), 0.25))


def test_rising_is_kept_everywhere() -> None:
    rows, target = data()
    forest = Forest(taken_over(grow(rows, target, FEATURES, Growth(), rising={"waves": 1}), FEATURES))
    asked = np.repeat(np.random.default_rng(3).normal(size=(50, 1, 3)), 100, axis=1)
    asked[:, :, 1] = np.linspace(-4, 4, 100)
    assert (np.diff(forest.predict(asked.reshape(-1, 3)).reshape(50, 100), axis=1) >= 0).all()


def test_growing_goes_on_where_it_stopped_and_is_the_same_each_time() -> None:
    rows, target = data()
    at_once = grow(rows, target, FEATURES, Growth(rounds=30))
    assert grow(rows, target, FEATURES, Growth(rounds=30)) == at_once
    stopped = grow(rows, target, FEATURES, Growth(rounds=12))
    resumed = grow(rows, target, FEATURES, Growth(rounds=30), grown=stopped)
    assert grow(rows, target, FEATURES, Growth(rounds=12), grown=resumed) == resumed
    first, second = (Forest(taken_over(text, FEATURES)).predict(rows) for text in (at_once, resumed))
    assert np.allclose(first, second, rtol=0, atol=1e-9)


def test_a_file_gives_the_same_trees() -> None:
    rows, target = data()
    trees = taken_over(grow(rows, target, FEATURES, Growth(rounds=5)), FEATURES)
    again = decode(encode(trees), Trees)
    assert again == trees
    assert (Forest(again).predict(rows) == Forest(trees).predict(rows)).all()


@pytest.mark.parametrize(
    "changed",
    [
        *({"left": Column(left, "1", np.int32)} for left in ([1, 1, 2, 3, 4], [0, 1, 3, 3, 4], [4, 1, 3, 3, 4], [1, 1, 2**31 - 1, 3, 4])),
        {"left": Column([1.0, 1, 3, 3, 4], "1")}, {"feature": Column([2, -1, 1, -1, -1], "1", np.int32)}, {"value": Column([1.0], "1")},
        *({"root": root} for root in (Column([5], "1", np.int32), Column([-1], "1", np.int32), Column([0.0], "1"))),
    ],
)  # fmt: skip
def test_tables_that_are_no_trees(changed: dict[str, Column]) -> None:
    with pytest.raises(ReadError):
        Forest(by_hand(**changed))


@pytest.mark.parametrize("rows", [np.zeros((2, 3)), np.zeros(2), np.array([[0.0, np.nan]]), np.array([[np.inf, 0.0]])])
def test_rows_that_are_refused(rows: Any) -> None:
    with pytest.raises(UsageError):
        Forest(by_hand()).predict(rows)


@pytest.mark.parametrize("text", ["", "tree\nTree=0\nnum_leaves=2\n", "\nTree=0\nnum_leaves=x\nleaf_value=1\n"])
def test_texts_that_are_no_model(text: str) -> None:
    if not text:
        assert len(taken_over(text, FEATURES).root) == 0
        return
    with pytest.raises(ReadError):
        taken_over(text, FEATURES)


def test_categories_are_refused() -> None:
    rows, target = data()
    rows[:, 2] = np.random.default_rng(0).integers(0, 5, len(rows))
    booster = lightgbm.train({"verbosity": -1, "num_threads": 1}, lightgbm.Dataset(rows, target + rows[:, 2], categorical_feature=[2]), 5)
    with pytest.raises(ReadError, match="comparison"):
        taken_over(booster.model_to_string(), FEATURES)
