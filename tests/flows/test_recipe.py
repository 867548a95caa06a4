"""The reproduction recipe: run in an empty folder it measures the same thing the same way, and what it cannot bring back it says."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from ridgeline.core import Run, Setting
from ridgeline.flows.recipe import recipe_of
from ridgeline.notebook import Notebook
from support.notebook_entries import benchmarked

_GIT = ["git", "-c", "user.name=Ann", "-c", "user.email=ann@example.org", "-c", "init.defaultBranch=main"]
_PATH = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"


def _run(command: list[str], directory: Path, notebook: Path) -> str:
    environment = {**os.environ, "PATH": _PATH, "RIDGELINE_NOTEBOOK": str(notebook)}
    done = subprocess.run(command, cwd=directory, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A clone of a repository with a program in a folder of it; the notebook lies beside."""
    origin, work = tmp_path / "origin.git", tmp_path / "work"
    for command in ([*_GIT, "init", "--quiet", "--bare", str(origin)], [*_GIT, "clone", "--quiet", str(origin), str(work)]):
        subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
    (work / "sub").mkdir()
    (work / "sub" / "t.py").write_text("def work():\n    return sum(range(1000))\n")
    for command in ([*_GIT, "add", "."], [*_GIT, "commit", "--quiet", "-m", "one"], [*_GIT, "push", "--quiet", "origin", "HEAD"]):
        subprocess.run(command, check=True, cwd=work, stderr=subprocess.DEVNULL)
    return work


@pytest.mark.parametrize(
    "line",
    [
        ["ridgeline", "bench", "--processes", "3", "--samples", "20", "--time-budget", "2", "--seed", "7", "t.py:work"],
        ["ridgeline", "diagnose", "--samples", "40", "--time-budget", "1", "--threads", "1", "--html", "page.html", "t.py:work"],
    ],
    ids=["bench", "diagnose"],
)
def test_run_in_an_empty_folder_it_measures_the_same_thing_the_same_way(clone: Path, tmp_path: Path, line: list[str]) -> None:
    notebook = tmp_path / "n.sqlite"
    _run(line, clone / "sub", notebook)
    # The original goes on: the recipe must bring back what was measured then.
    (clone / "sub" / "t.py").write_text("def work():\n    return sum(range(5000))\n")
    for command in ([*_GIT, "commit", "--quiet", "-am", "two"], [*_GIT, "push", "--quiet", "origin", "HEAD"]):
        subprocess.run(command, check=True, cwd=clone, stderr=subprocess.DEVNULL)
    recipe = json.loads(_run(["ridgeline", "show", "latest", "--recipe", "--json"], tmp_path, notebook))
    assert [warning["code"] for warning in recipe["warnings"]] == []
    commands = [step["command"] for step in recipe["steps"]]
    # Installing needs a network, and what a comparison says of two short runs is not the question.
    steps = [command for command in commands if not command.startswith("python -m pip ") and " compare " not in command]
    assert len(steps) == len(commands) - 2
    empty = tmp_path / "empty"
    empty.mkdir()
    _run(["sh", "-e", "-c", "\n".join(steps)], empty, notebook)
    with Notebook.open(notebook) as book:
        first, again = book.get("-2"), book.get("-1")
    assert (again.verb, again.commit, again.directory, again.facts.target.digest) == (
        first.verb, first.commit, "sub", first.facts.target.digest,
    )  # fmt: skip
    assert (again.software, again.facts.target.threads, again.facts.target.environment) == (
        first.software, first.facts.target.threads, first.facts.target.environment,
    )  # fmt: skip
    # How many calls warm it up is found from the data; all else of the method is settled.
    assert _settled(again.method) == _settled(first.method)
    assert first.facts.target.loaded is not None
    assert not {"torch", "jax", "openvino"} & set(first.facts.target.loaded)
    assert not any(name in recipe["steps"][3]["command"] for name in ("torch", "jax", "openvino"))
    if first.bench is not None:
        assert again.bench is not None
        assert again.bench.seed == first.bench.seed == 7
        assert again.command == first.command
    else:
        assert shlex.split(first.command)[-3:-1] == ["--html", "page.html"]
        assert "--html" not in again.command


def _settled(method: str) -> str:
    # Level 2 and up depend on what a diagnosis finds; its first part is the recipe of the ground truth.
    ground = method.partition("; level 2")[0]
    # How many calls make a sample follows from how long one takes.
    return " ".join("call" if word == "calls" else word for word in ground.split() if not word.isdecimal())


def _codes(run: Run, **here: Any) -> list[str]:
    return [warning.code for warning in recipe_of(run, **here).warnings]


