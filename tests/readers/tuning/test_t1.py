"""Problems in the T1 format, and the lists of values that they write as Python."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from readers.tuning.caches import written
from ridgeline.core import ReadError
from ridgeline.readers.tuning import kind_of_file, read_problem, values_of

PROBLEM: dict[str, Any] = {
    "ConfigurationSpace": {
        "TuningParameters": [
            {"Name": "tile", "Type": "int", "Values": "[8, 16] + [2**i for i in range(5, 7)]", "Default": 16},
            {"Name": "way", "Type": "string", "Values": "['row', \"column\"]"},
            {"Name": "fast", "Type": "bool", "Values": "[true, false]"},
            {"Name": "share", "Type": "float", "Values": "[0.5, 1]"},
        ],
        "Conditions": [{"Expression": "tile <= 32 or fast", "Parameters": ["tile", "fast"]}],
    },
    "KernelSpecification": {
        "Language": "OpenCL", "CompilerOptions": ["-cl-fast-relaxed-math"], "KernelName": "sum", "KernelFile": "sum.cl", "GlobalSizeType": "OpenCL",
        "GlobalSize": {"X": "1024 // tile", "Y": "1"}, "LocalSize": {"X": "tile"}, "ProblemSize": [1024], "SharedMemory": 0, "GridDivX": ["tile"],
        "Arguments": [
            {"Name": "a", "Type": "float", "MemoryType": "Vector", "AccessType": "ReadOnly", "Size": "ProblemSize[0]", "FillType": "Random"},
            {"Name": "n", "Type": "int32", "MemoryType": "Scalar", "FillValue": 1024},
            {"Name": "out", "Type": "float", "MemoryType": "Vector", "AccessType": "WriteOnly", "Size": 8, "FillType": "Constant", "FillValue": 0.0,
             "Output": 1},
        ],
    },
    "Search": {"Name": "random"},
    "Budget": [{"Type": "ConfigurationCount", "BudgetValue": 40}, {"Type": "TuningDuration", "BudgetValue": 60}],
}  # fmt: skip


def changed(*path: str | int, to: Any) -> dict[str, Any]:
    """The problem with something else at a place."""
    document: Any = json.loads(json.dumps(PROBLEM))
    inner = document
    for step in path[:-1]:
        inner = inner[step]
    inner[path[-1]] = to
    return dict(document)


def test_a_problem_is_read(tmp_path: Path) -> None:
    path = written(tmp_path, json.dumps(PROBLEM), "problem.json")
    found = read_problem(path)
    assert kind_of_file(path) == "t1"
    assert [(each.name, each.values) for each in found.space.parameters] == [
        ("tile", (8, 16, 32, 64)), ("way", ("row", "column")), ("fast", (True, False)), ("share", (0.5, 1)),
    ]  # fmt: skip
    assert found.space.constraints == ("tile <= 32 or fast",)
    assert (found.kernel, found.file, found.language, found.size_type, found.problem) == ("sum", "sum.cl", "OpenCL", "OpenCL", (1024,))
    assert (found.global_size, found.local_size, found.default) == (("1024 // tile", "1"), ("tile",), {"tile": 16})
    assert (found.strategy, found.trials, found.time_s) == ("random", 40, 60.0)
    assert [(each.name, each.memory, each.size, each.value, each.output) for each in found.arguments] == [
        ("a", "Vector", "ProblemSize[0]", None, False), ("n", "Scalar", None, 1024.0, False), ("out", "Vector", 8, 0.0, True),
    ]  # fmt: skip
    assert found.remarks == ("KernelSpecification.GridDivX is not read",)


@pytest.mark.parametrize(
    ("document", "said"),
    [
        (changed("KernelSpecification", to=None), "an object as KernelSpecification"),
        (changed("KernelSpecification", "KernelName", to=""), "a text KernelName of KernelSpecification"),
        (changed("ConfigurationSpace", "TuningParameters", to=[]), "at least one of TuningParameters"),
        (changed("ConfigurationSpace", "TuningParameters", to=3), "a list as TuningParameters"),
        (changed("ConfigurationSpace", "TuningParameters", 0, "Type", to="integer"), "Type of tile as one of int, uint"),
        (changed("ConfigurationSpace", "TuningParameters", 0, "Type", to="string"), "values of tile of type string"),
        (changed("ConfigurationSpace", "TuningParameters", 0, "Values", to="[1.5]"), "values of tile of type int"),
        (changed("ConfigurationSpace", "TuningParameters", 0, "Values", to="open('x')"), "a list of values of tile"),
        (changed("ConfigurationSpace", "TuningParameters", 0, "Default", to=[1]), "Default of tile"),
        (changed("ConfigurationSpace", "Conditions", 0, "Expression", to=3), "a text Expression of condition 1"),
        (changed("KernelSpecification", "GlobalSize", to={"Y": "1"}), "X of GlobalSize"),
        (changed("KernelSpecification", "ProblemSize", to=["x"]), "a whole number as ProblemSize"),
        (changed("KernelSpecification", "Arguments", 0, "Size", to=1.5), "a whole number as Size of argument 1"),
        (changed("Budget", 0, "BudgetValue", to=-1), "a BudgetValue above 0"),
        ({"results": []}, "results in the T4 format"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(tmp_path: Path, document: dict[str, Any], said: str) -> None:
    with pytest.raises(ReadError, match=said):
        read_problem(written(tmp_path, json.dumps(document), "problem.json"))


@pytest.mark.parametrize(
    ("text", "right"),
    [
        ("[1, 2, 4]", (1, 2, 4)),
        ("(1,)", (1,)),
        ("[1, 2, 4, 8, 16] + list(range(32, 97, 32))", (1, 2, 4, 8, 16, 32, 64, 96)),
        ("[i for i in range(1, 10+1)]", tuple(range(1, 11))),
        ("[32 * i for i in range(1, 4)]", (32, 64, 96)),
        ("list(2**i for i in [0, 3])", (1, 8)),
        ("range(3)", (0, 1, 2)),
        ("[-1, +2, 1 / 4]", (-1, 2, 0.25)),
        ("['a', 'b c']", ("a", "b c")),
        ("[True, false]", (True, False)),
    ],
)
def test_a_list_of_values(text: str, right: tuple[Any, ...]) -> None:
    assert values_of(text, "tile") == right


@pytest.mark.parametrize(
    "text",
    [
        "", "[]", "3", "[", "tile", "__import__('os')", "[x for x in range(3) if x]", "[[1], [2]]", "[None]", "list(range(10**9))",
        "[2**i for i in range(10**7)]", "[9**9**9**9]", "[10**400]", "[1/0]", "range(1, 2, 0)", "range(2.5)", "['a' * 10**9]", "[1].append(2)",
        "[i for i in range(3) for j in range(3)]", "[(lambda: 1)()]", "range(-2**80, 2**80)", "[1e400 * 0]" , "(" * 500, "[1]" + " + [1]" * 60000,
    ],
)  # fmt: skip
def test_what_is_no_list_of_values_is_refused_and_never_run(text: str) -> None:
    with pytest.raises(ReadError, match="a list of values of tile"):
        values_of(text, "tile")


@given(st.lists(st.one_of(st.integers(), st.booleans(), st.text(), st.floats(allow_nan=False, allow_infinity=False)), min_size=1))
def test_what_python_writes_is_read(values: list[Any]) -> None:
    assert values_of(repr(values), "tile") == tuple(values)
