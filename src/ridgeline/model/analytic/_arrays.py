"""What every analytical model asks of its arguments: numbers inside their domain, named with value and index where they are not.

Scalars and arrays go in, float64 arrays that broadcast come out. Numbers are kept between 1e-100 and 1e100, so that no product or quotient of
a few of them can overflow into an infinity or vanish; counts are whole and at most 2⁵³, up to which every whole number is a double.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...core.errors import OutOfRange, UsageError

__all__ = [
    "COUNT", "COUNT_OR_NONE", "FACTOR", "NON_NEGATIVE", "PART", "POSITIVE", "SHARE", "Domain", "Indices", "Reals", "by_name", "ceil_div",
    "choose", "each", "fit", "larger", "largest", "numbers", "outside", "round_up", "smaller", "total",
]  # fmt: skip

Reals: TypeAlias = NDArray[np.float64]
Indices: TypeAlias = NDArray[np.int64]

_SMALLEST, _LARGEST = 1e-100, 1e100


class Domain(NamedTuple):
    """A closed interval of allowed numbers, and whether they must be whole."""

    low: float
    high: float
    words: str
    whole: bool = False


POSITIVE = Domain(_SMALLEST, _LARGEST, "a number > 0, from 1e-100 to 1e100")
NON_NEGATIVE = Domain(0.0, _LARGEST, "a number ≥ 0, at most 1e100")
PART = Domain(_SMALLEST, 1.0, "a share in (0, 1], at least 1e-100")
SHARE = Domain(0.0, 1.0, "a share in [0, 1]")
FACTOR = Domain(1.0, _LARGEST, "a factor ≥ 1")
COUNT = Domain(1.0, 2.0**53, "a whole number from 1 to 2⁵³", whole=True)
COUNT_OR_NONE = Domain(0.0, 2.0**53, "a whole number from 0 to 2⁵³", whole=True)


def numbers(**given: tuple[ArrayLike, Domain]) -> tuple[Reals, ...]:
    """The arguments as float64 arrays, in the order given, each not yet broadcast.

    Args:
        given: name = (value, domain); the value is a number or an array of any integer or floating type.

    Raises:
        UsageError: not a number, outside its domain (NaN and infinity always are), or shapes that do not broadcast.

    >>> numbers(flop=([1, 2], POSITIVE), peak=(4.0, POSITIVE))[0]
    array([1., 2.])
    >>> numbers(flop=([1, float("nan")], POSITIVE))
    Traceback (most recent call last):
    ridgeline.core.errors.UsageError: expected flop to be a number > 0, from 1e-100 to 1e100; found: flop[1] = nan; to do: give flop in SI units
    """
    arrays = {name: _one(name, value, domain) for name, (value, domain) in given.items()}
    fit(**arrays)
    return tuple(arrays.values())


def _one(name: str, value: ArrayLike, domain: Domain) -> Reals:
    try:
        raw = np.asarray(value)
    except ValueError:
        raise UsageError(f"{name} to be an array of numbers", found="rows of unlike length", remedy=f"give {name} as one array") from None
    if raw.dtype.kind not in "iuf":
        raise UsageError(f"{name} to be numbers", found=f"{name} of type {raw.dtype}", remedy=f"give {name} as integers or floats")
    array = raw.astype(np.float64, copy=False)
    if array.size and not _inside(array, domain):
        fine = (array >= domain.low) & (array <= domain.high) & ((not domain.whole) | (array == np.floor(array)))
        remedy = f"count {name}" if domain.whole else f"give {name} in SI units"
        raise UsageError(f"{name} to be {domain.words}", found=_first(name, array, ~fine), remedy=remedy)
    return array


def _inside(array: Reals, domain: Domain) -> bool:
    if array.size == 1:  # a single query should not wait for array reductions
        number = float(array.item())
        return domain.low <= number <= domain.high and (not domain.whole or number.is_integer())
    # NaN makes minimum and maximum NaN, and every comparison with it false.
    if not (array.min() >= domain.low and array.max() <= domain.high):
        return False
    return not domain.whole or bool((array == np.floor(array)).all())


def _first(name: str, array: NDArray[Any], wrong: NDArray[np.bool_]) -> str:
    """Name, index and value of the first number that is wrong."""
    index = tuple(int(place) for place in np.unravel_index(int(np.argmax(wrong)), array.shape))
    where = f"[{', '.join(map(str, index))}]" if index else ""
    return f"{name}{where} = {array[index]}"


def fit(**arrays: Reals) -> None:
    """Raise `UsageError`, with all names and shapes, unless the arrays broadcast."""
    if len({array.shape for array in arrays.values() if array.ndim}) <= 1:
        return
    try:
        np.broadcast_shapes(*(array.shape for array in arrays.values()))
    except ValueError:
        shapes = ", ".join(f"{name} {array.shape}" for name, array in arrays.items())
        raise UsageError("arrays of shapes that broadcast", found=shapes, remedy="give as many numbers of each, or one") from None


def by_name(what: str, given: Mapping[str, ArrayLike], domain: Domain, *, like: Mapping[str, object] | None = None) -> dict[str, Reals]:
    """The values of a mapping as float64 arrays, named `what.key`, with the same keys as `like` where that is given.

    Raises:
        UsageError: as `numbers`; a key that is missing or too many.
    """
    if like is not None and set(given) != set(like):
        odd = ", ".join(sorted(set(given) ^ set(like)))
        raise UsageError(f"{what} to name {', '.join(like)}", found=f"{odd} only on one side", remedy="give one rate for each amount")
    arrays = numbers(**{f"{what}.{name}": (value, domain) for name, value in given.items()})
    found = dict(zip(given, arrays, strict=True))
    return found if like is None else {name: found[name] for name in like}


def each(what: str, given: Sequence[ArrayLike], domain: Domain, **others: tuple[ArrayLike, Domain]) -> tuple[list[Reals], tuple[Reals, ...]]:
    """The values of a sequence as float64 arrays, named `what 0`, `what 1`, …, and further arguments that must broadcast with them.

    Raises:
        UsageError: as `numbers`; an empty sequence.
    """
    if not len(given):
        raise UsageError(f"at least one of {what}", found="none", remedy=f"give {what}")
    arrays = numbers(**{f"{what} {place}": (value, domain) for place, value in enumerate(given)}, **others)
    return list(arrays[: len(given)]), arrays[len(given) :]


def outside(wrong: NDArray[np.bool_], name: str, values: Reals, expected: str, remedy: str) -> None:
    """Raise `OutOfRange` with the first value that is wrong; nothing if none is."""
    if np.any(wrong):
        spread = np.broadcast_to(values, np.broadcast_shapes(values.shape, wrong.shape))
        raise OutOfRange(expected, found=_first(name, spread, np.broadcast_to(wrong, spread.shape)), remedy=remedy)


# numpy's universal functions are typed as Any: these say what comes out.


def larger(left: Reals | float, right: Reals | float) -> Reals:
    """Elementwise maximum."""
    found: Reals = np.maximum(left, right)
    return found


def smaller(left: Reals | float, right: Reals | float) -> Reals:
    """Elementwise minimum."""
    found: Reals = np.minimum(left, right)
    return found


def largest(parts: Sequence[Reals]) -> Reals:
    """Elementwise maximum of all parts, which broadcast."""
    found = parts[0]
    for part in parts[1:]:
        found = larger(found, part)
    return found


def total(parts: Sequence[Reals]) -> Reals:
    """Elementwise sum of all parts, which broadcast."""
    found = parts[0]
    for part in parts[1:]:
        found = found + part
    return found


def ceil_div(number: Reals, divisor: Reals | float) -> Reals:
    """⌈number ÷ divisor⌉, exact for whole numbers up to 2⁵²."""
    found: Reals = np.ceil(number / divisor)
    return found


def round_up(number: Reals, unit: Reals | float) -> Reals:
    """⌈number ÷ unit⌉ × unit."""
    return ceil_div(number, unit) * unit


def choose(condition: NDArray[np.bool_], yes: Reals | float, no: Reals | float) -> Reals:
    """Elementwise `yes` where the condition holds, else `no`."""
    return np.asarray(np.where(condition, yes, no), np.float64)
