"""What a measurement would be if it were like its neighbours in shape: a robust local fit without the row itself.

This module decides who the neighbours are (nearest in log₂ of the sizes) and how they are fitted; what follows from a row that is far off is decided
in `rows`. Each row is held against its neighbours twice: their median, and a straight line through them in all logarithms, by iterated weights that
pull in neighbours which are far off themselves. Source: W. Cleveland, "Robust locally weighted regression and smoothing scatterplots", JASA 74, 1979.
"""

from __future__ import annotations

import msgspec
import numpy as np
from numpy.typing import NDArray

__all__ = ["Floats", "LocalFit", "far_off", "from_others", "local_fit", "robust_line"]

Floats = NDArray[np.float64]

_NEIGHBOURS, _ROUNDS, _RIDGE, _AT_ONCE = 14, 4, 0.02, 4096
_SIGMA = 1.4826022185056018
_LEAST_SPREAD = 0.02


class LocalFit(msgspec.Struct, frozen=True, kw_only=True):
    """Each row against its neighbours, shape (n,) each, natural logarithms of the target.

    Args:
        level, line: row − median of the neighbours; row − line through them.
        level_spread, line_spread: robust standard deviations of the neighbours around median and line.
    """

    level: Floats
    line: Floats
    level_spread: Floats
    line_spread: Floats


def local_fit(features: Floats, target: Floats, neighbours: int = _NEIGHBOURS) -> LocalFit:
    """Every row held against the nearest others.

    Args:
        features: log₂ of sizes, shape (n, d); target: ln of the measurement, shape (n,).
        neighbours: how many others, a count; all others where there are fewer.
    """
    from scipy.spatial import cKDTree

    count = min(neighbours, len(target) - 1)
    parts = []
    tree = cKDTree(features)
    for start in range(0, len(target), _AT_ONCE):
        own = np.arange(start, min(start + _AT_ONCE, len(target)))
        found = tree.query(features[own], k=count + 1)[1].reshape(len(own), count + 1)
        # The row itself is left out; where many rows have one shape it may not be among the nearest, and the last is left out.
        itself = found == own[:, None]
        itself[~itself.any(axis=1), -1] = True
        parts.append(_fitted(features, target, own, found[~itself].reshape(len(own), count)))
    return LocalFit(
        level=np.concatenate([part[0] for part in parts]), line=np.concatenate([part[1] for part in parts]),
        level_spread=np.concatenate([part[2] for part in parts]), line_spread=np.concatenate([part[3] for part in parts]),
    )  # fmt: skip


def far_off(fit: LocalFit, least: float, spreads: float) -> tuple[NDArray[np.bool_], Floats]:
    """(Rows that neither the level nor the slope of their neighbours explains; the smaller distance from both, ln of a factor).

    Args:
        least: ln of the factor under which nothing is far; spreads: robust standard deviations beyond which it is.
    """
    usual = [_SIGMA * float(np.median(np.abs(distance))) for distance in (fit.level, fit.line)]
    far = np.ones(len(fit.level), bool)
    for distance, spread, common in ((fit.level, fit.level_spread, usual[0]), (fit.line, fit.line_spread, usual[1])):
        far &= np.abs(distance) > np.maximum(least, spreads * np.maximum(spread, common))
    same_side = np.sign(fit.level) == np.sign(fit.line)
    smaller = np.where(np.abs(fit.level) < np.abs(fit.line), fit.level, fit.line)
    return far & same_side, smaller


def from_others(features: Floats, target: Floats, work: Floats, rows: NDArray[np.intp], others: NDArray[np.intp]) -> Floats:
    """How far some rows are from what the nearest of others allow, ln of a factor, shape of `rows`: the median over those, 0 within what one allows.

    Another row allows its own time, its time in proportion to the work, and what lies between.

    Args:
        features: log₂ of sizes, shape (n, d); target: ln of the measurement; work: ln of the work, shape (n,).
        rows, others: indexes; with no others everything is allowed.
    """
    from scipy.spatial import cKDTree

    if not len(others):
        return np.zeros(len(rows))
    near = others[cKDTree(features[others]).query(features[rows], k=min(8, len(others)))[1].reshape(len(rows), -1)]
    scaled = target[near] + work[rows][:, None] - work[near]
    low, high = np.minimum(target[near], scaled), np.maximum(target[near], scaled)
    own = target[rows][:, None]
    found: Floats = np.median(np.maximum(own - high, 0.0) + np.minimum(own - low, 0.0), axis=1)
    return found


def _fitted(features: Floats, target: Floats, own: NDArray[np.intp], near: NDArray[np.intp]) -> tuple[Floats, Floats, Floats, Floats]:
    values = target[near]
    median = np.median(values, axis=1)
    level_spread = _SIGMA * np.median(np.abs(values - median[:, None]), axis=1)
    steps = features[near] - features[own][:, None, :]
    distance = np.sqrt((steps**2).sum(axis=2))
    reach = np.maximum(distance.max(axis=1, keepdims=True), 1e-9)
    weight = 1 / (1 + (2 * distance / reach) ** 2)
    design = np.concatenate([np.ones((*steps.shape[:2], 1)), steps], axis=2)
    line, left = _lines(design, values, weight)
    line_spread = _SIGMA * np.median(np.abs(left), axis=1)
    return target[own] - median, target[own] - line, np.maximum(level_spread, _LEAST_SPREAD), np.maximum(line_spread, _LEAST_SPREAD)


def _lines(design: Floats, values: Floats, weight: Floats) -> tuple[Floats, Floats]:
    """(Value of the line at the row itself, what it leaves of its neighbours): weighted least squares, slopes held back a little."""
    held = _RIDGE * np.eye(design.shape[2])
    held[0, 0] = 1e-9
    robust = np.ones_like(values)
    for _ in range(_ROUNDS):
        own = design * (weight * robust)[:, :, None]
        solved = np.linalg.solve(np.einsum("nki,nkj->nij", own, design) + held, np.einsum("nki,nk->ni", own, values)[:, :, None])[:, :, 0]
        left = values - np.einsum("nki,ni->nk", design, solved)
        scale = np.maximum(_SIGMA * np.median(np.abs(left), axis=1, keepdims=True), 1e-6)
        robust = 1 / np.maximum(1.0, np.abs(left) / (1.5 * scale))
    return solved[:, 0], left


def robust_line(features: Floats, target: Floats) -> Floats:
    """What one straight line through all rows leaves, ln of a factor, shape (n,): least absolute deviations by iterated weights.

    Args:
        features: shape (n, d); target: shape (n,).

    Source: E. Schlossmacher, "An iterative technique for absolute deviations curve fitting", JASA 68, 1973.
    """
    design = np.concatenate([np.ones((len(target), 1)), features - features.mean(axis=0)], axis=1)
    left = target - np.median(target)
    held = 1e-6 * len(target) * np.eye(design.shape[1])
    held[0, 0] = 0.0
    for _ in range(25):
        weight = 1 / np.maximum(np.abs(left), 1e-3)
        own = design * weight[:, None]
        left = target - design @ np.linalg.solve(own.T @ design + held, own.T @ target)
    found: Floats = left - np.median(left)
    return found
