"""Whether a mark is found more often among chosen items than among the others: exact tests on two marks of the same items."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["more_often", "more_often_in_time"]

Mask = NDArray[np.bool_]


def more_often(marked: Mask, chosen: Mask, strata: NDArray[np.integer] | None = None) -> float:
    """One-sided p-value of Fisher's exact test: that so many chosen items are marked if the mark has nothing to do with the choice.

    P(X ≥ x) with X hypergeometric: x of the k chosen are marked, of n items m are. With strata, X is the sum of one such number for each, so that
    a difference between strata is no evidence: the exact conditional test of a common odds ratio of 1.

    Args:
        marked, chosen: shape (n,).
        strata: stratum of each item, shape (n,); null for one.

    Source: Fisher, Statistical Methods for Research Workers (1934), §21.02; Zelen, The analysis of several 2×2 contingency tables,
    Biometrika 58 (1971).

    >>> round(more_often(np.array([1, 1, 1, 0, 0, 0]) > 0, np.array([1, 1, 1, 0, 0, 0]) > 0), 3)
    0.05
    """
    groups = np.zeros(len(marked), np.int64) if strata is None else np.unique(strata, return_inverse=True)[1]
    count = int(groups.max()) + 1 if len(groups) else 0
    sizes = np.bincount(groups, minlength=count)
    with_mark, picked = (np.bincount(groups[mask], minlength=count) for mask in (marked, chosen))
    found = int((marked & chosen).sum())
    law, least = np.ones(1), 0
    for n, m, k in zip(sizes.tolist(), with_mark.tolist(), picked.tolist(), strict=True):
        if m and k:
            one, low = _hypergeometric(n, m, k)
            law, least = np.convolve(law, one), least + low
    return float(min(1.0, law[max(0, found - least) :].sum())) if found > least else 1.0


def more_often_in_time(marked: Mask, chosen: Mask) -> float:
    """The same for marks that come in long runs, where neighbours are no independent items: the part of all rotations of the marks against the
    choice that agree at least as well as they stand.

    A rotation keeps how both are bunched. Approximate: it takes it that one of the two looks the same whenever one starts to look, and that the end
    joins the start. Never below 1 ÷ n.

    Args:
        marked, chosen: in the order of time, shape (n,).

    Source: Harris, A shift test for independence in generic time series (2020), here with circular shifts.
    """
    size = len(marked)
    if not (marked & chosen).any():
        return 1.0
    overlap = np.fft.irfft(np.fft.rfft(marked.astype(float)) * np.conj(np.fft.rfft(chosen.astype(float))), size)
    return float((np.rint(overlap) >= int((marked & chosen).sum())).mean())


def _hypergeometric(n: int, m: int, k: int) -> tuple[NDArray[np.float64], int]:
    """(Probabilities of max(0, k + m − n) … min(m, k) marked among k chosen of n, of which m are marked; the least of these numbers)."""
    from scipy.special import gammaln

    def log_ways(whole: float, part: NDArray[np.float64] | float) -> NDArray[np.float64]:
        ways: NDArray[np.float64] = gammaln(whole + 1.0) - gammaln(np.asarray(part) + 1.0) - gammaln(whole - np.asarray(part) + 1.0)
        return ways

    low = max(0, k + m - n)
    x = np.arange(low, min(m, k) + 1, dtype=np.float64)
    law = np.exp(log_ways(m, x) + log_ways(n - m, k - x) - log_ways(n, k))
    return law / law.sum(), low
