"""That every field of a specification is of its kind, and its values plain: what TOML sees to, and Python does not."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import msgspec

from ridgeline.core import Parameter, UsageError

from .spec import SpecArgument, SpecKernel, TuningSpec

__all__ = ["of_their_kinds", "plain"]


def of_their_kinds(spec: TuningSpec, where: str) -> None:
    """Refuse a field of another kind: Python lets anything be put there.

    Raises:
        UsageError: the first that is.
    """
    for place, text in enumerate(spec.constraints):
        if callable(text):
            found = f"a function as constraint {place + 1} of {where}"
            remedy = "write it as a text over parameters, and what the function sees beside them as constants of the kernel"
            raise UsageError("a constraint as a text", found=found, remedy=remedy)
    for what, listed, kind in (
        ("a kernel", (spec.kernel,), SpecKernel), ("parameters", spec.parameters, Parameter),
        ("arguments", getattr(spec.kernel, "arguments", ()), SpecArgument),
    ):  # fmt: skip
        for each in listed:
            if not isinstance(each, kind):
                raise UsageError(f"{what} of kind {kind.__name__}", found=f"{each!r:.80} in {where}", remedy=f"make it with {kind.__name__}(…)")
    _values(spec, where)
    try:
        msgspec.convert(msgspec.to_builtins(spec), TuningSpec)
    except (msgspec.ValidationError, TypeError, NotImplementedError, OverflowError) as error:
        raise _of_another_kind(str(error), where) from error


def _values(spec: TuningSpec, where: str) -> None:
    for name, value in spec.kernel.constants.items():
        _value(value, f"the constant {name} in {where}")
    for each in spec.parameters:
        for value in each.values:
            _value(value, f"a value of {each.name} in {where}")


def _of_another_kind(error: str, where: str) -> UsageError:
    remedy = "give plain values: numbers, texts, true, false, lists and tables of these"
    said, _, place = error.replace("`", "").partition(" - at $.")
    wanted, _, given = said.removeprefix("Expected ").partition(", got ")
    if not given:
        return UsageError("a specification of plain values", found=f"{where}: {said}", remedy=remedy)
    return UsageError(f"{wanted} as {place}", found=f"{given} in {where}", remedy=remedy)


def _value(value: Any, what: str) -> None:
    if not isinstance(value, bool | int | float | str) or (isinstance(value, float) and not math.isfinite(value)):
        raise UsageError("a finite number, a text, true or false", found=f"{value!r:.80} as {what}", remedy="change it")
    if isinstance(value, int) and not -(2**63) <= value < 2**64:
        raise UsageError("a whole number of 64 bits", found=f"{value!r:.80} as {what}", remedy="change it, or write it with a point")


def plain(value: Any, place: str) -> None:
    """Refuse what is no number, text, truth value, or list or table of these.

    Raises:
        UsageError: it is not.
    """
    if isinstance(value, list | tuple):
        for each in value:
            plain(each, place)
    elif isinstance(value, Mapping):
        for each in value.values():
            plain(each, place)
    elif not isinstance(value, bool | int | float | str) or (isinstance(value, float) and not math.isfinite(value)):
        raise UsageError("finite numbers, texts, true, false, lists and tables of these", found=f"{value!r:.80} in {place}", remedy="change it")
