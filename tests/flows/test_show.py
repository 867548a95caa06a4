"""A stored run shown, and its verdict drawn again."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

import ridgeline.flows.show as flow
from ridgeline.core import Diagnosis, Need, Run, UsageError
from ridgeline.flows.log import log
from ridgeline.notebook import Notebook


@pytest.fixture
def place(tmp_path: Path, stored_run: Run) -> Path:
    file = tmp_path / "n.sqlite"
    with Notebook.open(file) as book:
        book.add(stored_run)
    return file


def test_show(place: Path, stored_run: Run) -> None:
    assert flow.show(place, "last") == stored_run
    with pytest.raises(UsageError):
        flow.show(place, "nothing")
    with pytest.raises(UsageError):
        flow.show(place.parent / "other.sqlite", "last")


def test_log(place: Path, stored_run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    shown, runs = log(place)
    assert shown == str(place)
    assert [run.id for run in runs] == [stored_run.id]
    monkeypatch.setenv("RIDGELINE_NOTEBOOK", str(place.parent / "later.sqlite"))
    assert log() == (str(place.parent / "later.sqlite"), ())
    monkeypatch.setenv("RIDGELINE_NOTEBOOK", str(place))
    assert log()[1] == runs
    assert log(place, verb="probe")[1] == ()


def test_a_replay_asks_the_rules_of_today_and_keeps_the_record(stored_run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def rules(facts: object) -> Diagnosis:
        asked.append(facts)
        assert stored_run.diagnosis is not None
        return msgspec.structs.replace(stored_run.diagnosis, headline="again", software={}, method="", commit=None, run=None)

    monkeypatch.setattr(flow, "next_step", rules)
    again = flow.replay(stored_run)
    assert asked == [stored_run.facts]
    assert (again.headline, again.run, again.commit, again.method, again.software) == (
        "again",
        stored_run.id,
        stored_run.commit,
        stored_run.method,
        stored_run.software,
    )


def test_a_replay_that_needs_more_says_what(stored_run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flow, "next_step", lambda facts: Need(level=3, instrument="operators", because="no operators yet"))
    with pytest.raises(UsageError, match=r"operators \(level 3\).*diagnose the target again"):
        flow.replay(stored_run)


def test_the_real_rules_never_measure_for_a_replay(stored_run: Run) -> None:
    """The facts of the test hold samples only; the rules would have to measure more."""
    with pytest.raises(UsageError, match="is missing"):
        flow.replay(stored_run)
