"""Out of one notebook and into another: nothing is lost, nothing is changed, nothing is taken by halves."""

from __future__ import annotations

import gzip
import io
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import BinaryIO

import msgspec
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ridgeline.core import Column, ReadError, Run, Samples, UsageError
from ridgeline.flows.notebook_transfer import export_notebook, import_notebook
from ridgeline.notebook import Entry, Notebook, RunFilter, Unreadable
from ridgeline.notebook.json_lines import read_json_lines, write_json_lines
from ridgeline.notebook.parquet import read_parquet, write_parquet
from support.notebook_entries import benchmarked, comparison, experiment, family

Write = Callable[[BinaryIO, Iterable[Entry]], None]
Read = Callable[[BinaryIO], Iterator[Entry | Unreadable]]

FORMS = pytest.mark.parametrize(("write", "read"), [(write_json_lines, read_json_lines), (write_parquet, read_parquet)], ids=["lines", "parquet"])


@pytest.fixture
def filled(book: Notebook, stored_run: Run) -> Notebook:
    book.add(stored_run)
    book.add(benchmarked(stored_run, "20260105T000000-00000001"))
    book.add(msgspec.structs.replace(stored_run, id="20260106T000000-模型", commit=None, diagnosis=None, at="2026-01-06T00:00:00.5+01:00"))
    book.add_experiment(experiment(stored_run.id), "20260107T000000-00000001")
    book.add_experiment(experiment("other", action=None, found=None, verdict="failed"), "20260107T000000-00000002")
    book.add_comparison(comparison(stored_run.id), "20260108T000000-00000001", at="2026-01-08T00:00:00+00:00")
    book.add_comparison(family(), "20260108T000000-00000002")
    return book


def _entries(book: Notebook, wanted: RunFilter | None = None) -> list[Entry]:
    found = list(book.entries(wanted) if wanted else book.entries())
    assert all(isinstance(entry, Entry) for entry in found)
    return found  # type: ignore[return-value]


def _bytes(write: Write, entries: Iterable[Entry]) -> bytes:
    file = io.BytesIO()
    write(file, entries)
    return file.getvalue()


def _outcomes(book: Notebook, entries: Iterable[Entry]) -> list[str]:
    return [outcome for _, outcome in book.take(entries)]


@FORMS
def test_a_notebook_goes_through_a_file_into_another_kind(
    request: pytest.FixtureRequest, filled: Notebook, tmp_path: Path, write: Write, read: Read
) -> None:
    """From SQLite into PostgreSQL and from PostgreSQL into SQLite: documents and columns are equal."""
    before = _entries(filled)
    content = _bytes(write, before)
    runs, comparisons, experiments = filled.runs(), filled.comparisons(), filled.experiments_by_id()
    other = str(tmp_path / "other.sqlite") if "postgres" in filled.place else request.getfixturevalue("postgres")
    with Notebook.open(other) as book:
        assert _outcomes(book, read(io.BytesIO(content))) == ["added"] * 7
        assert _entries(book) == before
        assert (book.runs(), book.comparisons(), book.experiments_by_id()) == (runs, comparisons, experiments)
        assert book.get("20260105").bench == filled.get("20260105").bench
        # Once more changes nothing.
        assert _outcomes(book, read(io.BytesIO(content))) == ["present"] * 7
        assert _entries(book) == before


@FORMS
def test_what_is_there_with_another_content_stays(filled: Notebook, tmp_path: Path, stored_run: Run, write: Write, read: Read) -> None:
    content = _bytes(write, _entries(filled))
    own = msgspec.structs.replace(stored_run, method="my own")
    with Notebook.open(tmp_path / "mine.sqlite") as book:
        book.add(own)
        book.add_comparison(comparison("x", "y"), "20260108T000000-00000001")
        outcomes = _outcomes(book, read(io.BytesIO(content)))
        assert outcomes.count("conflict") == 2
        assert outcomes.count("added") == 5
        assert book.get(stored_run.id) == own


