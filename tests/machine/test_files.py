from __future__ import annotations

import os
import pwd
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from ridgeline.core import UsageError
from ridgeline.core.home import home_directory
from ridgeline.machine import cache_directory, write_atomic


@pytest.fixture(autouse=True)
def bare_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("RIDGELINE_CACHE", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))


def test_the_cache_follows_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert cache_directory("probe") == tmp_path / "home" / ".cache" / "ridgeline" / "probe"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")  # to be ignored, says the specification
    assert cache_directory() == tmp_path / "home" / ".cache" / "ridgeline"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_directory() == tmp_path / "xdg" / "ridgeline"
    monkeypatch.setenv("RIDGELINE_CACHE", str(tmp_path / "own"))
    assert cache_directory("a").is_dir()
    assert cache_directory() == tmp_path / "own"


def test_a_cache_that_cannot_be_made_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("RIDGELINE_CACHE", str(tmp_path / "file"))
    with pytest.raises(UsageError, match="RIDGELINE_CACHE"):
        cache_directory("probe")


def test_a_file_is_written_whole_and_replaced(tmp_path: Path) -> None:
    target = tmp_path / "file"
    write_atomic(target, b"one")
    assert target.read_bytes() == b"one"
    assert stat.S_IMODE(target.stat().st_mode) & 0o400
    target.chmod(0o640)
    write_atomic(target, b"two")
    assert target.read_bytes() == b"two"
    assert stat.S_IMODE(target.stat().st_mode) == 0o640
    assert os.listdir(tmp_path) == ["file"]


def test_a_new_file_follows_the_umask(tmp_path: Path) -> None:
    code = "import os, sys; os.umask(0o027); from ridgeline.machine import write_atomic; write_atomic(sys.argv[1], b'x')"
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "file")], check=True)
    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == 0o640


@pytest.mark.parametrize("name", ["no/such/folder/file", "folder", "a\0b"])
def test_what_cannot_be_written_is_named_and_nothing_is_left(tmp_path: Path, name: str) -> None:
    (tmp_path / "folder").mkdir()
    before = sorted(os.listdir(tmp_path))
    with pytest.raises(UsageError):
        write_atomic(f"{tmp_path}/{name}", b"data")
    assert sorted(os.listdir(tmp_path)) == before


def test_a_full_disk_leaves_the_old_file(tmp_path: Path) -> None:
    target = tmp_path / "file"
    target.write_bytes(b"old")
    # A file size limit fails in `write` as a full disk does.
    code = (
        "import resource, signal, sys\nfrom ridgeline.machine import write_atomic\nfrom ridgeline.core import UsageError\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN); resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))\n"
        "try: write_atomic(sys.argv[1], b'x' * 5000)\nexcept UsageError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code, str(target)], capture_output=True, text=True, check=True)
    assert "a file that can be written" in done.stdout
    assert target.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["file"]


@pytest.mark.parametrize("home", ["", "relative"])
def test_a_home_that_is_no_absolute_path_is_not_used(monkeypatch: pytest.MonkeyPatch, home: str) -> None:
    monkeypatch.setenv("HOME", home)
    assert home_directory() == Path(pwd.getpwuid(os.getuid()).pw_dir)
    monkeypatch.setattr(pwd, "getpwuid", lambda user: {}[user])
    with pytest.raises(UsageError, match="HOME"):
        cache_directory()
