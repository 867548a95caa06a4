"""What differs between two runs, and their numbers side by side."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from ridgeline.core import Run, UsageError
from ridgeline.flows.notebook_diff import diff, diff_runs
from ridgeline.notebook import Notebook
from ridgeline.reporting import diff_page, terminal
from support.notebook_entries import benchmarked


def _changed(run: Run, **target: object) -> Run:
    facts = msgspec.structs.replace(run.facts, target=msgspec.structs.replace(run.facts.target, **target))
    return msgspec.structs.replace(run, id="b", facts=facts)


def test_a_run_is_like_itself(stored_run: Run) -> None:
    found = diff_runs(stored_run, msgspec.structs.replace(stored_run, id="b", at="2027-01-01T00:00:00+00:00"))
    assert found.keys == ()
    assert found.comparable
    assert [pair.ratio for pair in found.figures if pair.unit == "s"] == [1.0] * 5
    assert "measured alike" in terminal(diff_page(found))


def test_each_key_has_the_class_that_a_comparison_gives_it(stored_run: Run) -> None:
    other = msgspec.structs.replace(
        _changed(stored_run, threads=4, environment={"OMP_NUM_THREADS": "2"}, digest="e" * 64),
        software={"python": "3.12"}, commit="fedc", command="ridgeline diagnose m.onnx",
    )  # fmt: skip
    found = diff_runs(stored_run, other)
    kinds = {key.key: key.kind for key in found.keys}
    # That the first run had no number of threads cannot be said: it is recorded as the target's own choice.
    assert kinds == {
        "threads": "must", "environment.OMP_NUM_THREADS": "warn", "software.python": "warn", "commit": "note", "command": "note", "digest": "note",
    }  # fmt: skip
    assert [key.kind for key in found.keys] == sorted((key.kind for key in found.keys), key=["must", "warn", "note"].index)
    values = {key.key: (key.a, key.b) for key in found.keys}
    assert values["threads"] == ("default", "4")
    assert values["environment.OMP_NUM_THREADS"] == ("", "2")


def test_numbers_of_what_does_not_compare_have_no_ratio(stored_run: Run) -> None:
    found = diff_runs(stored_run, _changed(stored_run, threads=4))
    assert not found.comparable
    assert {pair.ratio for pair in found.figures} == {None}
    shown = " ".join(terminal(diff_page(found)).split())
    assert "threads must be equal" in shown
    assert "--changing threads" in shown


def test_benchmarks_show_what_their_page_shows(stored_run: Run) -> None:
    from ridgeline.diagnosis.benched import bench_report

    a, b = benchmarked(stored_run, "a", seed=1), benchmarked(stored_run, "b", seed=2)
    figures = {pair.name: pair for pair in diff_runs(a, b).figures}
    for run, side in ((a, "a"), (b, "b")):
        truth = bench_report(run).ground_truth
        assert getattr(figures["median"], side) == truth.median_s
        assert getattr(figures["median"], f"{side}_ci") == truth.median_ci_s
    median = figures["median"]
    assert median.a is not None
    assert median.b is not None
    assert median.ratio == median.b / median.a
    assert (figures["processes"].a, figures["processes"].ratio) == (3.0, None)


def test_runs_without_numbers(stored_run: Run) -> None:
    bare = msgspec.structs.replace(stored_run, diagnosis=None)
    found = diff_runs(bare, bare)
    assert found.figures == ()
    assert "neither run was timed" in terminal(diff_page(found))
    one_sided = diff_runs(bare, stored_run)
    assert [(pair.a, pair.ratio) for pair in one_sided.figures] == [(None, None)] * len(one_sided.figures)
    assert one_sided.figures


def test_through_the_notebook(tmp_path: Path, stored_run: Run) -> None:
    with Notebook.open(tmp_path / "n.sqlite") as book:
        book.add(stored_run)
        book.add(msgspec.structs.replace(stored_run, id="20270101T000000-00000000", verb="bench"))
    found = diff(tmp_path / "n.sqlite", "-2", "latest")
    assert (found.run_a, found.run_b) == (stored_run.id, "20270101T000000-00000000")
    assert [key.key for key in found.keys] == ["verb"]
    with pytest.raises(UsageError):
        diff(tmp_path / "n.sqlite", "-3", "latest")
    with pytest.raises(UsageError):
        diff(tmp_path / "other.sqlite", "-2", "latest")
