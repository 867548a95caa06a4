"""Statistics that a few wild samples cannot move: scale, noise floor, trend, shift and ratio.

Everything here is deterministic: where a series is thinned it is thinned evenly, and resampling takes a seed.
"""

from __future__ import annotations

import math
from functools import lru_cache
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from ..core.errors import UsageError
from ._checks import Values, confidence_level, floats, normal_quantile, positive_floats, thinned

__all__ = [
    "block_medians",
    "hodges_lehmann_shift",
    "mad",
    "mad_sigma",
    "median_pairwise_distance",
    "noise_floor",
    "paired_ratio",
    "rank_sum_p_value",
    "ratio_of_medians",
    "theil_sen_slope",
]

#: Pairwise statistics look at up to this many values (two million pairs).
_MOST = 2000
#: Fewest values from which a noise floor is taken: ten blocks of two.
_NOISE_LEAST = 20
#: Pairs of values up to which the rank test is exact.
_EXACT = 400


def mad(values: Values) -> float:
    """Median absolute deviation from the median, in the unit of the values.

    >>> mad([1, 2, 3, 4, 100])
    1.0
    """
    array = floats(values)
    return float(np.median(np.abs(array - np.median(array))))


def mad_sigma(values: Values) -> float:
    """1.4826 × MAD: the standard deviation, if the bulk of the values is normal. Source: F. Hampel, JASA 69, 1974."""
    return 1.4826022185056018 * mad(values)


def median_pairwise_distance(values: Values) -> float:
    """median |xᵢ − xⱼ| over i < j; × 1.0483 it estimates a normal σ, at 86 % efficiency (the MAD has 37 %).

    More than 2000 values are thinned evenly. Source: M. Shamos 1976; P. Rousseeuw, C. Croux, JASA 88, 1993.

    Raises:
        UsageError: fewer than 2 values.

    >>> median_pairwise_distance([1, 2, 4])
    2.0
    """
    array = thinned(floats(values, least=2), _MOST)
    upper = np.triu_indices(array.size, k=1)
    return float(np.median(np.abs(array[upper[0]] - array[upper[1]])))


def block_medians(values: Values, blocks: int) -> NDArray[np.float64]:
    """Medians of `blocks` consecutive, nearly equal pieces of the series, shape (blocks,)."""
    array = floats(values, least=max(1, blocks))
    return np.array([np.median(piece) for piece in np.array_split(array, blocks)])


