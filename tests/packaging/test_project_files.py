"""Locks are exact and name no registry; the model of the demo is found; scripts parse."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LOCKS = sorted((ROOT / "requirements").glob("*.txt"))


def pins(path: Path) -> dict[str, str]:
    lines = [line for line in path.read_text().splitlines() if line and not line.startswith("#")]
    return {re.sub(r"[-_.]+", "-", name).lower(): version for name, version in (line.split("==") for line in lines)}


@pytest.mark.parametrize("path", LOCKS, ids=lambda path: path.name)
def test_locks_are_exact_and_name_no_registry(path: Path) -> None:
    text = path.read_text()
    assert "://" not in text
    assert "--" not in re.sub(r"^#.*$", "", text, flags=re.MULTILINE)
    for line in text.splitlines():
        assert line.startswith("#") or re.fullmatch(r"[A-Za-z0-9._-]+==[A-Za-z0-9.]+", line), line


def test_locks_agree_and_the_larger_hold_the_smaller() -> None:
    demo, check, test = (pins(ROOT / "requirements" / f"{name}.txt") for name in ("demo", "check", "test"))
    assert demo.items() <= check.items() <= test.items()
    assert test["torch"] == "2.13.0"
    assert "torch" not in demo


def test_locks_hold_every_direct_requirement() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    demo = pins(ROOT / "requirements" / "demo.txt")
    wanted = [*project["dependencies"], *project["optional-dependencies"]["onnx"], *project["optional-dependencies"]["sampling"]]
    for requirement in wanted:
        assert re.sub(r"[-_.]+", "-", re.split(r"[<>=\[;]", requirement)[0]).lower() in demo, requirement


def test_the_demo_finds_its_model() -> None:
    done = subprocess.run([sys.executable, str(ROOT / "demo" / "find_model.py")], capture_output=True, text=True, cwd=ROOT, timeout=60)
    assert done.returncode == 0, done.stderr
    model = ROOT / done.stdout.strip()
    assert model.suffix == ".onnx"
    assert model.stat().st_size > 1_000_000


def test_the_demo_without_its_package_is_one_line() -> None:
    done = subprocess.run([sys.executable, "-S", str(ROOT / "demo" / "find_model.py")], capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert "to do:" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_the_ci_script_parses() -> None:
    assert subprocess.run(["bash", "-n", str(ROOT / ".ci" / "run")], capture_output=True, timeout=60).stderr == b""


def test_no_registry_and_no_path_of_a_machine_in_project_files() -> None:
    files = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, timeout=60)
    if files.returncode:
        pytest.skip("not a git checkout: the list of project files is not to be had")
    hits = []
    pattern = re.compile(r"index-url|find-links|(?:^|[\s\"'=:(])/(?:home|root|opt|mnt|srv|work)/")
    for name in files.stdout.split():
        path = ROOT / name
        if path.is_file() and not name.startswith("tests/"):  # tests may show such paths to what they test
            hits += [f"{name}: {line}" for line in path.read_text(encoding="utf-8", errors="replace").splitlines() if pattern.search(line)]
    assert not hits, hits[:5]
