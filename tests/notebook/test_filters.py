"""Which runs are meant: every filter alone and together, on both kinds of database, against the same choice made in Python."""

from __future__ import annotations

import datetime

import msgspec
import pytest

from ridgeline.core import Run, UsageError
from ridgeline.notebook import Notebook, RunFilter
from ridgeline.notebook.filters import moment
from ridgeline.notebook.summary import utc
from support.notebook_entries import benchmarked

NOW = datetime.datetime(2026, 3, 10, 12, tzinfo=datetime.UTC)


def _run(template: Run, identity: str, *, at: str, commit: str | None, cpu: str, fingerprint: str, threads: int) -> Run:
    machine = msgspec.structs.replace(template.facts.machine, cpu_model=cpu, fingerprint=fingerprint)
    target = msgspec.structs.replace(template.facts.target, threads=threads)
    facts = msgspec.structs.replace(template.facts, machine=machine, target=target)
    return msgspec.structs.replace(template, id=identity, at=at, commit=commit, facts=facts)


@pytest.fixture
def filled(book: Notebook, stored_run: Run) -> Notebook:
    book.add(_run(stored_run, "1", at="2026-03-01T00:00:00+00:00", commit="abc1" * 10, cpu="Zen 100%", fingerprint="f1", threads=0))
    book.add(_run(stored_run, "2", at="2026-03-02T01:30:00+02:00", commit="abc1" * 10 + "+dirty", cpu="ZEN 4", fingerprint="f1", threads=2))
    book.add(_run(stored_run, "3", at="2026-03-02T23:59:59+00:00", commit="abd2" * 10, cpu="Xeon", fingerprint="e_3", threads=2))
    book.add(_run(stored_run, "4", at="2026-03-03T00:00:00+00:00", commit=None, cpu="Xeon", fingerprint="e53", threads=4))
    return book


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ({}, "4321"),
        ({"commit": "ab"}, "321"),
        ({"commit": "ABC1"}, "21"),
        ({"commit": "abc1+dirty"}, "2"),
        ({"commit": "+dirty"}, "2"),
        ({"commit": "abc1" * 10}, "21"),
        ({"commit": "%"}, ""),
        ({"commit": ""}, "321"),
        ({"machine": "zen"}, "21"),
        ({"machine": "100%"}, "1"),
        ({"machine": "e_"}, "3"),
        ({"machine": "E5"}, "4"),
        ({"since": "2026-03-02"}, "43"),
        ({"until": "2026-03-02"}, "321"),
        ({"until": "2026-03-01"}, "21"),  # 01:30+02:00 is still the day before
        ({"since": "2026-03-02T00:00", "until": "2026-03-02T23:59:59"}, "3"),
        ({"threads": 0}, "1"),
        ({"threads": 2, "machine": "xeon"}, "3"),
        ({"verb": "bench"}, ""),
        ({"target": "MODEL"}, "4321"),
        ({"machine": "'; DROP TABLE ridgeline_runs; --"}, ""),
    ],
)
def test_each_filter(filled: Notebook, wanted: dict[str, object], found: str) -> None:
    assert "".join(run.id for run in filled.runs(wanted=RunFilter(**wanted))) == found


def test_keywords_go_before_the_filter(filled: Notebook) -> None:
    assert [run.id for run in filled.runs(wanted=RunFilter(target="nothing"), target="model", verb="diagnose", limit=1)] == ["4"]


@pytest.mark.parametrize(
    ("text", "end", "found"),
    [
        ("2026-01-02", False, "2026-01-02T00:00:00+00:00"),
        ("2026-01-02", True, "2026-01-02T23:59:59+00:00"),
        ("2026-01-02T03:04", True, "2026-01-02T03:04:00+00:00"),
        ("2026-01-02T03:04:05Z", False, "2026-01-02T03:04:05+00:00"),
        ("2026-01-02T03:04+05:30", False, "2026-01-01T21:34:00+00:00"),
        ("7d", False, "2026-03-03T12:00:00+00:00"),
        (" 12h ", False, "2026-03-10T00:00:00+00:00"),
        ("90min", False, "2026-03-10T10:30:00+00:00"),
        ("2 w", False, "2026-02-24T12:00:00+00:00"),
    ],
)
def test_times_as_a_person_gives_them(text: str, end: bool, found: str) -> None:
    assert moment(text, end=end, now=NOW) == found


@pytest.mark.parametrize("text", ["", "yesterday", "7", "7y", "-7d", "2026-13-01", "999999w", "0001-01-01T00:00+23:00", "٧d", "1e3d"])
def test_what_is_no_time_is_said(text: str) -> None:
    with pytest.raises(UsageError, match="7d, 12h"):
        moment(text, now=NOW)


def test_times_are_kept_in_utc(book: Notebook, stored_run: Run) -> None:
    book.add(msgspec.structs.replace(stored_run, at="2026-01-02T03:04:05.678+05:30"))
    assert book.runs()[0].at == "2026-01-01T21:34:05+00:00"
    assert book.get("last").at == "2026-01-02T03:04:05.678+05:30"
    assert utc("no time") == "no time"
    assert utc("0001-01-01T00:00:00+23:00") == "0001-01-01T00:00:00+23:00"


def test_a_benchmark_is_summed_up_from_its_steady_calls(book: Notebook, stored_run: Run) -> None:
    book.add(benchmarked(stored_run, "b", processes=3, calls=200))
    (line,) = book.runs()
    assert (line.verb, line.processes, line.samples, line.bound) == ("bench", 3, 540, None)
    # The middle process: 1 ms + 1 µs and at most 0.1 µs.
    assert line.median_s is not None
    assert 1.001e-3 <= line.median_s <= 1.0011e-3
    assert line.p99_s is not None
    assert line.p99_s >= 1.002e-3
    assert line.batched_s == 0.9e-3
    book.add(benchmarked(stored_run, "c", processes=1, calls=200))
    assert book.runs(1)[0].p99_s is None  # 180 calls are too few for a p99


def test_what_was_concluded_goes_before_what_is_computed_again(book: Notebook, stored_run: Run) -> None:
    assert stored_run.diagnosis is not None
    truth = stored_run.diagnosis.ground_truth
    book.add(msgspec.structs.replace(benchmarked(stored_run, "b"), truth=truth))
    assert truth is not None
    assert book.runs()[0].median_s == truth.median_s


def test_a_target_longer_than_an_index_takes(book: Notebook, stored_run: Run) -> None:
    import random

    text = "".join(random.Random(1).choices("abcdefghijklmnopqrstuvwxyz0123456789", k=40_000))
    target = msgspec.structs.replace(stored_run.facts.target, spec=text)
    book.add(msgspec.structs.replace(stored_run, facts=msgspec.structs.replace(stored_run.facts, target=target)))
    assert book.runs(target=text[20_000:20_100])[0].target == text


def test_a_zero_byte_is_refused_alike(book: Notebook, stored_run: Run) -> None:
    target = msgspec.structs.replace(stored_run.facts.target, spec="a\0b")
    with pytest.raises(UsageError, match="zero bytes"):
        book.add(msgspec.structs.replace(stored_run, facts=msgspec.structs.replace(stored_run.facts, target=target)))
    assert book.runs() == ()
