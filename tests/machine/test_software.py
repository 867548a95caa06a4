from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ridgeline.machine import commit_of, software_versions


def git(directory: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=Test", "-c", "user.email=test@example.org", "-c", "commit.gpgsign=false"]
    done = subprocess.run(["git", *identity, "-C", str(directory), *arguments], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_versions_come_without_importing_anything() -> None:
    code = (
        "import sys\nfrom ridgeline.machine import software_versions\nprint(software_versions())\n"
        "print('torch' in sys.modules, 'onnxruntime' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "'ridgeline'" in done.stdout
    assert done.stdout.splitlines()[-1] == "False False"


def test_a_package_that_is_not_installed_is_left_out() -> None:
    found = software_versions(["numpy", "no-such-package-at-all"])
    assert set(found) == {"python", "numpy"}


def test_commit_and_dirt(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    assert commit_of(tmp_path) is None  # no commit yet
    (tmp_path / "deep").mkdir()
    file = tmp_path / "deep" / "model.py"
    file.write_text("a = 1\n")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-q", "-m", "one")
    head = git(tmp_path, "rev-parse", "HEAD")
    assert commit_of(file) == commit_of(tmp_path) == commit_of(tmp_path / "deep" / "not there" / "x") == head
    (tmp_path / "untracked").write_text("x")
    assert commit_of(file) == head
    file.write_text("a = 2\n")
    assert commit_of(file) == f"{head}+dirty"


def test_outside_a_repository_there_is_none(tmp_path: Path) -> None:
    assert commit_of(tmp_path) is None
    assert commit_of(tmp_path / "nothing") is None


def test_without_git_there_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert commit_of(os.getcwd()) is None
