"""`Space` and `Trial`: tunable parameters with constraints, and one configuration tried."""

from __future__ import annotations

from typing import Literal, Protocol

import msgspec

from .quantity import Quantity

__all__ = ["Evaluate", "Failure", "Parameter", "ParameterKind", "Space", "Trial"]

Value = bool | int | float | str


#: How values go together: whole numbers, powers of two and real numbers stand in an order, categories and permutations in none. Empty: numbers stand
#: in an order, texts and truth values do not.
ParameterKind = Literal["", "integer", "power-of-two", "real", "categorical", "permutation"]


#: Why a go gave no time: the configuration is refused by the compiler or the device (`invalid`), it does not compile, it says that it failed, its
#: process ended, its result is wrong, it did not end in time, it wanted more memory than allowed, or the worker that had it was lost.
Failure = Literal["invalid", "compile", "run", "crash", "wrong-output", "timeout", "memory", "lost"]


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


class Trial(msgspec.Struct, frozen=True, kw_only=True, tag_field="schema", tag="ridgeline.trial/1", omit_defaults=True):
    """One go at one configuration; a configuration that is measured again has several.

    Args:
        config: name → value of each active parameter.
        number: in the order in which trials were asked for, from 0.
        objective: what is made small, of these runs alone; null where the go failed.
        runs: the objective of each run, shape (n,), in the unit of `objective`: never only a summary.
        metrics: medians of what else was measured, SI, such as `energy_j` and `peak_memory_bytes`.
        failure: why there is no objective; null where there is one.
        text: what the compiler or the process said, its end.
        build_s, spent_s: of making it callable (0 where that was kept from before), and of the whole go.
        flags: what was seen beside: `given-up` (clearly slower than the best, so measured no further), `throttled`, `disturbed`.
        worker: which one did it; empty for the only one.
    """

    config: dict[str, Value]
    number: int = 0
    objective: Quantity | None = None
    runs: tuple[float, ...] = ()
    metrics: dict[str, float] = {}
    failure: Failure | None = None
    text: str = ""
    build_s: float = 0.0
    spent_s: float = 0.0
    flags: tuple[str, ...] = ()
    worker: str = ""


class Evaluate(Protocol):
    """How a search asks for a measurement without knowing who measures."""

    def __call__(self, config: dict[str, Value]) -> Trial:
        """Try one configuration."""
