"""`ridgeline tune`: what would be lost or refused only after all is measured is refused before; options that no search can use are one line."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from ridgeline.flows.tuning.record import read_record

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
def tuned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Call) -> Call:
    monkeypatch.setenv("RIDGELINE_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s.toml").write_text(SPEC)
    (tmp_path / "folder").mkdir()
    return lambda *arguments: run("tune", "s.toml", "--no-notebook", "--quiet", "--runs", "2", "--trials", "2", *arguments)


def refused(found: tuple[int, str, str], said: str) -> None:
    code, out, err = found
    assert (code, out, err.count("\n")) == (2, "", 1), err
    assert said in err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--record", "r", "--html", "r"], "a file of its own for --html; found: r, which is that of --record"),
        (["--record", "r", "--html", "folder/../r"], "which is that of --record"),
        (["--record", "r", "--export", "json", "r"], "a file of its own for --export json"),
        (["--record", "r", "--export", "t4", "link"], "which is that of --record"),
        (["--html", "a", "--export", "header", "a"], "which is that of --html"),
        (["--export", "python", "a", "--export", "header", "a"], "which is that of --export python"),
        (["--html", "s.toml"], "which is that of the target"),
        (["--export", "cache", "s.toml"], "which is that of the target"),
        (["--prior", "p", "--export", "t4", "p"], "which is that of --prior"),
    ],
)  # fmt: skip
def test_no_output_takes_the_place_of_another_file_of_the_command(arguments: list[str], said: str, tuned: Call, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("r")
    refused(tuned(*arguments, "--force"), said)
    assert (tmp_path / "s.toml").read_text() == SPEC
    assert not (tmp_path / "r").exists()
    assert not (tmp_path / "a").exists()


def test_a_file_that_no_configuration_can_be_added_to_is_refused_before_anything_runs(tuned: Call, tmp_path: Path) -> None:
    (tmp_path / "best.json").write_text("garbage")
    refused(tuned("--export", "json", "best.json", "--record", "r"), "found: best.json: ")
    assert (tmp_path / "best.json").read_text() == "garbage"
    assert not (tmp_path / "r").exists()


def test_what_was_refused_leaves_no_record_behind(tuned: Call, tmp_path: Path) -> None:
    refused(tuned("--record", "r", "--strategy", "annealing", "--strategy-option", "cooling=fast"), "a whole number as cooling")
    refused(tuned("--record", "r", "--time", "0"), "a time above 0")
    code, _, err = tuned("--record", "r")
    assert code == 0, err
    assert len({json.dumps(trial.config) for trial in read_record(tmp_path / "r").trials}) == 2
    refused(tuned("--record", "r"), "a tuning that is not begun")


@pytest.mark.parametrize("text", ["one line that is no record\n", "{}\n"])
def test_a_file_of_one_line_that_is_no_record_is_left(text: str, tuned: Call, tmp_path: Path) -> None:
    (tmp_path / "r").write_text(text)
    refused(tuned("--record", "r"), "a tuning that is not begun")
    assert (tmp_path / "r").read_text() == text


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--strategy", "annealing", "--strategy-option", "cooling=nan"], "a whole number as cooling"),
        (["--strategy", "annealing", "--strategy-option", "cooling=true"], "a whole number as cooling"),
        (["--strategy", "annealing", "--strategy-option", "cooling=2.5"], "a whole number as cooling"),
        (["--strategy", "annealing", "--strategy-option", "cooling=-1"], "trials as cooling of annealing"),
        (["--strategy", "annealing", "--strategy-option", "cooling=0"], "trials as cooling of annealing"),
        (["--strategy", "annealing", "--strategy-option", "cooling=" + "9" * 400], "trials as cooling of annealing"),
        (["--objective", ","], "objectives of time, memory, energy"),
        (["--objective", "time,"], "objectives of time, memory, energy"),
        (["--time", "0"], "a time above 0 and below 1e+09 s; found: 0 s"),
        (["--time", "-1s"], "found: -1 s"),
        (["--time", "1e30s"], "found: 1e+30 s"),
    ],
)  # fmt: skip
def test_options_that_nobody_can_use_are_one_line(arguments: list[str], said: str, tuned: Call) -> None:
    refused(tuned(*arguments), said)


def test_a_pipe_as_a_prior_is_refused_and_not_waited_for(tuned: Call, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    refused(tuned("--prior", "pipe"), "pipe, which is no regular file")


def test_a_million_constraints_are_refused_and_not_read_one_by_one(tuned: Call, tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(SPEC + "[space]\nconstraints = [" + '"tile > 0",' * 300_000 + "]\n")
    refused(tuned(), "at most 5,000 constraints; found: 300000 in s.toml")
