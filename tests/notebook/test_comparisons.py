"""Comparisons are kept beside the runs, and found by id, run and target."""

from __future__ import annotations

import pytest

from ridgeline.core import Run, UsageError
from ridgeline.notebook import Notebook
from support.notebook_entries import comparison, family


def test_a_comparison_comes_back_equal(book: Notebook, stored_run: Run) -> None:
    book.add(stored_run)
    one, many = comparison(a=stored_run.id), family()
    book.add_comparison(one, "20260103T000000-00000001", at="2026-01-03T02:00:00+02:00")
    book.add_comparison(many, "20260104T000000-00000001")
    assert book.find("20260103") == one
    assert book.find("20260104T000000-00000001") == many
    assert book.find("last") == book.get("last") == stored_run
    newest, oldest = book.comparisons()
    assert (oldest.at, oldest.a_run, oldest.b_run, oldest.target, oldest.verdict, oldest.ratio) == (
        "2026-01-03T00:00:00+00:00", stored_run.id, "r2", "t.py:f", "slower", 1.05,
    )  # fmt: skip
    assert (newest.target, newest.verdict, newest.ratio) == ("old.json against new.json", "mixed", None)
    assert newest.at


def test_they_are_filtered_and_limited(book: Notebook) -> None:
    book.add_comparison(comparison("r1", "r2"), "1")
    book.add_comparison(comparison("r2", "r3", name="other"), "2")
    book.add_comparison(comparison("r4", "r5", name="100%"), "3")
    assert [one.id for one in book.comparisons()] == ["3", "2", "1"]
    assert [one.id for one in book.comparisons(run="r2")] == ["2", "1"]
    assert [one.id for one in book.comparisons(target="OTHER")] == ["2"]
    assert [one.id for one in book.comparisons(target="%")] == ["3"]
    assert [one.id for one in book.comparisons(1)] == ["3"]
    with pytest.raises(UsageError, match="limit"):
        book.comparisons(0)


def test_an_id_that_begins_a_run_and_a_comparison_is_said(book: Notebook, stored_run: Run) -> None:
    book.add(stored_run)
    book.add_comparison(comparison(), "20260102T030405-zzz")
    with pytest.raises(UsageError, match=r"zzz"):
        book.find("20260102")
    # Where only a run is meant a comparison is not in the way.
    assert book.get("20260102") == stored_run
    with pytest.raises(UsageError, match="none whose id"):
        book.get("20260102T030405-zzz")
    with pytest.raises(UsageError, match="id of its own"):
        book.add_comparison(comparison(), "20260102T030405-zzz")
