"""Form, interpolation and trees together, as `aiconfigurator` and `vidur` train and ask them; what a held-out row may see is decided here.

Constants of the form, interpolation and trees see the known rows alone. Trees are trained on what the interpolation would say of each known row
without it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from kernel_rows import Products

from ridgeline.model.kernels.calibrated import fit_constants, log_time
from ridgeline.model.kernels.gemm import FEATURES
from ridgeline.model.learned.growing import Growth, grow, taken_over
from ridgeline.model.learned.local import COLUMNS, local_values
from ridgeline.model.learned.trees import Forest

GROWTH = Growth(rounds=500, leaves=95, depth=-1, least=30, rate=0.05, smoothing=1.0, loss="l1", rows=0.7, columns=0.6, seed=1)
SCALE, NOISE = 2.0, 0.02
CONSTANT_ROWS = 4000


class Said(NamedTuple):
    """Log predictions of all rows: with trees, of the interpolation alone, and the features that the trees saw."""

    log: np.ndarray
    interpolated: np.ndarray
    features: np.ndarray


def form_log(each: Products, known: np.ndarray) -> np.ndarray:
    """The form under constants that were fitted on known rows."""
    at = np.flatnonzero(known)
    drawn = np.random.default_rng(0).choice(at, min(CONSTANT_ROWS, len(at)), replace=False)
    return log_time(each.rows, fit_constants(each.rows.rows(drawn), each.log_s[drawn], quantised=each.quantised))


def asked(several: list[Products], target: list[np.ndarray], base: list[np.ndarray], known: list[np.ndarray], growth: Growth) -> Said:
    """All precisions of one table together: log predictions of `target` (log seconds or power) from `base`."""
    rest = np.concatenate([goal - start for goal, start in zip(target, base, strict=True)])
    seen = np.concatenate(known)
    shape = np.concatenate([each.shape for each in several])
    kind = np.repeat(np.arange(len(several)), [len(each.log_s) for each in several])
    _, m = np.unique(shape[:, 0], return_inverse=True)
    group = kind * (m.max() + 1) + m
    _, series = np.unique(np.column_stack([kind, shape[:, 1:]]), axis=0, return_inverse=True)
    local = local_values(
        rest, seen, group, np.log2(shape[:, 1:]), scale=SCALE, noise=NOISE, series=series.ravel(), order=np.log2(shape[:, 0]),
    )  # fmt: skip
    one_hot = (kind[:, None] == np.arange(len(several))).astype(float)
    features = np.column_stack([np.concatenate([each.features for each in several]), one_hot, local.columns])
    names = [*FEATURES, *(f"kind-{number}" for number in range(len(several))), *COLUMNS]
    trees = Forest(taken_over(grow(features[seen], (rest - local.value)[seen], names, growth), names))
    start = np.concatenate(base) + local.value
    return Said(start + trees.predict(features), start, features)


def folds(shape: np.ndarray, count: int = 5) -> np.ndarray:
    """The fold of each row: pairs (n, k) are held out for every m and precision."""
    pairs, place = np.unique(shape[:, 1:], axis=0, return_inverse=True)
    return (np.random.default_rng(0).permutation(len(pairs)) % count)[place.ravel()]
