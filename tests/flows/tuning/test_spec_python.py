"""Specifications from Python: the builder, and `file.py:NAME`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from ridgeline.core import Parameter, RidgelineError, TargetFailed, UsageError
from ridgeline.flows.tuning.sources import read_spec
from ridgeline.flows.tuning.spec import SpecArgument, SpecCheck, SpecLimits, SpecSearch, SpecWork, TuningSpec, kernel, tuning_spec
from ridgeline.tuning.space import integer, permutation

FILE = """
from ridgeline.flows.tuning.spec import kernel, tuning_spec
print("made")
SPEC = tuning_spec("small", kernel=kernel("simulated", constants={"n": 4}), parameters={"tile": [8, 16]}, constraints=["tile > n"])
def spec():
    return SPEC
class Holder:
    spec = SPEC
def broken():
    raise RuntimeError("no\\nsuch thing")
def leaves():
    raise SystemExit(3)
def needs(argument):
    return SPEC
number = 3
"""


def _small(**changes: Any) -> TuningSpec:
    given: dict[str, Any] = {"kernel": kernel("simulated", constants={"n": 4}), "parameters": {"tile": [8, 16]}, **changes}
    return tuning_spec("small", **given)


def test_the_builder_makes_what_toml_makes(tmp_path: Path) -> None:
    (tmp_path / "add.c").touch()
    (tmp_path / "spec.toml").write_text("""
        schema = "ridgeline.tuning/1"
        name = "add"
        [kernel]
        runner = "c"
        source = "add.c"
        function = "add"
        constants = {n = 8}
        arguments = [{name = "out", shape = ["n"], output = true}]
        work = {flop = "n"}
        check = {relative = 1e-6}
        [parameters]
        unroll = {kind = "integer", low = 1, high = 4}
        order = {kind = "permutation", items = [1, 2]}
        [space]
        constraints = ["unroll <= n"]
        [limits]
        run = "1s"
        [search]
        seed = 3
    """)
    made = tuning_spec(
        "add",
        kernel=kernel(
            "c", source="add.c", function="add", constants={"n": 8}, arguments=[SpecArgument(name="out", shape=("n",), output=True)],
            work=SpecWork(flop="n"), check=SpecCheck(relative=1e-6),
        ),
        parameters=[integer("unroll", 1, 4), permutation("order", [1, 2])],
        constraints=["unroll <= n"], limits=SpecLimits(run_s=1.0), search=SpecSearch(seed=3), folder=str(tmp_path),
    )  # fmt: skip
    assert made == read_spec(tmp_path / "spec.toml")


def test_it_goes_over_a_wire() -> None:
    spec = _small()
    assert msgspec.json.decode(msgspec.json.encode(spec), type=TuningSpec) == spec


@pytest.mark.parametrize("name", ["SPEC", "spec", "Holder.spec"])
def test_an_object_of_a_file_or_a_function_that_returns_it(tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "specs.py").write_text(FILE)
    spec = read_spec(f"specs.py:{name}", root=tmp_path)
    assert spec == msgspec.structs.replace(_small(constraints=["tile > n"]), folder=str(tmp_path))
    printed = capsys.readouterr()
    assert (printed.out, printed.err) == ("", "made\n")


@pytest.mark.parametrize(
    ("name", "kind", "said"),
    [
        ("SPECS", UsageError, "no SPECS"),
        ("number", UsageError, "a specification, or a function that returns one; found: a int"),
        ("broken", TargetFailed, "RuntimeError: no such thing"),
        ("leaves", TargetFailed, "SystemExit: 3"),
        ("needs", TargetFailed, "TypeError.*argument"),
        ("", UsageError, "file.py:NAME"),
        ("a b", UsageError, "file.py:NAME"),
    ],
)
def test_what_is_no_specification_of_a_file(tmp_path: Path, name: str, kind: type[RidgelineError], said: str) -> None:
    (tmp_path / "specs.py").write_text(FILE)
    with pytest.raises(kind, match=said) as caught:
        read_spec(f"{tmp_path}/specs.py:{name}")
    assert "\n" not in str(caught.value)
    assert caught.value.exit_code == 2


def test_a_file_that_is_not_there_or_is_no_python(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="a Python file; found: none"):
        read_spec(f"{tmp_path}/none.py:SPEC")
    (tmp_path / "wrong.py").write_text("def (")
    with pytest.raises(UsageError, match=r"wrong\.py"):
        read_spec(f"{tmp_path}/wrong.py:SPEC")


def test_a_captured_variable_is_named_as_what_it_is() -> None:
    """A function over parameters sees more than a record could hold."""
    most = 8
    with pytest.raises(UsageError, match="a constraint as a text; found: a function as constraint 1") as caught:
        _small(constraints=[lambda tile: tile <= most])
    assert "constants" in caught.value.remedy
    with pytest.raises(UsageError, match="the name 'most' in 'tile <= most'"):
        _small(constraints=["tile <= most"])
    spec = _small(kernel=kernel("simulated", constants={"most": most}), constraints=["tile <= most"])
    assert spec.kernel.constants == {"most": 8}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"parameters": {"tile": 8}}, "a list of values of tile"),
        ({"parameters": {"tile": "8"}}, "a list of values of tile"),
        ({"parameters": [("tile", [8])]}, "parameters of kind Parameter"),
        ({"parameters": {"tile": np.arange(3)}}, r"np.int64\(0\) as a value of tile|found: 0 as a value of tile"),
        ({"parameters": {"tile": [None]}}, "found: None as a value of tile"),
        ({"parameters": {}}, "one to 200 parameters"),
        ({"parameters": [integer("tile", 1, 2), integer("tile", 1, 3)]}, "parameters of different names"),
        ({"parameters": {3: [1]}}, "names of letters|str as parameters"),
        ({"constraints": [3]}, r"str as constraints\[0\]; found: int"),
        ({"kernel": kernel("simulated", arguments=[{"name": "a"}])}, "arguments of kind SpecArgument"),
        ({"kernel": kernel("simulated", noize=3)}, "options of the runner simulated; found: 'noize'.*did you mean 'noise'"),
        ({"kernel": kernel("simulated", seed=print)}, "plain values|finite numbers"),
        ({"kernel": "simulated"}, "a kernel of kind SpecKernel; found: 'simulated'"),
        ({"limits": SpecLimits(run_s=float("nan"))}, "a finite number above 0; found: nan as run"),
        ({"limits": SpecLimits(run_s="1s")}, r"float as limits.run_s; found: str"),  # type: ignore[arg-type]
        ({"search": SpecSearch(strategy="gided")}, "did you mean 'guided'"),
    ],
)
def test_a_mistake_is_one_clear_line(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=said) as caught:
        _small(**changes)
    assert "\n" not in str(caught.value)


def test_one_text_is_one_constraint() -> None:
    assert _small(constraints="tile > n").constraints == ("tile > n",)


def test_parameters_may_be_made_beforehand() -> None:
    assert _small(parameters={"tile": integer("any", 1, 3)}).parameters == (Parameter(name="tile", values=(1, 2, 3), kind="integer"),)
