"""What every model of an NPU asks of its numbers: whole, finite and small enough to be exact, named in the error.

Counts are computed in 64-bit integers. They are refused past 2⁵³, so that a float made of one is still exact; a product that would leave
that range is refused too, before it could wrap round to a plausible number.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...core.errors import OutOfRange, UsageError

__all__ = ["LARGEST", "Counts", "Reals", "ceil_div", "exact", "reals", "whole"]

Counts: TypeAlias = NDArray[np.int64]
Reals: TypeAlias = NDArray[np.float64]

#: The largest whole number up to which every whole number is a double.
LARGEST = 2**53


def whole(least: int = 1, **numbers: ArrayLike) -> tuple[Counts, ...]:
    """The numbers as int64 arrays of one shape (broadcast against each other).

    Args:
        least: smallest value that is allowed.
        numbers: whole numbers from `least` to 2⁵³, of any integer type or floats without a fraction.

    Raises:
        UsageError: a number that is not whole, NaN, too small or too large, or shapes that do not fit each other.
    """
    arrays = [_whole(name, value, least) for name, value in numbers.items()]
    try:
        return tuple(np.broadcast_arrays(*arrays))
    except ValueError:
        shapes = ", ".join(f"{name} {array.shape}" for name, array in zip(numbers, arrays, strict=True))
        raise UsageError("arrays of one shape, or single numbers", found=shapes, remedy="give as many numbers of each") from None


def _whole(name: str, value: ArrayLike, least: int) -> Counts:
    array = _numeric(name, value)
    fine = (array >= least) & (array <= LARGEST) & (array == np.floor(array))
    if not fine.all():
        found = array[~fine].ravel()[0]
        raise UsageError(f"{name} to be whole numbers from {least} to 2⁵³", found=str(found), remedy=f"count {name}")
    return array.astype(np.int64)


def reals(positive: bool = True, **numbers: ArrayLike) -> tuple[Reals, ...]:
    """The numbers as float64 arrays, each finite and > 0 (≥ 0 where `positive` is false).

    Raises:
        UsageError: a number that is NaN, infinite or of the wrong sign.
    """
    found = []
    for name, value in numbers.items():
        array = np.asarray(_numeric(name, value), np.float64)
        fine = np.isfinite(array) & ((array > 0) if positive else (array >= 0))
        if not fine.all():
            sign = "> 0" if positive else "≥ 0"
            raise UsageError(f"{name} to be finite numbers {sign}", found=str(array[~fine].ravel()[0]), remedy=f"give {name} in SI units")
        found.append(array)
    return tuple(found)


def _numeric(name: str, value: ArrayLike) -> NDArray[Any]:
    try:
        array = np.asarray(value)
    except ValueError:
        raise UsageError(f"{name} to be an array of numbers", found="rows of unlike length", remedy=f"give {name} as one array") from None
    if array.dtype.kind not in "iuf" or not array.size:
        found = f"{array.size} values of type {array.dtype}"
        raise UsageError(f"{name} to be numbers, at least one", found=found, remedy=f"give {name} as integers") from None
    return array


def exact(name: str, *factors: Counts) -> Counts:
    """The product of non-negative whole numbers, exact.

    Raises:
        OutOfRange: a product past 2⁵³.
    """
    rough = np.ones(())
    product = np.ones((), np.int64)
    for factor in factors:
        rough = rough * factor.astype(np.float64)
        if (rough > LARGEST).any():
            raise OutOfRange(f"{name} of at most 2⁵³", found=f"about {float(np.max(rough)):.3g}", remedy="ask for a smaller shape")
        product = product * factor
    return product


def ceil_div(number: Counts, divisor: Counts | int) -> Counts:
    """⌈number ÷ divisor⌉ of whole numbers ≥ 0."""
    return np.asarray(-(-number // divisor), np.int64)
