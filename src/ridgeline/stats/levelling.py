"""Whether a series that approaches a level, as a warming machine does, has got there: `has_levelled`.

Decides by the second half of the series, so that the longer it has moved the longer it has to rest. Sources: A. C. Aitken, "On Bernoulli's numerical
solution of algebraic equations", Proc. Royal Society of Edinburgh 46, 1926, for what is left of an exponential approach; H. B. Mann, "Nonparametric
tests against trend", Econometrica 13, 1945, for whether there is a trend at all.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ._checks import Values, floats

__all__ = ["has_levelled"]

#: Fewest values of the second half: three thirds of at least three.
_LEAST = 9
#: Values whose signs are compared for a trend; medians of blocks where there are more.
_BLOCKS = 12
#: Standard deviations of Mann's S beyond which a trend is no chance (two-sided 1 %).
_TREND_Z = 2.58
#: A trend that moves by less than this part of the tolerance over the half is let pass.
_NOTHING = 0.1
#: An approach that shrinks by less than this a third is too straight to say where it ends.
_SHRINKS = 0.8


def has_levelled(values: Values, tolerance: float) -> bool:
    """Whether what is left of an approach to a level is within the tolerance.

    The thirds of the second half have means m₁, m₂, m₃, and d₁ = m₂ − m₁, d₂ = m₃ − m₂. An exponential approach shrinks by r = d₂ ÷ d₁ a third, so
    that d₂ r ÷ (1 − r) is left beyond m₃. Levelled is: hardly a change, |m₃ − m₁| ≤ tolerance ÷ 10; or no trend, with |m₃ − m₁| within the
    tolerance or the spread around the means; or an approach with r ≤ 0.8 of which at most half the tolerance is left.

    Args:
        values: in order and evenly spaced in time, shape (n,).
        tolerance: in the unit of the values, > 0.

    Returns:
        False below 17 values. A drift hidden in the noise, or slower than a tenth of the tolerance over the half, cannot be told from a level.

    Raises:
        UsageError: no values, or one that is not finite.

    >>> has_levelled([300 + 40 * (1 - 0.8**i) for i in range(60)], 0.5)
    True
    >>> has_levelled([300 + 40 * (1 - 0.8**i) for i in range(17)], 0.5)
    False
    """
    array = floats(values)
    half = array[array.size // 2 :]
    if half.size < _LEAST:
        return False
    half = half[half.size % 3 :]  # thirds of different lengths would lie at different distances
    thirds = np.split(half, 3)
    first, middle, last = (float(np.mean(third)) for third in thirds)
    change, before, after = abs(last - first), middle - first, last - middle
    if change <= _NOTHING * tolerance:
        return True
    spread = math.sqrt(sum(float(np.var(third)) * third.size for third in thirds) / half.size)
    if not _has_trend(half):
        return change <= max(tolerance, spread)
    ratio = after / before if before else math.inf
    return 0 <= ratio <= _SHRINKS and abs(after) * ratio / (1 - ratio) <= tolerance / 2


def _has_trend(values: NDArray[np.float64]) -> bool:
    """Whether Mann's S, over the medians of up to twelve blocks, is beyond chance."""
    medians = np.array([np.median(block) for block in np.array_split(values, min(_BLOCKS, values.size))])
    count = medians.size
    s = abs(float(np.sum(np.triu(np.sign(medians[None, :] - medians[:, None]), 1))))
    return s - 1 >= _TREND_Z * math.sqrt(count * (count - 1) * (2 * count + 5) / 18)
