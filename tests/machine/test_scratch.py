"""Temporary folders: gone with the process that made them, or with the next start where that was killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from ridgeline.machine.scratch import remove_abandoned, scratch_folder

_HOLDER = """
import sys, time
from ridgeline.machine import scratch_folder
with scratch_folder("test") as folder:
    (folder / "inner").mkdir()
    (folder / "inner" / "file").write_text("x")
    print(folder, flush=True)
    time.sleep(600)
"""


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    return tmp_path


def left(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


def test_a_folder_is_private_names_its_process_and_goes(temporary: Path) -> None:
    with scratch_folder("test") as folder:
        assert folder.parent == temporary
        assert str(os.getpid()) in folder.name
        assert folder.stat().st_mode & 0o077 == 0
        remove_abandoned()
        assert folder.exists(), "a living process keeps its folder"
    assert left(temporary) == []


def test_a_folder_goes_when_its_block_raises(temporary: Path) -> None:
    with pytest.raises(KeyboardInterrupt), scratch_folder("test"):
        raise KeyboardInterrupt
    assert left(temporary) == []


def test_what_a_killed_process_left_goes_with_the_next_start(temporary: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", _HOLDER], stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        folder = Path(holder.stdout.readline().strip())
        remove_abandoned()
        assert (folder / "inner" / "file").exists(), "another living process keeps its folder"
        holder.send_signal(signal.SIGKILL)
    assert folder.exists()
    with scratch_folder("next"):
        assert not folder.exists()


def test_nothing_else_is_touched(temporary: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (elsewhere / "file").write_text("mine")
    (temporary / "ridgeline-x-scratch-1-link").symlink_to(elsewhere)
    (temporary / "ridgeline-x-scratch-1-file").write_text("a file")
    (temporary / "ridgeline-notes").mkdir()
    (temporary / "other-scratch-1").mkdir()
    before = left(temporary)
    remove_abandoned()
    assert left(temporary) == before
    assert (elsewhere / "file").read_text() == "mine"
    remove_abandoned(temporary / "not there")
