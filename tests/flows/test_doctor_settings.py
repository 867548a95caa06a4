"""The doctor tells of settings and of what a killed run has left; every other start puts it back."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from machine.control.test_journal import SET, owner, written
from machine.control.trees import SWAPPINESS, laptop, value
from ridgeline.cli import main
from ridgeline.core import Finding
from ridgeline.core.home import state_directory
from ridgeline.flows.doctor_settings import setting_findings
from ridgeline.flows.left_over import put_back_settings
from ridgeline.machine.control import leaving


def found(findings: tuple[Finding, ...], name: str) -> Finding:
    return next(finding for finding in findings if finding.name == name)


def test_each_setting_says_what_tune_would_do(tmp_path: Path) -> None:
    findings = setting_findings(laptop(tmp_path / "root"), tmp_path / "state")
    assert found(findings, "setting turbo").detail == "on; --tune sets off for a measurement"
    assert found(findings, "setting affinity").detail == "0,1; --tune sets 1 for a measurement of a target with --threads 1"
    assert found(findings, "setting quota").ok is True
    smt = found(findings, "setting smt")
    assert smt.ok is False
    assert smt.consequence
    assert found(findings, "settings left over").ok is True


def test_what_a_killed_run_left_is_told_and_not_touched(tmp_path: Path) -> None:
    root = laptop(tmp_path / "root", **{SWAPPINESS: "0\n"})
    (tmp_path / "state").mkdir()
    written(tmp_path / "state", owner(root), SET)
    left = found(setting_findings(root, tmp_path / "state"), "settings left over")
    assert (left.ok, left.detail) == (False, f"{SWAPPINESS} was left at 0 instead of 60")
    assert left.remedy
    assert value(root, SWAPPINESS) == "0"
    written(tmp_path / "state", b"junk")
    bad = found(setting_findings(root, tmp_path / "state"), "settings left over")
    assert bad.ok is False
    assert "cannot be trusted" in bad.detail


@pytest.fixture
def left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The command line on a machine whose kernel files are those of a tree, on which a run was killed."""
    root = laptop(tmp_path / "root", **{SWAPPINESS: "0\n"})
    monkeypatch.setenv("RIDGELINE_STATE", str(tmp_path / "state"))
    state_directory("control").mkdir(parents=True)
    written(state_directory("control"), owner(root), SET)
    restore = leaving.restore_left_over
    monkeypatch.setattr("ridgeline.machine.control.restore_left_over", lambda: restore(root))
    return root


def test_any_command_puts_back_first_and_says_so(left: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["devices"]) == 0
    assert value(left, SWAPPINESS) == "60"
    assert capsys.readouterr().err == f"ridgeline: note: {SWAPPINESS} put back from 0 to 60, as a killed run had left it\n"
    assert main(["devices"]) == 0
    assert capsys.readouterr().err == ""


def test_the_doctor_puts_nothing_back(left: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("ridgeline.flows.doctor.host_findings", lambda machine: ())
    monkeypatch.setattr("ridgeline.flows.doctor.software_findings", lambda notebook: ())
    monkeypatch.setattr("ridgeline.flows.doctor_settings.left_over", lambda root, folder: leaving.left_over(left, folder))
    assert main(["doctor"]) == 0
    assert "was left at 0 instead of 60" in " ".join(capsys.readouterr().out.split())
    assert value(left, SWAPPINESS) == "0"


def test_a_journal_of_rubbish_costs_a_line_and_no_command(left: Path, capsys: pytest.CaptureFixture[str]) -> None:
    written(state_directory("control"), b"\xff junk")
    assert main(["devices"]) == 0
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert "cannot be trusted" in err


def test_a_home_that_cannot_be_found_costs_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("RIDGELINE_STATE", "XDG_STATE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", "relative")
    monkeypatch.setattr(os, "getuid", lambda: 2**31 - 5)
    put_back_settings(lambda label, fraction: pytest.fail(label))


def test_the_state_folder() -> None:
    assert state_directory("a", {"RIDGELINE_STATE": "/x"}) == Path("/x/a")
    assert state_directory("a", {"XDG_STATE_HOME": "/s"}) == Path("/s/ridgeline/a")
    assert state_directory("a", {"XDG_STATE_HOME": "s", "HOME": "/h"}) == Path("/h/.local/state/ridgeline/a")
