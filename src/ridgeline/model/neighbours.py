"""What a measurement would be if it were like its neighbours in shape: a robust local fit without the row itself.

This module decides who the neighbours are (nearest in log₂ of the sizes) and how they are fitted; what follows from a row that is far off is decided
in `rows`. Each row is held against its neighbours twice: their median, and a straight line through them in all logarithms, by iterated weights that
pull in neighbours which are far off themselves. Source: W. Cleveland, "Robust locally weighted regression and smoothing scatterplots", JASA 74, 1979.
"""

from __future__ import annotations

import math

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
        spread: robust standard error of the line where the row is, with that of a single row: large where it is extended beyond the neighbours.
    """

    level: Floats
    line: Floats
    spread: Floats


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
    level, line, spread = (np.concatenate([part[at] for part in parts]) for at in range(3))
    return LocalFit(level=level, line=line, spread=spread)


def far_off(fit: LocalFit, least: float, spreads: float) -> tuple[NDArray[np.bool_], Floats]:
    """(Rows that neither the level nor the slope of their neighbours explains; their distance from the line, ln of a factor).

    Args:
        least: ln of the factor under which nothing is far from level and line; spreads: robust standard errors of the line beyond which it is.
    """
    usual = _SIGMA * float(np.median(np.abs(fit.line)))
    far = np.abs(fit.line) > np.maximum(least, spreads * np.maximum(fit.spread, usual))
    return far & (np.abs(fit.level) > least) & (np.sign(fit.level) == np.sign(fit.line)), fit.line


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


def _fitted(features: Floats, target: Floats, own: NDArray[np.intp], near: NDArray[np.intp]) -> tuple[Floats, Floats, Floats]:
    values = target[near]
    median = np.median(values, axis=1)
    steps = features[near] - features[own][:, None, :]
    distance = np.sqrt((steps**2).sum(axis=2))
    reach = np.maximum(distance.max(axis=1, keepdims=True), 1e-9)
    weight = 1 / (1 + (2 * distance / reach) ** 2)
    design = np.concatenate([np.ones((*steps.shape[:2], 1)), steps], axis=2)
    line, left, leverage = _lines(design, values, weight)
    # As many neighbours less are free as the line has coefficients.
    free = math.sqrt(values.shape[1] / max(1.0, values.shape[1] - design.shape[2]))
    spread = np.maximum(_SIGMA * free * np.median(np.abs(left), axis=1), _LEAST_SPREAD) * np.sqrt(1 + leverage)
    return target[own] - median, target[own] - line, spread


def _lines(design: Floats, values: Floats, weight: Floats) -> tuple[Floats, Floats, Floats]:
    """(Value of the line at the row itself, what it leaves of its neighbours, variance of that value over theirs): weighted least squares, slopes
    held back a little."""
    held = _RIDGE * np.eye(design.shape[2])
    held[0, 0] = 1e-9
    robust = np.ones_like(values)
    for _ in range(_ROUNDS):
        own = design * (weight * robust)[:, :, None]
        inverse = np.linalg.inv(np.einsum("nki,nkj->nij", own, design) + held)
        solved = np.einsum("nij,nj->ni", inverse, np.einsum("nki,nk->ni", own, values))
        left = values - np.einsum("nki,ni->nk", design, solved)
        scale = np.maximum(_SIGMA * np.median(np.abs(left), axis=1, keepdims=True), 1e-6)
        robust = 1 / np.maximum(1.0, np.abs(left) / (1.5 * scale))
    return solved[:, 0], left, inverse[:, 0, 0]


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
