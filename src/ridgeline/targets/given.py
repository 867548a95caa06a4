"""Inputs and ways to wait that a person gives beside a function of this process, where no text and no module stands for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ridgeline.core import UsageError

from .functions import load_function
from .inputs import bound_to, gathered, takes_input
from .prepared import Prepared
from .spec import function_text

__all__ = ["given_here"]


def given_here(prepared: Prepared, inputs: Any, synchronise: str | Callable[..., Any]) -> None:
    """Give a prepared call its inputs and its way to wait, before its first call.

    Args:
        prepared: whose call takes one argument if there are inputs.
        inputs: list, mapping or generator, or a function that returns one as `function_text` writes it; null for none.
        synchronise: `auto`, `none`, or a function that waits, itself or so written.

    Raises:
        UsageError: inputs that are none, or for a function that does not take one.
    """
    if inputs is not None:
        if not takes_input(prepared.call):
            raise UsageError("a function of one argument, for inputs", found=prepared.info.name, remedy="take the input as an argument")
        is_text = isinstance(inputs, str)
        chosen = gathered(load_function(_written(inputs))() if is_text else inputs, inputs if is_text else "inputs")
        prepared.call, prepared.inputs = bound_to(prepared.call, chosen)
        prepared.warnings += chosen.cautions
    prepared.never_waits = synchronise == "none"
    if callable(synchronise):
        prepared.waits_by = synchronise
    elif synchronise not in ("auto", "none"):
        prepared.waits_by = load_function(_written(synchronise))


def _written(text: str) -> str:
    found = function_text(text)
    if found is None:
        raise UsageError("a function, file.py:function or package.module:function", found=repr(text), remedy="name a function")
    return found
