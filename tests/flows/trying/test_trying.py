"""Whole trials of real changes on small programs: outputs, crashes, interruptions and the notebook. No time is asserted."""

from __future__ import annotations

from pathlib import Path

import pytest

from ridgeline.core import Action, ChangeTrial, Diagnosis, Experiment, Facts, NotComparable, OutputCheck, TargetInfo
from ridgeline.flows.diagnose import _announce_trying, diagnose
from ridgeline.flows.promises import counted, promises
from ridgeline.flows.show import replay
from ridgeline.flows.trying import Trying, experiment_of, run_trial, try_changes
from ridgeline.flows.trying.trying import _limit_s
from ridgeline.machine import read_machine
from ridgeline.notebook import Notebook
from ridgeline.targets import parse_target
from ridgeline.targets.changes import Change, find
from support.facts_by_hand import device

PROGRAM = """
import itertools, os, random, sys, time
import numpy as np

kept = "MALLOC_MMAP_MAX_" in os.environ
counter = itertools.count()
of_this_process = int.from_bytes(os.urandom(4), "big")

def same():
    return np.arange(200.0).sum()

def nothing():
    return None

def other_with_the_change():
    return np.full(3, 2.0 if kept else 1.0)

def each_call():
    return next(counter) * (3 if kept else 1)

def each_process():
    return of_this_process

def seeded():
    return random.random() + np.random.random()

def dies():
    if kept:
        os._exit(7)
    return 1

def hangs():
    while kept:
        time.sleep(0.1)
    return 1

def raises():
    if kept:
        raise ValueError("no room")
    return 1

def wrong_later():
    return 2 if kept and next(counter) > 20 else 1

def other_later():
    return 2 if next(counter) > 20 else 1

def raises_after_a_while():
    if kept and next(counter) > 20:
        raise ValueError("out of tickets")
    return 1
"""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    return path


def quiet(label: str, fraction: float | None) -> None:
    """Nobody is told."""


def try_one(program: Path, function: str, change: str = "keep-freed-memory"):
    spec = parse_target(f"{program}:{function}")
    return run_trial(spec, find(change), read_machine(), seconds=0.3, limit_s=60.0, call_s=1e-5, folder=program.parent, report=quiet)


@pytest.mark.parametrize(
    ("function", "state", "words"),
    [
        ("same", "equal", ""),
        ("seeded", "equal", ""),
        ("nothing", "unknown", "returns nothing"),
        ("other_with_the_change", "differs", ""),
        ("each_call", "unknown", "from call to call"),
        ("each_process", "unknown", "from process to process"),
    ],
)
def test_outputs_are_told_apart(program, function, state, words):
    found = try_one(program, function)
    assert found.failure == ""
    assert found.output.state == state
    assert words in found.output.reason
    assert found.speedup.low <= found.speedup.value <= found.speedup.high
    assert found.pairs >= 6


def test_torch_makes_the_same_data_in_both_processes(tmp_path):
    path = tmp_path / "net.py"
    path.write_text("import torch\nnet, row = torch.nn.Linear(4, 4), torch.rand(2, 4)\ndef f():\n    return net(row)\n")
    found = try_one(path, "f")
    assert (found.failure, found.output.state) == ("", "equal")


def test_results_of_another_precision_say_their_type_and_no_other_change_may_have_them(tmp_path):
    path = tmp_path / "net.py"
    path.write_text("import torch\nnet, row = torch.nn.Linear(4, 4), torch.rand(2, 4)\ndef f():\n    return net(row)\n")
    found = try_one(path, "f", "autocast-bf16")
    assert (found.failure, found.output.state) == ("", "equal")
    assert "Tensor of bfloat16 instead of a Tensor of float32" in found.output.reason
    path.write_text("import os, numpy as np\ndef f():\n    return np.ones(3, 'f4' if os.environ.get('OMP_NUM_THREADS') == '1' else 'f8')\n")
    found = try_one(path, "f", "one-thread")
    assert (found.output.state, "float32" in found.output.reason) == ("differs", True)


@pytest.mark.parametrize(("function", "words"), [("dies", "7"), ("raises", "no room"), ("raises_after_a_while", "out of tickets")])
def test_a_child_that_fails_under_the_change_is_a_reason(program, function, words):
    found = try_one(program, function)
    assert words in found.failure
    assert found.speedup is None


def test_a_change_that_never_returns_is_ended_after_its_part_of_the_budget(program):
    spec = parse_target(f"{program}:hangs")
    found = run_trial(spec, find("keep-freed-memory"), read_machine(), seconds=0.3, limit_s=1.0, call_s=1e-5, folder=program.parent, report=quiet)
    assert "still running" in found.failure
    assert "did not finish applying it in" in found.failure
    assert "--try-budget" in found.failure
    assert found.speedup is None


@pytest.mark.parametrize(("left_s", "budget_s", "limit_s"), [(90.0, 90.0, 30.0), (10.0, 90.0, 10.0), (6.0, 6.0, 2.0), (-1.0, 6.0, 0.0)])
def test_a_request_to_a_changed_target_has_a_third_of_the_budget(left_s, budget_s, limit_s):
    assert _limit_s(left_s, budget_s) == pytest.approx(limit_s)


def test_what_goes_wrong_only_in_later_calls_is_a_difference(program):
    found = try_one(program, "wrong_later")
    assert (found.output.state, "after many calls" in found.output.reason) == ("differs", True)
    found = try_one(program, "other_later")
    assert (found.output.state, "with or without" in found.output.reason) == ("unknown", True)


def action(name: str) -> Action:
    return Action(id="a1", action=name, on="", because="", metric="latency", speedup=(1.5, 2.0), median_after_s=(0.1, 0.2))


