"""A kernel with its space as a problem in the T1 format. What that has no word for is refused: conditional parameters, values of several types.

Format: input-schema.json of T1 1.0.0; see `ridgeline.readers.tuning.t1` for the fields beside it.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ridgeline.core import KernelProblem, Parameter, ProblemArgument, UsageError
from ridgeline.machine import written_whole
from ridgeline.tuning.space import names_in

__all__ = ["problem_text", "write_problem"]

_AXES = ("X", "Y", "Z")


def write_problem(problem: KernelProblem, path: str | Path) -> None:
    """Write a file, at once in place of what is there.

    Raises:
        UsageError: as `problem_text`, or the file cannot be written.
    """
    text = problem_text(problem)
    with written_whole(path) as file:
        file.write(text.encode())


def problem_text(problem: KernelProblem) -> str:
    """The problem.

    Raises:
        UsageError: something that the format has no word for.
    """
    kernel: dict[str, Any] = {
        "Language": problem.language, "CompilerOptions": list(problem.flags), "KernelName": problem.kernel, "KernelFile": problem.file,
        "GlobalSizeType": problem.size_type, "GlobalSize": dict(zip(_AXES, problem.global_size, strict=False)),
        "LocalSize": dict(zip(_AXES, problem.local_size, strict=False)), "SharedMemory": problem.shared_bytes,
        "ProblemSize": list(problem.problem), "Arguments": [_argument(each) for each in problem.arguments],
        "Device": {"Name": problem.device} if problem.device else None,
    }  # fmt: skip
    budget: list[dict[str, Any]] = []
    if problem.trials is not None:
        budget.append({"Type": "ConfigurationCount", "BudgetValue": problem.trials})
    if problem.time_s is not None:
        budget.append({"Type": "TuningDuration", "BudgetValue": problem.time_s})
    document = {
        "ConfigurationSpace": {
            "TuningParameters": [_parameter(each, problem) for each in problem.space.parameters],
            "Conditions": [{"Expression": text, "Parameters": list(names_in(text))} for text in problem.space.constraints],
        },
        "KernelSpecification": {
            key: value for key, value in kernel.items() if value or key in ("Language", "CompilerOptions", "GlobalSize", "LocalSize")
        },
        **({"Search": {"Name": problem.strategy}} if problem.strategy else {}),
        **({"Budget": budget} if budget else {}),
    }
    return json.dumps(document, indent=2) + "\n"


def _parameter(parameter: Parameter, problem: KernelProblem) -> dict[str, Any]:
    if parameter.when:
        raise UsageError("parameters without a condition, for T1", found=f"{parameter.name} when {parameter.when}", remedy="make it a constraint")
    made: dict[str, Any] = {"Name": parameter.name, "Type": _type(parameter), "Values": repr(list(parameter.values))}
    return made | ({"Default": problem.default[parameter.name]} if parameter.name in problem.default else {})


def _type(parameter: Parameter) -> str:
    kinds = {type(value) for value in parameter.values}
    for name, allowed in (("bool", {bool}), ("int", {int}), ("string", {str}), ("float", {int, float})):
        if kinds and kinds <= allowed:
            return name
    found = f"{parameter.name} with {', '.join(sorted(kind.__name__ for kind in kinds))}"
    raise UsageError("values of one type, for T1", found=found, remedy="write numbers, texts or true and false alone")


def _argument(argument: ProblemArgument) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "Name": argument.name, "Type": argument.type, "MemoryType": argument.memory, "AccessType": argument.access, "Size": argument.size,
        "FillType": argument.fill, "FillValue": argument.value, "RandomSeed": argument.seed, "DataSource": argument.data,
        "Output": 1 if argument.output else None,
    }  # fmt: skip
    return {key: value for key, value in fields.items() if value is not None and value != ""}
