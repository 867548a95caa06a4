"""`ridgeline report`: which run, which file, and that nothing is overwritten or half written."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from ridgeline.core import Run
from ridgeline.notebook import Notebook
from ridgeline.reporting import run_report

from .conftest import Flow

Call = Callable[..., tuple[int, str, str]]


@pytest.fixture
def kept(flow: Flow, tmp_path: Path, stored_run: Run, monkeypatch: pytest.MonkeyPatch) -> Run:
    """A run in the default notebook; the working directory is empty but for it."""
    monkeypatch.chdir(tmp_path)
    with Notebook.open(tmp_path / "notebook.sqlite") as book:
        book.add(stored_run)
    return stored_run


@pytest.mark.parametrize("identity", ["latest", "last", "-1", "20260102T030405-00000abc", "20260102"])
def test_the_report_is_named_after_its_run(run: Call, kept: Run, tmp_path: Path, identity: str) -> None:
    code, out, err = run("report", identity)
    assert (code, out, err) == (0, f"ridgeline-{kept.id}.html\n", "")
    # Through the notebook nothing is lost: samples and diagnosis are those of the run.
    assert (tmp_path / f"ridgeline-{kept.id}.html").read_text("utf-8") == run_report(kept)


def test_a_file_of_ones_own_and_stdout(run: Call, kept: Run, tmp_path: Path) -> None:
    assert run("report", "latest", "--html", "mine.html")[1] == "mine.html\n"
    assert run("report", "latest", "--html", "-")[1] == (tmp_path / "mine.html").read_text("utf-8")
    assert sorted(path.name for path in tmp_path.glob("*.html")) == ["mine.html"]


def test_json_says_what_was_written(run: Call, kept: Run, tmp_path: Path) -> None:
    said = json.loads(run("report", "latest", "--html", "mine.html", "--json")[1])
    assert said == {"schema": "ridgeline.report/1", "run": kept.id, "file": "mine.html", "size_bytes": (tmp_path / "mine.html").stat().st_size}


def test_nothing_is_overwritten_without_force(run: Call, kept: Run, tmp_path: Path) -> None:
    file = tmp_path / f"ridgeline-{kept.id}.html"
    file.write_text("mine")
    code, out, err = run("report", "latest")
    assert (code, out) == (2, "")
    assert "--force" in err
    assert file.read_text() == "mine"
    assert run("report", "latest", "--force")[0] == 0
    assert file.read_text("utf-8").startswith("<!DOCTYPE html>")


def test_a_report_of_ours_under_its_own_name_is_written_again(run: Call, kept: Run, tmp_path: Path) -> None:
    assert run("report", "latest")[0] == 0
    file = tmp_path / f"ridgeline-{kept.id}.html"
    whole = file.read_text("utf-8")
    file.write_text(whole[:2000], "utf-8")
    assert run("report", "latest")[0] == 0
    assert file.read_text("utf-8") == whole
    # Under a name that was given it may be anybody's.
    assert run("report", "latest", "--html", file.name)[0] == 2
    for other in ("<!DOCTYPE html>\n<title>mine</title>", ""):
        file.write_text(other)
        assert run("report", "latest")[0] == 2
        assert file.read_text() == other


@pytest.mark.parametrize("identity", ["latest", "last", "-1"])
def test_show_takes_the_same_names(run: Call, kept: Run, identity: str) -> None:
    code, out, err = run("show", identity, "--json")
    assert (code, err) == (0, "")
    assert json.loads(out)["id"] == kept.id


@pytest.mark.parametrize(
    "arguments",
    [
        ["nothing"], ["-2"], ["--nope"], [],
        ["latest", "--html", ""], ["latest", "--html", "/"], ["latest", "--html", "no/where.html"], ["latest", "--html", "-", "--json"],
    ],
)  # fmt: skip
def test_wrong_calls_are_one_line_and_write_nothing(run: Call, kept: Run, tmp_path: Path, arguments: list[str]) -> None:
    code, out, err = run("report", *arguments)
    assert (code, out) == (2, "")
    assert len(err.strip().splitlines()) == 1 or err.startswith("Usage:")
    assert list(tmp_path.glob("*.html")) == []
