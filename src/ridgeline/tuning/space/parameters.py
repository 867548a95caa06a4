"""Parameters of a space: which values each kind has, in what order, and when it is active.

Values are listed; a range of real numbers is cut into steps. What stands in an order (numbers) has neighbours, a name has none.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from ridgeline.core import Parameter, Space, UsageError

from .expressions import ABSENT, Expressions, Values, constant_array

__all__ = ["INACTIVE", "Domain", "categorical", "domains_of", "integer", "permutation", "power_of_two", "read_constraints", "real"]

_MOST_VALUES, _MOST_ITEMS = 100_000, 8
_MOST_PARAMETERS = 200


class _Inactive:
    def __repr__(self) -> str:
        return "inactive"


#: The value of a parameter that is not active.
INACTIVE: Final = _Inactive()


class Domain(NamedTuple):
    """`listed`: the values, `INACTIVE` last where it may be so; `array`: the same for expressions; `ordered`: whether they stand in an order."""

    listed: tuple[Any, ...]
    array: Values
    ordered: bool


def integer(name: str, low: int, high: int, step: int = 1, *, when: str = "") -> Parameter:
    """Whole numbers from `low` to `high`, both included."""
    _at_least_one(name, low, high, step)
    return Parameter(name=name, values=tuple(range(low, high + 1, step)), kind="integer", when=when)


def power_of_two(name: str, low: int, high: int, *, when: str = "") -> Parameter:
    """Powers of two from `low` to `high`, both included."""
    if low < 1 or high < low:
        raise UsageError(f"powers of two for {name} from one to a larger one", found=f"{low} to {high}", remedy="change them")
    if high >= 1 << 64:
        raise UsageError(f"powers of two for {name} of 64 bits", found=f"{low} to {high}", remedy="lower the upper end")
    found = tuple(1 << bits for bits in range(64) if low <= 1 << bits <= high)
    return Parameter(name=name, values=found, kind="power-of-two", when=when)


def real(name: str, low: float, high: float, steps: int = 33, *, logarithmic: bool = False, when: str = "") -> Parameter:
    """So many numbers from `low` to `high`, in the unit of the parameter, evenly or evenly in the logarithm."""
    if not (math.isfinite(low) and math.isfinite(high) and low < high and 2 <= steps <= _MOST_VALUES) or (logarithmic and low <= 0):
        raise UsageError(f"a finite range for {name}, positive if logarithmic", found=f"{low} to {high} in {steps} steps", remedy="change it")
    made = np.geomspace(low, high, steps) if logarithmic else np.linspace(low, high, steps)
    return Parameter(name=name, values=tuple(float(each) for each in made), kind="real", when=when)


def categorical(name: str, values: Sequence[Any], *, when: str = "") -> Parameter:
    """Values in no order."""
    return Parameter(name=name, values=tuple(values), kind="categorical", when=when)


def permutation(name: str, items: Sequence[str | int], *, when: str = "") -> Parameter:
    """All orders of up to eight items; a value is the items in order, joined by commas."""
    if not 1 <= len(items) <= _MOST_ITEMS or len(set(items)) < len(items):
        raise UsageError(f"one to {_MOST_ITEMS} different items for {name}", found=f"{len(items)}: {list(items)!r:.80}", remedy="change them")
    found = tuple(",".join(str(each) for each in order) for order in itertools.permutations(items))
    return Parameter(name=name, values=found, kind="permutation", when=when)


def _at_least_one(name: str, low: int, high: int, step: int) -> None:
    if step < 1 or high < low or (high - low) // step >= _MOST_VALUES:
        found = f"{low} to {high} by {step}"
        raise UsageError(f"whole numbers for {name}, from low to high, at most {_MOST_VALUES:,}", found=found, remedy="change the range")


def domains_of(space: Space) -> tuple[Domain, ...]:
    """The values of each parameter.

    Raises:
        UsageError: no parameter, two of one name, a parameter without values or with one twice, or a value that is no number, text, true or false.
    """
    names = [each.name for each in space.parameters]
    if not 1 <= len(names) <= _MOST_PARAMETERS:
        raise UsageError(f"one to {_MOST_PARAMETERS} parameters", found=str(len(names)), remedy="name what may be changed")
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise UsageError("parameters of different names", found=f"{twice[0]!r} twice", remedy="rename one")
    return tuple(_domain(each) for each in space.parameters)


def _domain(parameter: Parameter) -> Domain:
    if not parameter.name.isidentifier():
        raise UsageError("a parameter's name of letters, digits and _", found=repr(parameter.name)[:80], remedy="rename it")
    if not 1 <= len(parameter.values) <= _MOST_VALUES:
        raise UsageError(f"one to {_MOST_VALUES:,} values of {parameter.name}", found=str(len(parameter.values)), remedy="list some")
    for value in parameter.values:
        if not isinstance(value, bool | int | float | str) or (isinstance(value, float) and not math.isfinite(value)):
            raise UsageError(f"values of {parameter.name} that are numbers, texts, true or false", found=repr(value)[:80], remedy="change it")
    keys = [(isinstance(value, bool), value) for value in parameter.values]
    if len(set(keys)) < len(keys):
        double = next(value for place, (_, value) in enumerate(keys) if keys[place] in keys[:place])
        raise UsageError(f"different values of {parameter.name}", found=f"{double!r} twice", remedy="leave one out")
    numbers = all(isinstance(value, int | float) and not isinstance(value, bool) for value in parameter.values)
    ordered = numbers and parameter.kind not in ("categorical", "permutation")
    values = tuple(sorted(parameter.values)) if ordered else parameter.values
    if not parameter.when:
        return Domain(values, Values(_array(values)), ordered)
    array, state = _array((*values, values[0])), np.zeros(len(values) + 1, np.uint8)
    state[-1] = ABSENT
    return Domain((*values, INACTIVE), Values(array, state), ordered)


def _array(values: Sequence[Any]) -> Any:
    if all(isinstance(value, bool) for value in values):
        return np.array(values, bool)
    if all(isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**62 for value in values):
        return np.array(values, np.int64)
    if all(isinstance(value, float) for value in values):
        return np.array(values, np.float64)
    return np.concatenate([constant_array(value, 1).astype(object) for value in values])


def read_constraints(space: Space, domains: Sequence[Domain]) -> tuple[Expressions, list[int]]:
    """All constraints as nodes: those of the space, and for each parameter with a condition that it is active where it holds and nowhere else."""
    expressions = Expressions([each.name for each in space.parameters])
    roots = [expressions.add(text) for text in space.constraints]
    for place, parameter in enumerate(space.parameters):
        if parameter.when:
            condition = expressions.add(parameter.when)
            if expressions.needs[condition] >> place & 1:
                raise UsageError(f"a condition of {parameter.name} over other parameters", found=parameter.when[:120], remedy="leave it out of it")
            active = expressions.node("active", [expressions.node("name", content=place)])
            roots.append(expressions.node("alike", [active, expressions.node("holds", [condition])]))
    return expressions, roots
