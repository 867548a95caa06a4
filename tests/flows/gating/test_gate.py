"""The flow of a gate on measurements that are made up: who is measured again, what is new, missing or failed, and each sort of baseline."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

import ridgeline.flows.gate as flow
from ridgeline.core import Column, GateReport, Predicted, ReadError, Run, Samples, Series, SeriesSet, TargetFailed, UsageError
from ridgeline.core.documents import encode
from ridgeline.flows.gating.measuring import Effort, Measured
from ridgeline.notebook import Notebook

Levels = dict[str, list[float]]


class Measurer:
    """Makes up the processes of each side: for each benchmark its levels, the last being this version's; none, or 0 of the baseline, fails."""

    levels: Levels = {}
    seen: list[tuple[str, int]] = []
    keys: dict[str, str] = {}

    def __init__(self, *given: Any) -> None:
        self.failure = ""
        self._rng = np.random.default_rng(len(self.seen))

    def measured(self, name: str, sides: tuple[Any, ...], effort: Effort) -> Measured:
        self.seen.append((name, effort.processes))
        levels = self.levels[name]
        if not levels or (len(sides) == 2 and levels[0] == 0):
            raise TargetFailed("a target that runs", found="exit code 1", remedy="mend it")
        again = sum(seen == name for seen, _ in self.seen) > 1
        now = levels[-1] if not again or len(levels) < 3 else levels[1]
        wanted = [levels[0], now][-len(sides) :]
        return Measured(series=tuple(_series(name, level * np.exp(self._rng.normal(0, 1e-4, effort.processes)), self.keys) for level in wanted))


def _series(name: str, medians: np.ndarray, keys: dict[str, str] | None = None) -> Series:
    process = Column(np.repeat(np.arange(len(medians)), 3), "count")
    return Series(name=name, values=Column(np.repeat(medians, 3), "s"), process=process, keys={"workload": name, **(keys or {})})


@pytest.fixture
def measurer(monkeypatch: pytest.MonkeyPatch) -> type[Measurer]:
    monkeypatch.setattr(flow, "Measurer", Measurer)
    monkeypatch.setattr(flow, "first_look", lambda *sides, **options: msgspec.defstruct("Seen", [("warnings", tuple, ())])())
    Measurer.levels, Measurer.seen, Measurer.keys = {}, [], {}
    return Measurer


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[dict[str, str]], None]:
    """Commits files in a repository that is the working directory."""
    monkeypatch.chdir(tmp_path)
    for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"):
        monkeypatch.delenv(name, raising=False)

    def git(*arguments: str) -> None:
        subprocess.run(["git", "-c", "user.name=n", "-c", "user.email=e@e", *arguments], cwd=tmp_path, check=True, capture_output=True, timeout=60)

    def commit(files: dict[str, str]) -> None:
        for name, text in files.items():
            (tmp_path / name).write_text(text)
        git("add", "-A")
        git("commit", "-q", "-m", "change")

    git("init", "-q", "-b", "main")
    return commit


def _verdicts(report: GateReport) -> dict[str, str]:
    return {check.name: check.verdict for check in report.checks}


FUNCTIONS = "def bench_same(): pass\ndef bench_slow(): pass\ndef bench_unlucky(): pass\ndef bench_broken(): pass\n"


def test_only_what_looks_slower_is_measured_again(measurer: type[Measurer], repository: Callable[[dict[str, str]], None]) -> None:
    repository({"all.py": FUNCTIONS + "def bench_gone(): pass\n"})
    (Path.cwd() / "all.py").write_text(FUNCTIONS + "def bench_new(): pass\n")
    # A benchmark whose second level is another than its third looks slower once and not again.
    measurer.levels = {"bench_same": [1, 1], "bench_slow": [1, 1.1], "bench_unlucky": [1, 1, 1.1], "bench_broken": [], "bench_new": [1]}
    measured: list[SeriesSet] = []
    report = flow.gate(["all.py"], baseline="HEAD", measured_to=measured.append)
    assert _verdicts(report) == {
        "bench_same": "fine", "bench_slow": "regression", "bench_unlucky": "fine", "bench_broken": "failed", "bench_new": "new",
        "bench_gone": "missing",
    }  # fmt: skip
    assert report.state == "red"
    # What fails beside the baseline is tried alone before it is called failed.
    first = ["bench_same", "bench_slow", "bench_unlucky", "bench_broken", "bench_broken", "bench_new"]
    assert [name for name, _ in measurer.seen] == [*first, "bench_slow", "bench_unlucky"]
    assert {processes for name, processes in measurer.seen[6:]} == {12}
    # Two suspects: each is judged at half of three per cent.
    assert {check.confidence for check in report.checks if check.suspected} == {1 - 2 * 0.03 / 2}
    assert [series.name for series in measured[0].series] == ["bench_same", "bench_slow", "bench_unlucky", "bench_new"]
    assert "exit code 1" in next(check.because for check in report.checks if check.name == "bench_broken")