def test_only_some_runs_with_what_belongs_to_them(filled: Notebook, stored_run: Run) -> None:
    found = _entries(filled, RunFilter(commit="0123", verb="diagnose"))
    assert [entry.id for entry in found] == [stored_run.id, "20260107T000000-00000001", "20260108T000000-00000001"]
    assert _entries(filled, RunFilter(target="nothing")) == []


_FLOATS = st.floats(allow_nan=False, allow_infinity=False, min_value=0)


@FORMS
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    walls=st.lists(_FLOATS, max_size=6),
    length=st.sampled_from([0, 6, 64, 65]),
    small=st.lists(st.floats(allow_nan=False, allow_infinity=False, width=32, min_value=0), min_size=1, max_size=6),
    text=st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20),
)
def test_every_number_and_text_survives(
    stored_run: Run, write: Write, read: Read, walls: list[float], length: int, small: list[float], text: str
) -> None:
    # Long columns are blobs, short ones stand in the document.
    walls = np.resize(np.array(walls), length).tolist() if walls else []
    count = len(walls)
    ones = Column([1] * count, "count", "u1")
    samples = Samples(wall_s=Column(walls, "s", "f8"), start_s=Column(walls, "s", "f8"), process=ones, inner=ones)
    facts = msgspec.structs.replace(stored_run.facts, samples=samples, target=msgspec.structs.replace(stored_run.facts.target, spec=text))
    run = msgspec.structs.replace(stored_run, facts=facts, method=text, software={text: text})
    other = msgspec.structs.replace(stored_run.facts.samples, system_s=Column(np.resize(np.array(small, "f4"), 1000), "s"))
    second = msgspec.structs.replace(stored_run, id="second", facts=msgspec.structs.replace(stored_run.facts, samples=other))
    entries = [Entry(kind="run", id=one.id, document=one) for one in (run, second)]
    assert list(read(io.BytesIO(_bytes(write, entries)))) == entries


def test_a_file_cut_anywhere_gives_what_was_whole_and_says_that_it_was_cut(stored_run: Run) -> None:
    short = msgspec.structs.replace(stored_run, facts=msgspec.structs.replace(stored_run.facts, samples=None), diagnosis=None)
    entries = [Entry(kind="run", id=f"r{number}", document=msgspec.structs.replace(short, id=f"r{number}")) for number in range(3)]
    content = _bytes(write_json_lines, entries)
    edges = np.cumsum([len(line) for line in content.splitlines(keepends=True)])
    for end in range(int(edges[0]), len(content) - 1):
        found = list(read_json_lines(io.BytesIO(content[:end])))
        whole = [entry for entry in found if isinstance(entry, Entry)]
        # A line whose newline alone is missing is whole.
        assert whole == entries[: int(np.sum(edges[1:4] - 1 <= end))]
        assert any(isinstance(entry, Unreadable) for entry in found), end
    assert list(read_json_lines(io.BytesIO(content))) == entries
    with pytest.raises(ReadError):
        list(read_json_lines(io.BytesIO(content[:20])))


def test_a_missing_line_is_counted(stored_run: Run) -> None:
    entries = [Entry(kind="run", id=f"r{number}", document=msgspec.structs.replace(stored_run, id=f"r{number}")) for number in range(3)]
    lines = _bytes(write_json_lines, entries).splitlines(keepends=True)
    *whole, lost = read_json_lines(io.BytesIO(b"".join(lines[:2] + lines[3:])))
    assert whole == [entries[0], entries[2]]
    assert isinstance(lost, Unreadable)
    assert "3 entries were written, 2 are here" in lost.reason


@pytest.mark.parametrize(
    "line",
    [
        b"", b"{}", b"null", b"[" * 100_000, b"\xff\xfe", b'{"schema": "ridgeline.entry/1"}', b'{"schema": "ridgeline.entry/2", "kind": "run"}',
        b'{"schema":"ridgeline.entry/1","kind":"song","id":"x","document":{}}', b'{"schema":"ridgeline.entry/1","kind":"run","id":"x","document":{}}',
        b'{"schema":"ridgeline.entry/1","kind":"comparison","id":"x","document":{"schema":"ridgeline.compare/1","ratio":NaN}}',
        b'{"schema":"ridgeline.entry/1","kind":"comparison","id":"x","document":7}', b'{"schema":"ridgeline.notebook/1","at":""}',
    ],
)  # fmt: skip
def test_a_line_that_is_none_costs_only_itself(stored_run: Run, line: bytes) -> None:
    entry = Entry(kind="run", id=stored_run.id, document=stored_run)
    begin, whole, end = _bytes(write_json_lines, [entry]).splitlines(keepends=True)
    found = list(read_json_lines(io.BytesIO(begin + line + b"\n" + whole + end)))
    assert entry in found
    # The line itself, and that there is one more than were written.
    assert [type(one) for one in found] == ([Unreadable, Entry, Unreadable] if line else [Entry])


