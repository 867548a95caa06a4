"""Targets where they belong: in a process of their own, whatever they do to it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from ridgeline.core import PluginError, ReadError, TargetFailed, UsageError
from ridgeline.machine import Worker
from ridgeline.targets import TargetSpec, parse_target, prepare, worker_environment

PROGRAM = """
import ctypes, os, sys, time
def work(): return 1
def raises(): raise ValueError("inside")
def exits(): sys.exit("enough")
def ends(): os._exit(7)
def crashes(): ctypes.string_at(0)
def hangs(): time.sleep(600)
def prints():
    print("x" * 200_000)
    return 1
def torch_work():
    import torch
    model, x = torch.nn.Linear(4, 4), torch.ones(2, 4)
    return lambda: model(x)
def torch_module():
    import torch
    return torch.nn.Linear(4, 4)
"""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    return path


def describe(spec: TargetSpec, timeout_s: float | None = None) -> dict[str, Any]:
    environment = {**worker_environment(spec), "PYTHONPATH": os.path.dirname(__file__)}
    with Worker(environment=environment) as worker:
        return worker.call("in_child:describe", {"spec": spec}, dict, timeout_s=timeout_s)


def test_a_function_in_a_worker(program: Path) -> None:
    found = describe(parse_target(f"{program}:work", threads=3))
    assert found["kind"] == "python"
    assert found["environment"]["OMP_NUM_THREADS"] == "3"
    assert found["argv"] == [str(program)]
    assert found["main_is_target"] is False
    assert found["first"] > 0
    assert found["allocator"] != "unknown"


def test_output_of_the_target_hurts_nothing(program: Path) -> None:
    assert describe(parse_target(f"{program}:prints"))["kind"] == "python"


def test_torch_is_noticed(program: Path) -> None:
    assert describe(parse_target(f"{program}:torch_work"))["kind"] == "torch"


def test_a_module_without_its_input_is_refused(program: Path) -> None:
    with pytest.raises(UsageError, match="returned a Linear that needs input"):
        describe(parse_target(f"{program}:torch_module"))


@pytest.mark.parametrize(
    ("function", "said"),
    [
        ("raises", r"ValueError: inside at .*program\.py:4 in raises"),
        ("exits", r"sys\.exit\(enough\) at .*program\.py:5"),
        ("ends", "exit code 7"),
        ("crashes", r"SIGSEGV.*program\.py:7 in crashes"),
    ],
)
def test_whatever_a_target_does_is_one_line(program: Path, function: str, said: str) -> None:
    with pytest.raises(TargetFailed, match=said) as caught:
        describe(parse_target(f"{program}:{function}"))
    assert "\n" not in str(caught.value)


def test_a_target_that_hangs_is_ended_and_its_line_named(program: Path) -> None:
    with pytest.raises(TargetFailed, match=r"program\.py:8 in hangs"):
        describe(parse_target(f"{program}:hangs"), timeout_s=2)


def test_errors_of_targets_keep_their_class(tmp_path: Path) -> None:
    (tmp_path / "model.onnx").write_text("text")
    with pytest.raises(ReadError, match="a text file"):
        describe(parse_target(str(tmp_path / "model.onnx")))


def test_a_kind_nobody_prepares_is_named() -> None:
    with pytest.raises(PluginError, match="no-such-kind"):
        prepare(TargetSpec(text="x", kind="no-such-kind"))
