"""A recording in place of a device: nothing is measured, and the report says so and how far from the best recorded it ended."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from readers.tuning.caches import as_kernel_tuner_writes, cache, result, results, written
from ridgeline.core import ReadError, Run, TuneReport, UsageError
from ridgeline.flows.tune import tune, tune_subject
from ridgeline.flows.tuning.replay import Nobody, replay_of
from ridgeline.notebook import Notebook
from ridgeline.reporting import terminal, tuned_page
from support.tuned import Formula, Machine, space_of

SPACE = space_of(["a * b <= 32"], a=[1, 2, 4, 8, 16, 32], b=[1, 2, 4, 8], c=["x", "y", "z"], e=list(range(8)))


def recorded(folder: Path, trials: int = 150) -> str:
    path = str(folder / "gemm.jsonl")
    subject = Formula(SPACE, lambda config: 1e-3 * (1.0 + abs(config["a"] - 8) + config["e"] + (config["c"] == "x")), name="gemm")
    tune_subject(subject, Machine(noise=0.01), record=path, trials=trials, strategy="random")
    return path


def test_a_record_of_ours_is_searched_again(tmp_path: Path) -> None:
    path = recorded(tmp_path)
    found = tune(path, trials=60)
    assert (found.target, found.space.size, found.unique_evaluations) == ("gemm", 150, 60)
    assert found.replay is not None
    assert (found.replay.file, found.replay.configurations) == (path, 150)
    assert found.replay.regret is not None
    assert 1.0 <= found.replay.regret < 1.05
    assert (found.record, found.run, found.fingerprint, found.resumed_from) == (None, None, "", None)
    assert "replayed" in [each.code for each in found.warnings]
    said = terminal(tuned_page(found), 140, False)
    for part in ("replayed, nothing was measured", "the best recorded takes less by", "recorded on", "nothing was measured: the times"):
        assert part in said, part


def test_the_regret_is_that_of_the_medians(tmp_path: Path) -> None:
    """Of three configurations; the search stops at the first that it sees."""
    listed = [result({"tile": tile}, times={"runtimes": runs}) for tile, runs in ((8, [3.0, 1.0, 2.0]), (16, [1.5]), (32, [9.0]))]
    path = written(tmp_path, json.dumps(results(*listed)), "t4.json")
    found = tune(str(path), trials=1, strategy="exhaustive")
    assert found.replay is not None
    assert found.replay.regret == pytest.approx(median([3.0, 1.0, 2.0]) / 1.5)
    assert found.target == "t4"


@pytest.mark.parametrize("name", ["cache.json", "cache.json.gz"])
def test_a_cache_of_kernel_tuner(name: str, tmp_path: Path) -> None:
    """Also with restrictions in its own words, and half-written."""
    document = cache({"restrictions": ["tile < <= nonsense", "blocks**"]})
    path = written(tmp_path, as_kernel_tuner_writes(document, closed=False), name)
    found = tune(str(path), strategy="exhaustive")
    assert (found.target, found.machine, found.space.size, found.stopped) == ("sum", "Device A", 4, "space")
    assert found.failures == {"compile": 1, "invalid": 1}
    assert found.best is not None
    assert found.best.config == {"tile": 8, "way": "column"}
    assert found.best.objective == pytest.approx(0.5e-3)


def test_values_that_are_written_in_two_ways(tmp_path: Path) -> None:
    listed = [result({"tile": tile}, times={"runtimes": [time]}) for tile, time in ((1, 3.0), (1.0, 3.0), (2, 1.0))]
    found = tune(str(written(tmp_path, json.dumps(results(*listed)), "t4.json")))
    assert (found.space.size, found.failures) == (2, {})


def test_the_same_seed_is_the_same_replay(tmp_path: Path) -> None:
    path = recorded(tmp_path)
    runs: list[Run] = []
    for seed in (1, 1, 2):
        tune(path, trials=30, seed=seed, run_to=runs.append)
    first, again, other = ([(trial.config, trial.runs) for trial in run.trials] for run in runs)
    assert first == again != other


def test_a_replay_is_kept_in_no_notebook_and_no_record(tmp_path: Path) -> None:
    path = recorded(tmp_path)
    with Notebook.open(tmp_path / "n.sqlite") as notebook:
        found: TuneReport = tune(path, trials=10, notebook=notebook)
        assert found.run is None
        assert list(notebook.runs()) == []
    with pytest.raises(UsageError, match="a record of what is measured; found: a replay"):
        tune(path, record=str(tmp_path / "other.jsonl"))


def test_what_is_no_recording(tmp_path: Path) -> None:
    (tmp_path / "t1.json").write_text('{"ConfigurationSpace": {}}')
    (tmp_path / "model.onnx").write_bytes(b"\x08")
    for name in ("t1.json", "model.onnx", "nowhere.toml", "nowhere"):
        assert replay_of(str(tmp_path / name)) is None
    (tmp_path / "x.jsonl").write_text('{"a": 1}\n')
    (tmp_path / "broken.json.gz").write_bytes(gzip.compress(b"{")[:-9])
    for name in ("x.jsonl", "nowhere.jsonl", "nowhere.json", "broken.json.gz"):
        with pytest.raises(ReadError):
            replay_of(str(tmp_path / name))
    (tmp_path / "empty.jsonl").write_text(Path(recorded(tmp_path, 1)).read_text().splitlines()[0] + "\n")
    with pytest.raises(UsageError, match="a recording with trials"):
        tune(str(tmp_path / "empty.jsonl"))


def test_nobody_is_asked_for_work() -> None:
    pieces: Any = iter(())
    assert list(Nobody().run(pieces, int)) == []
