"""Several objectives: the front is exactly what nothing beats, rests on no lucky run, and has no failures and nothing that was not measured."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ridgeline.backends import Attempt
from ridgeline.core import BackendUnavailable, Trial, TuneReport, UsageError
from ridgeline.core.documents import decode, encode
from ridgeline.core.executor import Outcome, Piece
from ridgeline.flows.tune import tune, tune_subject
from ridgeline.flows.tuning import subjects
from ridgeline.flows.tuning.known import FINAL, FRONT, LOOK
from ridgeline.flows.tuning.objectives import objectives_of
from ridgeline.flows.tuning.record import read_record
from ridgeline.flows.tuning.sources import read_spec
from ridgeline.flows.tuning.subjects import Recording, key_of
from ridgeline.tuning.front import non_dominated
from support.tuned import Formula, Machine, space_of

SPACE = space_of(["tile * copies <= 256"], tile=[8, 16, 32, 64, 128], copies=[1, 2, 4], pack=[False, True], order=["x", "y", "z"])
BOTH = ("time", "memory")


def seconds(config: Any) -> float:
    return (
        1e-3
        * (1.0 + 16.0 / config["tile"] - 0.05 * config["copies"] + {"x": 0.0, "y": 0.4, "z": 0.1}[config["order"]])
        * (0.9 if config["pack"] else 1.0)
    )


def bytes_of(config: Any) -> float:
    return float(1_000_000 + 4000 * config["tile"] * config["copies"] * (2 if config["pack"] else 1))


class Measuring(Machine):
    """Memory beside the time; `spoil`: told (number, config, attempt), what becomes of it."""

    def __init__(self, spoil: Any = lambda number, config, attempt: attempt, off: float = 0.0, **options: Any) -> None:
        super().__init__(**options)
        self._spoil, self._off = spoil, off

    def run(self, pieces: Any, returns: type[Any]) -> Iterator[Outcome[Any]]:
        kept: list[Piece] = []

        def seen() -> Iterator[Piece]:
            for piece in pieces:
                kept.append(piece)
                yield piece

        for outcome in super().run(seen(), returns):
            config = kept[outcome.number].arguments["config"]
            if outcome.value is None or outcome.value.failure:
                yield outcome
                continue
            memory = bytes_of(config) * math.exp(self._off * self._generator.standard_normal())
            made = Attempt(runs=outcome.value.runs, metrics={"peak_memory_bytes": memory}, spent_s=1e-3)
            yield Outcome(outcome.number, self._spoil(len(self.ran) - 1, config, made), None)


def tuned(folder: Path, machine: Machine, objectives: tuple[str, ...] = BOTH, **options: Any) -> TuneReport:
    subject = Formula(SPACE, seconds)
    subject.aim(objectives)
    return tune_subject(subject, machine, **{"record": str(folder / "r.jsonl"), "trials": 1000, **options})


def nothing_beats(configs: list[Any]) -> set[str]:
    values = [(seconds(config), bytes_of(config)) for config in configs]
    return {
        key_of(config) for config, (a, b) in zip(configs, values, strict=True) if not any(c <= a and d <= b and (c < a or d < b) for c, d in values)
    }


def all_configs() -> list[Any]:
    configurations = Formula(SPACE, seconds).configurations
    return [configurations.config(row) for row in configurations.at(np.arange(configurations.count))]


def test_the_front_of_a_space_that_was_tried_whole_is_exactly_what_nothing_beats(tmp_path: Path) -> None:
    found = tuned(tmp_path, Measuring())
    assert found.front is not None
    assert {key_of(point.config) for point in found.front.points} == nothing_beats(all_configs())
    assert (found.stopped, found.objectives, found.front.objectives, found.front.units) == ("space", BOTH, BOTH, ("s", "B"))
    for point in found.front.points:
        assert point.values == pytest.approx((seconds(point.config), bytes_of(point.config)))
        assert point.runs >= 3
        assert point.untold == ()
    assert [point.values[0] for point in found.front.points] == sorted(point.values[0] for point in found.front.points)
    # The best is that of the first objective, as ever.
    assert found.best is not None
    assert (found.best.config, found.objective, found.unit) == (found.front.points[0].config, "time", "s")
    assert 0.0 < found.front.hypervolume <= 1.0
    assert found.front.measured == found.space.size
    assert found.front.reference == pytest.approx((max(map(seconds, all_configs())), max(map(bytes_of, all_configs()))))
    assert decode(encode(found), TuneReport) == found


def test_a_part_of_the_space_is_enough(tmp_path: Path) -> None:
    found = tuned(tmp_path, Measuring(noise=0.005), trials=40, seed=1)
    assert found.front is not None
    right = nothing_beats(all_configs())
    assert len(right & {key_of(point.config) for point in found.front.points}) >= 0.7 * len(right)


def test_no_point_of_the_front_stands_on_one_lucky_run(tmp_path: Path) -> None:
    """Every configuration that is on the front by its first run only, in a third of the memory that it takes, leaves it."""
    seen: set[str] = set()

    def lucky(number: int, config: Any, attempt: Attempt) -> Attempt:
        first = key_of(config) not in seen
        seen.add(key_of(config))
        if first and config["order"] == "y":
            return Attempt(runs=attempt.runs, metrics={"peak_memory_bytes": attempt.metrics["peak_memory_bytes"] / 3}, spent_s=1e-3)
        return attempt

    found = tuned(tmp_path, Measuring(spoil=lucky), strategy="random")
    assert found.front is not None
    assert {key_of(point.config) for point in found.front.points} == nothing_beats(all_configs())
    flags = [flag for trial in read_record(tmp_path / "r.jsonl").trials for flag in trial.flags]
    assert flags.count(FRONT) >= 3


def test_what_failed_once_is_not_on_the_front_and_what_was_not_measured_neither(tmp_path: Path) -> None:
    def spoil(number: int, config: Any, attempt: Attempt) -> Attempt:
        if config["pack"]:
            return Attempt(failure="wrong-output", text="c differs", runs=(1e-9,), metrics={"peak_memory_bytes": 1.0})
        if config["order"] == "x":
            return Attempt(runs=(1e-9,), text="no memory: not seen", spent_s=1e-3)
        return attempt

    found = tuned(tmp_path, Measuring(spoil=spoil))
    assert found.front is not None
    left = [config for config in all_configs() if not config["pack"] and config["order"] != "x"]
    assert {key_of(point.config) for point in found.front.points} == nothing_beats(left)
    (caution,) = [each for each in found.warnings if each.code == "unmeasured"]
    assert "no memory: not seen" in caution.message


def test_one_that_fails_when_it_is_run_again_is_out(tmp_path: Path) -> None:
    seen: dict[str, int] = {}

    def second(number: int, config: Any, attempt: Attempt) -> Attempt:
        seen[key_of(config)] = seen.get(key_of(config), 0) + 1
        again = config["tile"] == 8 and seen[key_of(config)] > 1
        return Attempt(failure="crash", text="segmentation fault") if again else attempt

    found = tuned(tmp_path, Measuring(spoil=second))
    assert found.front is not None
    crashed = {key_of(trial.config) for trial in read_record(tmp_path / "r.jsonl").trials if trial.failure}
    assert crashed
    assert {key_of(point.config) for point in found.front.points} == nothing_beats([each for each in all_configs() if key_of(each) not in crashed])


def test_one_objective_that_is_not_the_time_is_what_everything_is_about(tmp_path: Path) -> None:
    found = tuned(tmp_path, Measuring(off=0.001), objectives=("memory",), trials=60)
    assert found.best is not None
    assert (found.objective, found.unit, found.objectives, found.front) == ("memory", "B", ("memory",), None)
    assert bytes_of(found.best.config) == min(map(bytes_of, all_configs()))
    assert found.best.objective == pytest.approx(bytes_of(found.best.config), rel=0.01)
    trials = read_record(tmp_path / "r.jsonl").trials
    assert trials[0].metrics["time_s"] == pytest.approx(seconds(trials[0].config))
    assert (trials[0].objective.unit, "peak_memory_bytes" in trials[0].metrics) == ("B", False)  # type: ignore[union-attr]


def test_memory_first_and_time_second_is_the_same_front(tmp_path: Path) -> None:
    found = tuned(tmp_path, Measuring(), objectives=("memory", "time"))
    assert found.front is not None
    assert {key_of(point.config) for point in found.front.points} == nothing_beats(all_configs())
    assert found.best is not None
    assert bytes_of(found.best.config) == min(map(bytes_of, all_configs()))


def test_a_record_is_gone_on_with_only_for_the_same_objectives(tmp_path: Path) -> None:
    tuned(tmp_path, Measuring(), trials=20)
    with pytest.raises(UsageError, match="objective was time, memory, now time"):
        tuned(tmp_path, Measuring(), objectives=("time",), trials=30, resume=True)
    found = tuned(tmp_path, Measuring(), resume=True)
    assert found.front is not None
    assert {key_of(point.config) for point in found.front.points} == nothing_beats(all_configs())
    searched = [key_of(each.config) for each in read_record(tmp_path / "r.jsonl").trials if not {FINAL, FRONT, LOOK} & set(each.flags)]
    assert len(set(searched)) == len(searched) == found.space.size


def test_front_members_that_noise_does_not_tell_apart_are_said(tmp_path: Path) -> None:
    found = tuned(tmp_path, Measuring(noise=0.3, off=0.3))
    assert found.front is not None
    assert any(point.untold for point in found.front.points)


def test_a_recording_answers_with_what_it_holds(tmp_path: Path) -> None:
    configs = all_configs()
    trials = [Trial(config=config, runs=(seconds(config),), metrics={"energy_j": 1.0 / seconds(config)}) for config in configs]
    found = tune_subject(Recording("kernel", SPACE, trials, objectives=("time", "energy")), Machine(), record=str(tmp_path / "r.jsonl"), trials=1000)
    assert found.front is not None
    # Less of one is more of the other, so that nearly nothing beats anything.
    values = np.array([(seconds(config), 1.0 / seconds(config)) for config in configs])
    assert len(found.front.points) == non_dominated(values).sum()
    with pytest.raises(UsageError, match="a recording of memory"):
        Recording("kernel", SPACE, trials, objectives=BOTH)


@pytest.mark.parametrize(
    ("given", "names"), [(None, ("time",)), ("", ("time",)), ("memory", ("memory",)), ("time, energy", ("time", "energy")), (["energy"], ("energy",))]
)
def test_objectives_by_name(given: Any, names: tuple[str, ...]) -> None:
    assert objectives_of(given) == names


@pytest.mark.parametrize(("given", "said"), [("tiem", "write time"), ("time,time", "each objective once"), ("time,speed", "'speed'")])
def test_objectives_that_are_none(given: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        objectives_of(given)


SPEC = """
schema = "ridgeline.tuning/1"
name = "buffer"
[kernel]
runner = "c"
source = "buffer.c"
function = "buffer"
flags = ["-O2"]
[[kernel.arguments]]
name = "y"
shape = [1024]
fill = "zeros"
output = true
[parameters]
mib = [8, 24, 64]
passes = [1, 2]
[search]
objective = "time,memory"
"""
SOURCE = """
#include <stdlib.h>
#include <string.h>
void buffer(float *y) {
    size_t size = (size_t)mib << 20;
    char *held = malloc(size);
    for (int pass = 0; pass < passes * 128 / mib; pass++) memset(held, pass + 1, size);
    for (int i = 0; i < 1024; i++) y[i] = held[(size_t)i * 1000] > 0;
    free(held);
}
"""


@pytest.mark.skipif(sys.platform != "linux", reason="memory is exact on Linux")
def test_memory_of_a_kernel_for_real(tmp_path: Path) -> None:
    (tmp_path / "buffer.toml").write_text(SPEC)
    (tmp_path / "buffer.c").write_text(SOURCE)
    found = tune(str(tmp_path / "buffer.toml"), record=str(tmp_path / "r.jsonl"), runs=2, cache=str(tmp_path / "cache"))
    assert (found.objectives, found.failures, found.unique_evaluations) == (BOTH, {}, 6)
    for trial in read_record(tmp_path / "r.jsonl").trials:
        assert abs(trial.metrics["peak_memory_bytes"] - int(trial.config["mib"]) * 2**20) < 6 * 2**20, trial
    assert found.front is not None
    assert min(int(point.config["mib"]) for point in found.front.points) == 8


def test_energy_without_a_counter_is_said_before_anything_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "buffer.toml").write_text(SPEC)
    (tmp_path / "buffer.c").write_text(SOURCE)
    monkeypatch.setattr(subjects, "counter_of", lambda device: "no package in /sys/class/powercap")
    with pytest.raises(BackendUnavailable, match="a counter of energy"):
        tune(read_spec(str(tmp_path / "buffer.toml")), objectives=("time", "energy"))
