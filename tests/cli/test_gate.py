"""`ridgeline gate` and `ridgeline history` as commands: exit codes, files written whole or not at all, and what is refused before measuring."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import msgspec
import numpy as np
import pytest

import ridgeline.flows.gate as flow
from ridgeline.core import Column, GateCheck, GateReport, RidgelineError, Run, Samples, Series, SeriesSet, TargetFailed
from ridgeline.core.documents import decode
from ridgeline.diagnosis.gating import closed
from ridgeline.notebook import Notebook

Call = Callable[..., tuple[int, str, str]]


class Gate:
    """Stands in for the flow."""

    def __init__(self) -> None:
        self.outcome: GateReport | BaseException = _report("fine")
        self.calls: list[dict[str, Any]] = []

    def __call__(self, targets: tuple[str, ...], **options: Any) -> GateReport:
        self.calls.append({"targets": targets, **options})
        if isinstance(self.outcome, BaseException):
            raise self.outcome
        column = Column(np.ones(3), "s")
        series = Series(name="b", values=column, process=Column([0, 1, 2], "count"))
        options["measured_to"](SeriesSet(source="x", tool="ridgeline", series=(series,)))
        return self.outcome


def _report(verdict: str) -> GateReport:
    check = GateCheck(name="b", verdict=verdict, against="main", because="so it is")  # type: ignore[arg-type]
    return closed([check], baseline="main", version="now", confidence=0.97, fail_on=["slower"])


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Gate:
    fake = Gate()
    monkeypatch.setattr(flow, "gate", fake)
    monkeypatch.setenv("RIDGELINE_NOTEBOOK", str(tmp_path / "notebook.sqlite"))
    monkeypatch.chdir(tmp_path)
    return fake


@pytest.mark.parametrize(
    ("verdict", "plain", "strict"),
    [("fine", 0, 0), ("faster", 0, 0), ("regression", 1, 1), ("tail regression", 1, 1), ("failed", 1, 1), ("incomparable", 2, 2),
     ("inconclusive", 0, 3),
     ("new", 0, 3), ("missing", 2, 2)],
)  # fmt: skip
def test_the_verdict_is_the_exit_code(run: Call, gate: Gate, verdict: str, plain: int, strict: int) -> None:
    gate.outcome = _report(verdict)
    assert run("gate", "f.py:f", "--quiet")[0] == plain
    assert run("gate", "f.py:f", "--quiet", "--strict")[0] == strict


def test_every_form_of_the_verdict(run: Call, gate: Gate, tmp_path: Path) -> None:
    gate.outcome = _report("regression")
    code, out, _ = run("gate", "f.py:f", "--json", "--junit", "j.xml", "--markdown", "c.md", "--save", "s.json", "--quiet")
    assert code == 1
    assert decode(out.encode(), GateReport) == gate.outcome
    assert json.loads(out)["schema"] == "ridgeline.gate/1"
    assert ElementTree.parse(tmp_path / "j.xml").getroot().attrib["failures"] == "1"
    assert "b | regression" in (tmp_path / "c.md").read_text("utf-8")
    assert decode((tmp_path / "s.json").read_bytes(), SeriesSet).series[0].name == "b"


def test_options_reach_the_flow(run: Call, gate: Gate) -> None:
    run("gate", "a.toml", "b.py", "--baseline", "main", "--margin", "5%", "--confidence", "0.99", "--fail-on", "tail", "--changing", "threads",
        "--processes", "7", "--confirm-budget", "3", "--setup", "make", "--no-notebook", "--quiet")  # fmt: skip
    (given,) = gate.calls
    assert given["targets"] == ("a.toml", "b.py")
    assert (given["baseline"], given["margin"], given["confidence"], given["tail"], given["setup"]) == ("main", 0.05, 0.99, True, "make")
    assert (given["efforts"].first, given["efforts"].second_s, given["notebook"]) == (7, 3.0, None)
    assert given["line"].startswith("ridgeline gate a.toml b.py --baseline main")


def test_a_command_behind_two_dashes(run: Call, gate: Gate) -> None:
    run("gate", "--baseline", "main", "--quiet", "--", "sort", "--reverse", "words.txt")
    (given,) = gate.calls
    assert (given["command"], given["targets"]) == (("sort", "--reverse", "words.txt"), ())


def test_a_prediction(run: Call, gate: Gate) -> None:
    run("gate", "f.py:f", "--predicted", "4ms..5ms", "--tolerance", "0.2", "--quiet")
    assert gate.calls[0]["predicted"].high_s == 0.005
    assert gate.calls[0]["predicted"].tolerance == 0.2


@pytest.mark.parametrize(
    "arguments",
    [
        ("--margin", "nonsense"), ("--predicted", "soon"), ("--predicted", "4ms", "--baseline", "main"), ("--processes", "1"),
        ("--time-budget", "nan"),
        ("--junit", "none/j.xml"), ("--junit", "."), ("--junit", "there.txt"), ("--junit", "x", "--markdown", "x"), ("--",), ("--fail-on", "weather"),
        ("--notebook", "a", "--no-notebook"), ("--tolerance", "-5%", "--predicted", "4ms"),
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_one_line_before_anything_is_measured(run: Call, gate: Gate, tmp_path: Path, arguments: tuple[str, ...]) -> None:
    (tmp_path / "there.txt").write_text("mine")
    code, out, err = run("gate", "f.py:f", "--quiet", *arguments)
    assert (code, out) == (2, "")
    assert len([line for line in err.splitlines() if line.startswith("ridgeline:")]) == 1
    assert gate.calls == []
    assert (tmp_path / "there.txt").read_text() == "mine"


@pytest.mark.parametrize("error", [TargetFailed("a target", found="none"), KeyboardInterrupt()])
def test_an_end_leaves_no_file(run: Call, gate: Gate, tmp_path: Path, error: BaseException) -> None:
    gate.outcome = error
    code, out, _ = run("gate", "f.py:f", "--junit", "j.xml", "--markdown", "c.md", "--quiet")
    assert code == (error.exit_code if isinstance(error, RidgelineError) else 130)
    assert out == ""
    assert sorted(path.name for path in tmp_path.iterdir() if path.suffix in (".xml", ".md")) == []


@pytest.fixture
def kept(tmp_path: Path, stored_run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Twenty runs at one level, then twenty at another, in the default notebook."""
    monkeypatch.setenv("RIDGELINE_NOTEBOOK", str(tmp_path / "notebook.sqlite"))
    rng = np.random.default_rng(2)
    with Notebook.open(tmp_path / "notebook.sqlite") as book:
        for at in range(40):
            level = (0.010 if at < 20 else 0.012) * np.exp(rng.normal(0, 0.002))
            samples = Samples(
                wall_s=Column(np.full(6, level), "s"), start_s=Column(np.arange(6.0), "s"), process=Column(np.repeat([0, 1, 2], 2), "count"),
                inner=Column(np.ones(6, int), "count"),
            )  # fmt: skip
            facts = msgspec.structs.replace(stored_run.facts, samples=samples)
            time = f"2026-01-01T00:{at:02}:00+00:00"
            book.add(
                msgspec.structs.replace(stored_run, id=f"20260101T00{at:02}00-00000000", at=time, commit=f"{at:040}", facts=facts, diagnosis=None)
            )


def test_the_history_of_a_target(run: Call, kept: None) -> None:
    code, out, _ = run("history", "model.onnx", "--json")
    assert code == 0
    (line,) = json.loads(out)["lines"]
    assert (line["metric"], line["shape"], len(line["points"])) == ("median", "steps", 40)
    (change,) = line["changes"]
    assert (change["from_commit"], change["to_commit"], change["word"]) == (f"{19:040}", f"{20:040}", "slower")
    code, out, _ = run("history", "model.onnx", "--limit", "12")
    assert code == 0
    assert "12 runs" in out
    assert run("history", "model.onnx", "--markdown")[1].startswith("# ridgeline history")


@pytest.mark.parametrize(
    "arguments",
    [("none.onnx",), ("model.onnx", "--json", "--markdown"), ("model.onnx", "--notebook", "none.sqlite"), ("model.onnx", "--confidence", "2")],
)
def test_a_history_that_is_not_there_is_one_line(run: Call, kept: None, arguments: tuple[str, ...]) -> None:
    code, out, err = run("history", *arguments)
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert run("history", "odel.onnx")[2].count("model.onnx") == 1
