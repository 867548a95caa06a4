"""How far off a corrector is: difficulty, quantiles by device and tenth of time, and ends for devices that nobody measured.

This module decides what residuals stand for: those of shapes that were held out for devices that were measured, those of devices that were left out
for all others. A difficulty that was learned from a residual never judges it: it is fitted without the fold that the residual is in.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ridgeline.core import Column

from ..learned.conformal import Conformal, fit_conformal, upper_quantile
from ..learned.growing import Growth
from ..learned.trees import Trees
from ..learned.unseen import Reach, reach
from .answering import tenths
from .corrector import Intervals, Measured, Method
from .fitting import fit_models, fit_trees, predict, tried_methods

__all__ = ["Residuals", "intervals", "measured"]

Floats = NDArray[np.float64]
Indexes = NDArray[np.intp]

#: Rows from which difficult ones can be told from others; devices of how many rows are left out in turn.
_TELLING, _LEAST_OF_DEVICE = 300, 30
#: In log: a smaller residual says that a row is right, and nothing about its difficulty.
_LEAST = 3e-3
_HARDEST = 4.0
#: Rows of all other devices that a corrector without one of them is fitted on.
_MOST_ROWS = 8000
_SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)


class Residuals(NamedTuple):
    """Rows that were held out: `features` (n, P), `left` ln (measured ÷ predicted), `target` ln (measured ÷ estimated), `estimated_s`, (n,) each, and
    the `device` of each."""

    features: Floats
    left: Floats
    target: Floats
    estimated_s: Floats
    device: tuple[str, ...]


def intervals(
    held: Residuals, sides: Sequence[tuple[Indexes, Indexes]], names: tuple[str, ...], method: Method, *, level: float, seed: int
) -> tuple[Intervals, float | None]:  # fmt: skip
    """Intervals from residuals of rows that were held out, and the share of these rows inside of intervals that were made without their fold.

    Args:
        sides: (training, held-out) rows of each fold; names: of the features.
        level: share to cover, in (0, 1).

    Raises:
        UsageError: too few rows for the level.
    """
    hard, difficulty = _difficulty(held, sides, names, seed)
    edges = np.quantile(held.estimated_s, np.arange(1, 10) / 10)
    groups = list(zip(held.device, tenths(edges, held.estimated_s), strict=True))
    conformal = fit_conformal(held.left, hard, groups, level=level)
    unseen, carried = _unseen(held, names, method, level, seed)
    made = Intervals(
        conformal=conformal, edges_s=Column(edges, "s"), difficulty=difficulty, hardest=_HARDEST, unseen=unseen, carried=carried
    )  # fmt: skip
    return made, _coverage(held.left, hard, groups, sides, level)


def measured(keys: NDArray[np.int64], target: Floats, level: float) -> Measured:
    """The shapes themselves: median ln ratio of each, and how far one measurement is from the others of the same shape.

    Args:
        keys: of the rows, (n,); target: ln (measured ÷ estimated), (n,).
    """
    known, place, count = np.unique(keys, return_inverse=True, return_counts=True)
    order = np.lexsort((target, place))
    first = np.concatenate([[0], np.cumsum(count)[:-1]]).astype(np.intp)
    ordered = target[order]
    median = (ordered[first + (count - 1) // 2] + ordered[first + count // 2]) / 2 if len(known) else np.zeros(0)
    again = count[place] > 1
    mean = np.bincount(place, target, len(known)) / np.maximum(count, 1)
    # A row less the mean of the others of its shape.
    apart = (np.abs(target - mean[place]) * count[place] / np.maximum(count[place] - 1, 1))[again]
    width = upper_quantile(apart, level) if len(apart) else 0.0
    return Measured(
        key=Column(known, "1", "<i8"), log_ratio=Column(median, "1"), rows=Column(count, "1", "<i8"),
        half_width=width if np.isfinite(width) else 0.0,
    )  # fmt: skip


def _difficulty(
    held: Residuals, sides: Sequence[tuple[Indexes, Indexes]], names: tuple[str, ...], seed: int
) -> tuple[Floats, Trees | None]:  # fmt: skip
    """(Difficulty of each row, learned without its fold; the trees of all)."""
    rows = len(held.left)
    if rows < _TELLING or "trees" not in tried_methods() or not names:
        return np.ones(rows), None
    size = np.log(np.maximum(np.abs(held.left), _LEAST))
    growth = Growth(rounds=60, leaves=7, depth=4, least=max(20, rows // 40), rate=0.08, smoothing=20.0, seed=seed)
    hard = np.zeros(rows)
    for train_at, test_at in sides:
        trees = fit_trees(held.features[train_at], size[train_at] - size.mean(), names, growth)
        hard[test_at] = predict(trees, held.features[test_at])
    most = float(np.log(_HARDEST))
    return np.exp(np.clip(hard, -most, most)), fit_trees(held.features, size - size.mean(), names, growth)


def _coverage(
    left: Floats, hard: Floats, groups: list[tuple[str, str]], sides: Sequence[tuple[Indexes, Indexes]], level: float
) -> float | None:  # fmt: skip
    inside = 0
    for train_at, test_at in sides:
        if len(train_at) < 20 or not np.isfinite(upper_quantile(np.abs(left[train_at]), level)):
            return None
        own: Conformal = fit_conformal(left[train_at], hard[train_at], [groups[index] for index in train_at.tolist()], level=level)
        width = own.half_width(hard[test_at], [groups[index] for index in test_at.tolist()])
        inside += int((np.abs(left[test_at]) <= width).sum())
    return inside / len(left) if sides else None


def _unseen(held: Residuals, names: tuple[str, ...], method: Method, level: float, seed: int) -> tuple[Reach | None, float]:
    """(Ends for another device, share of the correction that it is told), from each device left out; nothing with one device."""
    devices = np.array(held.device)
    known = [name for name in sorted(set(held.device)) if int((devices == name).sum()) >= _LEAST_OF_DEVICE]
    if len(known) < 2:
        return None, 0.0
    answers = {name: _left_out(held, devices == name, names, method, seed) for name in known}

    def off(share: float) -> dict[str, Floats]:
        return {name: held.target[devices == name] - share * answers[name] for name in known}

    carried = min(_SHARES, key=lambda share: float(np.mean([np.abs(each).mean() for each in off(share).values()])))
    rest: Mapping[str, Floats] = off(carried)
    return reach({name: (rest[name], held.estimated_s[devices == name]) for name in known}, level), carried


def _left_out(held: Residuals, own: NDArray[np.bool_], names: tuple[str, ...], method: Method, seed: int) -> Floats:
    """What a corrector without one device says of its rows."""
    others = np.flatnonzero(~own)
    if len(others) > _MOST_ROWS:
        others = np.sort(np.random.default_rng(seed).choice(others, _MOST_ROWS, replace=False))
    target = held.target[others]
    middle = float(np.median(target))
    models = fit_models(method, held.features[others], target - middle, names, seed)
    answers = [predict(model, held.features[own]) for model in models]
    found = middle + (np.mean(answers, axis=0) if answers else np.zeros(int(own.sum())))
    return np.clip(found, target.min(), target.max())
