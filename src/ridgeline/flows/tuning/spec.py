"""What is to be tuned: a kernel with its parameters, constraints, limits and search, as TOML and Python give it.

A specification holds expressions as they were written; `resolve` works them out for one configuration, `checks` says what is wrong with one, `toml`
and `sources` read it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from ridgeline.core import Parameter, UsageError
from ridgeline.core.space import Value
from ridgeline.tuning.search import DEFAULT

__all__ = [
    "Expression", "SpecArgument", "SpecCheck", "SpecKernel", "SpecLimits", "SpecSearch", "SpecWork", "TuningSpec", "kernel", "parameter_of",
    "size_options", "tuning_spec",
]  # fmt: skip

#: A number, or a text that is worked out over constants and parameters.
Expression = int | float | str


class SpecArgument(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One argument of a kernel; see `backends.Argument`.

    Args:
        shape: sizes as expressions; null for a scalar.
        fill: of an array `uniform`, `normal`, `index`, `zeros` or a number; of a scalar an expression.
    """

    name: str
    dtype: str = "float32"
    shape: tuple[Expression, ...] | None = None
    fill: Expression = "uniform"
    seed: int = 0
    output: bool = False


class SpecWork(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a run has to do: floating-point operations, and bytes that have to be moved; null where it is not known."""

    flop: Expression | None = None
    bytes: Expression | None = None


class SpecCheck(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a right result is; at most one of `reference`, `config` and `kernel`.

    Args:
        reference: path of an `.npz` with an array for each output.
        config: a configuration whose outputs are right.
        kernel: options of a kernel whose outputs are right; `runner` among them where it is another one.
        relative: tolerance of numbers with a point, × the largest magnitude of the reference; whole: the same of whole numbers and truth values.
    """

    reference: str = ""
    config: dict[str, Value] = {}
    kernel: dict[str, Any] = {}
    relative: float = 1e-4
    whole: float = 0.0


class SpecKernel(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What is made callable, by whom.

    Args:
        runner: entry point of group `ridgeline.runners`.
        options: of the runner; texts in options whose name ends in `_size` are expressions, those that name files relative to the specification.
        constants: name → value, which expressions and the kernel see as they see parameters.
        arguments: in order.
    """

    runner: str
    options: dict[str, Any] = {}
    constants: dict[str, Value] = {}
    arguments: tuple[SpecArgument, ...] = ()
    work: SpecWork = SpecWork()
    check: SpecCheck = SpecCheck()


class SpecLimits(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a configuration may take: seconds for building and for one run, bytes of memory (no limit if null)."""

    build_s: float = 60.0
    run_s: float = 10.0
    memory_bytes: int | None = None


class SpecSearch(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How it is searched.

    Args:
        strategy: entry point of group `ridgeline.strategies`; options: of it.
        trials: most configurations that are tried; time_s: most seconds; null for whatever the caller has.
        seed: the same proposals for the same seed and the same times.
        objective: what is made small, such as `time` or `time,memory`; of several the first decides what is best.
    """

    strategy: str = DEFAULT
    trials: int | None = None
    time_s: float | None = None
    seed: int = 0
    objective: str = "time"
    options: dict[str, Any] = {}


class TuningSpec(msgspec.Struct, frozen=True, kw_only=True, tag_field="schema", tag="ridgeline.tuning/1", omit_defaults=True):
    """A specification.

    Args:
        name: for a person.
        parameters, constraints: of the space; constraints may look at constants and at limits of the device (`limits.DEVICE_LIMITS`) as well.
        default: a configuration to hold the best against; empty for none.
        folder: that relative paths start from; empty for the working directory.
    """

    name: str
    kernel: SpecKernel
    parameters: tuple[Parameter, ...]
    constraints: tuple[str, ...] = ()
    default: dict[str, Value] = {}
    limits: SpecLimits = SpecLimits()
    search: SpecSearch = SpecSearch()
    folder: str = ""


def size_options(options: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """The options whose texts are expressions."""
    return ((name, value) for name, value in options.items() if name.endswith("_size"))


def kernel(
    runner: str,
    *,
    constants: Mapping[str, Value] | None = None,
    arguments: Sequence[SpecArgument] = (),
    work: SpecWork | None = None,
    check: SpecCheck | None = None,
    **options: Any,
) -> SpecKernel:
    """The kernel of a specification; everything that is not named here is an option of the runner."""
    return SpecKernel(
        runner=runner, options=options, constants=dict(constants or {}), arguments=tuple(arguments), work=work or SpecWork(),
        check=check or SpecCheck(),
    )  # fmt: skip


def tuning_spec(
    name: str,
    *,
    kernel: SpecKernel,
    parameters: Mapping[str, Sequence[Value]] | Sequence[Parameter],
    constraints: Sequence[str] = (),
    default: Mapping[str, Value] | None = None,
    limits: SpecLimits | None = None,
    search: SpecSearch | None = None,
    folder: str = "",
) -> TuningSpec:
    """A specification from Python, held to the same rules as one in TOML.

    Args:
        parameters: name → values, or what `ridgeline.tuning.space` makes (`integer`, `power_of_two`, `real`, `categorical`, `permutation`).
        constraints: texts. A function could see other than parameters, and would not be known again in a record: what it sees are constants.
        folder: that relative paths start from; that of the file if it is read as `file.py:NAME`.

    Raises:
        UsageError: whatever is wrong with it.

    >>> spec = tuning_spec("sum", kernel=kernel("simulated"), parameters={"tile": [8, 16]}, constraints=["tile > 8"])
    >>> spec.parameters[0].values
    (8, 16)
    """
    from .checks import checked

    given: Any = parameters
    made = tuple(parameter_of(key, values) for key, values in given.items()) if isinstance(given, Mapping) else tuple(given)
    texts: Any = (constraints,) if isinstance(constraints, str) else constraints
    return checked(
        TuningSpec(
            name=name, kernel=kernel, parameters=made, constraints=tuple(texts), default=dict(default or {}), limits=limits or SpecLimits(),
            search=search or SpecSearch(), folder=folder,
        ),
        "the specification",
    )  # fmt: skip


def parameter_of(name: str, values: Any) -> Parameter:
    """A parameter from its values in their order.

    Raises:
        UsageError: no list of values.
    """
    if isinstance(values, Parameter):
        return msgspec.structs.replace(values, name=name)
    if isinstance(values, str | bytes | Mapping) or not hasattr(values, "__iter__"):
        raise UsageError(f"a list of values of {name}", found=f"{values!r:.80}", remedy=f"write {name} = [1, 2, 4]")
    return Parameter(name=name, values=tuple(values))
