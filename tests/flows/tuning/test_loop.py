"""The loop: everything recorded, failures never win, the right one found on devices that behave badly, budgets kept, interrupts harmless."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ridgeline.backends import Attempt
from ridgeline.core import BackendUnavailable, TargetFailed, Trial, TuneReport, UsageError
from ridgeline.core.space import Value
from ridgeline.flows.tune import tune_subject
from ridgeline.flows.tuning.known import FINAL, LOOK, Known
from ridgeline.flows.tuning.record import read_record
from ridgeline.flows.tuning.subjects import Recording, key_of, objective_of
from ridgeline.machine import ProcessEnded
from support.tuned import Formula, Machine, space_of

SPACE = space_of(["a * b <= 32"], a=[1, 2, 4, 8, 16, 32], b=[1, 2, 4, 8], c=["x", "y", "z"], d=[True, False], e=list(range(8)))


def seconds(config: Any) -> float:
    """Best at a = 8, b = 2, c = y, d = false, e = 5: a millisecond."""
    of_sizes = 0.3 * abs(math.log2(config["a"]) - 3) + 0.2 * abs(math.log2(config["b"]) - 1)
    return 1e-3 * (1.0 + of_sizes + {"x": 0.3, "y": 0.0, "z": 0.1}[config["c"]] + 0.15 * config["d"] + 0.02 * (config["e"] - 5) ** 2)


def tuned(folder: Path, machine: Machine | None = None, **options: Any) -> TuneReport:
    given = {"record": str(folder / "r.jsonl"), "trials": 60, **options}
    subject = given.pop("subject", None) or Formula(SPACE, seconds)
    return tune_subject(subject, machine or Machine(), **given)


def trials_of(folder: Path) -> list[Trial]:
    return read_record(folder / "r.jsonl").trials


def test_the_best_is_found_and_everything_is_recorded(tmp_path: Path) -> None:
    machine = Machine()
    found = tuned(tmp_path, machine, trials=100)
    assert found.best is not None
    assert found.best.config == {"a": 8, "b": 2, "c": "y", "d": False, "e": 5}
    assert (found.best.verdict, found.best.objective, found.stopped) == ("won", pytest.approx(1e-3), "trials")
    assert found.best.probability_best > 0.95
    assert (found.unique_evaluations, found.failures, found.resumed_from) == (100, {}, None)
    trials = trials_of(tmp_path)
    assert [trial.config for trial in trials] == machine.ran
    assert [trial.number for trial in trials] == list(range(found.trials))
    searched = [key_of(trial.config) for trial in trials if not {FINAL, LOOK} & set(trial.flags)]
    assert len(set(searched)) == len(searched) == 100
    assert found.curve[-1].evaluations == 100
    assert found.model is not None
    assert (found.model.trials, found.model.median_error < 0.2) == (92, True)
    assert [point.objective for point in found.curve] == sorted((point.objective for point in found.curve), reverse=True)


def ugly(number: int, config: dict[str, Value]) -> Attempt | Any:
    """A third of the configurations fail, each in its own way; wrong answers are a hundred times as fast."""
    at = sum(ord(each) for each in key_of(config))
    if config["e"] == 5 and config["d"] is False:
        return None
    kinds = {0: "compile", 1: "wrong-output", 2: "invalid", 3: "run", 4: "memory"}
    if at % 15 in kinds:
        return Attempt(failure=kinds[at % 15], text="what the compiler said", runs=(1e-5,) if at % 15 == 1 else ())  # type: ignore[arg-type]
    return None


UGLY: dict[str, dict[str, Any]] = {
    "heavy tails": {"noise": 0.01, "tail": 0.15},
    "failures": {"noise": 0.01, "outcome": ugly},
    "throttles half-way": {"noise": 0.005, "slow": lambda number: 1.0 if number < 50 else 1.7},
    "becomes faster": {"noise": 0.005, "slow": lambda number: 1.6 if number < 50 else 1.0},
    "throttles in the finals": {"noise": 0.005, "slow": lambda number: 1.0 if number < 112 else 1.5},
}


@pytest.mark.parametrize("device", UGLY)
def test_the_winner_is_right_on_devices_that_behave_badly(device: str, tmp_path: Path) -> None:
    """Right: within one per cent of the best of those tried that ran."""
    right = 0
    for seed in range(20):
        (tmp_path / str(seed)).mkdir()
        found = tuned(tmp_path / str(seed), Machine(seed=seed, **UGLY[device]), trials=90, seed=seed)
        assert found.best is not None
        failed = {key_of(trial.config) for trial in trials_of(tmp_path / str(seed)) if trial.failure}
        assert key_of(found.best.config) not in failed
        lowest = min(seconds(trial.config) for trial in trials_of(tmp_path / str(seed)) if key_of(trial.config) not in failed)
        right += seconds(found.best.config) <= 1.01 * lowest
    assert right >= 19


def test_a_device_that_throttles_is_said_to(tmp_path: Path) -> None:
    found = tuned(tmp_path, Machine(slow=lambda number: 1.0 if number < 30 else 2.0))
    assert [each.code for each in found.warnings] == ["throttled"]
    assert found.best is not None
    # What a person would measure now, whatever it took before.
    assert found.best.objective == pytest.approx(2.0 * seconds(found.best.config))
    assert found.curve[-1].objective == pytest.approx(found.best.objective)
    assert all(each.objective == pytest.approx(2.0 * seconds(each.config)) for each in found.best.ties)


def test_every_failure_has_its_kind_and_text_and_none_ends_the_run(tmp_path: Path) -> None:
    ends: list[Any] = [
        Attempt(failure="compile", text="error: tile too large"), Attempt(failure="wrong-output", text="c differs", new_worker=True),
        ended(-11, "Segmentation fault"), ended(None, ""), ended(-9, ""), TargetFailed("a worker", found="gone", remedy="none"),
    ]  # fmt: skip
    found = tuned(tmp_path, Machine(outcome=lambda number, config: ends[number] if number < len(ends) else None), trials=30)
    assert found.failures == {"compile": 1, "crash": 1, "lost": 1, "memory": 1, "timeout": 1, "wrong-output": 1}
    assert found.best is not None
    assert found.unique_evaluations == 30
    texts = {trial.failure: trial.text for trial in trials_of(tmp_path) if trial.failure}
    assert texts["compile"] == "error: tile too large"
    assert "did not end within the time" in texts["timeout"]


def ended(status: int | None, tail: str) -> ProcessEnded:
    error = ProcessEnded("a target that returns", found=f"it ended with {status}", remedy="none")
    error.status, error.tail = status, tail
    return error


def test_where_nothing_runs_there_is_no_best(tmp_path: Path) -> None:
    found = tuned(tmp_path, Machine(outcome=lambda number, config: Attempt(failure="compile", text="no")), trials=20)
    assert (found.best, found.failures, found.curve) == (None, {"compile": 20}, ())
    assert found.importance.note


def test_what_is_about_all_configurations_ends_the_run_and_keeps_what_there_is(tmp_path: Path) -> None:
    missing = BackendUnavailable("a compiler", found="none", remedy="install one")
    with pytest.raises(BackendUnavailable):
        tuned(tmp_path, Machine(outcome=lambda number, config: missing if number == 7 else None))
    assert len(trials_of(tmp_path)) == 7


@pytest.mark.parametrize(
    "space", [space_of(a=[1]), space_of(a=["only"]), space_of(a=[True, False]), space_of(a=["x", "y"], b=[0.5]), space_of(["a > 1"], a=[1, 2])]
)
def test_small_spaces(space: Any, tmp_path: Path) -> None:
    found = tuned(tmp_path, subject=Formula(space, lambda config: 1.0 + len(repr(config))))
    assert found.best is not None
    assert found.stopped == "space"
    assert found.unique_evaluations == found.space.size


def test_the_default_is_tried_first_and_held_against_the_best_in_the_finals(tmp_path: Path) -> None:
    default: dict[str, Value] = {"a": 1, "b": 1, "c": "x", "d": True, "e": 0}
    machine = Machine(noise=0.01)
    found = tuned(tmp_path, machine, subject=Formula(SPACE, seconds, default=default))
    assert machine.ran[0] == default
    assert found.default is not None
    assert found.best is not None
    assert found.default.speedup is not None
    ratio = seconds(default) / seconds(found.best.config)
    assert found.default.speedup[0] <= ratio <= found.default.speedup[1]
    assert found.default.better


def test_no_better_setting_is_said_honestly(tmp_path: Path) -> None:
    default: dict[str, Value] = {"a": 8, "b": 2, "c": "y", "d": False, "e": 5}
    found = tuned(tmp_path, Machine(noise=0.01), subject=Formula(SPACE, seconds, default=default))
    assert found.default is not None
    assert not found.default.better


def interrupting(at: int) -> Callable[[int, dict[str, Value]], None]:
    def outcome(number: int, config: dict[str, Value]) -> None:
        if number == at:
            raise KeyboardInterrupt

    return outcome


@pytest.mark.parametrize("at", [0, 25, 66])
def test_an_interrupt_stops_with_the_best_so_far_and_resume_goes_on(at: int, tmp_path: Path) -> None:
    found = tuned(tmp_path, Machine(outcome=interrupting(at)))
    assert found.stopped == "interrupted"
    assert found.trials == len(trials_of(tmp_path)) == at
    assert (found.best is None) == (at == 0)
    with pytest.raises(UsageError, match="--resume"):
        tuned(tmp_path)
    machine = Machine()
    again = tuned(tmp_path, machine, resume=True)
    assert again.resumed_from == (str(tmp_path / "r.jsonl") if at else None)
    assert again.unique_evaluations == 60
    assert again.trials == at + len(machine.ran)
    assert [trial.number for trial in trials_of(tmp_path)] == list(range(again.trials))


def test_a_record_of_something_else_is_refused(tmp_path: Path) -> None:
    tuned(tmp_path, trials=5)
    subject = Formula(SPACE, seconds)
    subject.identity = {"source": "another"}
    with pytest.raises(UsageError, match="source was formula, now another"):
        tuned(tmp_path, subject=subject, resume=True)


def test_the_time_is_kept(tmp_path: Path) -> None:
    found = tuned(tmp_path, trials=None, time_s=1.5)
    assert found.stopped in ("time", "space")
    # What is being compiled or measured when the time is up is waited for.
    assert found.search_s < 15.0


def test_a_round_of_the_finals_ends_with_the_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A trial takes a second of a clock that goes on with nothing else; of 22, one is a look and five are of the finals, whose rounds are longer."""
    machine = Machine(noise=0.05)
    monkeypatch.setattr("ridgeline.flows.tuning.budget.time.monotonic", lambda: float(len(machine.ran)))
    found = tuned(tmp_path, machine, trials=None, time_s=22.0)
    finals = sum(FINAL in trial.flags for trial in trials_of(tmp_path))
    assert (found.trials, finals, found.search_s) == (22, 5, 22.0)