def test_what_cannot_be_brought_back_is_said(stored_run: Run) -> None:
    clean = msgspec.structs.replace(stored_run, commit="0123", command="ridgeline diagnose t.py:f", repository="https://example.org/r.git")
    assert _codes(clean) == []
    assert _codes(msgspec.structs.replace(clean, commit="0123+dirty")) == ["dirty-tree"]
    assert _codes(msgspec.structs.replace(clean, commit=None)) == ["no-commit"]
    for line in ("ridgeline diagnose /data/model.onnx", "ridgeline diagnose --input=/data/x m.onnx", "ridgeline diagnose ../../m.onnx"):
        assert _codes(msgspec.structs.replace(clean, command=line, directory="sub")) == ["outside-repository"], line
    assert _codes(msgspec.structs.replace(clean, command="ridgeline diagnose ../m.onnx", directory="sub")) == []
    other = msgspec.structs.replace(stored_run.facts.machine, fingerprint="other")
    assert _codes(clean, here=other) == ["other-machine"]
    assert _codes(clean, here=stored_run.facts.machine, software=stored_run.software) == []
    assert _codes(clean, software={**stored_run.software, "numpy": "1"}) == ["other-software"]
    bench = benchmarked(clean, "b").bench
    assert bench is not None
    tuned = msgspec.structs.replace(bench, settings=(Setting(name="governor", used="performance", state="set"),))
    assert _codes(msgspec.structs.replace(clean, bench=tuned)) == ["settings"]


def _commands(run: Run) -> list[str]:
    return [step.command for step in recipe_of(run).steps]


def test_the_line_is_the_one_that_was_given_without_where_results_went(stored_run: Run) -> None:
    def measuring(line: str) -> str:
        return _commands(msgspec.structs.replace(stored_run, command=line))[-3]

    assert measuring("ridgeline diagnose --json --seed 3 m.onnx --html out.html --force") == "ridgeline diagnose --seed 3 m.onnx"
    assert measuring("ridgeline diagnose --html=out.html m.onnx --markdown") == "ridgeline diagnose m.onnx"
    # What stands behind a script or -- is the target's own.
    assert measuring("ridgeline diagnose --quiet run.py --json --force") == "ridgeline diagnose run.py --json --force"
    assert measuring("ridgeline bench -- prog --json 'a b'") == "ridgeline bench -- prog --json 'a b'"
    assert measuring("ridgeline diagnose 'unclosed") == "ridgeline diagnose 'unclosed"


def test_words_that_a_shell_would_read_are_quoted(stored_run: Run) -> None:
    target = msgspec.structs.replace(stored_run.facts.target, environment={"A": "x; rm -rf ~", "B C": "not a name"}, threads=2, spec="a b.onnx")
    facts = msgspec.structs.replace(stored_run.facts, target=target)
    run = msgspec.structs.replace(stored_run, facts=facts, repository="https://example.org/$(x)", commit="0;1", directory="a b", command="")
    clone, checkout, folder, measure, *_ = _commands(run)
    assert clone.startswith("git clone 'https://example.org/$(x)' ")
    assert checkout == "git checkout --detach '0;1'"
    assert folder == "cd 'a b'"
    assert measure == "A='x; rm -rf ~' ridgeline diagnose --threads 2 'a b.onnx'"


def test_packages_are_those_that_pip_can_find(stored_run: Run) -> None:
    run = msgspec.structs.replace(stored_run, software={"python": "3.11.7", "torch": "2.13.0+cpu", "numpy": "2.4.6"})
    (step,) = [step for step in recipe_of(run).steps if "pip" in step.command]
    assert step.command == "python -m pip install numpy==2.4.6 torch==2.13.0"
    assert "3.11.7" in step.purpose
    assert "torch 2.13.0+cpu" in step.purpose


def test_a_run_outside_a_repository_has_no_checkout(stored_run: Run) -> None:
    assert not any("git" in command for command in _commands(msgspec.structs.replace(stored_run, commit=None)))
    unknown = recipe_of(msgspec.structs.replace(stored_run, repository=""))
    assert unknown.steps[0].command == ""
    assert "clone" in unknown.steps[0].purpose


def test_only_packages_that_were_in_use_are_installed_again(stored_run: Run) -> None:
    software = {"python": "3.11.7", "ridgeline": "0.1", "numpy": "2.4", "torch": "2.13.0+cpu", "onnxruntime-gpu": "1.3", "py-spy": "0.4"}

    def installed(*loaded: str, method: str = "") -> str:
        target = msgspec.structs.replace(stored_run.facts.target, loaded=loaded or None)
        facts = msgspec.structs.replace(stored_run.facts, target=target)
        run = msgspec.structs.replace(stored_run, software=software, facts=facts, method=method)
        other = {**software, "torch": "1", "numpy": "2.4"}
        assert ("other-software" in _codes(run, software=other)) == ("torch" in (loaded or ("torch",)))
        purposes = [step.purpose for step in recipe_of(run).steps if " pip install " in step.command]
        assert [("not known" in purpose) for purpose in purposes] == [not loaded]
        (line,) = [command for command in _commands(run) if " pip install " in command]
        return line.partition(" pip install ")[2]

    assert installed("numpy") == "numpy==2.4 ridgeline==0.1"
    assert installed("onnxruntime") == "onnxruntime-gpu==1.3 ridgeline==0.1"
    assert installed("numpy", method="level 5: py-spy") == "numpy==2.4 py-spy==0.4 ridgeline==0.1"
    # Of a command nobody knows.
    assert installed() == "numpy==2.4 onnxruntime-gpu==1.3 py-spy==0.4 ridgeline==0.1 torch==2.13.0"
