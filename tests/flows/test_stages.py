"""Stages on the whole way: functions, scripts, tasks, generators, models; what is named and how it nests is checked, no time is."""

from __future__ import annotations

from pathlib import Path

import pytest

from ridgeline.core import Diagnosis
from ridgeline.flows.diagnose import diagnose
from ridgeline.flows.show import replay
from ridgeline.notebook import Notebook
from ridgeline.targets import parse_target
from support.facts_by_hand import device

PROGRAM = """
import asyncio, sys, time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
import ridgeline

stage = ridgeline.stage

def nap(seconds=0.003):
    time.sleep(seconds)

def serial():
    for _ in range(4):
        with stage("read"):
            nap()
        with stage("write"):
            nap()

def gathered():
    @stage("fetch")
    async def fetch():
        await asyncio.sleep(0.003)

    async def main():
        with stage("all"):
            await asyncio.gather(*(fetch() for _ in range(3)))

    asyncio.run(main())

def pooled():
    with stage("dispatch"), ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda _: mark_work(), range(6)))

@stage("work\\x07")
def mark_work():
    nap()

def generated():
    @stage("produce")
    def produce():
        for _ in range(3):
            nap()
            yield 1
    for _ in produce():
        with stage("consume"):
            nap()

@stage("in the child")
def child_work():
    nap()

def in_children():
    with ProcessPoolExecutor(1) as pool:
        pool.submit(child_work).result()

def held_open():
    stage("never left").__enter__()
    nap()

def unmarked():
    nap()

if __name__ == "__main__":
    serial()
"""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "pipeline.py"
    path.write_text(PROGRAM)
    return path


def run(target: str, notebook: Notebook | None = None, budget: str = "") -> Diagnosis:
    return diagnose(parse_target(target, budget=budget), time_budget_s=2.0, notebook=notebook, device=device())


def named(found: Diagnosis) -> dict[str, tuple[str | None, float | None]]:
    return {stage.name: (stage.parent, stage.calls) for stage in found.stages}


def test_a_function_with_stages(program: Path, tmp_path: Path) -> None:
    with Notebook.open(str(tmp_path / "notebook.db")) as notebook:
        found = run(f"{program}:serial", notebook, budget="1ms")
        assert named(found) == {"read": (None, 4.0), "write": (None, 4.0)}
        assert all(0 < stage.share <= 1 for stage in found.stages)
        assert found.stages[0].where is not None
        assert found.stages[0].where.file == str(program)
        assert any(level.level == 2 and "ridgeline.stage" in level.instrument for level in found.levels)
        assert found.budget_state is not None
        assert found.budget_state.state == "missed"
        assert {way.name for way in found.budget_state.shrink} == {"the whole call", "read", "write"}
        # Sleeping stages take no CPU, so that a pipeline of two takes half; a busy machine is named before it.
        assert "pipeline" in {action.action for action in found.actions}
        assert found.run is not None
        again = replay(notebook.get(found.run))
        assert again.stages == found.stages
        assert again.budget_state == found.budget_state


def test_a_script_brings_its_stages(program: Path) -> None:
    found = run(str(program))
    assert named(found) == {"read": (None, 4.0), "write": (None, 4.0)}


def test_tasks_nest_in_the_stage_that_gathers_them(program: Path) -> None:
    assert named(run(f"{program}:gathered")) == {"all": (None, 1.0), "fetch": ("all", 3.0)}


def test_a_pool_of_threads_overlaps_the_stage_that_waits_for_it(program: Path) -> None:
    found = run(f"{program}:pooled")
    assert named(found) == {"dispatch": (None, 1.0), "work�": (None, 6.0)}
    assert found.stages[1].overlapped_s
    assert "pipeline" not in {action.action for action in found.actions}


def test_a_generators_steps_are_not_its_consumers(program: Path) -> None:
    assert named(run(f"{program}:generated")) == {"produce": (None, 4.0), "consume": (None, 3.0)}


def test_stages_of_child_processes_are_said_to_be_unseen(program: Path) -> None:
    found = run(f"{program}:in_children")
    assert found.stages == ()
    assert [warning.code for warning in found.warnings if "stages" in warning.message] == ["child-processes"]


def test_a_stage_that_is_never_left_is_named(program: Path) -> None:
    found = run(f"{program}:held_open")
    assert found.stages == ()
    assert [warning.message for warning in found.warnings if warning.code == "open-stages"] == [
        "entered and not left when the call ended: never left"
    ]


def test_a_program_without_stages_has_none_and_says_nothing(program: Path) -> None:
    found = run(f"{program}:unmarked")
    assert found.stages == ()
    assert not any("stage" in text for text in found.missing)


def test_which_part_is_the_model(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    path = tmp_path / "service.py"
    path.write_text(
        "import time, torch\nnet = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU())\nx = torch.ones(8, 64)\n"
        "def serve():\n    time.sleep(0.002)\n    return net(x)\n"
    )
    found = run(f"{path}:serve")
    assert named(found) == {"model: Sequential": (None, 1.0)}
    assert found.stages[0].share < 1


def test_which_part_of_each_stage_is_the_model(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    path = tmp_path / "service.py"
    path.write_text(
        "import ridgeline, time, torch\nnet = torch.nn.Sequential(torch.nn.Linear(512, 512), torch.nn.ReLU())\nx = torch.ones(2048, 512)\n"
        "def serve():\n    with ridgeline.stage('read'):\n        time.sleep(0.01)\n    with ridgeline.stage('infer'):\n        return net(x)\n"
    )
    found = run(f"{path}:serve")
    assert named(found) == {"read": (None, 1.0), "infer": (None, 1.0), "model: Sequential": ("infer", 1.0)}
    read, infer, model = found.stages
    assert (read.models_share, model.models_share, model.model) == (0.0, None, True)
    assert infer.models_share is not None
    assert found.models_share is not None
    assert 0.5 < infer.models_share <= 1.0
    assert 0.0 < found.models_share <= infer.share
