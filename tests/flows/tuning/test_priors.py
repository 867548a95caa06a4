"""Recordings from elsewhere as a first guess: mapped by names and values, dropped with a word, never times of this device."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from readers.tuning.caches import as_kernel_tuner_writes, cache, result, results, written
from ridgeline.core import Parameter, ReadError, Space, TuneReport, UsageError
from ridgeline.flows.tune import tune_subject
from ridgeline.flows.tuning.known import LOOK
from ridgeline.flows.tuning.priors import read_prior
from ridgeline.flows.tuning.record import read_record
from ridgeline.reporting import terminal, tuned_page
from ridgeline.tuning.space import Configurations
from support.tuned import Formula, Machine, space_of

SPACE = space_of(["a * b <= 64"], a=[1, 2, 4, 8, 16, 32], b=[1, 2, 4, 8], c=["x", "y", "z"], d=[True, False], e=list(range(16)))


def seconds(config: Any, best: int = 8) -> float:
    """A millisecond at a = 8, b = 4, c = y, d = false, e = 11."""
    of_sizes = 0.4 * abs(np.log2(config["a"] / best)) + 0.3 * abs(np.log2(config["b"]) - 2)
    return float(1e-3 * (1.0 + of_sizes + {"x": 0.6, "y": 0.0, "z": 0.3}[config["c"]] + 0.4 * config["d"] + 0.02 * (config["e"] - 11) ** 2))


def recorded(folder: Path, formula: Any, trials: int = 200, space: Space = SPACE) -> str:
    """A record of ours."""
    path = folder / "elsewhere.jsonl"
    tune_subject(Formula(space, formula), Machine(), record=str(path), trials=trials, strategy="random", seed=5)
    return str(path)


def tuned(folder: Path, **options: Any) -> TuneReport:
    path = folder / "r.jsonl"
    path.unlink(missing_ok=True)
    return tune_subject(Formula(SPACE, seconds), Machine(), record=str(path), **{"trials": 10, **options})


def reached(folder: Path) -> list[float]:
    """The best after each trial of the search."""
    found = [seconds(trial.config) for trial in read_record(folder / "r.jsonl").trials if not {LOOK, "final"} & set(trial.flags)]
    return np.minimum.accumulate(found).tolist()


def test_another_device_is_a_start_and_the_report_says_so(tmp_path: Path) -> None:
    """Everything takes a thousand times as long there, and the best tile is another one."""
    prior = recorded(tmp_path, lambda config: 1000.0 * seconds(config, 4), 300)
    alone, begun = [], []
    for seed in range(5):
        tuned(tmp_path, seed=seed)
        alone.append(reached(tmp_path)[9])
        found = tuned(tmp_path, priors=[prior], seed=seed)
        begun.append(reached(tmp_path)[9])
    assert max(begun) < np.median(alone)
    assert found.best is not None
    assert found.best.objective == pytest.approx(begun[-1]), "none of its times is taken for one of here"
    (used,) = found.priors
    assert (used.source, used.trials, used.dropped, used.note) == (prior, 300, 0, "")
    assert used.weight is not None
    assert used.weight > 0
    said = terminal(tuned_page(found), 140, False)
    for part in ("begun from", "elsewhere.jsonl", "300", "never how long it takes here"):
        assert part in said, part


def test_one_that_misleads_is_not_believed_and_does_no_harm(tmp_path: Path) -> None:
    prior = recorded(tmp_path, lambda config: 1e-6 / seconds(config), 300)
    misled, alone = [], []
    for seed in range(5):
        found = tuned(tmp_path, priors=[prior], trials=50, seed=seed)
        assert found.priors[0].weight == 0.0
        misled.append(reached(tmp_path)[-1])
        tuned(tmp_path, trials=50, seed=seed)
        alone.append(reached(tmp_path)[-1])
    assert np.median(misled) <= 1.02 * np.median(alone)


@pytest.mark.parametrize("strategy", ["random", "exhaustive", "latin"])
def test_a_search_that_takes_none_says_so(strategy: str, tmp_path: Path) -> None:
    found = tuned(tmp_path, priors=[recorded(tmp_path, seconds, 20)], strategy=strategy)
    assert [each.code for each in found.warnings] == ["prior-unused"]
    assert found.priors[0].weight is None
    assert "the search takes none" in terminal(tuned_page(found), 140, False)


def test_the_choice_among_searches_hands_it_on(tmp_path: Path) -> None:
    found = tuned(tmp_path, priors=[recorded(tmp_path, seconds, 100)], strategy="bandit")
    assert found.priors[0].weight is not None


def of(space: Space, configs: list[Mapping[str, Any]], path: Path) -> Any:
    """A record with these configurations, as a prior of `space`."""
    text = json.dumps(results(*(result(dict(each)) for each in configs)))
    return read_prior(written(path, text, "t4.json"), Configurations(space))


def test_values_that_are_not_here_are_dropped_with_a_word(tmp_path: Path) -> None:
    space = space_of(["tile * unroll <= 32"], tile=[8, 16], unroll=[1, 2, 4], pack=[True, False])
    configs = [{"tile": tile, "unroll": unroll, "pack": pack} for tile in (8, 16, 24, 48) for unroll in (1, 2.0, 4) for pack in (True, 1)]
    found = of(space, configs, tmp_path)
    assert (found.used.trials, found.used.dropped) == (5, 19)
    assert "tile is never 24, 48 here" in found.used.note
    assert "pack is never 1 here" in found.used.note, "1 is not true"
    assert "1 are not valid here" in found.used.note
    assert (found.rows >= 0).all()


def test_parameters_that_one_side_has_not(tmp_path: Path) -> None:
    """Of one that the recording has beyond, the best value counts; of one that it has not, it says nothing, unless there is one value alone."""
    space = space_of(tile=[8, 16], fresh=[1, 2], only=["one"])
    configs = [{"tile": tile, "old": old} for tile in (8, 16) for old in (1, 2)]
    listed = [result(each, times={"runtimes": [time]}) for each, time in zip(configs, (4.0, 3.0, 2.0, 5.0), strict=True)]
    found = read_prior(written(tmp_path, json.dumps(results(*listed)), "t4.json"), Configurations(space))
    assert found.rows.tolist() == [[0, -1, 0], [1, -1, 0]]
    assert found.values.tolist() == [0.003, 0.002]
    assert found.used.note == "no parameter here: old; it says nothing of fresh"
    search = tune_subject(
        Formula(space, lambda config: 1.0 / config["tile"]), Machine(), record=str(tmp_path / "r"), priors=[str(tmp_path / "t4.json")]
    )
    assert search.best is not None
    assert search.best.config["tile"] == 16


def test_conditions_that_the_other_tuner_had_not(tmp_path: Path) -> None:
    parameters = (Parameter(name="pack", values=(False, True)), Parameter(name="pad", values=(0, 1), when="pack"))
    found = of(Space(parameters=parameters), [{"pack": pack, "pad": pad} for pack in (False, True) for pad in (0, 1)], tmp_path)
    assert sorted(found.rows.tolist()) == [[0, 2], [1, 0], [1, 1]]
    assert found.used.dropped == 0


def test_failures_there_are_failures(tmp_path: Path) -> None:
    space = space_of(tile=[8, 16], way=["row", "column"])
    found = read_prior(written(tmp_path, as_kernel_tuner_writes(cache())), Configurations(space))
    assert found.used.device == "Device A"
    ran = {tuple(row): bool(value == value) for row, value in zip(found.rows.tolist(), found.values.tolist(), strict=True)}
    assert ran == {(0, 0): True, (1, 0): False, (0, 1): True, (1, 1): False}


@pytest.mark.parametrize(
    ("space", "said"),
    [
        (space_of(other=[1, 2]), "a recording of the parameters other; found: tile, way"),
        (space_of(tile=[3, 5], way=["row"]), "tile is never 8, 16 here"),
        (space_of(tile=[16], way=["row", "column"]), "none that ran"),
    ],
)
def test_none_left_is_one_clear_error(space: Space, said: str, tmp_path: Path) -> None:
    path = written(tmp_path, as_kernel_tuner_writes(cache()))
    with pytest.raises(UsageError) as caught:
        read_prior(path, Configurations(space))
    assert said in str(caught.value) or all(part in str(caught.value) for part in said.split("; found: "))
    assert "\n" not in str(caught.value)


def test_what_is_no_recording(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text("{}")
    for path in (tmp_path / "nowhere.jsonl", tmp_path / "x.json"):
        with pytest.raises(ReadError):
            read_prior(path, Configurations(SPACE))
    with pytest.raises(UsageError, match="in W"):
        read_prior(recorded(tmp_path, seconds, 3), Configurations(SPACE), "W")
