"""How a version is to be run: threads, inputs, runtime and variables, for both versions or for one of them where that is the change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import msgspec

from ridgeline.core import UsageError
from ridgeline.targets import TargetSpec, parse_target

__all__ = ["SideOptions", "changed_variables", "options_of_both"]

#: Variables of the interpreter decide where code is found, not how fast it runs.
_INTERPRETER = "PYTHON"


@dataclass(frozen=True, kw_only=True)
class SideOptions:
    """Options of one version, as `targets.parse_target` takes them; the default of each leaves it to the target."""

    threads: int | None = None
    input: str | None = None
    shapes: tuple[str, ...] = ()
    runtime: str | None = None
    synchronise: str = "auto"
    environment: dict[str, str] = field(default_factory=dict)
    use: Literal["once", "repeated"] = "repeated"
    seed: int = 0

    @property
    def named(self) -> tuple[str, ...]:
        """The options that were given, as on the command line."""
        given = {
            "--threads": self.threads, "--input": self.input, "--shape": self.shapes, "--runtime": self.runtime, "--env": self.environment,
            "--synchronise": self.synchronise != "auto", "--use": self.use != "repeated",
        }  # fmt: skip
        return tuple(name for name, value in given.items() if value)

    def parse(self, text: str | None, arguments: Sequence[str] = ()) -> TargetSpec:
        """The target with these options.

        Raises:
            UsageError: as `parse_target`, and for a program that is used once a start: each of its calls is a start anyway.
        """
        spec = parse_target(
            text, arguments, input=self.input, shapes=self.shapes, threads=self.threads, seed=self.seed, environment=self.environment, use=self.use,
            runtime=self.runtime, synchronise=self.synchronise,
        )  # fmt: skip
        if self.use == "once" and spec.kind in ("script", "command"):
            found = f"a {spec.kind}, each of whose calls is a start anyway"
            raise UsageError("--use once for a model or a function", found=found, remedy="leave --use out")
        return spec

    def onto(self, spec: TargetSpec) -> TargetSpec:
        """A spec that is ready, with the variables, the threads, the use and the seed; its own variables go before."""
        return msgspec.structs.replace(
            spec, environment={**self.environment, **spec.environment}, threads=self.threads or spec.threads, use=self.use, seed=self.seed
        )


def options_of_both(
    *,
    threads: Any = None,
    runtime: Any = None,
    environment: Any = None,
    inputs: str | None = None,
    shapes: Sequence[str] = (),
    synchronise: str = "auto",
    use: Literal["once", "repeated"] = "repeated",
    seed: int = 0,
) -> tuple[SideOptions, SideOptions]:
    """The options of a and of b.

    Args:
        threads, runtime, environment: one value for both versions, or a tuple of two, (of a, of b).
        inputs, shapes, synchronise, use, seed: of both.

    Raises:
        UsageError: a tuple of another length, or a variable without a name.

    >>> [options.threads for options in options_of_both(threads=(1, 2))]
    [1, 2]
    """
    pairs = [_pair(name, value) for name, value in (("threads", threads), ("runtime", runtime), ("environment", environment))]
    a, b = (
        SideOptions(
            threads=pairs[0][side], runtime=pairs[1][side], environment=_variables(pairs[2][side]), input=inputs, shapes=tuple(shapes),
            synchronise=synchronise, use=use, seed=seed,
        )
        for side in (0, 1)
    )  # fmt: skip
    return a, b


def changed_variables(a: Mapping[str, str], b: Mapping[str, str]) -> tuple[str, ...]:
    """Variables that two versions were given differently, those of the interpreter left out."""
    names = sorted(a.keys() | b.keys())
    return tuple(name for name in names if a.get(name) != b.get(name) and not name.startswith(_INTERPRETER))


def _pair(name: str, value: Any) -> tuple[Any, Any]:
    if not isinstance(value, tuple):
        return value, value
    if len(value) != 2:
        raise UsageError(f"{name} of both, or a tuple of two", found=f"{len(value)} values", remedy="give (of a, of b)")
    return value[0], value[1]


def _variables(given: Mapping[str, str] | None) -> dict[str, str]:
    found = {str(name): str(value) for name, value in (given or {}).items()}
    for name, value in found.items():
        if not name or "=" in name or "\0" in name + value:
            raise UsageError("variables NAME=VALUE", found=repr(f"{name}={value}"), remedy="give a name without = and zero bytes")
    return found
