"""The GitHub Action: its form, and its script run for real on a repository of two commits with the variables of a pull request."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))
STEPS = ACTION["runs"]["steps"]
WORK = "def work(count):\n    total = 0\n    for at in range(count):\n        total += at * at\n    return total\n"


def test_its_form_is_that_of_a_composite_action() -> None:
    assert ACTION["runs"]["using"] == "composite"
    assert ACTION["name"]
    assert ACTION["description"]
    for name, given in ACTION["inputs"].items():
        assert set(given) <= {"description", "required", "default"}, name
        assert given.get("required") or isinstance(given["default"], str), name
    for name, given in ACTION["outputs"].items():
        assert re.fullmatch(r"\$\{\{ steps\.gate\.outputs\.[a-z-]+ \}\}", given["value"]), name
    for step in STEPS:
        assert ("run" in step) != ("uses" in step)
        if "run" in step:
            assert step["shell"] == "bash"


def test_nobody_elses_action_is_used_but_those_of_github() -> None:
    assert {step["uses"].partition("@")[0] for step in STEPS if "uses" in step} <= {"actions/checkout", "actions/setup-python"}


def test_no_input_becomes_text_of_a_script() -> None:
    used = set()
    for step in STEPS:
        assert "${{" not in step.get("run", "")
        used |= set(re.findall(r"inputs\.([a-z-]+)", str(step)))
    assert used == set(ACTION["inputs"])


def test_every_output_is_written_and_every_variable_is_given() -> None:
    gate = next(step for step in STEPS if step.get("id") == "gate")
    for name in ACTION["outputs"]:
        assert f'echo "{name}=' in gate["run"]
    assert set(re.findall(r"RIDGELINE_[A-Z_]+", gate["run"])) == set(gate["env"])


@pytest.mark.parametrize("step", [step for step in STEPS if "run" in step], ids=lambda step: step["name"])
def test_its_scripts_parse(step: dict[str, Any]) -> None:
    assert subprocess.run(["bash", "-n"], input=step["run"], text=True, capture_output=True, timeout=60).stderr == ""


def _git(folder: Path, *arguments: str) -> None:
    identity = ["-c", "user.name=n", "-c", "user.email=e@e", "-c", "init.defaultBranch=main"]
    subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True, timeout=60)


@pytest.fixture
def pull_request(tmp_path: Path) -> Path:
    """A clone whose origin has `main`, with a change on top that makes one of two benchmarks twice as long."""
    origin, clone = tmp_path / "origin", tmp_path / "clone"
    origin.mkdir()
    _git(origin, "init", "-q")
    (origin / "bench.py").write_text(f"{WORK}def bench_same():\n    return work(3000)\n\n\ndef bench_slow():\n    return work(3000)\n")
    _git(origin, "add", "-A")
    _git(origin, "commit", "-q", "-m", "before")
    _git(tmp_path, "clone", "-q", str(origin), str(clone))
    (clone / "bench.py").write_text(f"{WORK}def bench_same():\n    return work(3000)\n\n\ndef bench_slow():\n    return work(6000)\n")
    _git(clone, "commit", "-q", "-a", "-m", "after")
    return clone


def _gate(folder: Path, tmp_path: Path, **inputs: str) -> tuple[int, dict[str, str], str, str]:
    """Run the step `gate` as GitHub does; exit code, outputs, summary and what it said."""
    step = next(step for step in STEPS if step.get("id") == "gate")
    values = {name: given.get("default", "") for name, given in ACTION["inputs"].items()} | {name.replace("_", "-"): v for name, v in inputs.items()}
    given = {name: values[re.findall(r"inputs\.([a-z-]+)", text)[0]] for name, text in step["env"].items()}
    output, summary = tmp_path / "output", tmp_path / "summary"
    for file in (output, summary):
        file.write_text("")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("GITHUB_", "GIT_", "RIDGELINE_", "PYTEST_"))}
    environment |= given | {
        "GITHUB_OUTPUT": str(output), "GITHUB_STEP_SUMMARY": str(summary), "GITHUB_BASE_REF": "main", "RUNNER_TEMP": str(tmp_path),
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
    }  # fmt: skip
    script = tmp_path / "step.sh"
    script.write_text(step["run"])
    command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", str(script)]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=200)
    outputs = dict(line.split("=", 1) for line in output.read_text().splitlines())
    return done.returncode, outputs, summary.read_text(), done.stderr


def test_a_change_that_is_slower_fails_and_the_summary_says_which(pull_request: Path, tmp_path: Path) -> None:
    options = "--time-budget 0.5 --confirm-budget 1 --processes 4 --confirm-processes 6"
    code, outputs, summary, said = _gate(pull_request, tmp_path, targets="bench.py", margin="30%", options=options)
    assert (code, outputs["state"], outputs["exit-code"]) == (1, "red", "1"), said
    assert "bench\\_slow | regression" in summary
    assert "bench\\_same | regression" not in summary
    assert Path(outputs["comment"]).read_text("utf-8") == summary
    assert 'failures="1"' in Path(outputs["junit"]).read_text("utf-8")
    # Nothing is left of the checked-out baseline.
    listed = subprocess.run(["git", "worktree", "list"], cwd=pull_request, capture_output=True, text=True, timeout=60).stdout
    assert len(listed.splitlines()) == 1


def test_what_cannot_be_checked_is_an_error_with_a_summary(pull_request: Path, tmp_path: Path) -> None:
    code, outputs, summary, said = _gate(pull_request, tmp_path, targets="none.toml")
    assert (code, outputs["state"]) == (2, "error")
    assert "Nothing could be checked" in summary
    assert "none.toml" in said
    # A name that would be a command if a shell read it.
    code, _, _, said = _gate(pull_request, tmp_path, targets="bench.py", baseline="$(touch hacked); touch hacked")
    assert code == 2
    assert not (pull_request / "hacked").exists()
