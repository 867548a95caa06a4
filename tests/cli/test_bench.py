"""`ridgeline bench` as a command: options, page, JSON, bad input, an interrupt."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from ridgeline.core import BenchReport
from ridgeline.core.documents import decode

Call = Callable[..., tuple[int, str, str]]


@pytest.fixture
def target(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("RIDGELINE_NOTEBOOK", str(tmp_path / "notebook.sqlite"))
    monkeypatch.setenv("COLUMNS", "120")
    file = tmp_path / "work.py"
    file.write_text("import time\ndef work():\n    return sum(range(200))\ndef slow():\n    time.sleep(0.2)\n")
    return f"{file}:work"


def test_the_page_says_what_was_measured_and_how(target: str, run: Call) -> None:
    code, out, err = run("bench", "--processes", "2", "--samples", "20", target)
    assert code == 0, err
    for part in ("HOW LONG IT TAKES", "latency", "throughput", "not 1 ÷ latency", "first call", "more calls needed", "a kept sample costs", "run "):
        assert part in out, part
    identity = out.split("\n")[-2].split()[-1] if not out.endswith("\n\n") else ""
    code, shown, err = run("show", "latest")
    assert code == 0, err
    assert shown.splitlines()[0] == out.splitlines()[0], identity


def test_json_is_the_report_and_nothing_else(target: str, run: Call) -> None:
    code, out, _ = run("bench", "--processes", "1", "--samples", "20", "--json", "--no-notebook", target)
    assert code == 0
    report = decode(out.encode(), BenchReport)
    assert json.loads(out)["schema"] == "ridgeline.bench/1"
    assert report.run is None
    assert report.command.startswith("ridgeline bench --processes 1")


def test_options_after_a_function_are_ours_and_after_a_command_the_commands(target: str, run: Call) -> None:
    code, out, err = run("bench", target, "--processes", "1", "--samples", "5", "--no-notebook", "--markdown")
    assert code == 0, err
    assert out.startswith("# ")
    program = "import sys; assert sys.argv[1:] == ['--json']"
    code, out, err = run("bench", "--processes", "2", "--no-notebook", "--", sys.executable, "-c", program, "--json")
    assert code == 0, err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--json", "--markdown"), "one of --json and --markdown"),
        (("--time-budget", "nan"), "a finite number"),
        (("--time-budget", "-1"), "--time-budget"),
        (("--processes", "0"), "--processes"),
        (("--samples", "many"), "--samples"),
        (("--resume", "nothing"), "nothing"),
        (("--resume", "latest", "--no-notebook"), "a notebook"),
        (("--lock-gpu-clock", "fast"), "fast"),
        (("--synchronise", "somehow"), "somehow"),
        (("--input", "/nowhere/at/all"), "--input"),
    ],
)
def test_bad_options_are_one_line(target: str, run: Call, arguments: tuple[str, ...], said: str) -> None:
    code, out, err = run("bench", *arguments, target)
    assert code == 2
    assert out == ""
    assert said in err
    assert len(err.strip().splitlines()) == 1


def test_a_target_that_fails_is_one_line(target: str, run: Call, tmp_path: Path) -> None:
    for bad in (str(tmp_path), str(tmp_path / "missing.py:work"), target.replace(":work", ":nothing"), "no/such.onnx"):
        code, out, err = run("bench", "--no-notebook", bad)
        assert code == 2, err
        assert out == ""
        assert "Traceback" not in err
    (tmp_path / "empty.onnx").write_bytes(b"")
    code, _, err = run("bench", "--no-notebook", str(tmp_path / "empty.onnx"))
    assert code in {2, 4}, err
    assert "Traceback" not in err


def test_an_interrupt_keeps_what_was_measured_and_it_goes_on(target: str, run: Call, tmp_path: Path) -> None:
    slow = target.replace(":work", ":slow")
    command = [sys.executable, "-m", "ridgeline", "bench", "--processes", "4", "--samples", "6", "--time-budget", "30", slow]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
    for _ in range(600):  # until something is in the notebook
        if run("show", "latest", "--json")[0] == 0:
            break
        assert process.poll() is None, process.communicate()
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert out == ""
    line = err.strip().splitlines()[-1]
    assert "what was measured so far is kept: ridgeline bench --resume" in line
    code, out, err = run("bench", "--processes", "4", "--samples", "6", "--resume", "latest", "--json", slow)
    assert code == 0, err
    assert decode(out.encode(), BenchReport).ground_truth.processes == 4
