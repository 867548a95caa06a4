"""Growing boosted trees with LightGBM, and taking them over as arrays.

This module decides that training is repeatable (one thread, fixed seeds, no sampling unless it is asked for) and goes on from any state. What is
grown is the text that LightGBM writes, so that growing can stop after any round; `taken_over` turns it into `Trees`. Sources: G. Ke et al.,
"LightGBM: a highly efficient gradient boosting decision tree", NIPS 2017; the format of its text model, version 4, from its documentation and output.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from ridgeline.core import BackendUnavailable, Column, ReadError, UsageError

from .trees import Trees

__all__ = ["Growth", "grow", "taken_over"]

_CATEGORICAL, _ZERO_IS_MISSING = 1, 4


class Growth(msgspec.Struct, frozen=True, kw_only=True):
    """How trees are grown.

    Args:
        rounds: trees in the end.
        leaves, depth, least: the most leaves and decisions of a tree, the least rows of a leaf.
        rate: shrinkage of each tree.
        smoothing: L2 weight on leaf values.
        loss: `l2` for the mean, `l1` for the median, `quantile:0.9` for a quantile, of the target.
        rows, columns: share of rows and features that each tree may see.
        seed: of whatever is drawn.
    """

    rounds: int = 300
    leaves: int = 31
    depth: int = 8
    least: int = 20
    rate: float = 0.05
    smoothing: float = 0.0
    loss: str = "l2"
    rows: float = 1.0
    columns: float = 1.0
    seed: int = 0


def grow(
    rows: NDArray[np.float64],
    target: NDArray[np.float64],
    features: Sequence[str],
    growth: Growth,
    *,
    rising: Mapping[str, int] | None = None,
    weight: NDArray[np.float64] | None = None,
    grown: str = "",
) -> str:
    """Trees that predict `target`, as LightGBM writes them.

    Args:
        rows: finite features, shape (n, len(features)); target: finite, shape (n,).
        rising: feature → 1 where the prediction may only rise with it, −1 where it may only fall; for the loss `l2` alone.
        weight: of each row, > 0, shape (n,).
        grown: what an earlier call gave: its trees are kept and only those that are missing grown.

    Raises:
        BackendUnavailable: LightGBM is not installed.
        UsageError: `rising` for a loss that LightGBM cannot keep it for.
    """
    if rising and growth.loss != "l2":
        raise UsageError("the loss l2 where predictions may only rise", found=growth.loss, remedy="leave one of them out")
    lightgbm = _lightgbm()
    loss, _, alpha = growth.loss.partition(":")
    settings: dict[str, Any] = {
        "objective": {"l2": "regression", "l1": "regression_l1"}.get(loss, loss), "num_leaves": growth.leaves, "max_depth": growth.depth,
        "min_data_in_leaf": growth.least, "learning_rate": growth.rate, "lambda_l2": growth.smoothing, "bagging_fraction": growth.rows,
        "bagging_freq": int(growth.rows < 1), "feature_fraction": growth.columns, "seed": growth.seed, "deterministic": True, "force_row_wise": True,
        "num_threads": 1, "verbosity": -1,
    }  # fmt: skip
    if rising:
        settings |= {"monotone_constraints": [rising.get(name, 0) for name in features], "monotone_constraints_method": "advanced"}
    if alpha:
        settings["alpha"] = float(alpha)
    start = lightgbm.Booster(model_str=grown) if grown else None
    missing = growth.rounds - (start.num_trees() if start else 0)
    if missing <= 0:
        return grown
    data = lightgbm.Dataset(rows, target, weight=weight, feature_name=[f"f{number}" for number in range(len(features))], free_raw_data=False)
    return str(lightgbm.train(settings, data, num_boost_round=missing, init_model=start).model_to_string())


def _lightgbm() -> Any:
    try:
        import lightgbm
    except ImportError as error:
        raise BackendUnavailable("lightgbm to train a model", found=str(error), remedy="pip install 'ridgeline[learn]'") from error
    return lightgbm


def taken_over(text: str, features: Sequence[str]) -> Trees:
    """The trees of a LightGBM text model as arrays.

    Raises:
        ReadError: categories, zeros that mean a missing value, or a text that is no such model.
    """
    roots: list[int] = []
    nodes: list[tuple[int, float, int, float]] = []
    try:
        for part in text.split("\nTree=")[1:]:
            fields = dict(line.split("=", 1) for line in part.split("\n\n", 1)[0].splitlines() if "=" in line)
            roots.append(len(nodes))
            _append(nodes, fields)
    except (KeyError, ValueError, IndexError) as error:
        raise ReadError("a LightGBM text model", found=str(error), remedy="grow the trees again") from error
    feature, threshold, left, value = zip(*nodes, strict=True) if nodes else ((), (), (), ())
    return Trees(
        features=tuple(features), root=Column(roots, "1", np.int32), feature=Column(feature, "1", np.int32),
        threshold=Column(threshold, "1", np.float64), left=Column(left, "1", np.int32), value=Column(value, "1", np.float64),
    )  # fmt: skip


def _append(nodes: list[tuple[int, float, int, float]], fields: dict[str, str]) -> None:
    """One tree, level by level, so that the two nodes that another leads to stand side by side."""
    leaf = [float(text) for text in fields["leaf_value"].split()]
    if int(fields["num_leaves"]) == 1:
        nodes.append((-1, 0.0, len(nodes), leaf[0]))
        return
    split, left, right, decision = (
        [int(text) for text in fields[name].split()] for name in ("split_feature", "left_child", "right_child", "decision_type")
    )
    threshold = [float(text) for text in fields["threshold"].split()]
    if any(kind & (_CATEGORICAL | _ZERO_IS_MISSING) for kind in decision):
        raise ValueError("a decision that is no comparison of numbers")
    waiting, next_free = [0], len(nodes) + 1
    for number in waiting:
        if number < 0:
            nodes.append((-1, 0.0, len(nodes), leaf[~number]))
        else:
            nodes.append((split[number], threshold[number], next_free, 0.0))
            waiting += [left[number], right[number]]
            next_free += 2
