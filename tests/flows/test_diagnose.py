"""The whole way on small real targets: what is measured is real, the ceilings are made by hand so that no probe is needed. No time is asserted."""

from __future__ import annotations

from pathlib import Path

import pytest

from ridgeline.core import Diagnosis, TargetFailed, UsageError
from ridgeline.flows.diagnose import diagnose
from ridgeline.flows.show import replay
from ridgeline.notebook import Notebook
from ridgeline.targets import parse_target
from support.facts_by_hand import device

PROGRAM = """
import ctypes, os, sys, time
import numpy as np

def nap():
    time.sleep(0.02)

def fetch(key):
    time.sleep(0.004)
    return key

def fetches():
    return [fetch(key) for key in range(4)]

def count():
    total = 0
    for i in range(30_000):
        total += i * i % 7
    return total

def at_once():
    return 1

def raises():
    raise ValueError("no such customer")

def leaves():
    os._exit(3)

def crashes():
    ctypes.string_at(0)

left, right, kept = np.ones(500_000), np.ones(500_000), np.empty(500_000)

def adds():
    np.add(left, right, out=kept)
    np.multiply(kept, 2.0, out=kept)

calls = 0

def fails_later():
    global calls
    calls += 1
    if calls > 30:
        raise RuntimeError("out of tickets")
"""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    return path


def run(program: Path, function: str, notebook: Notebook | None = None, **options) -> Diagnosis:
    spec = parse_target(f"{program}:{function}")
    return diagnose(spec, time_budget_s=1.5, notebook=notebook, device=device(), **options)


def causes(found: Diagnosis) -> list[str]:
    # A busy machine is named first; what stands behind it is still the program's.
    return [found.bottleneck.cause if found.bottleneck else "healthy", *(other.cause for other in found.runners_up)]


def test_a_nap_is_input_output_at_its_line(program):
    found = run(program, "nap")
    assert "input-output" in causes(found)[:2]
    assert found.wall_split.blocked > 0.5
    where = found.bottleneck.where if found.bottleneck.cause == "input-output" else found.runners_up[0].where
    assert where.line == PROGRAM.splitlines().index("    time.sleep(0.02)") + 1


def test_waits_one_after_another_are_to_be_started_together(program, tmp_path):
    with Notebook.open(tmp_path / "notebook.sqlite") as notebook:
        found = run(program, "fetches", notebook)
        facts = notebook.get(found.run).facts
    assert "input-output" in causes(found)[:2]
    in_call = [action for action in found.actions if (action.action, action.metric) == ("prefetch", "latency")]
    if any(level.perturbed for level in found.levels if level.instrument == facts.waits.instrument):
        # On a machine so busy that the stopwatches seem to have changed the time nothing is promised.
        assert in_call == []
        return
    (action,) = in_call
    assert action.on == f"fetch (program.py:{PROGRAM.splitlines().index('    time.sleep(0.004)') + 1})"
    assert "4 times one after another" in action.because
    (wait,) = [wait for wait in facts.waits.waits if wait.kind == "sleep"]
    assert (wait.calls, wait.until) == (4.0, False)
    # No promise counts on more than 99.5 % of the wall.
    share, left = min(0.995, wait.caller_s.value / facts.waits.wall_s.value), wait.longest_s / wait.caller_s.value
    assert 1.0 < action.speedup[0] < 1 / (1 - share + share * left) <= action.speedup[1] <= 4.0


def test_a_loop_is_the_interpreter_in_its_function(program):
    found = run(program, "count")
    assert "interpreter" in causes(found)[:2]
    assert found.ground_truth.first_s is not None
    assert found.ground_truth.median_ci_s[0] <= found.ground_truth.median_s <= found.ground_truth.median_ci_s[1]


def test_the_recorder_sees_the_operators_of_numpy_with_their_bytes(program):
    found = run(program, "adds")
    add = next(operator for operator in found.operators if operator.kind == "numpy.add")
    assert add.bytes == 3 * 8 * 500_000
    assert add.calls == 1
    assert add.where.line == PROGRAM.splitlines().index("    np.add(left, right, out=kept)") + 1
    level = next(level for level in found.levels if level.level == 3)
    assert level.ratio_to_ground_truth is not None
    assert found.overhead.gap_s == pytest.approx(found.overhead.wall_s - found.overhead.operators_s)


def test_a_function_that_returns_at_once_is_measured_without_a_crash(program):
    found = run(program, "at_once")
    assert found.ground_truth.samples > 100
    assert found.ground_truth.median_s >= 0


@pytest.mark.parametrize(
    ("function", "words"),
    [("raises", "no such customer"), ("leaves", "3"), ("crashes", "SIGSEGV"), ("fails_later", "out of tickets")],
)
def test_a_target_that_fails_is_one_line_that_says_how(program, function, words):
    with pytest.raises(TargetFailed) as caught:
        run(program, function)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_no_such_function_names_what_there_is(program):
    with pytest.raises(UsageError, match="nothing"):
        run(program, "nothing")


def test_the_run_is_kept_and_replays_to_the_same_verdict(program, tmp_path):
    with Notebook.open(tmp_path / "notes.sqlite") as notebook:
        found = run(program, "adds", notebook)
        kept = notebook.get(found.run)
    assert kept.diagnosis == found
    assert replay(kept) == found


def test_without_a_notebook_no_run_is_named(program):
    assert run(program, "at_once").run is None


def test_an_interrupted_ground_truth_keeps_the_samples_so_far(program, tmp_path):
    class Stop(Exception):
        pass

    with Notebook.open(tmp_path / "notes.sqlite") as notebook:

        class Watched:
            """Stops the flow as soon as samples have been kept."""

            def save(self, run_):
                notebook.save(run_)
                if run_.facts.samples is not None:
                    raise Stop

        with pytest.raises(Stop):
            diagnose(parse_target(f"{program}:nap"), time_budget_s=60.0, notebook=Watched(), device=device())
        kept = notebook.get("last")
    assert len(kept.facts.samples) >= 1
    assert kept.diagnosis is None


def test_a_notebook_that_cannot_take_it_never_costs_the_verdict(program):
    class Full:
        def save(self, run_):
            raise UsageError("room for the run", found="a full disk", remedy="make room")

    found = run(program, "at_once", Full())
    assert found.run is None
    assert "not-kept" in {warning.code for warning in found.warnings}


def test_a_command_is_split_from_outside():
    found = diagnose(parse_target(None, ["sleep", "0.05"]), time_budget_s=1.0, device=device())
    assert found.wall_split.blocked > 0.5
    assert "input-output" in causes(found)[:2]