def noise_floor(values: Values, confidence: float = 0.95) -> float | None:
    """The smallest relative difference that an interleaved comparison of this length and noise could tell from nothing.

    The series is cut into an even number of consecutive blocks (10 to 40) that are dealt alternately to two halves, as if two identical versions
    had been interleaved. With dᵢ = ln(median of block 2i−1 ÷ median of block 2i), whose mean is known to be 0, the
    floor is exp(t √(Σdᵢ² ÷ P) ÷ √P) − 1, t the two-sided quantile of Student's distribution with P degrees of freedom, P pairs. Two real
    versions whose medians differ by less than this are the same as far as this series can say.

    Args:
        values: times in the order in which they were taken, shape (n,), > 0.
        confidence: in (0, 1).

    Returns:
        A relative half-width such as 0.012, or `None` for fewer than 20 values.

    Raises:
        UsageError: a value that is not above zero, a confidence out of range.

    >>> noise_floor([1.0] * 100)
    0.0
    """
    confidence_level(confidence)
    array = positive_floats(values)
    if array.size < _NOISE_LEAST:
        return None
    from scipy.special import stdtrit

    pairs = min(20, array.size // 4)
    logs = np.log(block_medians(array, 2 * pairs))
    differences = logs[0::2] - logs[1::2]
    spread = math.sqrt(float(np.mean(differences**2)))
    return math.expm1(float(stdtrit(pairs, 0.5 + confidence / 2)) * spread / math.sqrt(pairs))


def theil_sen_slope(values: Values, at: Values | None = None, confidence: float = 0.95) -> tuple[float, float, float]:
    """(slope, low, high): the median slope over all pairs, with Sen's interval.

    The interval takes the pair slopes of ranks (N ∓ z √(n(n−1)(2n+5)/18)) ÷ 2 of N. More than 2000 points are thinned evenly.
    Source: P. K. Sen, "Estimates of the regression coefficient based on Kendall's tau", JASA 63, 1968.

    Args:
        values: shape (n,), n ≥ 2.
        at: positions of the values, shape (n,), increasing; 0, 1, 2, … if not given.
        confidence: in (0, 1).

    Returns:
        Slope and ends in unit of `values` ÷ unit of `at`.

    Raises:
        UsageError: fewer than 2 values, positions that are not increasing.

    >>> theil_sen_slope([1, 2, 3, 4, 50, 6, 7, 8])[0]
    1.0
    """
    confidence_level(confidence)
    y = floats(values, least=2)
    x = np.arange(y.size, dtype=np.float64) if at is None else floats(at, least=2)
    if x.size != y.size or not (np.diff(x) > 0).all():
        raise UsageError("as many increasing positions as values", found=f"{x.size} for {y.size}", remedy="sort by position first")
    x, y = thinned(x, _MOST), thinned(y, _MOST)
    first, second = np.triu_indices(y.size, k=1)
    slopes = np.sort((y[second] - y[first]) / (x[second] - x[first]))
    n, pairs = y.size, slopes.size
    half = normal_quantile(confidence) * math.sqrt(n * (n - 1) * (2 * n + 5) / 18)
    low = max(0, math.floor((pairs - half) / 2) - 1)
    high = min(pairs - 1, math.ceil((pairs + half) / 2))
    return float(np.median(slopes)), float(slopes[low]), float(slopes[high])


def hodges_lehmann_shift(before: Values, after: Values, confidence: float = 0.95) -> tuple[float, float, float]:
    """(shift, low, high): the median of all differences after − before, with the Mann-Whitney interval.

    The interval runs between the differences of ranks C and mn + 1 − C, C the largest with P(U ≤ C − 1) ≤ α ÷ 2: exact up to
    400 pairs, normal beyond. Where no rank is small enough it is (−inf, inf). More than 2000 values a side are thinned evenly.
    Source: J. Hodges, E. Lehmann, Ann. Math. Statist. 34, 1963; M. Hollander, D. Wolfe, "Nonparametric Statistical Methods", §4.3.

    Raises:
        UsageError: an empty side.

    >>> hodges_lehmann_shift([1, 2, 3], [11, 12, 13])[0]
    10.0
    """
    confidence_level(confidence)
    a, b = thinned(floats(before), _MOST), thinned(floats(after), _MOST)
    differences = np.sort((b[:, None] - a[None, :]).ravel())
    rank = _mann_whitney_rank(a.size, b.size, (1 - confidence) / 2)
    shift = float(np.median(differences))
    if rank < 1:
        return shift, -math.inf, math.inf
    return shift, float(differences[rank - 1]), float(differences[-rank])


def rank_sum_p_value(before: Values, after: Values) -> float:
    """Two-sided chance of so one-sided a difference between equal versions: 2 P(U ≤ min(#{d ≤ 0}, #{d ≥ 0})) over all differences d, at most 1.

    It is ≤ 1 − c exactly where the interval of `hodges_lehmann_shift` at confidence c leaves out 0. Equal values count against a difference, so
    that ties make it larger, never smaller.

    Raises:
        UsageError: an empty side.

    >>> round(rank_sum_p_value([1, 2, 3, 4, 5], [11, 12, 13, 14, 15]), 4)
    0.0079
    """
    a, b = np.sort(thinned(floats(before), _MOST)), np.sort(thinned(floats(after), _MOST))
    not_above = int(np.searchsorted(b, a, side="right").sum())
    not_below = a.size * b.size - int(np.searchsorted(b, a, side="left").sum())
    return min(1.0, 2 * _mann_whitney_at_most(min(not_above, not_below), a.size, b.size))


def _mann_whitney_at_most(u: int, m: int, n: int) -> float:
    """P(U ≤ u) under no difference: exact up to 400 pairs, normal beyond."""
    if m * n <= _EXACT:
        cumulative = _mann_whitney_cumulative(m, n)
        return float(cumulative[min(u, len(cumulative) - 1)])
    return NormalDist().cdf((u + 1 - m * n / 2) / math.sqrt(m * n * (m + n + 1) / 12))


def _mann_whitney_rank(m: int, n: int, tail: float) -> int:
    """Largest C with P(U ≤ C − 1) ≤ tail under no difference; 0 if there is none."""
    if m * n > _EXACT:
        return max(0, math.floor(m * n / 2 - normal_quantile(1 - 2 * tail) * math.sqrt(m * n * (m + n + 1) / 12)))
    # A tail met to the last digit counts as met: (1 − 0.9) ÷ 2 is a little under 1 ÷ 20.
    return int(np.searchsorted(_mann_whitney_cumulative(m, n), tail * (1 + 1e-9), side="right"))


@lru_cache(maxsize=256)
def _mann_whitney_cumulative(m: int, n: int) -> NDArray[np.float64]:
    """P(U ≤ u) for u = 0, 1, …, mn."""
    everything = math.comb(m + n, n)
    below, cumulative = 0, []
    for count in _mann_whitney_counts(m, n):
        below += count
        cumulative.append(below / everything)
    return np.array(cumulative)


def _mann_whitney_counts(m: int, n: int) -> list[int]:
    """Number of arrangements with U = 0, 1, …, mn: coefficients of the Gaussian binomial Π (1 − xᵐ⁺ⁱ) ÷ (1 − xⁱ)."""
    counts = [1] + [0] * (m * n)
    for i in range(1, n + 1):
        for power in range(m * n, m + i - 1, -1):
            counts[power] -= counts[power - m - i]
        for power in range(i, m * n + 1):
            counts[power] += counts[power - i]
    return counts


def paired_ratio(before: Values, after: Values, confidence: float = 0.95) -> tuple[float, float, float] | None:
    """(ratio, low, high): the median of after ÷ before over interleaved pairs, with its order-statistic interval.

    Exact for any distribution of independent pair ratios; what moves both members of a pair (a neighbour, a clock) cancels.

    Args:
        before, after: times of the same length n; pair i was taken together.
        confidence: in (0, 1).

    Returns:
        `None` below 6 pairs at 95 %.

    Raises:
        UsageError: unequal lengths, a time that is not above zero.

    >>> paired_ratio([2.0] * 8, [1.0] * 8)
    (0.5, 0.5, 0.5)
    """
    from .quantile import median_interval

    a, b = _pairs(before, after)
    found = median_interval(b / a, confidence)
    return None if found is None else (found.value, found.low, found.high)


def ratio_of_medians(
    before: Values, after: Values, confidence: float = 0.95, *, paired: bool = True, resamples: int = 2000, seed: int = 0
) -> tuple[float, float, float]:
    """(ratio, low, high): median(after) ÷ median(before) with a percentile bootstrap interval.

    Pairs are resampled together when `paired`, each side by itself otherwise. The bootstrap of a median wants 20 values or more.
    Source: B. Efron, R. Tibshirani, "An Introduction to the Bootstrap", 1993, §13.

    Args:
        before, after: times, > 0; of the same length if paired.
        confidence: in (0, 1).
        resamples: bootstrap resamples, ≥ 100.
        seed: of the resampling; the same seed gives the same interval.

    Raises:
        UsageError: unequal lengths of pairs, a time that is not above zero, fewer than 100 resamples.

    >>> ratio_of_medians([2.0] * 30, [1.0] * 30)
    (0.5, 0.5, 0.5)
    """
    confidence_level(confidence)
    if resamples < 100:
        raise UsageError("resamples ≥ 100", found=repr(resamples), remedy="leave the default")
    a, b = _pairs(before, after) if paired else (positive_floats(before), positive_floats(after))
    generator = np.random.default_rng(seed)
    ratios = np.empty(resamples)
    # In slices, so that a long series does not ask for gigabytes.
    step = max(1, 2_000_000 // max(a.size, b.size))
    for start in range(0, resamples, step):
        count = min(step, resamples - start)
        chosen = generator.integers(0, a.size, (count, a.size))
        other = chosen if paired else generator.integers(0, b.size, (count, b.size))
        ratios[start : start + count] = np.median(b[other], axis=1) / np.median(a[chosen], axis=1)
    value = float(np.median(b) / np.median(a))
    low, high = np.quantile(ratios, [(1 - confidence) / 2, (1 + confidence) / 2])
    return value, min(value, float(low)), max(value, float(high))


def _pairs(before: Values, after: Values) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    a, b = positive_floats(before), positive_floats(after)
    if a.size != b.size:
        raise UsageError("as many times after as before", found=f"{a.size} and {b.size}", remedy="drop what has no partner")
    return a, b