@pytest.fixture
def found(empty_diagnosis: Diagnosis) -> Diagnosis:
    import msgspec

    return msgspec.structs.replace(empty_diagnosis, actions=(action("change-allocator"),), target="program.py:same")


def given_facts(program: Path, function: str) -> tuple[Facts, object]:
    spec = parse_target(f"{program}:{function}")
    info = TargetInfo(spec=spec.text, kind="python", name=function, allocator="glibc malloc")
    return Facts(target=info, machine=read_machine()), spec


def test_what_is_finished_is_handed_over_before_the_next_begins(program, found, monkeypatch):
    monkeypatch.setattr("ridgeline.flows.trying.trying._TRIAL_S", 0.2)
    facts, spec = given_facts(program, "same")
    seen: list[int] = []

    def keep(so_far: Facts) -> None:
        seen.append(len(so_far.trials))
        if len(seen) == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        try_changes(found, facts, spec, Trying(budget_s=600.0), report=quiet, keep=keep)
    assert seen == [1, 2]


def test_a_change_that_turns_out_to_have_no_place_is_no_trial(program, found, monkeypatch):
    """Nothing is handed over for it: an experiment would be made of the trial before, or of none."""
    made = iter([NotComparable("an axis for the batch", found="none", remedy="keep it"), None])

    def trial(spec: object, change: Change, *rest: object, **named: object) -> ChangeTrial:
        if (error := next(made, None)) is not None:
            raise error
        return ChangeTrial(change=change.name, output=OutputCheck(state="equal"))

    monkeypatch.setattr("ridgeline.flows.trying.trying.run_trial", trial)
    facts, spec = given_facts(program, "same")
    seen: list[tuple[int, int]] = []
    after = try_changes(found, facts, spec, Trying(budget_s=600.0), report=quiet, keep=lambda now: seen.append((len(now.trials), len(now.untried))))
    assert [trials for trials, _ in seen] == list(range(1, len(after.trials) + 1))
    assert any("an axis for the batch" in one.reason for one in after.untried)


def test_a_spent_budget_is_a_reason(program, found):
    facts, spec = given_facts(program, "same")
    after = try_changes(found, facts, spec, Trying(budget_s=0.001), report=quiet)
    assert [trial.change for trial in after.trials] == ["keep-freed-memory"]
    assert any("--try-budget" in other.reason for other in after.untried)


def test_diagnose_keeps_trials_in_run_and_notebook_and_replays(program, tmp_path):
    place = tmp_path / "notes.sqlite"
    with Notebook.open(place) as notebook:
        spec = parse_target(f"{program}:same")
        told = diagnose(spec, time_budget_s=1.0, notebook=notebook, device=device(), trying=Trying(budget_s=2.0))
        stored = notebook.get(told.run)
        experiments = notebook.experiments(told.run)
    assert told.tried
    assert stored.diagnosis == told
    assert replay(stored) == told
    assert [made.change for made in experiments] == [trial.change for trial in told.tried]
    assert all(made.tried == trial for made, trial in zip(experiments, told.tried, strict=True))
    report = promises(place)
    assert sum(report.controls.values()) + report.total.kept + report.total.refuted + report.total.open + report.total.failed == len(experiments)


def test_promises_are_counted_by_action(found):
    from ridgeline.core import Tried

    def made(promise: str | None, verdict: str = "faster", identity: str = "a1") -> Experiment:
        name = "change-allocator" if identity else "c"
        tried = Tried(
            action=name, id=identity, verdict=verdict, speedup=(1.5, 1.7), promised=(1.5, 2.0), kept=True, output_ok=True, output="equal",
            change="c", promise=promise,
        )  # fmt: skip
        return experiment_of(found, tried, "run")

    report = counted("here", [made("kept"), made("kept"), made("refuted"), made("open"), made(None, "failed"), made(None, "same", "")])
    (line,) = report.actions
    assert (line.kept, line.refuted, line.open, line.failed) == (2, 1, 1, 1)
    assert line.rate.value == 0.5
    assert report.controls == {"same": 1}
    assert counted("here", []).total.rate is None


def test_a_call_too_slow_for_the_budget_is_not_begun(program, found, full_diagnosis):
    import msgspec

    facts, spec = given_facts(program, "same")
    truth = msgspec.structs.replace(full_diagnosis.ground_truth, median_s=30.0)
    slow = msgspec.structs.replace(found, ground_truth=truth)
    after = try_changes(slow, facts, spec, Trying(budget_s=90.0), report=quiet)
    assert after.trials == ()
    assert after.untried
    assert all("--try-budget 600 allows one" in other.reason for other in after.untried)


def test_calls_too_slow_for_trying_are_said_beforehand(program):
    spec, told = parse_target(f"{program}:same"), []
    _announce_trying(30.0, Trying(budget_s=90.0), spec, lambda label, fraction: told.append(label))
    assert ["several processes" in told[0], "--try-budget 600" in told[1]] == [True, True]
    told.clear()
    _announce_trying(1.0, Trying(budget_s=90.0), spec, lambda label, fraction: told.append(label))
    assert len(told) == 1
    _announce_trying(1.0, None, spec, lambda label, fraction: told.append(label))
    assert len(told) == 1


def test_without_room_for_temporary_files_the_diagnosis_stands(program, found, monkeypatch):
    facts, spec = given_facts(program, "same")

    def none(purpose: str):
        raise FileNotFoundError("no usable temporary directory")

    monkeypatch.setattr("ridgeline.flows.trying.trying.scratch_folder", none)
    after = try_changes(found, facts, spec, Trying(budget_s=1.0), report=quiet)
    assert after.trials == ()
    assert after.untried
    assert all("no usable temporary directory" in other.reason for other in after.untried)
