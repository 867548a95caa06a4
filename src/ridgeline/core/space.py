"""`Space` and `Trial`: tunable parameters with constraints, and one configuration tried."""

from __future__ import annotations

from typing import Literal, Protocol

import msgspec

from .quantity import Quantity

__all__ = ["Evaluate", "Parameter", "Space", "Trial"]

Value = bool | int | float | str


class Parameter(msgspec.Struct, frozen=True, kw_only=True):
    """One tunable parameter and the values it may take."""

    name: str
    values: tuple[Value, ...]


class Space(msgspec.Struct, frozen=True, kw_only=True, tag_field="schema", tag="ridgeline.space/1"):
    """Parameters and constraints; a constraint is an expression over parameter names, never evaluated as Python."""

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
