"""Candidates for a corrector, and the choice among them by cross-validation.

This module decides how each candidate is fitted and which is taken: the one whose mean |log residual| on held-out shapes is least, of those within
one per cent of it the simplest. Trees keep the signs that physics gives (`features.RISING`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..learned.gaussian import fit_gaussian
from ..learned.growing import Growth, grow, taken_over
from ..learned.network import Schedule, train
from ..learned.ridge import fit_ridge
from ..learned.trees import Forest, Trees
from .corrector import METHODS, Method, Model
from .features import RISING

__all__ = ["Choice", "chosen", "fit_models", "fit_trees", "tried_methods"]

Floats = NDArray[np.float64]
Indexes = NDArray[np.intp]
Sides = Sequence[tuple[Indexes, Indexes]]

#: Of two methods that are this near the simpler is taken.
_ALIKE = 1.01
_PARTS: Mapping[Method, tuple[Method, ...]] = {
    "level": (), "ridge": ("ridge",), "network": ("network",), "trees": ("trees",), "gaussian": ("gaussian",),
    "mean": ("ridge", "network", "trees"), "both": ("trees", "gaussian"),
}  # fmt: skip
#: Rows from which a model has more to say than one level.
_LEAST_ROWS = 30


class Choice(NamedTuple):
    """`method`: that was taken; `errors`: mean |log residual| by method; `predicted`: of each row by the taken one, fitted without it, (n,)."""

    method: Method
    errors: dict[str, float]
    predicted: Floats


def tried_methods(methods: Sequence[Method] = METHODS) -> tuple[Method, ...]:
    """Those of the methods that can be had here: trees need LightGBM."""
    here = find_spec("lightgbm") is not None
    return tuple(method for method in methods if method != "trees" or here)


def chosen(rows: Floats, target: Floats, features: tuple[str, ...], sides: Sides, methods: Sequence[Method], seed: int) -> Choice:
    """The method that errs least where it has not seen the rows.

    Args:
        rows: features, (n, P); target: ln (measured ÷ estimated), (n,).
        sides: (training, held-out) rows of each fold; every row is held out once.
    """
    usable: tuple[Method, ...] = tuple(methods) if len(target) >= _LEAST_ROWS and features else ("level",)
    parts = [
        part for part in ("ridge", "network", "trees", "gaussian") if any(part in _PARTS[method] for method in usable) and part in tried_methods()
    ]
    held: dict[str, Floats] = {part: np.zeros(len(target)) for part in parts}
    levels = np.zeros(len(target))
    for train_at, test_at in sides:
        levels[test_at] = np.median(target[train_at])
        low, high = float(target[train_at].min()), float(target[train_at].max())
        for part in parts:
            model = fit_models(part, rows[train_at], target[train_at] - levels[test_at[0]], features, seed)[0]
            held[part][test_at] = np.clip(predict(model, rows[test_at]), low - levels[test_at[0]], high - levels[test_at[0]])
    answers: dict[Method, Floats] = {}
    for method in METHODS:
        used = [part for part in _PARTS[method] if part in held]
        if method in usable and (used or method == "level"):
            answers[method] = levels + (np.mean([held[part] for part in used], axis=0) if used else 0.0)
    errors = {method: float(np.mean(np.abs(target - answer))) for method, answer in answers.items()}
    least = min(errors.values())
    best = next(method for method in answers if errors[method] <= _ALIKE * least)
    return Choice(best, {str(method): error for method, error in errors.items()}, answers[best])


def fit_models(method: Method, rows: Floats, target: Floats, features: tuple[str, ...], seed: int) -> tuple[Model, ...]:
    """The models of a method, whose mean is its answer; (n, P) features and ln ratios (n,) about their level."""
    made: list[Model] = []
    for part in _PARTS[method]:
        if part == "ridge":
            made.append(fit_ridge(rows, target, features, penalty=_penalty(len(target))))
        elif part == "network":
            made.append(train(rows, target, features, _schedule(len(target), seed)).network)
        elif part == "gaussian":
            made.append(fit_gaussian(rows, target, features, seed=seed))
        elif "trees" in tried_methods():
            made.append(fit_trees(rows, target, features, _growth(len(target), seed), rising=True))
    return tuple(made)


def fit_trees(rows: Floats, target: Floats, features: tuple[str, ...], growth: Growth, *, rising: bool = False) -> Trees:
    """Trees as arrays; with `rising`, along the signs of physics."""
    signs = {name: sign for name, sign in RISING.items() if name in features} if rising else {}
    return taken_over(grow(np.asarray(rows, np.float64), target, features, growth, rising=signs or None), features)


def predict(model: Model, rows: Floats) -> Floats:
    """What one model says of rows, (n, P) → (n,)."""
    return Forest(model).predict(rows) if isinstance(model, Trees) else model.predict(rows)


def _growth(rows: int, seed: int) -> Growth:
    return Growth(rounds=300, leaves=15, depth=6, least=max(4, min(40, rows // 60)), rate=0.05, smoothing=1.0, seed=seed)


def _schedule(rows: int, seed: int) -> Schedule:
    """About 1,200 steps in any case, so that few rows are seen as often as they must be."""
    batch = max(16, min(256, rows // 8))
    return Schedule(hidden=24, epochs=max(40, min(150, 1200 * batch // max(1, min(rows, 6000)))), batch=batch, seed=seed)


def _penalty(rows: int) -> float:
    return 3.0 if rows < 2000 else 30.0
