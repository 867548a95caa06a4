"""Adding and finding again, on SQLite and on PostgreSQL alike."""

from __future__ import annotations

import itertools
import os
import pwd
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ridgeline.core import Action, Column, Experiment, ReadError, Run, UsageError
from ridgeline.core.documents import encode
from ridgeline.notebook import Notebook, default_location, new_run_id


def _named(run: Run, identity: str, **changes: object) -> Run:
    return msgspec.structs.replace(run, id=identity, **changes)


def test_a_run_comes_back_equal(book: Notebook, stored_run: Run) -> None:
    book.add(stored_run)
    assert book.get(stored_run.id) == stored_run
    assert book.last_saved == stored_run.id


def test_long_columns_are_blobs_shared_between_runs(file: Path, stored_run: Run) -> None:
    import sqlite3

    with Notebook.open(file) as book:
        book.add(stored_run)
        book.add(_named(stored_run, "20270101T000000-00000000"))
        assert book.get("2027").facts.samples == stored_run.facts.samples
    with sqlite3.connect(file) as connection:
        (blobs,) = connection.execute("SELECT count(*) FROM ridgeline_blobs").fetchone()
        (longest,) = connection.execute("SELECT max(length(document)) FROM ridgeline_runs").fetchone()
    assert blobs == 4  # wall_s, start_s, process, inner
    assert longest < len(encode(stored_run)) / 2


def test_last_and_age_and_prefix(book: Notebook, stored_run: Run) -> None:
    ids = ["20260101T000000-aaaa0000", "20260101T000000-aaab0000", "20260201T000000-00000000"]
    for identity in ids:
        book.add(_named(stored_run, identity))
    assert book.get("last").id == book.get("latest").id == book.get("-1").id == ids[2]
    assert book.get("-2").id == ids[1]
    assert book.get("202602").id == ids[2]
    assert book.get(ids[0]).id == ids[0]
    with pytest.raises(UsageError, match=r"aaab0000, 20260101T000000-aaaa0000"):
        book.get("20260101")


@pytest.mark.parametrize(
    "wanted", ["", " ", "nothing", "%", "_", "2026'; DROP TABLE ridgeline_runs; --", "-0", "-4", "-99999999999999999999", "é", "x" * 10_000]
)
def test_what_is_not_there_is_said(book: Notebook, stored_run: Run, wanted: str) -> None:
    book.add(stored_run)
    with pytest.raises(UsageError):
        book.get(wanted)
    assert len(book.runs()) == 1


def test_an_id_is_used_once_by_add_and_replaced_by_save(book: Notebook, stored_run: Run) -> None:
    early = msgspec.structs.replace(stored_run, diagnosis=None)
    book.save(early)
    assert book.runs()[0].bound is None
    book.save(stored_run)
    assert book.get(stored_run.id) == stored_run
    (summary,) = book.runs()
    assert (summary.bound, summary.cause, summary.median_s) == ("bandwidth", "weight-traffic", 0.0125)
    with pytest.raises(UsageError, match="id of its own"):
        book.add(early)
    assert book.get(stored_run.id) == stored_run


def test_runs_are_filtered_newest_first_and_limited(book: Notebook, stored_run: Run) -> None:
    def aimed(identity: str, verb: str, spec: str) -> Run:
        target = msgspec.structs.replace(stored_run.facts.target, spec=spec)
        return _named(stored_run, identity, verb=verb, facts=msgspec.structs.replace(stored_run.facts, target=target))

    for run in (aimed("1", "diagnose", "a_b.onnx"), aimed("2", "probe", "axb.onnx"), aimed("3", "diagnose", "100%.py:f")):
        book.add(run)
    assert [run.id for run in book.runs()] == ["3", "2", "1"]
    assert [run.id for run in book.runs(2)] == ["3", "2"]
    assert [run.id for run in book.runs(verb="diagnose")] == ["3", "1"]
    # _ and % are characters of a name here, not wildcards.
    assert [run.id for run in book.runs(target="a_b")] == ["1"]
    assert [run.id for run in book.runs(target="%")] == ["3"]
    with pytest.raises(UsageError, match="limit"):
        book.runs(0)


