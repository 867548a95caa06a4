"""Whether a series that approaches a level has got there: `has_levelled`."""

from __future__ import annotations

import numpy as np

from ._checks import Values, floats

__all__ = ["has_levelled"]

#: Fewest values: three thirds of at least this many.
_LEAST_THIRD = 3


def has_levelled(values: Values, tolerance: float) -> bool:
    """Whether what is left of an approach to a level is within the tolerance.

    The medians m₁, m₂, m₃ of the three thirds of the series have differences d₁ = m₂ − m₁ and d₂ = m₃ − m₂. An exponential approach shrinks by the
    same factor r = d₂ ÷ d₁ a third, so that beyond m₃ there is d₂ r ÷ (1 − r) to come: Aitken's extrapolation. Levelled is |d₂| ≤ tolerance ÷ 2
    together with r ≤ ½ in size, or with |d₁| ≤ tolerance ÷ 2 too. The medians keep noise and cycles that are short beside a third out of it.
    Source: A. C. Aitken, "On Bernoulli's numerical solution of algebraic equations", Proc. Royal Society of Edinburgh 46, 1926.

    Args:
        values: in order and evenly spaced in time, shape (n,).
        tolerance: in the unit of the values, > 0.

    Returns:
        False below nine values. An approach so slow that it moves by less than the tolerance over the whole series cannot be told from a level.

    Raises:
        UsageError: no values, or one that is not finite.

    >>> has_levelled([300 + 40 * (1 - 0.8**i) for i in range(60)], 0.5)
    True
    >>> has_levelled([300 + 40 * (1 - 0.8**i) for i in range(12)], 0.5)
    False
    """
    array = floats(values)
    if array.size < 3 * _LEAST_THIRD:
        return False
    first, middle, last = (float(np.median(third)) for third in np.array_split(array, 3))
    before, after = abs(middle - first), abs(last - middle)
    return after <= tolerance / 2 and (before <= tolerance / 2 or after <= before / 2)
