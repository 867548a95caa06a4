"""`ridgeline tune` as a command: page, JSON, files, bad input."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import ridgeline
from ridgeline.core import TuneReport
from ridgeline.core.documents import decode

Call = Callable[..., tuple[int, str, str]]
SPEC = """
schema = "ridgeline.tuning/1"
name = "sum"
[kernel]
runner = "simulated"
[[kernel.arguments]]
name = "y"
shape = [8]
output = true
[parameters]
tile = [8, 16, 32]
pack = [true, false]
"""


@pytest.fixture
def spec(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("RIDGELINE_NOTEBOOK", str(tmp_path / "notebook.sqlite"))
    monkeypatch.setenv("RIDGELINE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sum.toml").write_text(SPEC)
    return "sum.toml"


def test_the_page_and_what_the_notebook_shows_of_it(spec: str, run: Call) -> None:
    code, out, err = run("tune", spec)
    assert code == 0, err
    for part in ("sum: ", "the lowest of those tried", "BEST", "SEARCH", "IMPORTANCE", "6  of 6 valid ones; all there are"):
        assert part in out, part
    code, shown, err = run("show", "latest")
    assert code == 0, err
    assert shown.splitlines()[0] == out.splitlines()[0]
    code, listed, _ = run("log")
    assert " tune " in listed


def test_the_json_is_the_contract(spec: str, run: Call) -> None:
    code, out, err = run("tune", spec, "--json", "--no-notebook", "--trials", "4", "--seed", "2")
    assert code == 0, err
    found = json.loads(out)
    assert found["schema"] == "ridgeline.tune/1"
    assert {"space", "best", "trials", "failures", "unique_evaluations", "search_s", "overhead_s", "resumed_from"} <= set(found)
    assert {"parameters", "constraints", "size"} <= set(found["space"])
    assert {"config", "objective", "objective_ci", "probability_best", "ties"} <= set(found["best"])
    report = decode(out.encode(), TuneReport)
    assert (report.unique_evaluations, report.seed, report.run, report.record) == (4, 2, None, None)


def test_files_are_written(spec: str, run: Call, tmp_path: Path) -> None:
    exports = ["--export", "json", "best.json", "--export", "header", "best.h", "--export", "python", "best.py"]
    code, _, err = run("tune", spec, "--no-notebook", "--html", "out.html", *exports)
    assert code == 0, err
    assert (tmp_path / "out.html").read_text().startswith("<!DOCTYPE html>")
    config = ridgeline.select(tmp_path / "best.json")
    scope: dict[str, Any] = {}
    exec((tmp_path / "best.py").read_text(), scope)
    assert scope["SUM"] == config
    assert f"#define SUM_TILE {config['tile']}" in (tmp_path / "best.h").read_text()
    # One more of the same takes the place of the first; nothing else is written over.
    code, _, err = run("tune", spec, "--no-notebook", "--export", "json", "best.json")
    assert (code, len(json.loads((tmp_path / "best.json").read_text())["entries"])) == (0, 1)
    code, _, err = run("tune", spec, "--no-notebook", "--export", "header", "best.h")
    assert code == 2
    assert "--force" in err


def test_the_record_is_gone_on_with(spec: str, run: Call, tmp_path: Path) -> None:
    assert run("tune", spec, "--no-notebook", "--record", "r.jsonl", "--trials", "3")[0] == 0
    code, _, err = run("tune", spec, "--no-notebook", "--record", "r.jsonl")
    assert code == 2
    assert "--resume" in err
    code, out, err = run("tune", spec, "--no-notebook", "--record", "r.jsonl", "--resume", "--json")
    assert code == 0, err
    assert json.loads(out)["resumed_from"] == "r.jsonl"
    (tmp_path / "sum.toml").write_text(SPEC.replace("tile = [8, 16, 32]\npack = [true, false]", "pack = [true, false]\ntile = [8, 16, 32]"))
    code, _, err = run("tune", spec, "--no-notebook", "--record", "r.jsonl", "--resume")
    assert code == 2
    assert "order of parameters was tile, pack, now pack, tile" in err


def test_the_html_on_stdout(spec: str, run: Call) -> None:
    code, out, err = run("tune", spec, "--no-notebook", "--html", "-")
    assert code == 0, err
    assert out.startswith("<!DOCTYPE html>")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["sum.toml", "--resume"], "--resume with --record FILE"),
        (["sum.toml", "--json", "--markdown"], "one of --json and --markdown"),
        (["sum.toml", "--json", "--html", "-"], "--html -"),
        (["sum.toml", "--time", "soon"], "soon"),
        (["sum.toml", "--trials", "0"], "--trials"),
        (["sum.toml", "--strategy", "clever"], "clever"),
        (["sum.toml", "--shape", "x=1"], "a SPEC or a recording by itself"),
        (["nowhere.toml"], "nowhere.toml"),
        (["nowhere.onnx"], "nowhere.onnx"),
        (["sum.toml", "--record", "no/where"], "a file to write trials to"),
        (["sum.toml", "--export", "json", "no/where"], "a file that can be written"),
        (["sum.toml", "--export", "yaml", "x"], "yaml"),
    ],
)
def test_bad_input_is_one_line_and_code_2(arguments: list[str], said: str, spec: str, run: Call) -> None:
    code, out, err = run("tune", *arguments)
    assert (code in (2, 4), out) == (True, "")
    assert said in err
    assert "Traceback" not in err


def test_a_best_that_is_not_told_from_others_ends_with_3_under_strict(spec: str, run: Call, tmp_path: Path) -> None:
    """All are equal, and one run may take twice another: they cannot be told apart to 1 %."""
    (tmp_path / "sum.toml").write_text(SPEC.replace('"simulated"', '"simulated"\nspread = 0.0\nnoise = 0.7'))
    code, out, _ = run("tune", spec, "--no-notebook", "--strict", "--runs", "1")
    assert code == 3
    assert "not told from others" in out
    assert run("tune", spec, "--no-notebook", "--runs", "1")[0] == 0
    (tmp_path / "sum.toml").write_text(SPEC.replace('"simulated"', '"simulated"\nshare = {no-compile = 1.0}'))
    code, out, _ = run("tune", spec, "--no-notebook", "--strict")
    assert code == 2
    assert "nothing ran of 6 configurations" in out


def test_it_begins_from_a_recording_of_elsewhere(spec: str, run: Call, tmp_path: Path) -> None:
    assert run("tune", spec, "--no-notebook", "--record", "r.jsonl", "--trials", "4")[0] == 0
    code, out, err = run("tune", spec, "--no-notebook", "--prior", "r.jsonl", "--trials", "3", "--json")
    assert code == 0, err
    (prior,) = json.loads(out)["priors"]
    assert (prior["source"], prior["trials"], prior["dropped"]) == ("r.jsonl", 4, 0)
    code, out, err = run("tune", spec, "--no-notebook", "--prior", "r.jsonl", "--strategy", "random")
    assert code == 0, err
    assert "the search random takes no recordings" in out
    code, _, err = run("tune", spec, "--prior", "sum.toml")
    assert code == 2
    assert "sum.toml" in err


def test_options_of_the_search(spec: str, run: Call) -> None:
    assert run("tune", spec, "--no-notebook", "--strategy", "annealing", "--strategy-option", "cooling=20")[0] == 0
    for option, said in (("warm=1", "use cooling"), ("cooling", "NAME=VALUE"), ("=3", "NAME=VALUE")):
        code, out, err = run("tune", spec, "--no-notebook", "--strategy", "annealing", "--strategy-option", option)
        assert (code, out) == (2, "")
        assert said in err


def test_a_device_is_one_of_the_catalogue(spec: str, run: Call, tmp_path: Path) -> None:
    (tmp_path / "sum.toml").write_text(SPEC.replace('"simulated"', '"simulated"\nwork = {bytes = "1e9 / tile"}'))
    code, out, err = run("tune", spec, "--no-notebook", "--device", "H200", "--json")
    assert code == 0, err
    assert [prior["source"] for prior in json.loads(out)["priors"]] == ["roofline"]
    code, _, err = run("tune", spec, "--device", "nothing")
    assert code == 2
    assert "nothing" in err


def test_a_recording_is_replayed(spec: str, run: Call, tmp_path: Path) -> None:
    assert run("tune", spec, "--no-notebook", "--record", "r.jsonl")[0] == 0
    code, out, err = run("tune", "r.jsonl", "--strategy", "random", "--html", "out.html")
    assert code == 0, err
    assert "replayed, nothing was measured" in out
    assert "replayed, nothing was measured" in (tmp_path / "out.html").read_text()
    code, listed, _ = run("log")
    assert " tune " not in listed
    code, _, err = run("tune", "r.jsonl", "--shape", "x=1")
    assert code == 2
    assert "a SPEC or a recording by itself" in err
    assert run("tune", "r.jsonl", "--device", "H200")[0] == 2


def test_trials_are_written_for_other_tuners_and_replayed(spec: str, run: Call, tmp_path: Path) -> None:
    code, _, err = run("tune", spec, "--no-notebook", "--export", "t4", "t4.json", "--export", "cache", "cache.json", "--record", "r.jsonl")
    assert code == 0, err
    for name in ("t4.json", "cache.json"):
        code, out, err = run("tune", name, "--json")
        assert code == 0, err
        assert json.loads(out)["replay"]["configurations"] == 6
        code, out, err = run("tune", spec, "--no-notebook", "--prior", name, "--json")
        assert code == 0, err
        assert json.loads(out)["priors"][0]["trials"] == 6
    assert run("tune", spec, "--no-notebook", "--export", "t4", "t4.json")[0] == 2
    # Failures alone are trials as well.
    (tmp_path / "sum.toml").write_text(SPEC.replace('"simulated"', '"simulated"\nshare = {no-compile = 1.0}'))
    assert run("tune", spec, "--no-notebook", "--export", "t4", "failed.json")[0] == 2
    assert '"compile"' in (tmp_path / "failed.json").read_text()