def test_experiments(book: Notebook) -> None:
    action = Action(id="a1", action="fuse", on="x", because="y", metric="latency", speedup=(1.1, 1.2), median_after_s=(0.1, 0.2))
    first = Experiment(diagnosis="r1", action=action, before="r1", after="r2", found=(1.05, 1.2), verdict="faster", kept=True)
    second = msgspec.structs.replace(first, diagnosis="r9")
    book.add_experiment(first, "1")
    book.add_experiment(second, "2")
    assert book.experiments() == (first, second)
    assert book.experiments("r9") == (second,)


def test_texts_of_every_script_and_none(book: Notebook, stored_run: Run) -> None:
    target = msgspec.structs.replace(stored_run.facts.target, spec="模型/модель.onnx:ﷺ\u202e\U0001f600\x01")
    run = msgspec.structs.replace(stored_run, facts=msgspec.structs.replace(stored_run.facts, target=target))
    book.add(run)
    assert book.get("last") == run
    assert book.runs(target="модель")[0].target == target.spec


def test_a_lone_surrogate_is_refused_and_nothing_is_written(book: Notebook, stored_run: Run) -> None:
    with pytest.raises(UsageError, match="UTF-8"):
        book.add(msgspec.structs.replace(stored_run, method="a\udcff"))
    assert book.runs() == ()


def test_blobs_keep_the_contract_of_core(book: Notebook) -> None:
    book.blobs.put("d", b"one")
    book.blobs.put("d", b"two")
    assert book.blobs.get("d") == b"one"
    with pytest.raises(ReadError, match="no blob e"):
        book.blobs.get("e")


def test_a_column_whose_blob_was_lost_says_so(file: Path, stored_run: Run) -> None:
    import sqlite3

    with Notebook.open(file) as book:
        book.add(stored_run)
        with sqlite3.connect(file) as connection:
            connection.execute("DELETE FROM ridgeline_blobs")
        with pytest.raises(ReadError, match="blob"):
            book.get("last")
        assert len(book.runs()) == 1


@given(st.lists(st.datetimes(min_value=datetime(2000, 1, 1), max_value=datetime(2200, 1, 1)), min_size=2, max_size=20))
def test_ids_sort_as_their_moments(moments: list[datetime]) -> None:
    moments = [moment.replace(tzinfo=UTC) for moment in moments]
    ids = [new_run_id(moment) for moment in moments]
    for one, other in itertools.pairwise(moments):
        if one != other:
            assert (new_run_id(one) < new_run_id(other)) == (one < other)
    assert all(len(identity) == 24 for identity in ids)


def test_ids_of_one_moment_differ_mostly() -> None:
    moment = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(microseconds=7)
    assert len({new_run_id(moment) for _ in range(64)}) > 32


def test_default_location_follows_the_environment() -> None:
    assert default_location({"RIDGELINE_NOTEBOOK": "x.db", "XDG_DATA_HOME": "/data"}) == "x.db"
    assert default_location({"XDG_DATA_HOME": "/data"}) == "/data/ridgeline/notebook.sqlite"
    ann = {"HOME": "/home/ann"}
    assert default_location(ann) == default_location({**ann, "XDG_DATA_HOME": "relative"}) == "/home/ann/.local/share/ridgeline/notebook.sqlite"
    own = pwd.getpwuid(os.getuid()).pw_dir
    assert default_location({}) == default_location({"HOME": ""}) == default_location({"HOME": "here"})
    assert default_location({"HOME": ""}).startswith(own)


def test_importing_the_room_loads_no_sqlalchemy() -> None:
    code = "import sys, ridgeline.notebook; sys.exit('sqlalchemy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_columns_of_any_length_survive(notebook: Notebook, stored_run: Run) -> None:
    for number, length in enumerate((0, 1, 64, 65)):
        column = Column(range(length), "s", "f8")
        ones = Column([1] * length, "count", "i8")
        samples = msgspec.structs.replace(stored_run.facts.samples, wall_s=column, start_s=column, process=ones, inner=ones)
        run = _named(stored_run, f"r{number}", facts=msgspec.structs.replace(stored_run.facts, samples=samples))
        notebook.add(run)
        assert notebook.get(f"r{number}").facts.samples == samples
