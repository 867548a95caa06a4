"""`tune` for real: worker processes, a device that behaves badly on purpose, kills, the notebook, a model without a SPEC."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import ridgeline
from ridgeline.backends.simulated import behaviour, true_seconds
from ridgeline.core import TuneReport, UsageError
from ridgeline.core.documents import decode, encode
from ridgeline.flows.tune import tune
from ridgeline.flows.tuning.record import read_record
from ridgeline.flows.tuning.resolve import job_of
from ridgeline.flows.tuning.sources import read_spec
from ridgeline.machine import Workers, process_tree
from ridgeline.notebook import Notebook

SPEC = """
schema = "ridgeline.tuning/1"
name = "sum"
[kernel]
runner = "simulated"
noise = 0.01
{options}
[kernel.constants]
n = 64
[[kernel.arguments]]
name = "x"
shape = ["n"]
[[kernel.arguments]]
name = "y"
shape = ["n"]
output = true
{check}
[parameters]
tile = [8, 16, 32, 64]
unroll = [1, 2, 4, 8]
pack = [true, false]
[limits]
build = "3s"
run = "1s"
memory = "512 MiB"
"""
CHECK = "[kernel.check]\nreference = {tile = 8, unroll = 1, pack = true}"


def written(folder: Path, options: str = "", check: str = "") -> str:
    path = folder / "sum.toml"
    path.write_text(SPEC.format(options=options, check=check))
    return str(path)


def test_a_device_that_crashes_hangs_and_lies(tmp_path: Path) -> None:
    """Each behaviour for some values; what is fast and wrong never wins, the true best does, and each failure has its kind."""
    spec = written(
        tmp_path,
        "[kernel.behaviours]\n"
        "crashes = [{tile = 16, unroll = 1}]\n"
        "loops = [{tile = 16, unroll = 2, pack = true}]\n"
        "hangs-building = [{tile = 16, unroll = 2, pack = false}]\n"
        "exits = [{tile = 32, unroll = 1}]\n"
        "memory = [{tile = 32, unroll = 2}]\n"
        "wrong = [{tile = 64, unroll = 1}]\n"
        "once = [{tile = 64, unroll = 2}]\n"
        "nan = [{tile = 64, unroll = 4}]\n"
        "no-compile = [{tile = 64, unroll = 8}]\n"
        "invalid = [{tile = 32, unroll = 8}]\n",
        CHECK,
    )
    found = tune(spec, record=str(tmp_path / "r.jsonl"), trials=32)
    assert found.failures == {"compile": 2, "crash": 4, "invalid": 2, "memory": 2, "timeout": 2, "wrong-output": 6}
    assert (found.unique_evaluations, found.stopped) == (32, "trials")
    read = read_spec(spec)
    right = [trial.config for trial in read_record(tmp_path / "r.jsonl").trials if not behaviour(job_of(read, trial.config))]
    best = min(true_seconds(job_of(read, config)) for config in right)
    assert found.best is not None
    assert true_seconds(job_of(read, found.best.config)) <= 1.01 * best
    assert all(trial.text for trial in read_record(tmp_path / "r.jsonl").trials if trial.failure)


def test_several_workers_compile_and_what_does_not_is_recorded(tmp_path: Path) -> None:
    spec = written(tmp_path, "share = {no-compile = 0.3}")
    found = tune(spec, record=str(tmp_path / "r.jsonl"), trials=32, workers=2, cache=str(tmp_path / "cache"))
    assert found.unique_evaluations == 32
    read, trials = read_spec(spec), read_record(tmp_path / "r.jsonl").trials
    configs = {repr(trial.config): trial.config for trial in trials}.values()
    assert found.failures == {"compile": sum(behaviour(job_of(read, config)) == "no-compile" for config in configs)}
    # What was compiled beforehand is not compiled again where it is measured.
    assert all(trial.build_s == 0.0 for trial in trials if trial.failure is None)


def test_workers_that_are_lost_cost_no_trial(tmp_path: Path) -> None:
    """Two devices of a kind, whose workers are killed from outside again and again: each trial was given to another one."""
    spec = written(tmp_path, "real = true\nseconds = 0.02")
    stop = threading.Event()

    def killer() -> None:
        while not stop.wait(1.5):
            for process in process_tree(os.getpid())[1:2]:
                os.kill(process, signal.SIGKILL)

    thread = threading.Thread(target=killer)
    with Workers(2, preload="ridgeline.backends.attempts") as workers:
        thread.start()
        try:
            found = tune(spec, trials=20, runs=3, executor=workers)
        finally:
            stop.set()
            thread.join()
    assert found.unique_evaluations == 20
    # A trial whose second worker is killed as well counts as lost for want of memory.
    assert sum(found.failures.values()) <= 1


def test_a_kill_of_everything_loses_at_most_what_was_in_flight(tmp_path: Path) -> None:
    spec, path = written(tmp_path), tmp_path / "r.jsonl"
    command = [sys.executable, "-m", "ridgeline", "tune", spec, "--record", str(path), "--resume", "--no-notebook", "--quiet", "--json"]
    process = subprocess.Popen([*command, "--trials", "32"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and (not path.exists() or path.read_bytes().count(b"\n") < 6):
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    before = read_record(path).trials
    assert len(before) >= 5
    found = tune(spec, record=str(path), resume=True, trials=32)
    assert read_record(path).trials[: len(before)] == before
    assert (found.unique_evaluations, found.resumed_from) == (32, str(path))


def test_an_interrupt_of_the_command_writes_the_best_so_far(tmp_path: Path) -> None:
    spec, path = written(tmp_path, "real = true\nseconds = 0.01"), tmp_path / "r.jsonl"
    command = [sys.executable, "-m", "ridgeline", "tune", spec, "--record", str(path), "--no-notebook", "--quiet", "--json", "--runs", "5"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and (not path.exists() or path.read_bytes().count(b"\n") < 6):
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    found = decode(out, TuneReport)
    assert (found.stopped, found.record) == ("interrupted", str(path))
    assert found.best is not None
    assert found.trials == len(read_record(path).trials)


def test_the_notebook_keeps_the_report_and_the_trials(tmp_path: Path) -> None:
    with Notebook.open(tmp_path / "n.sqlite") as notebook:
        found = tune(written(tmp_path), trials=12, notebook=notebook, command="ridgeline tune sum.toml")
        assert found.run is not None
        run = notebook.get(found.run)
        (line,) = notebook.runs()
    assert (run.verb, run.tuned, run.command) == ("tune", found, "ridgeline tune sum.toml")
    assert len(run.trials) == found.trials
    assert found.best is not None
    assert (line.target, line.median_s) == ("sum", found.best.objective)


def test_a_reference_that_does_not_run_is_said_before_anything_is_tried(tmp_path: Path) -> None:
    spec = written(tmp_path, "behaviours = {no-compile = [{tile = 8}]}", CHECK)
    with pytest.raises(ridgeline.RidgelineError, match="a reference that runs"):
        tune(spec, record=str(tmp_path / "r.jsonl"))
    assert not (tmp_path / "r.jsonl").exists()


def test_another_source_is_another_record(tmp_path: Path) -> None:
    path = str(tmp_path / "r.jsonl")
    tune(written(tmp_path, 'source = "one"'), record=path, trials=4)
    with pytest.raises(UsageError, match="source"):
        tune(written(tmp_path, 'source = "two"'), record=path, trials=8, resume=True)


def test_a_function_needs_no_spec(tmp_path: Path) -> None:
    (tmp_path / "work.py").write_text("def work():\n    return sum(range(20000))\n")
    found = tune(f"{tmp_path / 'work.py'}:work", trials=4, runs=3)
    assert found.best is not None
    assert found.default is not None
    assert found.unique_evaluations <= 4
    assert set(found.how) == {each.name for each in found.space.parameters}
    assert any(found.how.values())
    assert decode(encode(found), TuneReport) == found


def test_a_specification_as_an_object(tmp_path: Path) -> None:
    found = ridgeline.tune(read_spec(written(tmp_path)), trials=6, seed=3)
    assert (found.target, found.seed, found.shape) == ("sum", 3, {"n": 64})
