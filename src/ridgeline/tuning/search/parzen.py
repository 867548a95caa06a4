"""Which values the good configurations have more often than the others: a score of every candidate, parameter by parameter.

It knows no distances and no pairs, so that it errs elsewhere than a process does. Source: J. Bergstra et al., "Algorithms for Hyper-Parameter
Optimization", NeurIPS 2011, for the ratio of two densities as what to make large.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["parzen_score"]

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]
#: Part of the configurations that count as good, and how many at the least.
_GOOD, _LEAST_GOOD = 0.2, 2


def parzen_score(rows: Rows, values: Floats, candidates: Rows, sizes: NDArray[np.int64]) -> Floats:
    """ln(density among the good ÷ density among the others) of each candidate, (N,).

    Args:
        rows: (n, parameters), n ≥ 3; values: (n,), NaN of failures, which are never good.
        sizes: values of each parameter.
    """
    order = np.argsort(np.where(np.isnan(values), np.inf, values), kind="stable")
    good = min(max(_LEAST_GOOD, int(np.ceil(_GOOD * len(rows)))), max(1, int((~np.isnan(values)).sum())))
    score = np.zeros(len(candidates))
    for place, size in enumerate(sizes.tolist()):
        counts = [np.bincount(rows[part, place], minlength=size) + 1.0 for part in (order[:good], order[good:])]
        score += np.log(counts[0] / counts[0].sum() / (counts[1] / counts[1].sum()))[candidates[:, place]]
    return score
