"""A problem in the T1 format as a specification of ours and back: what neither has a word for is refused, never guessed.

Launch sizes: `GlobalSizeType` says whether the global size counts work-items (OpenCL) or blocks (CUDA). Sizes of arguments are as Kernel Tuner 1.5.0
works them out (kernel_tuner/interface.py, `tune_kernel_T1`): over `ProblemSize[i]`, with `max(name)` of the values of a parameter.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from ridgeline.core import KernelProblem, Parameter, ProblemArgument, UsageError
from ridgeline.tuning.search import strategies

from .checks import checked
from .spec import Expression, SpecArgument, SpecKernel, SpecSearch, TuningSpec

__all__ = ["problem_of_spec", "spec_of_problem"]

#: Language → (runner, what it calls the sizes, whether its global size counts blocks).
_RUNNERS: Mapping[str, tuple[str, str, str, bool]] = {
    "OpenCL": ("opencl", "global_size", "local_size", False),
    "CUDA": ("cuda", "grid_size", "block_size", True),
}
_DTYPES = {
    "bool": "bool", "int8": "int8", "uint8": "uint8", "int16": "int16", "uint16": "uint16", "int32": "int32", "uint32": "uint32", "int64": "int64",
    "uint64": "uint64", "half": "float16", "float": "float32", "double": "float64",
}  # fmt: skip
_WIDE = re.compile(r"(half|float|double)(2|4|8|16)")
_EXTREME = re.compile(r"\b(max|min)\(\s*([A-Za-z_]\w*)\s*\)")
_PROBLEM = re.compile(r"\bProblemSize\s*\[\s*(\d+)\s*\]")


def spec_of_problem(problem: KernelProblem, folder: str, where: str) -> TuningSpec:
    """The specification of a problem.

    Args:
        folder: of its file; the source lies in it or, as Kernel Tuner has it, in the one above.
        where: its file, for messages.

    Raises:
        UsageError: a language, a type, a memory or a fill that no runner has, or whatever is wrong with the result.
    """
    if problem.language not in _RUNNERS:
        raise UsageError(f"a language of {', '.join(_RUNNERS)}", found=f"{problem.language!r} in {where}", remedy="write the problem as SPEC.toml")
    runner, size, local, blocks = _RUNNERS[problem.language]
    wanted: dict[str, Any] = {
        "source": _source(problem.file, folder), "function": problem.kernel, "flags": list(problem.flags), size: _sizes(problem, blocks),
        local: list(problem.local_size),
    }  # fmt: skip
    if problem.shared_bytes and blocks:
        wanted["shared_size"] = problem.shared_bytes
    known = problem.strategy in strategies()
    search = SpecSearch(trials=problem.trials, time_s=problem.time_s)
    return checked(
        TuningSpec(
            name=problem.kernel,
            kernel=SpecKernel(
                runner=runner, options={name: value for name, value in wanted.items() if value or name in ("source", "function")},
                arguments=tuple(_argument(each, place, problem, where) for place, each in enumerate(problem.arguments)),
            ),
            parameters=problem.space.parameters, constraints=problem.space.constraints, default=_default(problem),
            search=msgspec.structs.replace(search, strategy=problem.strategy) if known else search, folder=folder,
        ),
        where,
    )  # fmt: skip


def _default(problem: KernelProblem) -> dict[str, Any]:
    """Only where it is a configuration: of every parameter, with values that they have."""
    values = {each.name: each.values for each in problem.space.parameters}
    whole = set(problem.default) == set(values) and all(value in values[name] for name, value in problem.default.items())
    return dict(problem.default) if whole else {}


def _source(file: str, folder: str) -> str:
    above = Path(folder).parent / file
    return str(above) if not (Path(folder) / file).is_file() and above.is_file() else file


def _sizes(problem: KernelProblem, blocks: bool) -> list[Expression]:
    """In what the runner counts: a size that is no multiple of a group has no whole number of them."""
    given = problem.size_type or problem.language
    if (given == "CUDA") == blocks:
        return list(problem.global_size)
    local = [*problem.local_size, "1", "1", "1"]
    return [f"({size}) / ({local[place]})" if blocks else f"({size}) * ({local[place]})" for place, size in enumerate(problem.global_size)]


def _argument(argument: ProblemArgument, place: int, problem: KernelProblem, where: str) -> SpecArgument:
    name = argument.name or f"argument_{place + 1}"
    what = f"{name} in {where}"
    wide = _WIDE.fullmatch(argument.type)
    dtype = _DTYPES.get(wide[1] if wide else argument.type)
    if dtype is None:
        raise UsageError(f"a type of {', '.join(_DTYPES)}", found=f"{argument.type!r} of {what}", remedy="write the problem as SPEC.toml")
    output = argument.output or argument.access in ("WriteOnly", "ReadWrite")
    if argument.memory == "Scalar" and not wide:
        if argument.value is None:
            raise UsageError("a FillValue of a scalar", found=f"none of {what}", remedy="give it")
        return SpecArgument(name=name, dtype=dtype, fill=_number(argument.value, dtype), output=output)
    if argument.memory != "Vector" or argument.size is None:
        raise UsageError("scalars, and vectors with their size", found=f"{argument.memory} of {what}", remedy="write the problem as SPEC.toml")
    size = argument.size if isinstance(argument.size, int) else _size(argument.size, problem)
    shape: Expression = (size * int(wide[2]) if isinstance(size, int) else f"({size}) * {wide[2]}") if wide else size
    return SpecArgument(name=name, dtype=dtype, shape=(shape,), fill=_fill(argument, dtype, what), seed=argument.seed or 0, output=output)


def _fill(argument: ProblemArgument, dtype: str, what: str) -> Expression:
    if argument.fill == "Random":
        return "uniform"
    if argument.fill in ("Constant", ""):
        return _number(argument.value or 0.0, dtype)
    raise UsageError("a fill that is Constant or Random", found=f"{argument.fill!r} of {what}", remedy="write the problem as SPEC.toml")


def _number(value: float, dtype: str) -> int | float:
    return int(value) if not dtype.startswith("float") and value.is_integer() else value


def _size(text: str, problem: KernelProblem) -> str:
    values = {each.name: each.values for each in problem.space.parameters}

    def extreme(match: re.Match[str]) -> str:
        found: Sequence[Any] = values.get(match[2], ())
        return repr((max if match[1] == "max" else min)(found)) if found else match[0]

    def problem_size(match: re.Match[str]) -> str:
        place = int(match[1])
        return str(problem.problem[place]) if place < len(problem.problem) else match[0]

    return _PROBLEM.sub(problem_size, _EXTREME.sub(extreme, text))


# ── back ────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────


def problem_of_spec(spec: TuningSpec) -> KernelProblem:
    """The problem of a specification, for tuners that read T1.

    Raises:
        UsageError: a runner, a constant, an argument or a parameter that the format has no word for.
    """
    language = next((name for name, (runner, *_) in _RUNNERS.items() if runner == spec.kernel.runner), "")
    if not language:
        runners = ", ".join(runner for runner, *_ in _RUNNERS.values())
        raise UsageError(f"a runner of {runners}, for T1", found=spec.kernel.runner, remedy="the format has kernels of OpenCL and CUDA alone")
    if spec.kernel.constants:
        found = f"constants {', '.join(spec.kernel.constants)[:200]}"
        raise UsageError("no constants beside the parameters, for T1", found=found, remedy="make each a parameter with one value")
    _, size, local, _ = _RUNNERS[language]
    options = spec.kernel.options
    return KernelProblem(
        space=_plain_space(spec), default=spec.default, kernel=str(options.get("function", "")), file=str(options.get("source", "")),
        language=language, flags=tuple(map(str, _listed(options.get("flags", ())))), global_size=tuple(map(str, _listed(options.get(size, ())))),
        local_size=tuple(map(str, _listed(options.get(local, ())))), size_type=language,
        shared_bytes=options["shared_size"] if isinstance(options.get("shared_size"), int) else 0,
        arguments=tuple(_problem_argument(each) for each in spec.kernel.arguments), strategy=spec.search.strategy, trials=spec.search.trials,
        time_s=spec.search.time_s,
    )  # fmt: skip


def _plain_space(spec: TuningSpec) -> Any:
    from .resolve import space_of

    space = space_of(spec)
    return msgspec.structs.replace(
        space, parameters=tuple(Parameter(name=each.name, values=each.values, when=each.when) for each in space.parameters)
    )


def _listed(found: Any) -> list[Any]:
    return found.split() if isinstance(found, str) else list(found) if isinstance(found, list | tuple) else [found]


def _problem_argument(argument: SpecArgument) -> ProblemArgument:
    types = {dtype: name for name, dtype in _DTYPES.items()}
    one = len(argument.shape or ()) <= 1
    number = isinstance(argument.fill, int | float)
    if argument.dtype not in types or not (number or (argument.fill in ("uniform", "zeros") and argument.shape is not None)) or not one:
        found = f"{argument.name}: {argument.dtype}, {argument.shape}, {argument.fill!r}"
        raise UsageError("scalars and vectors with a number or uniform as fill, for T1", found=found, remedy="write it otherwise")
    random = argument.fill == "uniform"
    size = argument.shape[0] if argument.shape else None
    return ProblemArgument(
        name=argument.name, type=types[argument.dtype], memory="Scalar" if argument.shape is None else "Vector",
        access="ReadWrite" if argument.output else "ReadOnly", size=int(size) if isinstance(size, float) else size,
        fill="" if argument.shape is None else "Random" if random else "Constant", value=float(argument.fill) if number else None if random else 0.0,
        seed=argument.seed if random else None, output=argument.output,
    )  # fmt: skip
