"""Plain progress lines are sparse; the clock is the test's."""

from __future__ import annotations

import pytest

from ridgeline.cli.progress import plain, progress


def test_one_line_in_ten_seconds(capsys: pytest.CaptureFixture[str]) -> None:
    now = [100.0]
    report = plain(lambda: now[0])
    for moment in range(60):
        now[0] = 100.0 + moment
        report(f"step {moment}", moment / 60)
    assert capsys.readouterr().err.splitlines() == [f"ridgeline: step {moment} ({moment / 60:.0%})" for moment in range(2, 60, 10)]


def test_quiet_is_silent_and_names_are_cleaned(capsys: pytest.CaptureFixture[str]) -> None:
    with progress(quiet=True) as report:
        report("x", None)
    assert capsys.readouterr().err == ""
    moments = iter([0.0, 5.0, 5.0])
    plain(lambda: next(moments))("a\x1b[2Jb\nc", None)
    assert capsys.readouterr().err == "ridgeline: a\\x1b[2Jb c\n"


def test_a_warning_is_said_once_and_in_quiet_as_well(capsys: pytest.CaptureFixture[str]) -> None:
    for quiet in (True, False):
        with progress(quiet) as report:
            for _ in range(3):
                report("warning: the probe is not kept", None)
        assert capsys.readouterr().err == "ridgeline: warning: the probe is not kept\n"


def test_a_note_is_said_once_and_not_in_quiet(capsys: pytest.CaptureFixture[str]) -> None:
    for quiet in (True, False):
        with progress(quiet) as report:
            report("note: it takes long", None)
            report("note: it takes long", None)
    assert capsys.readouterr().err == "ridgeline: note: it takes long\n"
