"""Problems in the T1 format: a kernel, its parameters with conditions, launch sizes, arguments, search and budget.

Format: input-schema.json of T1 1.0.0 as Kernel Tuner 1.5.0 brings it. Beside the schema, fields that published problems have are read: `Default` of a
parameter, `Output` of an argument, `ProblemSize` (github.com/AutoTuningAssociation/benchmark_hub). Budgets are seconds, as Kernel Tuner takes them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ridgeline.core import KernelProblem, Parameter, ProblemArgument, Space

from ..source import Source
from .document import number, scalar, table
from .value_lists import values_of

__all__ = ["problem_of"]

_AXES = ("X", "Y", "Z")
_TYPES: Mapping[str, tuple[type, ...]] = {"int": (int,), "uint": (int,), "float": (int, float), "bool": (bool,), "string": (str,)}
#: Of the kernel, what there is no field for.
_LEFT_OUT = ("GridDivX", "GridDivY", "GridDivZ", "ReferenceArguments", "Stream", "Misc")


def problem_of(document: Mapping[str, Any], source: Source) -> KernelProblem:
    """What a T1 file says.

    Raises:
        ReadError: a part is missing, or is not what it should be.
    """
    space = table(document.get("ConfigurationSpace"), "ConfigurationSpace", source)
    kernel = table(document.get("KernelSpecification"), "KernelSpecification", source)
    rows = _rows(space.get("TuningParameters"), "TuningParameters", source)
    if not rows:
        raise source.damaged("at least one of TuningParameters", "none")
    parameters = tuple(_parameter(row, place, source) for place, row in enumerate(rows))
    strategy, trials, time_s = _search(document, source)
    device = kernel.get("Device")
    return KernelProblem(
        space=Space(parameters=parameters, constraints=_conditions(space, source)),
        default={str(row["Name"]): scalar(row["Default"], f"Default of {row['Name']}", source) for row in rows if row.get("Default") is not None},
        kernel=_text(kernel, "KernelName", source),
        file=_text(kernel, "KernelFile", source),
        language=_text(kernel, "Language", source),
        flags=tuple(str(each) for each in _list(kernel.get("CompilerOptions"), "CompilerOptions", source)),
        global_size=_sizes(kernel, "GlobalSize", source),
        local_size=_sizes(kernel, "LocalSize", source),
        size_type=str(kernel.get("GlobalSizeType") or ""),
        shared_bytes=_whole(kernel.get("SharedMemory") or 0, "SharedMemory", source),
        arguments=tuple(_argument(row, place, source) for place, row in enumerate(_rows(kernel.get("Arguments"), "Arguments", source))),
        problem=tuple(_whole(each, "ProblemSize", source) for each in _list(kernel.get("ProblemSize"), "ProblemSize", source)),
        device=str(device.get("Name") or "") if isinstance(device, dict) else "",
        strategy=strategy,
        trials=trials,
        time_s=time_s,
        remarks=tuple(f"KernelSpecification.{name} is not read" for name in _LEFT_OUT if kernel.get(name)),
    )


def _parameter(row: Mapping[str, Any], place: int, source: Source) -> Parameter:
    where = f"parameter {place + 1}"
    name, kind, text = _text(row, "Name", source, where), row.get("Type"), row.get("Values")
    if not isinstance(kind, str) or kind not in _TYPES:
        raise source.damaged(f"Type of {name} as one of {', '.join(_TYPES)}", f"{kind!r:.60}")
    values = tuple(scalar(each, f"a value of {name}", source) for each in text) if isinstance(text, list) else values_of(str(text), name)
    if kind == "bool":
        values = tuple(bool(each) if each in (0, 1) else each for each in values)
    wrong = next((each for each in values if type(each) not in _TYPES[kind]), None)
    if wrong is not None:
        raise source.damaged(f"values of {name} of type {kind}", repr(wrong)[:80])
    return Parameter(name=name, values=values)


def _conditions(space: Mapping[str, Any], source: Source) -> tuple[str, ...]:
    rows = _rows(space.get("Conditions"), "Conditions", source)
    return tuple(_text(row, "Expression", source, f"condition {place + 1}") for place, row in enumerate(rows))


def _search(document: Mapping[str, Any], source: Source) -> tuple[str, int | None, float | None]:
    search = document.get("Search")
    strategy = str(search.get("Name") or "") if isinstance(search, dict) else ""
    trials, time_s = None, None
    for row in _rows(document.get("Budget"), "Budget", source):
        value = number(row.get("BudgetValue"))
        if value is None or value <= 0:
            raise source.damaged("a BudgetValue above 0", f"{row.get('BudgetValue')!r:.60}")
        if row.get("Type") == "ConfigurationCount":
            trials = int(value)
        elif row.get("Type") == "TuningDuration":
            time_s = value
    return strategy, trials, time_s


def _argument(row: Mapping[str, Any], place: int, source: Source) -> ProblemArgument:
    where = f"argument {place + 1}"
    size, seed = row.get("Size"), row.get("RandomSeed")
    return ProblemArgument(
        name=str(row.get("Name") or ""), type=_text(row, "Type", source, where), memory=_text(row, "MemoryType", source, where),
        access=str(row.get("AccessType") or ""), size=size if isinstance(size, str) or size is None else _whole(size, f"Size of {where}", source),
        fill=str(row.get("FillType") or ""), value=number(row.get("FillValue")), seed=None if seed is None else _whole(seed, "RandomSeed", source),
        data=str(row.get("DataSource") or ""), output=bool(row.get("Output")),
    )  # fmt: skip


def _sizes(kernel: Mapping[str, Any], name: str, source: Source) -> tuple[str, ...]:
    found = kernel.get(name)
    if found is None:
        return ()
    axes = table(found, name, source)
    texts = [str(axes[axis]) for axis in _AXES if axes.get(axis) is not None]
    if "X" not in axes:
        raise source.damaged(f"X of {name}", f"{found!r:.80}")
    return tuple(texts)


def _list(found: Any, where: str, source: Source) -> list[Any]:
    if found is None:
        return []
    if not isinstance(found, list):
        raise source.damaged(f"a list as {where}", f"{found!r:.80}")
    return found


def _rows(found: Any, where: str, source: Source) -> list[Mapping[str, Any]]:
    return [table(each, f"each of {where}", source) for each in _list(found, where, source)]


def _text(row: Mapping[str, Any], key: str, source: Source, where: str = "KernelSpecification") -> str:
    found = row.get(key)
    if not isinstance(found, str) or not found.strip():
        raise source.damaged(f"a text {key} of {where}", "none" if found is None else f"{found!r:.80}")
    return found


def _whole(found: Any, where: str, source: Source) -> int:
    if not isinstance(found, int) or isinstance(found, bool):
        raise source.damaged(f"a whole number as {where}", f"{found!r:.80}")
    return found
