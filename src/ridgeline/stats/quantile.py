"""Distribution-free intervals of a quantile from order statistics, and how many samples a quantile needs before it exists.

For continuous independent samples, the number below the q-quantile ξ is Binomial(n, q); so P(X₍ₗ₎ ≤ ξ ≤ X₍ᵤ₎) = P(l ≤ B ≤ u − 1), whatever the
distribution. Ties only raise the coverage. Samples that depend on each other (a neighbour that comes and goes) make it too narrow.
Source: H. A. David, H. N. Nagaraja, "Order Statistics", 3rd ed., §7.1; G. Hahn, W. Meeker, "Statistical Intervals", §5.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from ..core.errors import UsageError
from ..core.quantity import Quantity
from ._checks import Values, confidence_level, floats

__all__ = [
    "QuantileInterval",
    "clustered_quantile_interval",
    "interval_ranks",
    "median_interval",
    "minimum_samples",
    "process_quantiles",
    "quantile_bound",
    "quantile_interval",
    "refusal",
]


class QuantileInterval(msgspec.Struct, frozen=True, kw_only=True):
    """A quantile with its interval.

    Args:
        q: the quantile, in (0, 1).
        n: samples.
        value: the sample quantile (linear interpolation), in the unit of the samples.
        low, high: order statistics low_rank and high_rank (from 1).
        coverage: probability with which the interval holds, at least the confidence asked for.
    """

    q: float
    n: int
    value: float
    low: float
    high: float
    low_rank: int
    high_rank: int
    coverage: float

    def as_quantity(self, unit: str, *, origin: str = "") -> Quantity:
        """The interval as a measured `Quantity`; its coverage is the confidence."""
        coverage = min(self.coverage, 1.0)
        return Quantity(value=self.value, low=self.low, high=self.high, confidence=coverage, unit=unit, source="measured", origin=origin)


def _check(q: float, confidence: float) -> None:
    if not 0 < q < 1:
        raise UsageError("a quantile in (0, 1)", found=repr(q), remedy="write the p99 as 0.99")
    confidence_level(confidence)


def _at_most(k: int, n: int, q: float) -> float:
    """P(B ≤ k) for B ~ Binomial(n, q)."""
    if k < 0:
        return 0.0
    if k >= n:
        return 1.0
    from scipy.special import bdtr

    return float(bdtr(k, n, q))


def minimum_samples(q: float, confidence: float = 0.95, *, one_sided: bool = True) -> int:
    """The fewest samples for which the quantile can be bounded at all.

    One-sided (the larger of both bounds): the largest sample lies above ξ with probability 1 − qⁿ, the smallest below it with 1 − (1 − q)ⁿ;
    the rarer side decides, n = ⌈ln(1 − c) ÷ ln max(q, 1 − q)⌉. Two-sided: 1 − qⁿ − (1 − q)ⁿ ≥ c.

    Args:
        q: quantile in (0, 1).
        confidence: c in (0, 1).

    Raises:
        UsageError: a number out of its range.

    >>> minimum_samples(0.99), minimum_samples(0.5, one_sided=False)
    (299, 6)
    """
    _check(q, confidence)
    rare = max(q, 1 - q)
    n = max(1, math.ceil(math.log(1 - confidence) / math.log(rare) - 1e-9))
    # The other tail counts only where both are alike and n is small.
    while not one_sided and n < 1000 and q**n + (1 - q) ** n > 1 - confidence:
        n += 1
    return n


def refusal(n: int, q: float, confidence: float = 0.95) -> str | None:
    """Why `quantile_interval` has no answer for n samples, or `None` if it has one.

    >>> refusal(100, 0.99)
    'p99 needs at least 299 samples for 95% confidence; there are 100'
    >>> refusal(299, 0.99) is None
    True
    """
    needed = minimum_samples(q, confidence, one_sided=False)
    if n >= needed:
        return None
    return f"p{100 * q:g} needs at least {needed} samples for {100 * confidence:g}% confidence; there are {n}"


def interval_ranks(n: int, q: float, confidence: float = 0.95) -> tuple[int, int, float] | None:
    """Ranks (l, u), 1 ≤ l < u ≤ n, and the coverage P(l ≤ B ≤ u − 1) ≥ confidence; `None` if n is too small.

    Each tail gets half of 1 − c; a tail that cannot be made that small (few samples beyond a p99) leaves the rest to the other.

    >>> interval_ranks(6, 0.5)
    (1, 6, 0.96875)
    """
    _check(q, confidence)
    if n < 1 or refusal(n, q, confidence) is not None:
        return None
    alpha = 1 - confidence
    above = max(alpha / 2, q**n)
    below = max(alpha / 2, (1 - q) ** n)
    if above > alpha / 2:
        below = alpha - above
    elif below > alpha / 2:
        above = alpha - below
    low = _largest_rank(n, q, below)
    high = _smallest_rank(n, q, above)
    return low, high, _at_most(high - 1, n, q) - _at_most(low - 1, n, q)


def _largest_rank(n: int, q: float, tail: float) -> int:
    """Largest l ≥ 1 with P(B ≤ l − 1) ≤ tail, by bisection; 1 if even that does not hold by a rounding error."""
    low, high = 1, n
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if _at_most(middle - 1, n, q) <= tail else (low, middle - 1)
    return low


def _smallest_rank(n: int, q: float, tail: float) -> int:
    """Smallest u ≤ n with P(B ≥ u) ≤ tail."""
    low, high = 1, n
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if 1 - _at_most(middle - 1, n, q) <= tail else (middle + 1, high)
    return low


def quantile_interval(values: Values, q: float, confidence: float = 0.95) -> QuantileInterval | None:
    """The q-quantile with a distribution-free interval, or `None` below the sample limit (`refusal` says why).

    Args:
        values: samples, shape (n,), finite, any unit.
        q: in (0, 1).
        confidence: coverage asked for.

    Raises:
        UsageError: no samples, or a number out of its range.

    >>> quantile_interval(range(1, 101), 0.99) is None
    True
    >>> found = quantile_interval(range(1, 301), 0.99)
    >>> found.low, found.high
    (290.0, 300.0)
    """
    array = np.sort(floats(values))
    ranks = interval_ranks(array.size, q, confidence)
    if ranks is None:
        return None
    low, high = float(array[ranks[0] - 1]), float(array[ranks[1] - 1])
    # Interpolation may step over a rank in tiny samples: the estimate stays inside its interval.
    value = min(max(float(np.quantile(array, q)), low), high)
    return QuantileInterval(q=q, n=array.size, value=value, low=low, high=high, low_rank=ranks[0], high_rank=ranks[1], coverage=ranks[2])


def process_quantiles(processes: Sequence[Values], quantiles: Sequence[float]) -> NDArray[np.float64]:
    """The quantiles of each process by linear interpolation, as `numpy.quantile` has them, of all processes at once.

    Args:
        processes: k series, each of shape (n,), n ≥ 1, finite, any unit.
        quantiles: each in [0, 1].

    Returns:
        Shape (quantiles, k), in the unit of the values.

    Raises:
        UsageError: no process, or a process without values.

    >>> process_quantiles([[1, 2, 3], [4, 6]], [0.0, 0.5]).tolist()
    [[1.0, 4.0], [2.0, 5.0]]
    """
    sizes = np.array([len(process) for process in processes])
    if not sizes.size or (sizes == 0).any():
        raise UsageError("processes with values", found=f"{sizes.tolist()[:20]} values", remedy="leave empty ones out")
    values = floats(np.concatenate([np.asarray(process, dtype=np.float64) for process in processes]))
    # One sort for all: a call for each process is most of the time where there are hundreds of benchmarks with few values each.
    ordered = values[np.lexsort((values, np.repeat(np.arange(sizes.size), sizes)))]
    place = np.concatenate([[0], np.cumsum(sizes)[:-1]]) + np.multiply.outer(np.asarray(quantiles, dtype=np.float64), sizes - 1)
    below = np.floor(place).astype(np.intp)
    # Written so that equal neighbours give themselves, without rounding.
    return np.asarray(ordered[below] + (ordered[np.minimum(below + 1, ordered.size - 1)] - ordered[below]) * (place - below))


def clustered_quantile_interval(processes: Sequence[Values], q: float, confidence: float = 0.95) -> QuantileInterval | None:
    """`quantile_interval` of all samples together, made wider where the processes differ.

    Ranks are those of n ÷ D samples, scaled back to n. D, the design effect, is the variance of the part of its samples that a process has
    below the quantile, over the q (1 − q) ÷ m that independent samples would have, and at least 1. Below the sample limit of the whole, `None`;
    where only n ÷ D is below it, the ends are the smallest and the largest sample that its ranks allow.

    Args:
        processes: the samples of each process, each of shape (n,), finite, any unit.
        q: in (0, 1).
        confidence: coverage asked for.

    Raises:
        UsageError: no samples, or a number out of its range.

    Source: R. Woodruff, "Confidence intervals for medians and other position measures", JASA 47, 1952; L. Kish, "Survey Sampling", 1965 (D).

    >>> found = clustered_quantile_interval([range(1, 301)], 0.99)
    >>> found.low, found.high
    (290.0, 300.0)
    """
    array = np.sort(floats(np.concatenate([np.asarray(process, dtype=np.float64) for process in processes]) if len(processes) else []))
    plain = quantile_interval(array, q, confidence)
    if plain is None:
        return None
    effective = max(int(array.size / _design_effect(processes, float(np.quantile(array, q)), q)), minimum_samples(q, confidence, one_sided=False))
    ranks = interval_ranks(effective, q, confidence)
    if ranks is None or effective >= array.size:
        return plain
    scale = array.size / effective
    low_rank = max(1, math.floor(ranks[0] * scale))
    high_rank = array.size if ranks[1] == effective else min(array.size, math.ceil(ranks[1] * scale))
    low, high = float(array[low_rank - 1]), float(array[high_rank - 1])
    return msgspec.structs.replace(plain, low=min(plain.low, low), high=max(plain.high, high), low_rank=low_rank, high_rank=high_rank)


def _design_effect(processes: Sequence[Values], quantile: float, q: float) -> float:
    """Σ mᵢ² (pᵢ − q)² ÷ (q (1 − q) Σ mᵢ) × k ÷ (k − 1) over k processes of mᵢ samples, pᵢ of them up to the quantile."""
    counts = [np.asarray(process).size for process in processes]
    if len(counts) < 2:
        return 1.0
    excess = [np.sum(np.asarray(process) <= quantile) - q * count for process, count in zip(processes, counts, strict=True)]
    k = len(counts)
    return max(1.0, float(np.sum(np.square(excess))) / (q * (1 - q) * sum(counts)) * k / (k - 1))


def median_interval(values: Values, confidence: float = 0.95) -> QuantileInterval | None:
    """The median with its interval; `None` below 6 samples at 95 %.

    >>> found = median_interval([3, 1, 2, 5, 4, 6])
    >>> found.value, found.low, found.high
    (3.5, 1.0, 6.0)
    """
    return quantile_interval(values, 0.5, confidence)


def quantile_bound(values: Values, q: float, confidence: float = 0.95, *, side: Literal["upper", "lower"] = "upper") -> float | None:
    """A one-sided bound: with the confidence given, the q-quantile lies below (upper) or above (lower) it. `None` where n is too small.

    Raises:
        UsageError: no samples, or a number out of its range.

    >>> quantile_bound(range(1, 300), 0.99)
    299.0
    >>> quantile_bound(range(1, 299), 0.99) is None
    True
    """
    _check(q, confidence)
    array = np.sort(floats(values))
    n, alpha = array.size, 1 - confidence
    if side == "upper":
        return None if q**n > alpha else float(array[_smallest_rank(n, q, alpha) - 1])
    return None if (1 - q) ** n > alpha else float(array[_largest_rank(n, q, alpha) - 1])
