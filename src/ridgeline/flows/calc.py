"""`calc`: the arithmetic on its own. A law by name, its arguments as people write them, the answer as Quantities with the formula.

Which laws are offered is in `calc_laws`; the laws themselves are in `laws` and `stats`, the reading of text such as `13GB/s` in
`core.units`, the page in `reporting`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import overload

import msgspec

from ..core.errors import UsageError
from ..core.quantity import Quantity
from ..core.units import parse
from .calc_laws import LAWS, Answers, LawCard, LawParameter, Values

__all__ = ["CalcResult", "LawCard", "LawParameter", "calc"]


class CalcResult(msgspec.Struct, frozen=True, kw_only=True, tag_field="schema", tag="ridgeline.calc/1"):
    """The answer of a law: inputs and outputs in order, the formula, and notes on what has no finite answer."""

    name: str
    formula: str
    inputs: dict[str, Quantity]
    outputs: dict[str, Quantity]
    notes: tuple[str, ...] = ()


@overload
def calc() -> tuple[LawCard, ...]: ...
@overload
def calc(name: str, arguments: Mapping[str, str | float] | Sequence[str] = ()) -> CalcResult: ...
def calc(name: str | None = None, arguments: Mapping[str, str | float] | Sequence[str] = ()) -> CalcResult | tuple[LawCard, ...]:
    """Evaluate a law, or list them all.

    Args:
        name: of a law; without it the cards of all laws are returned.
        arguments: `["flop=33.55MFLOP", …]` or a mapping; numbers are in SI, text carries its unit.

    Raises:
        UsageError: no such law or argument, a missing or repeated one, a value of another unit or out of range.
        OutOfRange: the law has no answer there, such as a target that no gain can reach.

    >>> result = calc("roofline", ["flop=33.55MFLOP", "bytes=33.55MB", "peak=128GFLOP/s", "bandwidth=13GB/s"])
    >>> str(result.outputs["ideal_time"])
    '2.58 ms'
    """
    if name is None:
        return tuple(card for card, _ in LAWS.values())
    if name not in LAWS:
        raise UsageError(f"a law from {', '.join(LAWS)}", found=repr(name), remedy="choose one; `ridgeline calc` lists them")
    card, _ = LAWS[name]
    values = _read(card, _as_mapping(arguments))
    answers = _answers(card, values)
    units = {parameter.name: parameter.unit for parameter in card.parameters}
    return CalcResult(
        name=name,
        formula=card.formula,
        inputs={key: Quantity.exact(value, units[key], source="assumed", origin="given") for key, value in values.items()},
        outputs={
            key: Quantity.exact(value, unit, source="analytic", origin=card.formula) for key, (value, unit) in answers.items() if math.isfinite(value)
        },
        notes=tuple(f"{key} has no finite answer" for key, (value, _) in answers.items() if not math.isfinite(value)),
    )


def _as_mapping(arguments: Mapping[str, str | float] | Sequence[str]) -> Mapping[str, str | float]:
    if isinstance(arguments, Mapping):
        return arguments
    given: dict[str, str | float] = {}
    for argument in arguments:
        key, equals, value = argument.partition("=")
        if not equals or not key or not value:
            raise UsageError("arguments such as bytes=33.55MB", found=repr(argument), remedy="write name=value without spaces")
        if key in given:
            raise UsageError(f"{key} once", found="it is given twice", remedy="keep one of them")
        given[key] = value
    return given


def _read(card: LawCard, given: Mapping[str, str | float]) -> dict[str, float]:
    """Arguments in the order of the card, defaults filled in, each in its base unit."""
    names = [parameter.name for parameter in card.parameters]
    usage = f"write for example: {card.name} {' '.join(card.example)}"
    unknown = [key for key in given if key not in names]
    if unknown:
        raise UsageError(f"arguments of {card.name}: {', '.join(names)}", found=", ".join(map(repr, unknown)), remedy=usage)
    missing = [parameter.name for parameter in card.parameters if parameter.required and parameter.name not in given]
    if missing:
        raise UsageError(f"{card.name} to be given {', '.join(missing)}", found="nothing for it", remedy=usage)
    values: dict[str, float] = {}
    for parameter in card.parameters:
        if parameter.name in given:
            values[parameter.name] = _number(parameter, given[parameter.name])
        elif parameter.default is not None:
            values[parameter.name] = parameter.default
    return values


def _number(parameter: LawParameter, written: str | float) -> float:
    try:
        value = parse(written, parameter.unit) if isinstance(written, str) else float(written)
    except UsageError as error:
        raise UsageError(f"{parameter.name} as {error.expected}", found=error.found, remedy=error.remedy) from error
    if not math.isfinite(value):
        raise UsageError(f"{parameter.name} as a finite number", found=repr(written), remedy="leave it out if it is not known")
    if parameter.unit == "count" and value != int(value):
        raise UsageError(f"{parameter.name} as a whole number", found=repr(written), remedy="count it")
    return value


def _answers(card: LawCard, values: Values) -> Answers:
    try:
        return LAWS[card.name][1](values)
    except (OverflowError, ZeroDivisionError) as error:
        raise UsageError(
            f"numbers that {card.name} can compute with", found=f"{error}", remedy="give sizes, rates and times that a machine can have"
        ) from error
