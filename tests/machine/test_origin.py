"""Where a repository is cloned from, without its secrets, and where in it somebody stood."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from ridgeline.machine import origin_of


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    root = tmp_path / "root"
    (root / "a" / "b").mkdir(parents=True)
    subprocess.run(["git", "init", "--quiet", str(root)], check=True)
    return root


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://example.org/r.git", "https://example.org/r.git"),
        ("https://ann:s3cret@example.org/r.git", "https://example.org/r.git"),
        ("https://s3cret@example.org/r.git", "https://example.org/r.git"),
        ("ssh://git:s3cret@example.org:22/r.git", "ssh://git@example.org:22/r.git"),
        ("git+ssh://git@example.org/r.git", "git+ssh://git@example.org/r.git"),
        ("git@example.org:team/r.git", "git@example.org:team/r.git"),
        ("/srv/r@home.git", "/srv/r@home.git"),
        ("https://example.org/@team/r.git", "https://example.org/@team/r.git"),
    ],
)
def test_a_url_keeps_no_secret(repository: Path, url: str, shown: str) -> None:
    subprocess.run(["git", "-C", str(repository), "config", "remote.origin.url", url], check=True)
    assert origin_of(repository / "a" / "file.py", repository / "a" / "b") == (shown, "a/b")
    assert "s3cret" not in shown


def test_without_a_remote_or_a_repository(repository: Path, tmp_path: Path) -> None:
    assert origin_of(repository / "a", repository) == ("", "")
    assert origin_of(repository / "a", tmp_path) == ("", "")
    assert origin_of(tmp_path / "none" / "at.all", tmp_path) == ("", "")
