"""A first guess from what was recorded elsewhere: the same kernel on another device, of another size, or an earlier state of its source.

What was recorded is taken as it is; what lies between is interpolated. Recordings of several devices are averaged, each about its own middle.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray

from ..space import Configurations
from .surrogate import Surrogate, distances

__all__ = ["Guess", "recorded_guess"]

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]
#: ln(value) of configurations, (n, parameters) → (n,), up to a constant.
Guess = Callable[[Rows], Floats]
#: Of a recording, the best and as many others from which what lies between is interpolated.
_HELD = 128
#: Configurations that failed count as this quantile of those that ran.
_FAILED = 0.95


def recorded_guess(space: Configurations, recordings: Sequence[tuple[Rows, Floats]], seed: int = 0) -> Guess:
    """The guess of recordings, each of rows of this space, (n, parameters), and values, (n,), NaN for failures; at least one that ran in each.

    A parameter of which a recording says nothing is −1 in all of its rows, and its part of the guess does not depend on it.
    """
    parts = [_part(space, rows, np.asarray(values, np.float64), seed) for rows, values in recordings]

    def guess(rows: Rows) -> Floats:
        return np.asarray(np.mean([part(rows) for part in parts], axis=0), np.float64)

    return guess


def _part(space: Configurations, rows: Rows, values: Floats, seed: int) -> Guess:
    said = np.asarray((rows >= 0).all(axis=0), bool)
    rows = rows[:, said]
    ran = ~np.isnan(values)
    logs = np.where(ran, np.log(np.where(ran, values, 1.0)), np.quantile(np.log(values[ran]), _FAILED))
    logs = logs - np.median(logs)
    known = dict(zip(_keys(rows), logs.tolist(), strict=True))
    order = np.argsort(logs, kind="stable")
    others = np.random.default_rng(seed).permutation(order[_HELD:])[:_HELD]
    held = np.concatenate((order[:_HELD], others))
    centre, scale = float(logs[held].mean()), float(logs[held].std()) + 1e-6
    apart = [each for each, there in zip(distances(space), said, strict=True) if there]

    @cache
    def between() -> Surrogate:
        surrogate = Surrogate(apart, rows[:0])
        surrogate.learn(rows[held], (logs[held] - centre) / scale)
        return surrogate

    def guess(asked: Rows) -> Floats:
        asked = asked[:, said]
        found = np.array([known.get(key, np.nan) for key in _keys(asked)])
        missing = np.isnan(found)
        if missing.any():
            found[missing] = centre + scale * between().at(asked[missing])
        return found

    return guess


def _keys(rows: Rows) -> list[bytes]:
    return [row.tobytes() for row in np.ascontiguousarray(rows, np.int64)]