def test_the_best_is_held_against_the_default_however_short_the_finals(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    machine = Machine(noise=0.05)
    monkeypatch.setattr("ridgeline.flows.tuning.budget.time.monotonic", lambda: float(len(machine.ran)))
    default: dict[str, Value] = {"a": 1, "b": 1, "c": "x", "d": True, "e": 0}
    found = tuned(tmp_path, machine, subject=Formula(SPACE, seconds, default=default), trials=None, time_s=170.0)
    assert found.trials <= 170
    assert found.default is not None
    assert found.default.better


@pytest.mark.parametrize("budget", [{"trials": 0}, {"time_s": 0.0}, {"time_s": -1.0}])
def test_budgets_that_are_none(budget: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="at least one trial"):
        tuned(tmp_path, **{"trials": None, **budget})


def test_progress_says_what_is_left(tmp_path: Path) -> None:
    said: list[tuple[str, float | None]] = []
    tuned(tmp_path, report=lambda text, part: said.append((text, part)))
    parts = [part for text, part in said if text.startswith("tuning: ") and part is not None]
    assert parts == sorted(parts)
    assert parts[-1] == 1.0
    assert any(text.startswith("tuning: 30 of 60 configurations, best ") and text.endswith(" left") for text, _ in said)
    assert any(text.startswith("finals: round 1 ") for text, _ in said)


@pytest.mark.parametrize("strategy", ["random", "guided", "exhaustive"])
def test_any_search_will_do(strategy: str, tmp_path: Path) -> None:
    assert tuned(tmp_path, strategy=strategy, trials=40).unique_evaluations == 40


def test_a_recorded_space_answers_in_place_of_a_device(tmp_path: Path) -> None:
    """A record of ours, its runs drawn one by one; what was not recorded has failed."""
    tuned(tmp_path, Machine(noise=0.02), trials=80)
    recorded = read_record(tmp_path / "r.jsonl")
    (tmp_path / "again").mkdir()
    subject = Recording("formula again", recorded.head.space, recorded.trials, seed=1)
    found = tune_subject(subject, Machine(), record=str(tmp_path / "again" / "r.jsonl"), strategy="exhaustive", trials=5000)
    assert found.failures["invalid"] == found.space.size - 80
    assert found.best is not None
    known = {key_of(trial.config) for trial in recorded.trials}
    lowest = min(seconds(trial.config) for trial in recorded.trials)
    assert key_of(found.best.config) in known
    assert seconds(found.best.config) <= 1.05 * lowest


def test_one_that_failed_once_fails() -> None:
    config: dict[str, Value] = {"a": 1}
    good = Trial(config=config, number=0, objective=objective_of([1.0], "s"), runs=(1.0,))
    known = Known([good, Trial(config=config, number=1, failure="crash"), Trial(config={"a": 2}, number=2, objective=objective_of([2.0], "s"))])
    assert known.best == ({"a": 2}, 2.0)
    assert known.running() == [key_of({"a": 2})]


def test_an_objective_is_the_median_with_what_bounds_it() -> None:
    few, many = objective_of([3.0, 1.0, 2.0], "s"), objective_of(np.arange(1.0, 12.0).tolist(), "s")
    assert (few.value, few.low, few.high, few.confidence) == (2.0, 1.0, 3.0, 0.75)
    assert (many.value, many.low, many.high) == (6.0, 2.0, 10.0)
    assert objective_of([4.0], "s").confidence < 1e-6
