"""`diagnose --try` and `log --promises` as a person types them."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from ridgeline.core import Experiment
from ridgeline.machine import process_tree, scratch_folder
from ridgeline.notebook import Notebook, new_run_id


def test_nothing_is_tried_unasked(flow, run):
    assert run("diagnose", "model.onnx")[0] == 0
    assert flow.options["trying"] is None


def test_budget_and_precisions_reach_the_flow(flow, run):
    code, _, err = run("diagnose", "--try", "--try-budget", "30", "--allow-precision", "bf16", "model.onnx")
    assert (code, err) == (0, "")
    assert flow.options["trying"].budget_s == 30.0
    assert flow.options["trying"].precisions == {"bf16"}
    run("diagnose", "--try", "--allow-precision", "none", "model.onnx")
    assert flow.options["trying"].precisions == frozenset()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--try-budget", "30"], "--try-budget with --try"),
        (["--allow-precision", "bf16"], "--allow-precision with --try"),
        (["--try", "--allow-precision", "bf16", "--allow-precision", "none"], "none alone"),
        (["--try", "--try-budget", "nan"], "time for trying"),
        (["--try", "--try-budget", "0"], "try-budget"),
        (["--try", "--allow-precision", "fp8"], "fp8"),
    ],
)
def test_options_that_mean_nothing_are_one_line(flow, run, options, words):
    code, out, err = run("diagnose", *options, "model.onnx")
    assert (code, out, flow.calls) == (2, "", 0)
    assert words in err
    assert err.count("\n") == 1


def test_promises_of_a_notebook(run, tmp_path, full_diagnosis):
    place = str(tmp_path / "notes.sqlite")
    action = full_diagnosis.actions[0]
    with Notebook.open(place) as notebook:
        for promise in ("kept", "kept", "refuted"):
            made = Experiment(
                diagnosis="r", action=action, before="t", after="t with c", found=(1.4, 1.5), verdict="faster", promise=promise, change="c"
            )
            notebook.add_experiment(made, new_run_id())
        notebook.add_experiment(Experiment(diagnosis="r", action=None, before="t", after="t", verdict="same", change="gc-freeze"), new_run_id())
    code, out, _ = run("log", "--promises", "--notebook", place)
    assert code == 0
    assert "quantise-weights" in out
    assert "2 of 3 (21–94 %)" in out
    assert "1 same" in " ".join(out.split())
    document = json.loads(run("log", "--promises", "--json", "--notebook", place)[1])
    assert document["schema"] == "ridgeline.promises/1"
    assert (document["total"]["kept"], document["total"]["refuted"]) == (2, 1)
    assert len(document["experiments"]) == 4


def test_promises_of_no_notebook(run, tmp_path, monkeypatch):
    monkeypatch.setenv("RIDGELINE_NOTEBOOK", str(tmp_path / "none.sqlite"))
    code, out, _ = run("log", "--promises")
    assert code == 0
    assert "--try" in out
    code, _, err = run("log", "--promises", "--notebook", str(tmp_path / "other.sqlite"))
    assert code == 2
    assert err.count("\n") == 1


_PROGRAM = "def f():\n    return sum(range(2000))\n"
_ENOUGH_S = 240.0


@contextlib.contextmanager
def trying_for_long(folder: Path) -> Iterator[subprocess.Popen[str]]:
    """A run that is in the middle of a trial, its temporary files in `folder`/tmp; whatever becomes of it, it is gone at the end."""
    (folder / "tmp").mkdir()
    (folder / "program.py").write_text(_PROGRAM)
    environment = {**os.environ, "TMPDIR": str(folder / "tmp"), "RIDGELINE_NOTEBOOK": str(folder / "notes.sqlite")}
    options = ["--quiet", "--time-budget", "1", "--samples", "50", "--try", "--try-budget", "3000"]
    command = [sys.executable, "-m", "ridgeline", "diagnose", *options, f"{folder / 'program.py'}:f"]
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    try:
        end = time.monotonic() + _ENOUGH_S
        while not list((folder / "tmp").glob("ridgeline-try-*/outputs")) and process.poll() is None and time.monotonic() < end:
            time.sleep(0.05)
        assert list((folder / "tmp").glob("ridgeline-try-*/outputs")), "the run has begun a trial"
        yield process
    finally:
        process.kill()
        process.wait()


def gone(processes: list[int]) -> bool:
    end = time.monotonic() + _ENOUGH_S
    while time.monotonic() < end:
        alive = [pid for pid in processes if Path(f"/proc/{pid}/stat").exists() and ") Z" not in Path(f"/proc/{pid}/stat").read_text()]
        if not alive:
            return True
        time.sleep(0.05)
    return False


def test_a_run_that_is_told_to_end_says_so_keeps_what_it_has_and_leaves_nothing(tmp_path):
    with trying_for_long(tmp_path) as process:
        children = process_tree(process.pid)[1:]
        assert children
        process.send_signal(signal.SIGTERM)
        _, said = process.communicate(timeout=_ENOUGH_S)
    assert process.returncode == 128 + signal.SIGTERM
    assert said.count("\n") == 1
    assert "ended by SIGTERM" in said
    assert gone(children)
    assert list((tmp_path / "tmp").iterdir()) == []
    with Notebook.open(tmp_path / "notes.sqlite") as notebook:
        (kept,) = notebook.runs(None)
    assert kept.id in said


def test_a_run_that_is_killed_leaves_no_process_and_its_folder_goes_with_the_next(tmp_path, monkeypatch):
    with trying_for_long(tmp_path) as process:
        children = process_tree(process.pid)[1:]
        process.send_signal(signal.SIGKILL)
        process.communicate(timeout=_ENOUGH_S)
    assert gone(children)
    assert len(list((tmp_path / "tmp").iterdir())) == 1
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    monkeypatch.setattr("tempfile.tempdir", None)
    with scratch_folder("next"):
        assert len(list((tmp_path / "tmp").iterdir())) == 1, "its own"
    assert list((tmp_path / "tmp").iterdir()) == []
