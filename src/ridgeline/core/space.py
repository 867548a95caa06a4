"""`Space` and `Trial`: tunable parameters with constraints, and one configuration tried."""

from __future__ import annotations

from typing import Literal, Protocol

import msgspec

from .quantity import Quantity

__all__ = ["Evaluate", "Parameter", "ParameterKind", "Space", "Trial"]

Value = bool | int | float | str


#: How values go together: whole numbers, powers of two and real numbers stand in an order, categories and permutations in none. Empty: numbers stand
#: in an order, texts and truth values do not.
ParameterKind = Literal["", "integer", "power-of-two", "real", "categorical", "permutation"]


class Parameter(msgspec.Struct, frozen=True, kw_only=True):
    """One tunable parameter and the values it may take.

    Args:
        kind: what its values have to do with each other.
        when: an expression over other parameters; where it does not hold, the parameter is not there, and constraints that look at it do not apply.
    """

    name: str
    values: tuple[Value, ...]
    kind: ParameterKind = ""
    when: str = ""


class Space(msgspec.Struct, frozen=True, kw_only=True, tag_field="schema", tag="ridgeline.space/1"):
    """Parameters and constraints; a constraint is an expression over parameter names, never evaluated as Python.

    What may stand in one is said in `ridgeline.tuning.space`.
    """

    parameters: tuple[Parameter, ...]
    constraints: tuple[str, ...] = ()


class Trial(msgspec.Struct, frozen=True, kw_only=True, tag_field="schema", tag="ridgeline.trial/1"):
    """One configuration tried: its objective, or why it failed."""

    config: dict[str, Value]
    objective: Quantity | None = None
    failure: Literal["invalid", "compile", "run", "wrong-output", "timeout"] | None = None


class Evaluate(Protocol):
    """How a search asks for a measurement without knowing who measures."""

    def __call__(self, config: dict[str, Value]) -> Trial:
        """Try one configuration."""
