"""A specification for one configuration, and its space with constants and limits of a device in it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ridgeline.backends import Argument, BuildFailed, Check, Job, attempt
from ridgeline.core import Device, Space, UsageError
from ridgeline.flows.tuning.resolve import configurations_of, job_of, reference_job, space_of, work_of
from ridgeline.flows.tuning.sources import read_spec
from ridgeline.flows.tuning.spec import SpecArgument, SpecCheck, SpecKernel, SpecWork, TuningSpec, kernel, tuning_spec
from ridgeline.tuning.space import integer

DEVICE = Device(name="Some GPU", kind="gpu", shared_memory_bytes=49152, registers_bytes=262144, max_threads_per_unit=2048)


def _spec(parameters: Any = None, constraints: Any = (), **options: Any) -> TuningSpec:
    given: dict[str, Any] = {"constants": {"n": 512}, **options}
    return tuning_spec("sum", kernel=kernel("simulated", **given), parameters=parameters or {"tile": [8, 16, 0]}, constraints=constraints)


def test_a_job_holds_plain_values(tmp_path: Path) -> None:
    (tmp_path / "sum.cl").touch()
    (tmp_path / "right.npz").touch()
    spec = tuning_spec(
        "sum",
        kernel=kernel(
            "opencl", source="sum.cl", function="sum", flags=["-DN={n}"], global_size=["n // tile * 16", 16], local_size=["tile", 1],
            constants={"n": 512, "scale": 0.5},
            arguments=[
                SpecArgument(name="a", shape=("n", "n / tile", 3), fill="normal", seed=4),
                SpecArgument(name="out", dtype="float64", shape=("n",), fill=0, output=True),
                SpecArgument(name="n", dtype="int32", fill="n // 2"),
                SpecArgument(name="scale", fill="scale * tile"),
            ],
            check=SpecCheck(reference="right.npz", relative=1e-3, whole=0.01),
        ),
        parameters={"tile": [8, 16], "way": ["row", "column"]}, folder=str(tmp_path),
    )  # fmt: skip
    assert job_of(spec, {"tile": 8, "way": "row"}) == Job(
        runner="opencl",
        values={"n": 512, "scale": 0.5, "tile": 8, "way": "row"},
        options={
            "source": str(tmp_path / "sum.cl"), "function": "sum", "flags": ["-DN={n}"], "global_size": [1024, 16], "local_size": [8, 1],
        },
        arguments=(
            Argument(name="a", shape=(512, 64, 3), fill="normal", seed=4),
            Argument(name="out", dtype="float64", shape=(512,), fill=0, output=True),
            Argument(name="n", dtype="int32", fill=256),
            Argument(name="scale", fill=4.0),
        ),
        check=Check(reference=str(tmp_path / "right.npz"), relative=1e-3, whole=0.01),
    )  # fmt: skip
    assert job_of(spec, {"tile": 8, "way": "row"}, reference="/made.npz").check.reference == "/made.npz"


def test_a_command_runs_where_its_specification_lies(tmp_path: Path) -> None:
    (tmp_path / "runs").mkdir()
    spec = tuning_spec("run", kernel=kernel("command", command="./solve {tile}"), parameters={"tile": [1]}, folder=str(tmp_path))
    assert job_of(spec, {"tile": 1}).options == {"command": "./solve {tile}", "directory": str(tmp_path)}
    inside = tuning_spec("run", kernel=kernel("command", command="./solve", directory="runs"), parameters={"tile": [1]}, folder=str(tmp_path))
    assert job_of(inside, {"tile": 1}).options["directory"] == str(tmp_path / "runs")


def test_a_path_that_is_absolute_or_at_home_stays_where_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "a.c").touch()
    for path in (str(tmp_path / "a.c"), "~/a.c"):
        spec = tuning_spec("a", kernel=kernel("c", source=path, function="f"), parameters={"tile": [1]}, folder="/usr")
        assert job_of(spec, {"tile": 1}).options["source"] == str(tmp_path / "a.c")
    several = tuning_spec("a", kernel=kernel("c", source=["a.c", "~/a.c"], function="f"), parameters={"tile": [1]}, folder=str(tmp_path))
    assert job_of(several, {"tile": 1}).options["source"] == [str(tmp_path / "a.c")] * 2


@pytest.mark.parametrize(
    ("argument", "said"),
    [
        (SpecArgument(name="a", shape=("n // tile",)), "shape of a: 'n // tile' has no value at this configuration"),
        (SpecArgument(name="a", shape=("tile / 3 - 1",)), "shape of a: .* is -1.0, and has to be a whole number of 0 or more"),
        (SpecArgument(name="a", shape=("n + 0.5",)), "512.5"),
        (SpecArgument(name="a", shape=("n > 3",)), "True"),
        (SpecArgument(name="a", shape=("'x'",)), "'x'"),
        (SpecArgument(name="a", shape=("2.0 ** 2000 * 2",)), "has no value|inf"),
        (SpecArgument(name="a", dtype="int32", fill="n / tile"), "has no value"),
        (SpecArgument(name="a", dtype="int32", fill="n / 3"), "170.66.* is no int32"),
        (SpecArgument(name="a", dtype="int8", fill="n"), "512 is no int8"),
        (SpecArgument(name="a", fill="'x'"), "'x' is no number"),
    ],
)
def test_a_size_that_cannot_be_makes_the_configuration_invalid(argument: SpecArgument, said: str) -> None:
    """And no more than it: a division by zero at some points ends no search."""
    spec = _spec(arguments=[argument])
    with pytest.raises(BuildFailed, match=said) as caught:
        job_of(spec, {"tile": 0})
    assert caught.value.invalid


def test_what_is_not_active_is_not_looked_at(tmp_path: Path) -> None:
    (tmp_path / "a.cl").touch()
    spec = tuning_spec(
        "a",
        kernel=kernel("opencl", source="a.cl", function="f", global_size=["64 // block if blocked else 64"], constants={}),
        parameters=[*tuning_spec("b", kernel=kernel("simulated"), parameters={"blocked": [True, False]}).parameters,
                    integer("block", 2, 4, when="blocked")],
        folder=str(tmp_path),
    )  # fmt: skip
    assert job_of(spec, {"blocked": True, "block": 4}).options["global_size"] == [16]
    job = job_of(spec, {"blocked": False})
    assert (job.options["global_size"], job.values) == ([64], {"blocked": False})
    without = msgspec.structs.replace(spec, kernel=msgspec.structs.replace(spec.kernel, options={**spec.kernel.options, "global_size": ["block"]}))
    with pytest.raises(BuildFailed, match="no value at this configuration"):
        job_of(without, {"blocked": False})


def test_work_of_a_configuration() -> None:
    spec = _spec(work=SpecWork(flop="2 * n ** 3", bytes="n // tile"))
    assert work_of(spec, {"tile": 8}) == (2.0 * 512**3, 64.0)
    assert work_of(spec, {"tile": 0}) == (2.0 * 512**3, None)
    assert work_of(_spec(work=SpecWork(flop=7)), {"tile": 8}) == (7.0, None)
    assert work_of(_spec(), {"tile": 8}) == (None, None)


# ── reference ───────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_configuration_as_reference() -> None:
    out = SpecArgument(name="out", shape=("n",), output=True)
    job = reference_job(_spec(arguments=[out], check=SpecCheck(config={"tile": 16})))
    assert job is not None
    assert (job.values, job.check) == ({"n": 512, "tile": 16}, Check())
    with pytest.raises(UsageError, match="a reference that can be worked out; found: shape of out"):
        reference_job(_spec(arguments=[SpecArgument(name="out", shape=("n // tile",), output=True)], check=SpecCheck(config={"tile": 0})))
    assert reference_job(_spec(arguments=[out])) is None


def test_a_kernel_as_reference(tmp_path: Path) -> None:
    (tmp_path / "plain.c").touch()
    out = SpecArgument(name="out", shape=("n",), output=True)
    right = SpecCheck(kernel={"runner": "c", "source": "plain.c", "function": "plain"})
    spec = tuning_spec(
        "sum", kernel=kernel("simulated", constants={"n": 512}, arguments=[out], check=right), parameters={"tile": [1]}, folder=str(tmp_path)
    )
    job = reference_job(spec)
    assert job is not None
    assert (job.runner, job.values) == ("c", {"n": 512})
    assert job.options == {"source": str(tmp_path / "plain.c"), "function": "plain"}
    assert job.arguments == (Argument(name="out", shape=(512,), output=True),)
    with pytest.raises(UsageError, match="the name 'tile' in 'tile'"):
        _spec(arguments=[SpecArgument(name="out", shape=("tile",), output=True)], check=right)


# ── space ───────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_constants_and_limits_of_a_device_stand_in_constraints() -> None:
    spec = _spec({"tile": [8, 64, 512]}, ["tile * n <= shared_memory_bytes", "tile <= max_threads_per_unit // 4", "registers >= tile"])
    assert space_of(spec, DEVICE).constraints == ("tile * 512 <= 49152", "tile <= 2048 // 4", "65536 >= tile")
    found = configurations_of(spec, DEVICE)
    assert [found.config(row)["tile"] for row in found.at(range(found.count))] == [8, 64]


def test_a_limit_that_nobody_gives_is_asked_for() -> None:
    spec = _spec(constraints=["tile <= max_threads_per_block"])
    with pytest.raises(UsageError, match=r"max_threads_per_block \(.*\) of the device.*; found: no device; to do: give a device"):
        space_of(spec)
    with pytest.raises(UsageError, match="Some GPU, of which it is not known"):
        space_of(spec, DEVICE)
    assert space_of(spec, DEVICE, {"max_threads_per_block": 1024}).constraints == ("tile <= 1024",)
    assert space_of(spec, None, {"max_threads_per_block": 1024}).constraints == ("tile <= 1024",)


def test_ones_own_name_goes_before_that_of_the_device() -> None:
    spec = _spec({"registers": [1, 2]}, ["registers > 1"])
    assert space_of(spec, DEVICE).constraints == ("registers > 1",)
    own = _spec(constraints=["tile < registers"], constants={"registers": 3})
    assert space_of(own, DEVICE).constraints == ("tile < 3",)


def test_a_condition_may_look_at_constants() -> None:
    spec = tuning_spec("a", kernel=kernel("simulated", constants={"n": 4}), parameters=[integer("a", 1, 6), integer("b", 1, 2, when="a > n")])
    assert space_of(spec).parameters[1].when == "a > 4"
    assert configurations_of(spec).count == 4 + 2 * 2


def test_a_division_by_zero_at_some_points_rules_out_those() -> None:
    found = configurations_of(_spec(constraints=["n % tile == 0"]))
    assert [found.config(row)["tile"] for row in found.at(range(found.count))] == [8, 16]
    assert found.without_value == (1,)


@pytest.mark.parametrize(
    ("constraints", "said"),
    [
        (["tile > 3", "tile > 99"], "a valid configuration of 3; found: none: 'tile > 99' holds nowhere"),
        (["tile > 8", "tile < 9"], "the constraints hold nowhere together"),
        (["n % (tile * 0) == 1"], "has no value at some points, such as in a division by zero"),
        (["False"], "'False' holds nowhere"),
    ],
)
def test_an_empty_space_says_why(constraints: list[str], said: str) -> None:
    with pytest.raises(UsageError, match=said.replace("(", r"\(").replace("*", r"\*").replace(")", r"\)")):
        configurations_of(_spec(constraints=constraints))


@pytest.mark.parametrize("values", [[7], [True], ["only"], [True, False], ["a", "b"], [0.5]])
def test_spaces_of_one_point_and_of_texts_and_truth_values(values: list[Any]) -> None:
    spec = tuning_spec("a", kernel=kernel("simulated", constants={"right": values[0]}), parameters={"x": values}, constraints=["x == right"])
    found = configurations_of(spec)
    (row,) = found.at(range(found.count))
    assert found.config(row) == {"x": values[0]}
    assert type(found.config(row)["x"]) is type(values[0])
    assert job_of(spec, found.config(row)).values == {"right": values[0], "x": values[0]}


@given(
    st.dictionaries(st.sampled_from(["a", "b", "c"]), st.lists(st.integers(-4, 9), min_size=1, max_size=4, unique=True), min_size=1),
    st.integers(-3, 3),
)
def test_the_space_is_that_of_the_constraints_worked_out_by_python(values: dict[str, list[int]], constant: int) -> None:
    """With constants in every place: a constraint that has no value does not hold."""
    texts = ["a ** 2 > k", "b != k or a > 3", "c % k == 0 or c == k"]
    texts = [text for text in texts if {name for name in "abc" if name in text.split()} <= set(values)]
    spec = TuningSpec(
        name="x", kernel=SpecKernel(runner="simulated", constants={"k": constant}), parameters=_parameters(values), constraints=tuple(texts)
    )

    def holds(text: str, config: dict[str, Any]) -> bool:
        try:
            return bool(eval(text, {}, {**config, "k": constant}))
        except ZeroDivisionError:
            return False

    import itertools

    from ridgeline.tuning.space import Configurations

    right = [dict(zip(values, point, strict=True)) for point in itertools.product(*values.values())]
    right = [config for config in right if all(holds(text, config) for text in texts)]
    found = Configurations(space_of(spec))
    rows = [found.config(row) for row in found.at(range(found.count))]
    assert sorted(map(str, rows)) == sorted(map(str, right))


def _parameters(values: dict[str, list[int]]) -> Any:
    return tuple(tuning_spec("x", kernel=kernel("simulated"), parameters=values).parameters)


def test_the_working_directory_is_where_paths_start_without_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    spec = tuning_spec("run", kernel=kernel("command", command="true"), parameters={"tile": [1]})
    assert job_of(spec, {"tile": 1}).options["directory"] == os.getcwd()
    assert isinstance(space_of(spec), Space)


def test_a_job_of_a_specification_is_measured(tmp_path: Path) -> None:
    """From the text to seconds: what is handed over is what an attempt takes."""
    (tmp_path / "spec.toml").write_text("""
        schema = "ridgeline.tuning/1"
        name = "sum"
        [kernel]
        runner = "simulated"
        seconds = 1e-3
        constants = {n = 24}
        arguments = [{name = "a", shape = ["n // tile"]}, {name = "out", shape = ["n // tile"], output = true}]
        [parameters]
        tile = [2, 3, 0]
        [space]
        constraints = ["n % tile == 0"]
    """)
    spec = read_spec(tmp_path / "spec.toml")
    found = configurations_of(spec)
    for row in found.at(range(found.count)):
        measured = attempt(job_of(spec, found.config(row)), runs=3, cache=str(tmp_path / "cache"), flush=False)
        assert measured.failure is None
        # More where other work held some up.
        assert len(measured.runs) >= 3, measured
    assert found.count == 2