def test_a_green_gate(measurer: type[Measurer], repository: Callable[[dict[str, str]], None]) -> None:
    repository({"all.py": "def bench_same(): pass\n"})
    measurer.levels = {"bench_same": [1, 0.9]}
    report = flow.gate(["all.py"], baseline="main")
    assert (report.state, _verdicts(report)) == ("green", {"bench_same": "faster"})


def test_a_version_that_mends_a_benchmark_is_not_red_for_it(measurer: type[Measurer], repository: Callable[[dict[str, str]], None]) -> None:
    repository({"all.py": "def bench_mended(): pass\n"})
    measurer.levels = {"bench_mended": [0, 1]}
    report = flow.gate(["all.py"], baseline="main")
    assert (report.state, _verdicts(report)) == ("unsure", {"bench_mended": "inconclusive"})
    assert "exit code 1" in report.checks[0].because


def test_a_file_as_the_baseline(measurer: type[Measurer], repository: Callable[[dict[str, str]], None], tmp_path: Path) -> None:
    repository({"all.py": FUNCTIONS})
    steady = 1 + 1e-4 * np.arange(20)
    old = SeriesSet(source="old", tool="ridgeline", series=tuple(_series(name, steady) for name in ("bench_same", "bench_slow", "bench_gone")))
    (tmp_path / "old.json").write_bytes(encode(old))
    measurer.levels = {"bench_same": [1.0], "bench_slow": [1.1], "bench_unlucky": [1.0], "bench_broken": []}
    report = flow.gate(["all.py"], baseline="old.json")
    assert _verdicts(report) == {
        "bench_same": "fine", "bench_slow": "regression", "bench_unlucky": "new", "bench_broken": "failed", "bench_gone": "missing",
    }  # fmt: skip


def test_another_machine_is_not_compared(measurer: type[Measurer], repository: Callable[[dict[str, str]], None], tmp_path: Path) -> None:
    repository({"all.py": "def bench_same(): pass\n"})
    old = SeriesSet(source="old", tool="ridgeline", series=(_series("bench_same", np.ones(9), {"machine.cpu": "one"}),))
    (tmp_path / "old.json").write_bytes(encode(old))
    measurer.levels, measurer.keys = {"bench_same": [5.0]}, {"machine.cpu": "another"}
    report = flow.gate(["all.py"], baseline="old.json")
    assert (report.state, _verdicts(report)) == ("unlike", {"bench_same": "incomparable"})
    assert len(measurer.seen) == 1


def test_two_files_need_no_process(measurer: type[Measurer], tmp_path: Path) -> None:
    steady = 1 + 1e-4 * np.arange(30)
    for name, scale in (("old", 1.0), ("new", 1.2)):
        found = SeriesSet(source=name, tool="ridgeline", series=(_series("a", scale * steady), _series("b", steady), _series(name, steady)))
        (tmp_path / f"{name}.json").write_bytes(encode(found))
    report = flow.gate([str(tmp_path / "new.json")], baseline=str(tmp_path / "old.json"))
    assert _verdicts(report) == {"a": "regression", "b": "fine", "new": "new", "old": "missing"}
    assert measurer.seen == []


def test_the_history_as_the_baseline(measurer: type[Measurer], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stored_run: Run) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "f.py").write_text("def f(): pass\n")
    rng = np.random.default_rng(1)
    with Notebook.open(tmp_path / "nb.sqlite") as book:
        for at in range(12):
            book.add(_run(stored_run, at, float(np.exp(rng.normal(0, 0.002)))))
        measurer.keys = _keys(stored_run)
        for level, verdict in ((1.0, "fine"), (1.1, "regression")):
            measurer.levels = {"f.py:f": [level]}
            report = flow.gate(["f.py:f"], notebook=book)
            assert _verdicts(report) == {"f.py:f": verdict}
            assert report.checks[0].against == "12 runs of its history"
        measurer.levels = {"g.py:g": [1.0]}
        (tmp_path / "g.py").write_text("def g(): pass\n")
        assert _verdicts(flow.gate(["g.py:g"], notebook=book)) == {"g.py:g": "new"}


def _run(stored_run: Run, at: int, level: float) -> Run:
    samples = Samples(
        wall_s=Column(np.full(30, level), "s"), start_s=Column(np.arange(30.0), "s"), process=Column(np.repeat([0, 1, 2], 10), "count"),
        inner=Column(np.ones(30, int), "count"),
    )  # fmt: skip
    target = msgspec.structs.replace(stored_run.facts.target, spec="f.py:f", kind="python", name="f")
    facts = msgspec.structs.replace(stored_run.facts, samples=samples, target=target)
    return msgspec.structs.replace(stored_run, id=f"20260101T0000{at:02}-00000000", at=f"2026-01-01T00:00:{at:02}+00:00", facts=facts, diagnosis=None)