@pytest.mark.parametrize("identity", ["", "x" * 201, "a\nb", "a\x1b[31m", "another"])
def test_an_id_that_cannot_be_found_again_is_refused(stored_run: Run, identity: str) -> None:
    for write, read in ((write_json_lines, read_json_lines), (write_parquet, read_parquet)):
        (found,) = read(io.BytesIO(_bytes(write, [Entry(kind="run", id=identity, document=stored_run)])))
        assert isinstance(found, Unreadable)


@pytest.mark.parametrize("content", [b"", b"PAR1", b"PAR1" + b"\0" * 100 + b"PAR1", b"x" * 1000])
def test_what_is_no_parquet_is_an_error_of_ours(content: bytes) -> None:
    with pytest.raises(ReadError):
        list(read_parquet(io.BytesIO(content)))


def test_a_parquet_file_that_was_cut_or_changed(stored_run: Run) -> None:
    content = _bytes(write_parquet, [Entry(kind="run", id=stored_run.id, document=stored_run)])
    for end in range(0, len(content), max(1, len(content) // 40)):
        with pytest.raises(ReadError):
            list(read_parquet(io.BytesIO(content[:end])))
    random = np.random.default_rng(3)
    for _ in range(60):
        changed = bytearray(content)
        changed[int(random.integers(len(content)))] ^= int(random.integers(1, 256))
        try:
            found = list(read_parquet(io.BytesIO(bytes(changed))))
        except ReadError:
            continue
        # A byte of a column that is not read again, or a document that is another: never one that is half of one.
        assert all(isinstance(entry, Unreadable) or entry.document == stored_run or isinstance(entry.document, Run) for entry in found)


def test_a_parquet_file_of_somebody_else_is_refused() -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    file = io.BytesIO()
    pq.write_table(pa.table({"kind": ["run"], "id": [7], "at": [""], "document": ["{}"], "blobs": [[]]}), file)
    with pytest.raises(ReadError, match="a column id"):
        list(read_parquet(io.BytesIO(file.getvalue())))


def test_the_columns_for_analysts_say_what_the_log_says(filled: Notebook) -> None:
    import pyarrow.parquet as pq

    table = pq.read_table(io.BytesIO(_bytes(write_parquet, _entries(filled))))
    rows = {row["id"]: row for row in table.to_pylist()}
    assert len(rows) == 7
    for run in filled.runs():
        row = rows[run.id]
        for name in ("verb", "at", "target", "machine", "machine_name", "commit", "threads", "median_s", "p99_s", "processes", "samples", "bound"):
            assert row[name] == getattr(run, name), name
    bench = filled.get("20260105").bench
    assert bench is not None
    row = rows["20260105T000000-00000001"]
    assert row["wall_s"] == bench.samples.wall_s.values.tolist()
    assert row["process"] == bench.samples.process.values.tolist()
    assert [not warm for warm in row["warmup"]] == bench.steady().tolist()
    assert (rows["20260108T000000-00000001"]["ratio"], rows["20260108T000000-00000001"]["verdict"]) == (1.05, "slower")
    assert (rows["20260107T000000-00000001"]["found_low"], rows["20260107T000000-00000001"]["action"]) == (1.05, "fuse")


def test_a_damaged_run_is_named_and_the_others_leave(file: Path, stored_run: Run) -> None:
    import sqlite3

    with Notebook.open(file) as book:
        for identity in ("1", "2", "3"):
            book.add(msgspec.structs.replace(stored_run, id=identity))
        with sqlite3.connect(file) as connection:
            connection.execute("UPDATE ridgeline_runs SET document = substr(document, 1, 1000) WHERE id = '2'")
        found = list(book.entries())
    assert [type(entry) for entry in found] == [Entry, Unreadable, Entry]
    assert [entry.id for entry in found] == ["1", "2", "3"]


def test_a_document_of_fewer_fields_is_the_same_one(file: Path, stored_run: Run) -> None:
    """An earlier version wrote fewer fields: what it kept is no conflict with what a newer one exports."""
    import json
    import sqlite3

    with Notebook.open(file) as book:
        book.add(stored_run)
        entries = _entries(book)
        with sqlite3.connect(file) as connection:
            (document,) = connection.execute("SELECT document FROM ridgeline_runs").fetchone()
            plain = json.loads(document)
            for name in ("bench", "repository", "directory", "truth"):
                del plain[name]
            connection.execute("UPDATE ridgeline_runs SET document = ?", (json.dumps(plain),))
        assert _outcomes(book, entries) == ["present"]


def test_a_packed_file_whose_check_sum_is_wrong_is_told_although_every_line_was_read(stored_run: Run, tmp_path: Path) -> None:
    lines = _bytes(write_json_lines, [Entry(kind="run", id=stored_run.id, document=stored_run)])
    packed = gzip.compress(lines)
    file = tmp_path / "damaged.jsonl.gz"
    file.write_bytes(packed[:-8] + bytes(4) + packed[-4:])
    done = import_notebook(tmp_path / "n.sqlite", str(file))
    assert (done.added, done.left_out_count) == (1, 1)
    assert "CRC" in done.left_out[0].reason


def test_what_stands_behind_the_end_is_told(stored_run: Run) -> None:
    lines = _bytes(write_json_lines, [Entry(kind="run", id=stored_run.id, document=stored_run)])
    first, second = read_json_lines(io.BytesIO(lines + lines))
    assert isinstance(first, Entry)
    assert isinstance(second, Unreadable)
    assert "behind the last line" in second.reason


def test_a_line_without_end_is_not_taken_into_memory(stored_run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ridgeline.notebook.json_lines._LONGEST_LINE", 1 << 20)
    lines = _bytes(write_json_lines, [Entry(kind="run", id=stored_run.id, document=stored_run)]).splitlines(keepends=True)
    file = io.BytesIO(lines[0] + b" " * (5 << 20) + lines[1] + lines[2])
    with pytest.raises(ReadError, match="longer"):
        list(read_json_lines(file))
    assert file.tell() <= len(lines[0]) + (1 << 20)


@pytest.mark.parametrize("at", ["never", "", "2026-13-01", "\x1b[31m"])
def test_a_run_without_a_time_is_left_out(stored_run: Run, at: str) -> None:
    lines = _bytes(write_json_lines, [Entry(kind="run", id=stored_run.id, document=msgspec.structs.replace(stored_run, at=at))])
    (found,) = read_json_lines(io.BytesIO(lines))
    assert isinstance(found, Unreadable)
    assert "a time in ISO 8601" in found.reason


def test_a_filter_that_means_nothing_writes_nothing(file: Path, stored_run: Run, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    with Notebook.open(file) as book:
        book.add(stored_run)
    for name in ("-", str(tmp_path / "out.jsonl")):
        with pytest.raises(UsageError):
            export_notebook(file, name, RunFilter(since="garbage"))
    assert capfdbinary.readouterr().out == b""
    assert not (tmp_path / "out.jsonl").exists()


def test_gzip_of_the_same_entries_is_the_same_file(stored_run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from ridgeline.flows import notebook_transfer

    with Notebook.open(tmp_path / "n.sqlite") as book:
        book.add(stored_run)
    for name in ("a.jsonl.gz", "b.ndjson.gz"):
        notebook_transfer.export_notebook(tmp_path / "n.sqlite", str(tmp_path / name))
    one, other = (gzip.decompress((tmp_path / name).read_bytes()).splitlines()[1:] for name in ("a.jsonl.gz", "b.ndjson.gz"))
    assert one == other
