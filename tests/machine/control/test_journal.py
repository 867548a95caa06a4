"""Journals that a power cut, a bug or a stranger made: never a traceback, never a write outside of what ridgeline sets."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from machine.control.trees import BOOT, NO_TURBO, SWAPPINESS, all_values, laptop, value
from ridgeline.core import UsageError
from ridgeline.machine.control import left_over, restore_left_over, tuned
from ridgeline.machine.control.changes import FileChange, may_write
from ridgeline.machine.control.gpu import is_gpu

SET = {"line": "set", "kind": "file", "key": SWAPPINESS, "found": "60", "wanted": "0"}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return laptop(tmp_path / "root", **{SWAPPINESS: "0\n"})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "state").mkdir()
    return tmp_path / "state"


def owner(root: Path, **changed: object) -> dict[str, object]:
    # A process that cannot be: numbers end far below.
    fields = {"line": "owner", "pid": 2**30, "since": "1", "namespace": os.readlink("/proc/self/ns/pid"), "boot": value(root, BOOT)}
    return {**fields, "host": os.uname().nodename, **changed}


def written(folder: Path, *lines: object, name: str = "1-a.journal") -> Path:
    path = folder / name
    path.write_bytes(b"".join((line if isinstance(line, bytes) else json.dumps(line).encode()) + b"\n" for line in lines))
    path.chmod(0o600)
    return path


def test_the_plain_case(root: Path, folder: Path) -> None:
    path = written(folder, owner(root), SET)
    assert [(entry.key, entry.outcome, str(entry)) for entry in restore_left_over(root, folder)] == [
        (SWAPPINESS, "put back", f"{SWAPPINESS} put back from 0 to 60, as a killed run had left it")
    ]
    assert value(root, SWAPPINESS) == "60"
    assert not path.exists()


@pytest.mark.parametrize("cut", [0, 1, 20])
def test_a_journal_cut_short_before_its_first_change_goes_quietly(root: Path, folder: Path, cut: int) -> None:
    path = written(folder, owner(root))
    path.write_bytes(path.read_bytes()[:cut])
    assert restore_left_over(root, folder) == ()
    assert not path.exists()


def test_every_cut_of_a_journal_puts_back_what_was_announced_whole(root: Path, folder: Path) -> None:
    path = written(folder, owner(root), SET)
    whole = path.read_bytes()
    begins = whole.index(b"\n") + 1
    for cut in range(begins, len(whole) + 1, 7):
        (root / SWAPPINESS).write_text("0\n")
        path.write_bytes(whole[:cut])
        entries = restore_left_over(root, folder)
        # An announcement that is not whole was not acted upon.
        assert len(entries) == (1 if cut == len(whole) else 0)
        assert value(root, SWAPPINESS) == ("60" if cut == len(whole) else "0")
        assert not path.exists()


@pytest.mark.parametrize(
    "lines",
    [
        [b"not json"],
        [b"\xff\xfe\x00"],
        [SET],
        [{"line": "other"}],
        ["owner", {**SET, "key": "etc/passwd"}],
        ["owner", {**SET, "key": "../../etc/passwd"}],
        ["owner", {**SET, "key": "/proc/sys/vm/swappiness"}],
        ["owner", {**SET, "key": "proc/sys/vm/../kernel/core_pattern"}],
        ["owner", {**SET, "key": "proc/sys/kernel/core_pattern"}],
        ["owner", {**SET, "key": "sys/devices/system/cpu/cpu0/online"}],
        ["owner", {**SET, "found": "60; reboot"}],
        ["owner", {**SET, "found": "6\n0"}],
        ["owner", {**SET, "found": "x" * 10_000}],
        ["owner", {**SET, "found": 60}],
        ["owner", {**SET, "kind": "shell"}],
        ["owner", {**SET, "kind": "gpu-clock", "key": "GPU-1; reboot", "found": "unlocked", "wanted": "1 MHz"}],
        ["owner", {**SET, "more": 1}],
        ["owner", SET, "owner"],
        ["owner", SET, b"[" * 50_000],
        ["owner", SET, b"", SET],
        ["owner", *[SET] * 5000],
    ],
)
def test_a_journal_that_is_not_ours_is_told_in_one_line_and_left_alone(root: Path, folder: Path, lines: list[object]) -> None:
    path = written(folder, *[owner(root) if line == "owner" else line for line in lines])
    before, text = all_values(root), path.read_bytes()
    (entry,) = restore_left_over(root, folder)
    assert entry.outcome == "unreadable"
    assert "\n" not in str(entry)
    assert len(str(entry)) < 500
    assert str(path) in str(entry)
    assert all_values(root) == before
    assert path.read_bytes() == text
    assert left_over(root, folder) == (entry,)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.binary(max_size=200))
def test_any_bytes_are_answered(root: Path, folder: Path, data: bytes) -> None:
    path = folder / "1-a.journal"
    path.write_bytes(data)
    path.chmod(0o600)
    before = all_values(root)
    for entry in restore_left_over(root, folder):
        assert entry.outcome == "unreadable"
    assert all_values(root) == before


def test_a_journal_that_others_may_write_is_not_trusted(root: Path, folder: Path) -> None:
    path = written(folder, owner(root), SET)
    path.chmod(0o666)
    (entry,) = restore_left_over(root, folder)
    assert "somebody else may write" in entry.reason
    assert value(root, SWAPPINESS) == "0"


def test_links_folders_pipes_and_giants_are_no_journals(root: Path, folder: Path, tmp_path: Path) -> None:
    real = written(tmp_path, owner(root), SET, name="elsewhere")
    (folder / "a.journal").symlink_to(real)
    (folder / "b.journal").mkdir()
    os.mkfifo(folder / "c.journal", 0o600)
    with (folder / "d.journal").open("wb") as giant:
        giant.truncate(2 << 20)
    (folder / "d.journal").chmod(0o600)
    entries = restore_left_over(root, folder)
    assert [Path(entry.path).name for entry in entries] == ["a.journal", "b.journal", "c.journal", "d.journal"]
    assert {entry.outcome for entry in entries} == {"unreadable"}
    assert value(root, SWAPPINESS) == "0"


def test_a_bad_journal_does_not_keep_a_good_one_from_its_turn(root: Path, folder: Path) -> None:
    written(folder, b"junk", name="0-a.journal")
    written(folder, owner(root), SET, name="1-b.journal")
    assert [entry.outcome for entry in restore_left_over(root, folder)] == ["unreadable", "put back"]
    assert value(root, SWAPPINESS) == "60"


def test_a_journal_of_another_machine_is_left_for_it(root: Path, folder: Path) -> None:
    path = written(folder, owner(root, boot="other", host="other"), SET)
    assert restore_left_over(root, folder) == ()
    assert path.exists()
    assert value(root, SWAPPINESS) == "0"


def test_a_setting_that_was_put_back_before_the_kill_is_not_put_back_again(root: Path, folder: Path) -> None:
    written(folder, owner(root), SET, {"line": "put-back", "kind": "file", "key": SWAPPINESS})
    assert restore_left_over(root, folder) == ()
    assert value(root, SWAPPINESS) == "0"


def test_a_link_in_a_tree_leads_nowhere(root: Path, folder: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.write_text("0\n")
    (root / SWAPPINESS).unlink()
    (root / SWAPPINESS).symlink_to(outside)
    written(folder, owner(root), SET)
    assert [entry.outcome for entry in restore_left_over(root, folder)] == ["failed"]
    assert outside.read_text() == "0\n"
    (root / SWAPPINESS).unlink()
    elsewhere = tmp_path / "vm"
    (root / "proc/sys/vm").rmdir()
    elsewhere.mkdir()
    (elsewhere / "swappiness").write_text("0\n")
    (root / "proc/sys/vm").symlink_to(elsewhere)
    restore_left_over(root, folder)
    assert (elsewhere / "swappiness").read_text() == "0\n"


def test_a_change_of_anything_else_cannot_even_be_made() -> None:
    with pytest.raises(UsageError):
        FileChange(key="proc/sys/kernel/core_pattern", found="core", wanted="x")
    with pytest.raises(PermissionError):
        FileChange(key=SWAPPINESS, found="60", wanted="0").put("60\n60")


@given(st.text(max_size=60), st.text(max_size=40))
def test_the_list_of_what_may_be_written_is_closed(key: str, text: str) -> None:
    assert not may_write(key, text) or (key.startswith(("proc/sys/", "sys/devices/system/cpu/")) and ".." not in key)
    assert not may_write(NO_TURBO, text) or (text.isascii() and "\n" not in text and 0 < len(text) <= 32)
    assert not is_gpu(key, "unlocked") or key.startswith("GPU-")


def test_a_full_disk_costs_the_settings_and_leaves_no_half_line(root: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (root / SWAPPINESS).write_text("60\n")
    before, write, room = all_values(root), os.write, [2]

    def scarce(descriptor: int, data: bytes) -> int:
        if not data.startswith(b'{"line"'):
            return write(descriptor, data)
        room[0] -= 1
        return write(descriptor, data if room[0] >= 0 else data[:5])

    monkeypatch.setattr(os, "write", scarce)
    with tuned(True, root=root, folder=folder) as said:
        states = {setting.name: (setting.state, setting.reason) for setting in said}
        assert states["swap"][0] == "cannot"
        assert "No space left" in states["swap"][1]
        (journal,) = folder.glob("*.journal")
        assert journal.read_bytes().endswith(b"\n")
    monkeypatch.undo()
    assert all_values(root) == before
    restore_left_over(root, folder)
    assert list(folder.glob("*.journal")) == []


def test_a_state_folder_that_is_none(root: Path, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("")
    assert restore_left_over(root, file) == left_over(root, file) == ()
    assert restore_left_over(root, tmp_path / "missing") == ()
    assert not (tmp_path / "missing").exists()
