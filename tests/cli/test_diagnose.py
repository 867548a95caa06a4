"""`ridgeline diagnose`: whose argument is whose, what is written where, and the exit codes."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from ridgeline.core import BackendUnavailable, Diagnosis, ReadError, Run, TargetFailed, Unstable, UsageError
from ridgeline.core.documents import decode
from ridgeline.flows.trace import Tracing
from ridgeline.notebook import Notebook
from ridgeline.reporting import html_report, markdown, page, terminal

from .conftest import Flow

Call = Callable[..., tuple[int, str, str]]


def test_the_page_goes_to_stdout_and_progress_to_stderr(flow: Flow, run: Call, full_diagnosis: Diagnosis) -> None:
    code, out, err = run("diagnose", "model.onnx")
    assert code == 0
    assert out == terminal(page(full_diagnosis), 100)
    # The flow of the test ends at once, before the first line of progress.
    assert err == ""


def test_json_is_the_contract(flow: Flow, run: Call, full_diagnosis: Diagnosis) -> None:
    code, out, _ = run("diagnose", "model.onnx", "--json")
    assert code == 0
    assert json.loads(out)["schema"] == "ridgeline.diagnosis/1"
    assert decode(out.encode(), Diagnosis) == full_diagnosis


def test_trained_models_go_to_the_flow(flow: Flow, run: Call) -> None:
    assert run("diagnose", "--model", "own.model", "model.onnx")[0] == 0
    assert flow.options["trained"] == ("own.model",)


def test_markdown(flow: Flow, run: Call, full_diagnosis: Diagnosis) -> None:
    assert run("diagnose", "--markdown", "model.onnx")[1] == markdown(page(full_diagnosis))
    assert run("diagnose", "--markdown", "--json", "model.onnx")[0] == 2


@pytest.mark.parametrize(
    ("arguments", "text", "rest", "threads"),
    [
        (["--threads", "2", "model.onnx"], "model.onnx", (), 2),
        (["model.onnx", "--threads", "2"], "model.onnx", (), 2),
        (["file.py:work", "--threads", "2"], "file.py:work", (), 2),
        (["package.module:work", "--threads=2"], "package.module:work", (), 2),
        (["file.py", "--threads", "2", "-x"], "file.py", ("--threads", "2", "-x"), None),
        (["--threads", "3", "file.py", "--threads", "2"], "file.py", ("--threads", "2"), 3),
        (["file.py", "a", "--", "--json"], "file.py", ("a", "--", "--json"), None),
        (["--threads", "2", "--", "sleep", "1"], None, ("sleep", "1"), 2),
        (["--", "python", "-c", "--help", "--", "x"], None, ("python", "-c", "--help", "--", "x"), None),
        (["--", "file.py", "--json"], None, ("file.py", "--json"), None),
        (["--", ""], None, ("",), None),
        (["--budget", "5ms", "--", "--", "x"], None, ("--", "x"), None),
    ],
)  # fmt: skip
def test_whose_argument_is_whose(flow: Flow, run: Call, arguments: list[str], text: str | None, rest: tuple[str, ...], threads: int | None) -> None:
    assert run("diagnose", *arguments)[0] == 0
    assert (flow.spec["text"], flow.spec["arguments"], flow.spec["threads"]) == (text, rest, threads)


@pytest.mark.parametrize(
    "arguments",
    [
        "", "--json", "--", "--json --", "--nope model.onnx", "model.onnx --nope", "model.onnx extra", "--samples 0 m.onnx",
        "--time-budget nan m.onnx", "--time-budget inf m.onnx", "--budget soon m.onnx", "--budget -1ms m.onnx", "--use twice m.onnx",
        "--fail-on budget m.onnx", "--seed -1 m.onnx", "--notebook x --no-notebook m.onnx", "--notebook / m.onnx", "--threads 1e3 m.onnx",
    ],
)  # fmt: skip
def test_wrong_calls_end_with_two_before_anything_is_measured(flow: Flow, run: Call, arguments: str) -> None:
    code, out, err = run("diagnose", *arguments.split())
    assert code == 2
    assert flow.calls == 0
    assert out == ""
    assert err


def test_a_program_without_its_dashes_is_told_the_right_form(flow: Flow, run: Call) -> None:
    assert "did you mean `ridgeline diagnose -- sh copies.py 'a b'`?" in run("diagnose", "sh", "copies.py", "a b")[2]
    assert "did you mean `ridgeline diagnose -- ls -l`?" in run("diagnose", "ls", "-l")[2]
    # Ours stand before the command, as they were given; behind it everything is its own.
    assert "did you mean `ridgeline diagnose --quiet -- ls --json`?" in run("diagnose", "--quiet", "ls", "--json")[2]
    assert "if no-such-program is a program: `ridgeline diagnose -- no-such-program -l`" in run("diagnose", "no-such-program", "-l")[2]
    assert "--" not in run("diagnose", "model.onnx", "-l")[2].partition("; to do")[0]
    assert "model.onnx takes no arguments" in run("diagnose", "model.onnx", "extra")[2]


def test_options_reach_the_flow(flow: Flow, run: Call) -> None:
    given = ["--input", "in.npy", "--shape", "x=1x3", "--shape", "N=8", "--budget", "5ms@p99", "--use", "once", "--seed", "7"]
    run("diagnose", *given, "--time-budget", "3", "--samples", "40", "--no-notebook", "model.onnx")
    assert flow.spec == {
        "text": "model.onnx", "arguments": (), "input": "in.npy", "shapes": ("x=1x3", "N=8"), "threads": None, "seed": 7,
        "use": "once", "budget": "5ms@p99", "runtime": None, "synchronise": "auto",
    }  # fmt: skip
    assert (flow.options["time_budget_s"], flow.options["samples"], flow.options["notebook"]) == (3.0, 40, None)


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (UsageError("a", found="b", remedy="c"), 2), (ReadError("a"), 2), (TargetFailed("a"), 2), (Unstable("a"), 3), (BackendUnavailable("a"), 4),
        (KeyboardInterrupt(), 130), (ValueError("a"), 70), (MemoryError(), 2), (RecursionError("deep"), 70),
        (OSError(28, "No space left on device"), 2),
    ],
)  # fmt: skip
def test_every_end_is_one_line_and_its_exit_code(flow: Flow, run: Call, error: BaseException, code: int) -> None:
    flow.outcome = error
    found, out, err = run("diagnose", "--quiet", "model.onnx")
    assert found == code
    assert out == ""
    assert err.count("\n") == 1
    assert err.startswith("ridgeline: ")
    assert "Traceback" not in err


def test_a_fault_of_ours_says_how_to_report_and_shows_its_trace_on_demand(flow: Flow, run: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    flow.outcome = ValueError("line one\nline two")
    err = run("diagnose", "--quiet", "model.onnx")[2]
    assert "ValueError: line one line two" in err
    assert "RIDGELINE_DEBUG=1" in err
    monkeypatch.setenv("RIDGELINE_DEBUG", "1")
    assert "Traceback" in run("diagnose", "model.onnx")[2]


def test_an_interrupt_says_what_was_kept(flow: Flow, run: Call, stored_run: object) -> None:
    flow.outcome = KeyboardInterrupt()
    assert "nothing was kept" in run("diagnose", "--quiet", "model.onnx")[2]

    original = flow.diagnose

    def saving(spec: str, **options: object) -> Diagnosis:
        options["notebook"].save(stored_run)  # type: ignore[attr-defined]
        return original(spec, **options)

    import sys

    sys.modules["ridgeline.flows.diagnose"].diagnose = saving  # type: ignore[attr-defined]
    assert "ridgeline show 20260102T030405-00000abc" in run("diagnose", "--quiet", "model.onnx")[2]
    assert run("show", "last")[0] == 0


def test_strict_and_budget(flow: Flow, run: Call, full_diagnosis: Diagnosis, empty_diagnosis: Diagnosis) -> None:
    assert run("diagnose", "--fail-on", "budget", "--budget", "33.3ms@p99", "m.onnx")[0] == 0
    assert run("diagnose", "--fail-on", "budget", "--budget", "12ms", "m.onnx")[0] == 1
    assert run("diagnose", "--budget", "12ms", "m.onnx")[0] == 0
    assert run("diagnose", "--fail-on", "budget", "--budget", "20ms@p99", "m.onnx")[0] == 0
    assert run("diagnose", "--strict", "--fail-on", "budget", "--budget", "20ms@p99", "m.onnx")[0] == 3
    flow.outcome = empty_diagnosis
    assert run("diagnose", "m.onnx")[0] == 0
    assert run("diagnose", "--strict", "m.onnx")[0] == 3


def test_the_html_file_is_written_whole_and_only_with_force_over_another(flow: Flow, run: Call, tmp_path: Path, full_diagnosis: Diagnosis) -> None:
    file = tmp_path / "page.html"
    assert run("diagnose", "--html", str(file), "m.onnx")[0] == 0
    assert file.read_text("utf-8") == html_report(full_diagnosis)
    file.write_text("mine")
    calls = flow.calls
    code, _, err = run("diagnose", "--html", str(file), "m.onnx")
    assert (code, file.read_text(), flow.calls) == (2, "mine", calls)
    assert "--force" in err
    file.chmod(0o640)
    assert run("diagnose", "--html", str(file), "--force", "m.onnx")[0] == 0
    assert file.read_text("utf-8").startswith("<!DOCTYPE html>")
    assert file.stat().st_mode & 0o777 == 0o640
    assert [entry.name for entry in tmp_path.iterdir() if "page" in entry.name] == ["page.html"]


@pytest.mark.parametrize("arguments", [["diagnose", "m.onnx"], ["show", "last"], ["report", "last"]])
def test_html_on_stdout_is_the_file_and_nothing_else(
    flow: Flow, run: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stored_run: Run, arguments: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    with Notebook.open(tmp_path / "notebook.sqlite") as book:
        book.add(stored_run)
    assert run(*arguments, "--html", "page.html")[0] == 0
    code, out, err = run(*arguments, "--html", "-")
    assert (code, err) == (0, "")
    assert out == (tmp_path / "page.html").read_text("utf-8")
    code, out, err = run(*arguments, "--html", "-", "--json")
    assert (code, out) == (2, "")
    assert "one of --json and --html -" in err
    assert sorted(file.name for file in tmp_path.glob("*")) == ["notebook.sqlite", "page.html"]


@pytest.mark.parametrize("path", ["/", "nowhere/page.html", "x" * 300, "a\0b", "/dev/null/x", ""])
def test_a_file_that_cannot_be_written_is_known_beforehand(flow: Flow, run: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str) -> None:
    monkeypatch.chdir(tmp_path)
    code, out, err = run("diagnose", "--html", path, "m.onnx")
    assert (code, out, flow.calls) == (2, "", 0)
    assert err.count("\n") == 1


def test_the_page_is_not_lost_when_the_file_fails(flow: Flow, run: Call, tmp_path: Path, full_diagnosis: Diagnosis) -> None:
    directory = tmp_path / "gone"
    directory.mkdir()

    original = flow.diagnose

    def removing(spec: str, **options: object) -> Diagnosis:
        directory.rmdir()
        return original(spec, **options)

    import sys

    sys.modules["ridgeline.flows.diagnose"].diagnose = removing  # type: ignore[attr-defined]
    code, out, err = run("diagnose", "--html", str(directory / "page.html"), "--quiet", "m.onnx")
    assert code == 2
    assert out == terminal(page(full_diagnosis), 100)
    assert err.count("\n") == 1


def test_an_argument_that_is_not_utf8_is_refused(flow: Flow, run: Call) -> None:
    code, _, err = run("diagnose", "m\udcff.onnx")
    assert code == 2
    assert err == r"ridgeline: expected arguments in UTF-8; found: b'm\xff.onnx'; to do: write it in UTF-8" + "\n"
    assert flow.calls == 0


def test_a_file_whose_name_is_not_utf8_is_to_be_renamed(flow: Flow, run: Call, tmp_path: Path) -> None:
    path = os.fsencode(tmp_path) + b"/m\xff.onnx"
    with open(path, "w"):
        assert run("diagnose", os.fsdecode(path))[2].endswith("; to do: rename the file or folder\n")


@pytest.mark.parametrize("arguments", [["--\x1b[31mred", "m.onnx"], ["\x1b[31mred", "x"], ["--samples", "9" * 5000, "m.onnx"], ["q" * 100_000, "-l"]])
def test_what_was_typed_comes_back_short_and_without_control_characters(flow: Flow, run: Call, arguments: list[str]) -> None:
    code, out, err = run("diagnose", *arguments)
    assert (code, out) == (2, "")
    assert err[:-1].isprintable()
    assert len(err) < 1000
    assert err.endswith("see `ridgeline diagnose --help`\n")


def test_hostile_names_do_not_reach_the_terminal(flow: Flow, run: Call, full_diagnosis: Diagnosis) -> None:
    flow.outcome = msgspec.structs.replace(full_diagnosis, target="\x1b]0;title\x07", headline="\x1b[31mred\nline")
    out = run("diagnose", "m.onnx")[1]
    assert "\x1b" not in out
    assert "\x07" not in out


def test_how_to_trace_reaches_the_flow(flow: Flow, run: Call, tmp_path: Path) -> None:
    assert run("diagnose", "model.onnx")[0] == 0
    assert flow.options["tracing"] == Tracing(unasked=True)
    assert run("diagnose", "--no-trace", "model.onnx")[0] == 0
    assert flow.options["tracing"] is None
    assert run("diagnose", "--trace", "model.onnx")[0] == 0
    assert flow.options["tracing"] == Tracing()
    kept = tmp_path / "trace.json"
    given = ["--trace", "--trace-iterations", "3", "--trace-out", str(kept), "--trace-shapes", "--trace-stacks"]
    assert run("diagnose", *given, "model.onnx")[0] == 0
    assert flow.options["tracing"] == Tracing(iterations=3, shapes=True, stacks=True, file=str(kept))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("--trace --trace-iterations 1000", "`ridgeline bench`"),
        ("--trace --trace-iterations 101", "at most 100 iterations"),
        ("--trace --trace-iterations 0", "at least one iteration"),
        ("--trace-iterations 5", "--trace-iterations with --trace"),
        ("--trace-out x.json", "add --trace"),
        ("--no-trace --trace-out x.json", "found: --no-trace"),
        ("--trace-shapes", "add --trace"),
        ("--trace-stacks", "add --trace"),
        ("--trace --trace-out -", "a file for --trace-out"),
        ("--trace --trace-out .", "a file to write"),
        ("--trace --trace-out /nowhere/at/all.json", "a file that can be written"),
    ],
)
def test_traces_that_are_refused_before_anything_is_measured(flow: Flow, run: Call, arguments: str, words: str) -> None:
    code, out, err = run("diagnose", *arguments.split(), "model.onnx")
    assert (code, out, flow.calls) == (2, "", 0)
    assert words in err


def test_a_trace_is_not_written_over_what_is_there(flow: Flow, run: Call, tmp_path: Path) -> None:
    kept = tmp_path / "trace.json"
    kept.write_text("mine")
    assert run("diagnose", "--trace", "--trace-out", str(kept), "model.onnx")[0] == 2
    assert flow.calls == 0
    assert run("diagnose", "--trace", "--trace-out", str(kept), "--force", "model.onnx")[0] == 0
    assert kept.read_text() == "mine"
