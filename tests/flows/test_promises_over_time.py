"""Promised against found: trials and comparisons count alike, by action, by machine, in the order of time."""

from __future__ import annotations

import math
from pathlib import Path

import msgspec
import pytest

from ridgeline.core import Experiment, Run, Tried
from ridgeline.flows.comparing import promise as comparing
from ridgeline.flows.promises import counted, promises
from ridgeline.flows.trying import experiment_of
from ridgeline.notebook import Notebook
from ridgeline.reporting import promises_page, terminal
from support.notebook_entries import comparison, experiment

TRIED = Tried(action="fuse", id="a1", verdict="faster", speedup=(1.0, 1.2), promised=(1.1, 1.2), kept=True, output_ok=True)


def _trial(**changes: object) -> Experiment:
    return experiment(**{"promise": "kept", "tried": TRIED, **changes})


def _compared(**changes: object) -> Experiment:
    return experiment(**{"promise": "refuted", "runs": ("r1", "r2"), "commits": ("abc", "def"), "hypothesis": "fewer passes", **changes})


def test_trials_and_comparisons_count_alike_and_apart() -> None:
    report = counted("here", [_trial(), _compared(), _compared(), _compared(action=None, promise=None), _trial(action=None, promise=None)])
    assert (report.total.kept, report.total.refuted) == (1, 2)
    assert (report.trials, report.comparisons) == (1, 2)
    assert report.hypotheses == {"faster": 1}
    assert report.controls == {"faster": 1}
    shown = " ".join(terminal(promises_page(report)).split())
    assert "Tested by `diagnose --try`: 1, by `compare --tests`: 2." in shown
    assert "Comparisons that tested no promise: 1 faster." in shown


def test_the_trend_is_the_ratio_of_geometric_means() -> None:
    action = _trial().action
    assert action is not None
    made = [
        _trial(action=msgspec.structs.replace(action, speedup=(2.0, 8.0)), found=(1.0, 4.0)),  # middles 4 and 2
        _compared(action=msgspec.structs.replace(action, speedup=(1.0, 1.0)), found=(2.0, 2.0)),  # middles 1 and 2
        _trial(machine="another", found=(1.1, 1.1)),
        _trial(found=None, promise=None, verdict="failed"),
    ]
    report = counted("here", made, ["2026-01-01T00:00:00+00:00", "2026-01-02T00:00:00+00:00"])
    both, alone = report.trends
    assert (both.action, both.machine, len(both.points)) == ("fuse", "Test CPU", 2)
    assert both.promised == pytest.approx(2.0)
    assert both.found == pytest.approx(2.0)
    assert both.ratio == pytest.approx(1.0)
    assert [(point.at[:10], point.by) for point in both.points] == [("2026-01-01", "trial"), ("2026-01-02", "comparison")]
    assert both.points[1].commits == ("abc", "def")
    assert (alone.machine, alone.points[0].at) == ("another", "")
    assert alone.ratio == pytest.approx(1.1 / math.sqrt(1.1 * 1.2))


def test_no_result_no_trend() -> None:
    assert counted("here", []).trends == ()
    assert counted("here", [_trial(found=(0.0, 1.0)), _compared(action=None)]).trends == ()
    assert "Promised against found" not in terminal(promises_page(counted("here", [])))


def test_the_notebook_gives_the_times_and_is_filtered(tmp_path: Path) -> None:
    with Notebook.open(tmp_path / "n.sqlite") as book:
        book.add_experiment(_compared(), "20260203T040506-00000001")
        book.add_experiment(_trial(target="other.py:f", machine="ARM Neoverse"), "20260101T000000-00000001")
        book.add_experiment(_trial(), "an id of somebody else")
    report = promises(tmp_path / "n.sqlite", machine="test cpu")
    assert [point.at for point in report.trends[0].points] == ["2026-02-03T04:05:06+00:00", ""]
    assert promises(tmp_path / "n.sqlite", machine="neoverse").total.kept == 1
    assert promises(tmp_path / "n.sqlite", target="OTHER").total.kept == 1
    assert promises(tmp_path / "n.sqlite", target="OTHER", machine="test").experiments == ()


def test_a_trial_and_a_comparison_on_one_machine_are_of_one_trend(stored_run: Run) -> None:
    """What `diagnose --try` and what `compare --tests` write names the machine alike."""
    assert stored_run.diagnosis is not None
    found = msgspec.structs.replace(stored_run.diagnosis, machine=stored_run.facts.machine.description)
    trial = experiment_of(found, msgspec.structs.replace(TRIED, promise="kept"), stored_run.id)
    tested = comparing.Tested(run=stored_run, action=stored_run.diagnosis.actions[0])
    compared = comparing.experiment_of(comparison(promise="kept", ratio_ci=(0.8, 0.9), gained=(1 / 0.9, 1 / 0.8)), (stored_run, stored_run), tested)
    assert compared is not None
    (trend,) = counted("here", [trial, compared]).trends
    assert [point.by for point in trend.points] == ["trial", "comparison"]
