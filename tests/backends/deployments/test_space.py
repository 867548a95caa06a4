"""The space of a deployment, from facts alone."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from ridgeline.backends import find
from ridgeline.backends.deployments import EVERY_PRECISION, Deployment, DeploymentSpace, parameter_of, space_of
from ridgeline.targets.changes import Change, registry
from ridgeline.targets.changes.testing import FakeChange, fake_situation
from ridgeline.tuning.space import Configurations

KINDS = {"onnx": "onnxruntime", "openvino": "openvino", "tflite": "tflite", "torch": "torch", "python": "python", "script": "program"}


def made(kind: str, changes: tuple[Change, ...] | None = None, out_of_place: dict[str, str] | None = None, **facts: Any) -> DeploymentSpace:
    runner = find(KINDS[kind])
    assert isinstance(runner, Deployment)
    facts = {"threads": 4, "providers": ("XNNPACK", "builtin"), **facts} if kind in ("onnx", "openvino", "tflite") else facts
    situation = fake_situation(kind, **facts)
    return space_of(situation, runner, registry()[0] if changes is None else changes, out_of_place or {})


def names(space: DeploymentSpace) -> set[str]:
    return {parameter.name for parameter in space.space.parameters}


def valid(space: DeploymentSpace, **changed: Any) -> bool:
    """Whether the default is a configuration of the space with some values changed; null takes one out."""
    configurations = Configurations(space.space)
    config = {name: value for name, value in {**space.default, **changed}.items() if value is not None}
    return bool(configurations.valid(configurations.row(config)[None])[0])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("cpus", [1, 2, 5])
def test_the_deployment_as_it_is_is_a_configuration(kind: str, cpus: int) -> None:
    facts = {} if kind in ("torch", "python", "script") else {"threads": cpus}
    space = made(kind, cpus=cpus, precisions=EVERY_PRECISION, **facts)
    configurations = Configurations(space.space)
    assert valid(space)
    assert configurations.config(configurations.row(space.default)) == space.default
    assert space.tolerance(space.default) == 0.0
    assert names(space) == set(space.tolerances) == set(space.how)
    assert all(space.how.values()), space.how


@pytest.mark.parametrize("kind", KINDS)
def test_every_parameter_is_one_that_the_runner_knows_or_a_change(kind: str) -> None:
    runner = find(KINDS[kind])
    assert isinstance(runner, Deployment)
    space = made(kind, precisions=EVERY_PRECISION)
    assert names(space) <= {*runner.names, *(parameter_of(change) for change in registry()[0])}


@pytest.mark.parametrize("kind", KINDS)
def test_every_change_is_in_the_space_or_it_is_said_why_not(kind: str) -> None:
    space = made(kind)
    for change in registry()[0]:
        assert (parameter_of(change) in names(space)) != bool(space.left_out.get(change.name)), change.name


def test_threads_go_up_to_the_cpus_that_are_allowed() -> None:
    threads = {parameter.name: parameter for parameter in made("onnx", cpus=3, threads=3).space.parameters}["threads"]
    assert threads.values == (1, 2, 3)
    assert threads.kind == "integer"
    assert made("onnx", cpus=3, threads=3).default["threads"] == 3
    assert "threads" not in names(made("onnx", cpus=1, threads=1))


def test_more_threads_than_cpus_stay_the_default_of_who_asked_for_them() -> None:
    space = made("onnx", cpus=2, threads=4)
    assert valid(space)
    assert space.default["threads"] == 4


def test_a_program_that_decides_its_threads_has_none_given() -> None:
    space = made("torch")
    assert space.default["own_threads"] is True
    assert "threads" not in space.default
    assert valid(space, own_threads=False, threads=2)
    assert not valid(space, own_threads=True, threads=2)


def test_lower_precision_is_there_where_it_is_allowed() -> None:
    assert not {"ort_int8_static", "ort_int8_dynamic", "ort_fp16"} & names(made("onnx"))
    assert {"ort_int8_static", "ort_int8_dynamic", "ort_fp16"} <= names(made("onnx", precisions=EVERY_PRECISION))
    assert {"ort_int8_static", "ort_int8_dynamic"} <= names(made("onnx", precisions={"int8"}))
    assert "allow it" in made("onnx").left_out["ort-fp16"]


@pytest.mark.parametrize(("kind", "one", "other"), [
    ("onnx", "keep_freed_memory", "malloc_huge_pages"), ("onnx", "ort_fp16", "ort_int8_static"), ("onnx", "ort_io_binding", "ort_fp16"),
    ("torch", "autocast_bf16", "torch_int8_dynamic"), ("openvino", "openvino_bf16", "openvino_fp16"),
])  # fmt: skip
def test_two_changes_that_do_not_go_together(kind: str, one: str, other: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platform.libc_ver", lambda: ("glibc", "2.36"))
    space = made(kind, precisions=EVERY_PRECISION)
    assert valid(space, **{one: True})
    assert valid(space, **{other: True})
    assert not valid(space, **{one: True, other: True})


def test_one_cpu_has_one_thread() -> None:
    space = made("onnx")
    assert not valid(space, one_cpu=True)
    assert valid(space, one_cpu=True, threads=1, block_base=None, stop_spinning=None, bound_threads=None)
    # A program that decides itself is left alone.
    assert valid(made("torch"), one_cpu=True)
    assert not valid(made("torch"), one_cpu=True, own_threads=False, threads=2)


def test_a_setting_of_a_change_goes_with_it() -> None:
    assert "inter_op_threads" in names(made("onnx"))
    assert "inter_op_threads" not in names(made("onnx", changes=()))
    assert "compile_mode" not in names(made("torch", changes=()))


def test_what_has_no_place_in_a_target_is_left_out_with_the_reason() -> None:
    space = made("onnx", out_of_place={"ort-io-binding": "an output is a text"})
    assert "ort_io_binding" not in names(space)
    assert space.left_out["ort-io-binding"] == "an output is a text"


def test_what_shortens_no_call_is_left_out() -> None:
    assert {"batch-8", "pre-warm"} <= set(made("onnx").left_out)


def test_the_tolerance_is_that_of_what_is_not_as_it_was() -> None:
    space = made("onnx", precisions=EVERY_PRECISION)
    assert space.tolerance({**space.default, "ort_no_arena": True}) == 0.0
    assert space.tolerance({**space.default, "threads": 2}) == pytest.approx(1e-4)
    assert space.tolerance({**space.default, "threads": 2, "ort_int8_static": True}) == pytest.approx(5e-2)


def test_a_change_of_somebody_else_is_a_parameter_too() -> None:
    class Refusing(FakeChange):
        name = "somebodys-own"

        def why_not(self, situation):
            return "two of a kind" if "FAKE" in situation.spec.environment else ""

        def before(self, spec, machine):
            return msgspec.structs.replace(spec, environment={**spec.environment, "FAKE": "1"})

    class Other(Refusing):
        name = "another"

    space = made("python", changes=(Refusing(), Other()))
    assert {"somebodys_own", "another"} <= names(space)
    assert "not (somebodys_own and another)" in space.space.constraints
