"""The interval of a share that was counted, such as the samples that landed in a function.

Source: E. B. Wilson, "Probable inference, the law of succession, and statistical inference", JASA 22, 1927; recommended for all n by
L. Brown, T. Cai, A. DasGupta, "Interval estimation for a binomial proportion", Statistical Science 16, 2001.
"""

from __future__ import annotations

import math

from ..core.errors import UsageError
from ..core.quantity import Quantity
from ._checks import confidence_level, normal_quantile

__all__ = ["share_quantity", "wilson_interval"]


def wilson_interval(hits: float, n: float, confidence: float = 0.95) -> tuple[float, float]:
    """(p̂ + z²/2n ± z √(p̂(1 − p̂)/n + z²/4n²)) ÷ (1 + z²/n), within [0, 1].

    Args:
        hits: samples in the region, 0 ≤ hits ≤ n; not whole where samples carry weights.
        n: all samples, > 0; with weights the effective number.
        confidence: in (0, 1).

    Raises:
        UsageError: a number out of its range.

    >>> low, high = wilson_interval(5, 10)
    >>> round(low, 4), round(high, 4)
    (0.2366, 0.7634)
    """
    confidence_level(confidence)
    if not (math.isfinite(n) and n > 0 and 0 <= hits <= n):
        raise UsageError("0 ≤ hits ≤ n and n > 0", found=f"hits={hits!r} n={n!r}", remedy="record samples first")
    z = normal_quantile(confidence)
    share = hits / n
    centre = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n)) / (1 + z * z / n)
    # The formula gives exactly 0 and 1 at the ends; rounding must not move them inside or the estimate out.
    low = 0.0 if hits == 0 else max(0.0, min(share, centre - half))
    high = 1.0 if hits == n else min(1.0, max(share, centre + half))
    return low, high


def share_quantity(hits: float, n: float, confidence: float = 0.95, *, origin: str = "samples in the region ÷ samples") -> Quantity:
    """hits ÷ n with its Wilson interval as a measured `Quantity` of unit 1. Arguments and errors as `wilson_interval`."""
    low, high = wilson_interval(hits, n, confidence)
    return Quantity(value=hits / n, low=low, high=high, confidence=confidence, unit="1", source="measured", origin=origin)
