"""GPU clocks with a tool that stands in for nvidia-smi: it notes what it is asked."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from machine.control.trees import laptop, tree
from ridgeline.core import Setting, UsageError
from ridgeline.machine.control import read_settings, restore_left_over, tuned

GPU = "GPU-12345678-aaaa-bbbb-cccc-1234567890ab"
TOOL = """#!/bin/sh
echo "$@" >> "{notes}"
case "$1" in
  --query-gpu*) printf '%s\\n' '{row}' ;;
  *) echo '{answer}'; exit {code} ;;
esac
"""


def machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, row: str = f"{GPU}, Test GPU, 345, 1980", answer: str = "done", code: int = 0
) -> Path:
    notes = tmp_path / "notes"
    tree(tmp_path, {"bin/nvidia-smi": TOOL.format(notes=notes, row=row, answer=answer, code=code)})
    (tmp_path / "bin/nvidia-smi").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    return laptop(tmp_path / "root", **{"dev/nvidiactl": ""})


def asked(tmp_path: Path) -> list[str]:
    return [line for line in (tmp_path / "notes").read_text().splitlines() if not line.startswith("--query")]


def clock(settings: tuple[Setting, ...]) -> Setting | None:
    return next((setting for setting in settings if setting.name == "gpu-clock"), None)


def test_a_machine_without_a_gpu_says_nothing_until_asked(tmp_path: Path) -> None:
    root = laptop(tmp_path)
    assert clock(read_settings(root)) is None
    missing = clock(read_settings(root, lock_gpu_hz=1e9))
    assert missing is not None
    assert (missing.state, missing.reason) == ("cannot", "there is no GPU to be seen")


def test_read_always_and_locked_only_when_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = machine(tmp_path, monkeypatch)
    with tuned(True, root=root, folder=tmp_path / "state") as settings:
        setting = clock(settings)
        assert setting is not None
        assert (setting.found, setting.state) == ("Test GPU 345 MHz", "fine")
    assert asked(tmp_path) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="locking the clocks of a GPU needs root, also in front of a stand-in")
def test_locked_and_unlocked_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = machine(tmp_path, monkeypatch)
    with tuned(False, lock_gpu_hz=1.41e9, root=root, folder=tmp_path / "state") as settings:
        setting = clock(settings)
        assert setting is not None
        assert (setting.state, setting.used) == ("set", "1410 MHz")
        assert {other.state for other in settings if other.name != "gpu-clock"} <= {"fine", "not asked", "cannot"}
    assert asked(tmp_path) == [f"-i {GPU} --lock-gpu-clocks=1410,1410", f"-i {GPU} --reset-gpu-clocks"]


@pytest.mark.skipif(os.geteuid() != 0, reason="locking the clocks of a GPU needs root, also in front of a stand-in")
@pytest.mark.parametrize(("answer", "code"), [("Insufficient Permissions", 4), ("Setting locked GPU clocks is not supported for this GPU.", 0)])
def test_a_lock_that_does_not_take_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: str, code: int) -> None:
    root = machine(tmp_path, monkeypatch, answer=answer, code=code)
    with tuned(False, lock_gpu_hz=1.41e9, root=root, folder=tmp_path / "state") as settings:
        setting = clock(settings)
        assert setting is not None
        assert (setting.state, setting.reason) == ("cannot", answer)


def test_a_journal_unlocks_after_a_kill(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from machine.control.test_journal import owner, written

    root = machine(tmp_path, monkeypatch)
    (tmp_path / "state").mkdir()
    written(tmp_path / "state", owner(root), {"line": "set", "kind": "gpu-clock", "key": GPU, "found": "unlocked", "wanted": "1410 MHz"})
    assert [entry.outcome for entry in restore_left_over(root, tmp_path / "state")] == ["put back"]
    assert asked(tmp_path) == [f"-i {GPU} --reset-gpu-clocks"]


def test_faster_than_it_goes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    setting = clock(read_settings(machine(tmp_path, monkeypatch), lock_gpu_hz=3e9))
    assert setting is not None
    assert (setting.state, setting.reason) == ("cannot", "Test GPU does not go that fast")


@pytest.mark.parametrize("hz", [0.0, -1.0, float("nan"), float("inf"), 1410.0])
def test_a_clock_that_no_gpu_has(tmp_path: Path, hz: float) -> None:
    with pytest.raises(UsageError):
        read_settings(laptop(tmp_path), lock_gpu_hz=hz)


@pytest.mark.parametrize(("visible", "seen"), [("0", True), ("1", False), ("", False), (GPU[:12], True), ("NoDevFiles", False)])
def test_only_what_programs_may_see(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, visible: str, seen: bool) -> None:
    root = machine(tmp_path, monkeypatch)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    assert (clock(read_settings(root)) is not None) is seen


@pytest.mark.parametrize("row", ["", "nonsense", f"{GPU}, Test GPU, [N/A], [N/A]", "x, y, z, w, v"])
def test_what_the_tool_may_say(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, row: str) -> None:
    setting = clock(read_settings(machine(tmp_path, monkeypatch, row=row)))
    assert setting is None or setting.found == "Test GPU clock not told"


def test_a_tool_that_fails_costs_only_its_setting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = machine(tmp_path, monkeypatch)
    (tmp_path / "bin/nvidia-smi").write_text("#!/bin/sh\necho 'No devices were found' >&2; exit 6\n")
    setting = clock(read_settings(root))
    assert setting is not None
    assert setting.state == "cannot"
    assert "No devices were found" in setting.reason


def test_amd_and_intel_are_read(tmp_path: Path) -> None:
    files = {"sys/class/drm/card0/device/pp_dpm_sclk": "0: 500Mhz\n1: 1800Mhz *\n", "sys/class/drm/card1/gt_cur_freq_mhz": "1300\n"}
    root = laptop(tmp_path, **files, **{"sys/class/drm/card0-HDMI-A-1/status": "on"})
    setting = clock(read_settings(root))
    assert setting is not None
    assert setting.found == "card0 1800 MHz; card1 1300 MHz"
    locked = clock(read_settings(root, lock_gpu_hz=1e9))
    assert locked is not None
    assert locked.state == "cannot"