def _keys(stored_run: Run) -> dict[str, str]:
    from ridgeline.diagnosis.comparison import series_of

    return {key: value for key, value in series_of(_run(stored_run, 0, 1.0)).series[0].keys.items() if key != "workload"}


def test_a_prediction_in_place_of_a_baseline(measurer: type[Measurer], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "f.py").write_text("def f(): pass\n")
    for level, verdict in ((1.0, "fine"), (1.5, "regression")):
        measurer.levels = {"f.py:f": [level]}
        report = flow.gate(["f.py:f"], predicted=Predicted(low_s=0.95, high_s=1.05, tolerance=0.1))
        assert _verdicts(report) == {"f.py:f": verdict}
        assert report.baseline == "the prediction"


@pytest.mark.parametrize(
    ("targets", "options"),
    [
        ([], {}),
        (["f.py:f"], {}),  # a history without a notebook
        (["f.py:f"], {"baseline": "nothing-of-that-name"}),
        (["f.py:f"], {"baseline": ""}),
        (["f.py:f"], {"baseline": "latest"}),
        (["f.py:f"], {"margin": -1.0}),
        (["f.py:f"], {"margin": float("nan")}),
        (["f.py:f"], {"confidence": 1.0}),
        (["f.py:f"], {"command": ["true"]}),
        (["f.py:f", "f.py:g"], {"predicted": Predicted(low_s=1, high_s=1)}),
        (["f.py:f"], {"predicted": Predicted(low_s=1, high_s=1), "baseline": "main"}),
        (["f.py:f"], {"predicted": Predicted(low_s=1, high_s=1), "setup": "true"}),
        (["results.json"], {}),
    ],
)
def test_what_cannot_be_asked_is_refused(
    measurer: type[Measurer], repository: Callable[..., None], targets: list[str], options: dict[str, Any]
) -> None:
    repository({"f.py": "def f(): pass\ndef g(): pass\n"})
    with pytest.raises((UsageError, ReadError)):
        flow.gate(targets, **options)
    assert measurer.seen == []


def test_an_empty_baseline_is_not_the_history(measurer: type[Measurer], repository: Callable[..., None], tmp_path: Path) -> None:
    # A variable of a CI server that is not set must not turn the question into another.
    repository({"f.py": "def f(): pass\n"})
    with Notebook.open(tmp_path / "n.sqlite") as notebook, pytest.raises(UsageError, match="expected a baseline"):
        flow.gate(["f.py:f"], baseline="", notebook=notebook)
    assert measurer.seen == []


def test_a_benchmark_in_a_submodule_that_is_not_checked_out_is_not_new(
    measurer: type[Measurer], repository: Callable[..., None], tmp_path: Path
) -> None:
    inner = tmp_path / "inner"
    inner.mkdir()
    git = ["git", "-c", "user.name=n", "-c", "user.email=e@e", "-c", "protocol.file.allow=always"]
    (inner / "f.py").write_text("def f(): pass\n")
    for arguments in (["init", "-q", "."], ["add", "f.py"], ["commit", "-q", "-m", "one"]):
        subprocess.run([*git, *arguments], cwd=inner, check=True, timeout=60)
    (tmp_path / ".gitignore").write_text("/inner\n")
    (tmp_path / "plain").mkdir()
    (tmp_path / "plain" / "README").write_text("no submodule")
    subprocess.run([*git, "submodule", "--quiet", "add", "./inner", "sub"], cwd=tmp_path, check=True, timeout=60, capture_output=True)
    repository({"g.py": "def g(): pass\n"})
    (tmp_path / "plain" / "f.py").write_text("def f(): pass\n")
    measurer.levels = {name: [1, 1] for name in ("sub/f.py:f", "sub.f:f", "plain/f.py:f", "g.py:g")}
    report = flow.gate([*measurer.levels], baseline="HEAD")
    assert _verdicts(report) == {"sub/f.py:f": "inconclusive", "sub.f:f": "inconclusive", "plain/f.py:f": "new", "g.py:g": "fine"}
    assert "git submodule update" in report.checks[0].because


def test_a_changed_tree_is_called_one(measurer: type[Measurer], repository: Callable[..., None]) -> None:
    repository({"f.py": "def f(): pass\n"})
    measurer.levels = {"f.py:f": [1, 1]}
    assert not flow.gate(["f.py:f"], baseline="HEAD").version.endswith("dirty")
    Path("f.py").write_text("def f(): return 1\n")
    assert flow.gate(["f.py:f"], baseline="HEAD").version.endswith("+dirty")


@pytest.mark.parametrize("efforts", [{"first": 2}, {"second": 0}, {"first_s": 0.0}, {"second_s": float("nan")}, {"first": 10**6}])
def test_efforts_that_mean_nothing_are_refused(efforts: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        flow.Efforts(**efforts)
