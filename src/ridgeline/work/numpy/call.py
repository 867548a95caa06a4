"""`Call` and the register of formulas: each formula gets one call of numpy or scipy and answers with its work.

This module decides only how a formula is found; what an operation costs is decided by the family modules beside it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from ridgeline.core import Engine
from ridgeline.work.registry import Registry
from ridgeline.work.work import Work

from .facts import ArrayFacts, merge

__all__ = ["Call", "Formula", "formula", "formula_for", "moved"]


class Call(msgspec.Struct, frozen=True, kw_only=True):
    """One execution.

    Args:
        kind: such as `numpy.add`, `scipy.linalg.solve`.
        inputs, outputs: arrays in order of the arguments.
        options: small arguments: keywords by name, `args` the positional ones with `None` for arrays.
    """

    kind: str
    inputs: tuple[ArrayFacts, ...] = ()
    outputs: tuple[ArrayFacts, ...] = ()
    options: Mapping[str, Any] = {}

    @property
    def elements(self) -> int:
        """Elements of the largest array that takes part."""
        return max((array.size for array in (*self.outputs, *self.inputs)), default=0)

    @property
    def is_view(self) -> bool:
        """Whether everything returned lives in a block that was given."""
        given = {array.buffer for array in self.inputs}
        return bool(self.outputs) and all(array.buffer in given and not array.fresh for array in self.outputs)

    @property
    def complex(self) -> bool:
        """Whether any operand is complex."""
        return any(array.complex for array in (*self.inputs, *self.outputs))

    def option(self, name: str, position: int, default: Any = None) -> Any:
        """A small argument by keyword, or by position among the arguments as written for the function."""
        if self.options.get(name) is not None:
            return self.options[name]
        args = self.options.get("args") or ()
        found = args[position] if position < len(args) else None
        return default if found is None else found


Formula = Callable[[Call], Work]
#: Names are without `numpy.` or `scipy.`.
_FORMULAS: Registry[Formula] = Registry()
formula = _FORMULAS.register


def formula_for(kind: str) -> Formula | None:
    """The formula of a kind; functions of numpy and scipy of one name (`linalg.solve`) share theirs."""
    package, _, name = kind.partition(".")
    return _FORMULAS.get(name) if package in ("numpy", "scipy") else None


def moved(
    call: Call, group: str, flop: float | None, engine: Engine | None, *, reason: str = "", threaded: bool = False, factor: float = 1.0
) -> Work:
    """Work that reads each input and writes each output once; `flop` × `factor` operations."""
    if flop is not None and not math.isfinite(flop):
        flop, reason = None, "the count is not finite"
    return Work(
        group=group,
        flop=None if flop is None else float(flop) * factor,
        engine=engine,
        reads=merge(call.inputs),
        writes=merge(call.outputs),
        reason=reason,
        threaded=threaded,
    )
