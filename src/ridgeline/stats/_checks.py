"""What every statistic asks of its input: a one-dimensional run of finite numbers."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.errors import UsageError

__all__ = ["Values", "confidence_level", "floats", "normal_quantile", "positive_floats", "thinned"]

Values = Sequence[float] | NDArray[Any]


def floats(values: Values, *, least: int = 1) -> NDArray[np.float64]:
    """The values as a float64 array of shape (n,).

    Raises:
        UsageError: not one-dimensional, not finite, or fewer than `least`.
    """
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1 or array.size < least:
        raise UsageError(f"a series of at least {least} numbers", found=f"shape {array.shape}", remedy="measure more, or flatten it")
    if not np.isfinite(array).all():
        raise UsageError("finite numbers", found=f"NaN or infinity at index {int(np.argmin(np.isfinite(array)))}", remedy="drop them")
    return array


def positive_floats(values: Values, *, least: int = 1) -> NDArray[np.float64]:
    """`floats`, all above zero, as times are."""
    array = floats(values, least=least)
    if (array <= 0).any():
        raise UsageError("times above zero", found=f"{array.min()!r}", remedy="use a finer clock, or batch several calls")
    return array


def confidence_level(confidence: float) -> None:
    """Raise `UsageError` unless 0 < confidence < 1."""
    if not 0 < confidence < 1:
        raise UsageError("confidence to lie in (0, 1)", found=repr(confidence), remedy="give for example 0.95")


def normal_quantile(confidence: float) -> float:
    """z such that a standard normal value lies in ±z with this confidence; from the lower tail, which rounds last."""
    return -NormalDist().inv_cdf((1 - confidence) / 2)


def thinned(array: NDArray[np.float64], most: int) -> NDArray[np.float64]:
    """At most `most` values, evenly spaced over the series, so that pairwise statistics stay cheap and repeatable."""
    if array.size <= most:
        return array
    return array[np.linspace(0, array.size - 1, most).round().astype(np.intp)]
