"""A specification for one configuration: its job with plain values, its work; and its space, with constants and limits of a device put in.

What has no value at a configuration (a division by zero, a size that is no whole number) makes that configuration invalid, as a refusal of the device
would; it ends nothing else.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np

from ridgeline.backends import Argument, BuildFailed, Check, Job, find
from ridgeline.core import Device, Space, UsageError
from ridgeline.core.space import Value
from ridgeline.tuning.space import Configurations, names_in, substituted, worked_out

from .limits import DEVICE_LIMITS, limits_of
from .spec import Expression, SpecArgument, TuningSpec, size_options

__all__ = ["Work", "absolute", "configurations_of", "job_of", "limits_in", "reference_job", "space_of", "with_values", "work_of"]


class Work(NamedTuple):
    """Of one run: floating-point operations, and bytes that have to be moved; null where it is not known."""

    flop: float | None
    bytes: float | None


def with_values(spec: TuningSpec, values: Mapping[str, Value]) -> Space:
    """The space with these values for their names."""
    parameters = tuple(
        msgspec.structs.replace(each, when=substituted(each.when, values)) if each.when else each for each in spec.parameters
    )  # fmt: skip
    return Space(parameters=parameters, constraints=tuple(substituted(text, values) for text in spec.constraints))


def space_of(spec: TuningSpec, device: Device | None = None, limits: Mapping[str, int] | None = None) -> Space:
    """The space, whose constraints look at parameters alone.

    Args:
        device: whose limits stand in for their names; limits: name → value of what goes before it.

    Raises:
        UsageError: a constraint looks at a limit that nobody gives.
    """
    return with_values(spec, {**limits_of(limits_in(spec), device, limits), **spec.kernel.constants})


def limits_in(spec: TuningSpec) -> list[str]:
    """Limits of the device that constraints and conditions look at."""
    texts = (*spec.constraints, *(each.when for each in spec.parameters if each.when))
    looked_at = {name for text in texts for name in names_in(text)}
    own = {each.name for each in spec.parameters} | set(spec.kernel.constants)
    return [name for name in DEVICE_LIMITS if name in looked_at and name not in own]


def configurations_of(spec: TuningSpec, device: Device | None = None, limits: Mapping[str, int] | None = None) -> Configurations:
    """The valid configurations, at least one; arguments as of `space_of`.

    Raises:
        UsageError: as `space_of`, or no configuration is valid, with the constraint that is to blame where it is one alone.
        OutOfRange: constraints too entangled to be counted.
    """
    space = space_of(spec, device, limits)
    found = Configurations(space)
    if found.count:
        return found
    alone = [text for text in space.constraints if not Configurations(Space(parameters=space.parameters, constraints=(text,))).count]
    nowhere = [text for text, cases in zip(space.constraints, found.without_value, strict=True) if cases]
    said = f"{alone[0]!r:.160} holds nowhere" if alone else "the constraints hold nowhere together"
    said += f"; {nowhere[0]!r:.160} has no value at some points, such as in a division by zero" if nowhere else ""
    raise UsageError(f"a valid configuration of {found.raw_count:,}", found=f"none: {said}", remedy="loosen a constraint or add values")


def job_of(spec: TuningSpec, config: Mapping[str, Value], reference: str = "") -> Job:
    """What a runner gets for a configuration: every expression worked out, every path absolute.

    Args:
        config: name → value of its active parameters.
        reference: path of what `reference_job` wrote; that of the specification if empty.

    Raises:
        BuildFailed: marked invalid, a size or a fill has no value there, or none that it can have.
    """
    kernel = spec.kernel
    absent = tuple(each.name for each in spec.parameters if each.name not in config)
    values = _Values({**kernel.constants, **config}, absent)
    path = reference or (absolute(kernel.check.reference, spec) if kernel.check.reference else "")
    return Job(
        runner=kernel.runner, values=dict(values.known), absent=absent,
        options=_options(kernel.runner, kernel.options, values, spec), arguments=tuple(_argument(each, values) for each in kernel.arguments),
        check=Check(reference=path, relative=float(kernel.check.relative), whole=float(kernel.check.whole)),
    )  # fmt: skip


def reference_job(spec: TuningSpec) -> Job | None:
    """The job whose outputs are right, itself unchecked; null where the specification names a file, or nothing.

    Raises:
        UsageError: it has no value for a size or a fill.
    """
    check, kernel = spec.kernel.check, spec.kernel
    try:
        if check.config:
            return msgspec.structs.replace(job_of(spec, check.config), check=Check())
        if check.kernel:
            absent = tuple(each.name for each in spec.parameters)
            values = _Values(dict(kernel.constants), absent)
            runner = str(check.kernel.get("runner", kernel.runner))
            options = {name: value for name, value in check.kernel.items() if name != "runner"}
            return Job(
                runner=runner, values=dict(kernel.constants), absent=absent, options=_options(runner, options, values, spec),
                arguments=tuple(_argument(each, values) for each in kernel.arguments),
            )  # fmt: skip
    except BuildFailed as error:
        raise UsageError("a reference that can be worked out", found=str(error), remedy="sizes of a reference may look at constants alone") from error
    return None


def work_of(spec: TuningSpec, config: Mapping[str, Value]) -> Work:
    """What a run of a configuration has to do: FLOP and bytes."""
    absent = tuple(each.name for each in spec.parameters if each.name not in config)
    values = {**spec.kernel.constants, **config}
    return Work(*(_amount(text, values, absent) for text in (spec.kernel.work.flop, spec.kernel.work.bytes)))


def _amount(text: Expression | None, values: Mapping[str, Value], absent: tuple[str, ...]) -> float | None:
    found = worked_out(text, values, absent) if isinstance(text, str) else text
    return float(found) if isinstance(found, int | float) and 0 <= found < float("inf") else None


class _Values(NamedTuple):
    known: Mapping[str, Value]
    absent: tuple[str, ...]

    def of(self, expression: Expression, place: str) -> Any:
        """Raises: BuildFailed: marked invalid, it has none."""
        found = worked_out(expression, self.known, self.absent) if isinstance(expression, str) else expression
        if found is None:
            raise BuildFailed(f"{place}: {expression!r} has no value at this configuration", invalid=True)
        return found

    def whole(self, expression: Expression, place: str) -> int:
        """Raises: BuildFailed: marked invalid, it is no whole number of 0 or more."""
        found = self.of(expression, place)
        if isinstance(found, bool | str | tuple) or not float(found).is_integer() or found < 0:
            raise BuildFailed(f"{place}: {expression!r} is {found!r:.60}, and has to be a whole number of 0 or more", invalid=True)
        return int(found)


def _options(runner: str, options: Mapping[str, Any], values: _Values, spec: TuningSpec) -> dict[str, Any]:
    kind = find(runner)
    made = {name: _paths(value, spec) if name in kind.paths else value for name, value in options.items()}
    for name, sizes in size_options(options):
        made[name] = [values.whole(each, name) for each in sizes] if isinstance(sizes, list | tuple) else values.whole(sizes, name)
    if "directory" in kind.paths and "directory" not in made:
        made["directory"] = absolute(".", spec)
    return made


def _paths(given: Any, spec: TuningSpec) -> Any:
    return [absolute(each, spec) for each in given] if isinstance(given, list | tuple) else absolute(given, spec)


def absolute(given: Any, spec: TuningSpec) -> str:
    """A path of the specification."""
    return os.path.abspath(Path(spec.folder or ".") / os.path.expanduser(str(given)))


def _argument(argument: SpecArgument, values: _Values) -> Argument:
    shape: tuple[int, ...] | None = None
    fill: Any = argument.fill
    if argument.shape is None:
        fill = values.of(argument.fill, f"fill of {argument.name}")
        _holds(argument, fill)
    else:
        shape = tuple(values.whole(size, f"shape of {argument.name}") for size in argument.shape)
    return Argument(name=argument.name, dtype=argument.dtype, shape=shape, fill=fill, seed=argument.seed, output=argument.output)


def _holds(argument: SpecArgument, fill: Any) -> None:
    """That the dtype has such a value: a fraction or too large a number would be another one."""
    kind = np.dtype(argument.dtype)
    if isinstance(fill, str | tuple):
        raise BuildFailed(f"fill of {argument.name}: {fill!r:.60} is no number", invalid=True)
    if kind.kind in "iu" and not (float(fill).is_integer() and np.iinfo(kind).min <= fill <= np.iinfo(kind).max):
        raise BuildFailed(f"fill of {argument.name}: {fill!r:.60} is no {argument.dtype}", invalid=True)
