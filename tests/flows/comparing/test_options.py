"""How versions are run: what is asked of one side alone refuses unless it is declared, and before anything is measured."""

from __future__ import annotations

import pytest

import ridgeline
from ridgeline.core import UsageError
from ridgeline.flows.comparing.options import SideOptions, changed_variables, options_of_both
from ridgeline.flows.comparing.sides import side_of

SOURCE = """
import os

def f():
    return int(os.environ.get("SCALE", "1"))
"""


@pytest.fixture
def target(tmp_path):
    (tmp_path / "work.py").write_text(SOURCE)
    return f"{tmp_path}/work.py:f"


def test_one_value_is_for_both_and_a_tuple_is_one_each():
    a, b = options_of_both(threads=(1, None), environment=({"X": 1}, None), runtime="openvino", shapes=["N=2"], seed=3)
    assert (a.threads, b.threads) == (1, None)
    assert (a.environment, b.environment) == ({"X": "1"}, {})
    assert (a.runtime, b.runtime, a.shapes, b.seed) == ("openvino", "openvino", ("N=2",), 3)
    assert a.named == ("--threads", "--shape", "--runtime", "--env")
    assert SideOptions().named == ()


@pytest.mark.parametrize("wrong", [{"threads": (1, 2, 3)}, {"environment": {"": "1"}}, {"environment": {"A=B": "1"}}, {"environment": {"A": "\0"}}])
def test_what_is_no_pair_or_no_variable(wrong):
    with pytest.raises(UsageError):
        options_of_both(**wrong)


def test_variables_of_the_interpreter_say_where_code_is():
    assert changed_variables({"PYTHONPATH": "a", "X": "1", "Y": "1"}, {"PYTHONPATH": "b", "Y": "1", "Z": "1"}) == ("X", "Z")


@pytest.mark.parametrize(("given", "options"), [("latest", {"threads": 2}), ("x.json", {"environment": {"A": "1"}}), ("-1", {"use": "once"})])
def test_what_was_measured_takes_no_options(given, options):
    with pytest.raises(UsageError, match="run now"):
        side_of(given, options=SideOptions(**options))


def test_a_program_is_a_start_each_time():
    with pytest.raises(UsageError, match="--use"):
        side_of("sleep 1", options=SideOptions(use="once"))


@pytest.mark.parametrize(
    ("options", "key"),
    [
        ({"threads": (1, 2)}, "threads"),
        ({"environment": (None, {"SCALE": "1"})}, "environment.SCALE"),
        ({"environment": ({"OMP_NUM_THREADS": "1"}, {"OMP_NUM_THREADS": "2"})}, "environment.OMP_NUM_THREADS"),
    ],
)
def test_an_undeclared_difference_refuses_before_anything_is_measured(harness, target, options, key):
    found = ridgeline.compare(target, target, **options)
    assert harness.versions == []
    assert (found.verdict, found.ratio, found.keep, found.run_a) == ("incomparable", None, False, None)
    assert [changed.key for changed in found.changed_keys if changed.kind == "must"] == [key]
    assert any(f"--changing {key}" in reason for reason in found.reasons)


@pytest.mark.parametrize(
    ("options", "changing", "key"),
    [
        ({"threads": (1, 2)}, "threads", "threads"),
        ({"environment": (None, {"SCALE": "1"})}, "environment", "environment.SCALE"),
        ({"environment": (None, {"OMP_NUM_THREADS": "1"})}, "threads", "environment.OMP_NUM_THREADS"),
    ],
)
def test_a_declared_one_is_the_only_change_of_one_code(harness, target, options, changing, key):
    harness.ratio = 1.1
    found = ridgeline.compare(target, target, changing=[changing], **options)
    assert found.verdict == "slower"
    assert [(changed.key, changed.declared) for changed in found.changed_keys] == [(key, True)]
    assert {"several-changes", "same-code", "keys-unknown"}.isdisjoint(caution.code for caution in found.warnings)
    assert [version.spec.threads for version in harness.versions] == list(options.get("threads", (0, 0)))


def test_how_the_machine_is_prepared_reaches_the_plan(harness, target):
    found = ridgeline.compare(target, target, cache="cold", tune=True, soak=True, lock_gpu_hz=1e9)
    plan = harness.plan
    assert (plan.cache, plan.tune, plan.soak, plan.lock_gpu_hz) == ("cold", True, True, 1e9)
    assert "same-code" in {caution.code for caution in found.warnings}
    with pytest.raises(UsageError, match="--tune"):
        ridgeline.compare(lambda: 1, lambda: 2, tune=True)


def test_used_once_a_start_the_first_calls_are_compared(harness, target):
    found = ridgeline.compare(target, target, use="once")
    assert (found.metric, harness.plan.samples) == ("first_call", 1)
    assert (found.a.median_s, found.a.samples) == (0.02, found.a.processes)
    assert found.verdict == "same"


def test_where_the_end_waits_for_the_tail_a_process_makes_more_calls(harness, target):
    harness.most = 5
    ridgeline.compare(target, target)
    assert harness.plan.process_s is None
    ridgeline.compare(target, target, tail=True)
    assert harness.plan.process_s == 0.3
