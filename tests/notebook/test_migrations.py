"""Notebooks of every earlier version, made from their own migrations: brought up whole, by one process or by several at once, or left alone."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from ridgeline.core import MemoryBlobs, Run, UsageError
from ridgeline.core.documents import encode
from ridgeline.notebook import Notebook
from ridgeline.notebook.migrate import migrations
from support.notebook_entries import comparison, experiment

#: Columns of the first version, which the next two did not touch.
_FIRST = "id, verb, at, target, target_digest, machine, bound, cause, median_s, commit_id, document"
_RECORD = "CREATE TABLE ridgeline_migrations (number INTEGER NOT NULL PRIMARY KEY, title TEXT NOT NULL, at TEXT NOT NULL)"


def _rows(run: Run, version: int, count: int) -> list[tuple[str, list[object]]]:
    """What a notebook of that version held: runs with the columns of then, blobs from version 2 on, an experiment from version 3 on."""
    statements: list[tuple[str, list[object]]] = []
    for number in range(count):
        blobs = MemoryBlobs()
        one = msgspec.structs.replace(run, id=f"run{number:05}", at="2026-01-02T03:04:05+00:00")
        document = encode(one, blobs if version >= 2 else None).decode()
        row = [one.id, "diagnose", one.at, "t", "d", "f" * 16, "bandwidth", "weight-traffic", 0.0125, one.commit, document]
        statements.append((f"INSERT INTO ridgeline_runs ({_FIRST}) VALUES ({', '.join('?' * len(row))})", row))
        statements += [("INSERT OR IGNORE INTO ridgeline_blobs VALUES (?, ?)", [digest, data]) for digest, data in blobs.items()]
    if version >= 3:
        document = encode(experiment("run00000")).decode()
        statements.append(("INSERT INTO ridgeline_experiments VALUES (?, ?, ?, ?, ?)", ["e1", "run00000", "fuse", "faster", document]))
    return statements


def _old(file: Path, run: Run, version: int, count: int = 3) -> None:
    with sqlite3.connect(file) as connection:
        connection.execute(_RECORD)
        for migration in migrations("sqlite")[:version]:
            for statement in migration.statements:
                connection.execute(statement)
            connection.execute("INSERT INTO ridgeline_migrations VALUES (?, ?, 'then')", [migration.number, migration.title])
        for statement, row in _rows(run, version, count):
            connection.execute(statement, row)


def _check(book: Notebook, run: Run, version: int, count: int = 3) -> None:
    assert [line.id for line in book.runs()] == [f"run{number:05}" for number in reversed(range(count))]
    line = book.runs(1)[0]
    assert run.diagnosis is not None
    truth = run.diagnosis.ground_truth
    assert truth is not None
    assert (line.machine_name, line.threads, line.p99_s, line.batched_s, line.processes, line.samples) == (
        run.facts.machine.cpu_model, run.facts.target.threads, truth.p99_s, truth.batched_s, truth.processes, truth.samples,
    )  # fmt: skip
    assert book.get("run00001").facts == run.facts
    assert len(book.experiments()) == (version >= 3)
    book.add_comparison(comparison(), "c")
    book.save(msgspec.structs.replace(run, id="run00001"))
    assert book.get("run00001") == msgspec.structs.replace(run, id="run00001")


@pytest.mark.parametrize("version", range(1, len(migrations("sqlite"))))
def test_each_earlier_version_is_brought_up_with_all_it_holds(file: Path, stored_run: Run, version: int) -> None:
    _old(file, stored_run, version)
    with Notebook.open(file) as book:
        _check(book, stored_run, version)


@pytest.mark.parametrize("version", range(1, len(migrations("postgresql"))))
def test_each_earlier_version_in_postgresql(postgres: str, stored_run: Run, version: int) -> None:
    from sqlalchemy import create_engine

    engine = create_engine(postgres)
    with engine.begin() as connection:
        for statement in (_RECORD, *(text for migration in migrations("postgresql")[:version] for text in migration.statements)):
            connection.exec_driver_sql(statement)
        for migration in migrations("postgresql")[:version]:
            connection.exec_driver_sql("INSERT INTO ridgeline_migrations VALUES (%s, %s, 'then')", (migration.number, migration.title))
        for statement, row in _rows(stored_run, version, 3):
            text = statement.replace("?", "%s").replace("INSERT OR IGNORE INTO ridgeline_blobs VALUES (%s, %s)", _PG_BLOB)
            connection.exec_driver_sql(text, tuple(row))
    engine.dispose()
    with Notebook.open(postgres) as book:
        _check(book, stored_run, version)


_PG_BLOB = "INSERT INTO ridgeline_blobs VALUES (%s, %s) ON CONFLICT DO NOTHING"


def test_a_document_that_cannot_be_read_is_no_hindrance(file: Path, stored_run: Run) -> None:
    _old(file, stored_run, 3)
    with sqlite3.connect(file) as connection:
        connection.execute("UPDATE ridgeline_runs SET document = substr(document, 1, 500) WHERE id = 'run00001'")
        connection.execute("UPDATE ridgeline_runs SET document = '{}' WHERE id = 'run00000'")
    with Notebook.open(file) as book:
        newest, *others = book.runs()
    assert newest.samples == 500
    assert [(line.machine_name, line.samples) for line in others] == [("", None), ("", None)]


_OPEN = "import sys; from ridgeline.notebook import Notebook; book = Notebook.open(sys.argv[1]); print(len(book.runs()), book.runs(1)[0].samples)"


def test_processes_that_bring_it_up_at_once_are_all_right(file: Path, stored_run: Run) -> None:
    _old(file, stored_run, 3, count=40)
    opening = [subprocess.Popen([sys.executable, "-c", _OPEN, str(file)], stdout=subprocess.PIPE, text=True) for _ in range(4)]
    assert [one.communicate(timeout=120)[0].split() for one in opening] == [["40", "500"]] * 4
    with sqlite3.connect(file) as connection:
        numbers = [row[0] for row in connection.execute("SELECT number FROM ridgeline_migrations ORDER BY number")]
    assert numbers == [migration.number for migration in migrations("sqlite")]


def test_a_process_killed_while_it_brings_it_up_leaves_the_old_one(file: Path, stored_run: Run) -> None:
    _old(file, stored_run, 3, count=10)
    code = (
        "import os, signal, sys\n"
        "from ridgeline.notebook import Notebook, backfill\n"
        "fill = backfill._fill\n"
        "def fatal(connection, identity, run):\n"
        "    fill(connection, identity, run)\n"
        "    if identity == 'run00005': os.kill(os.getpid(), signal.SIGKILL)\n"
        "backfill._fill = fatal\n"
        "Notebook.open(sys.argv[1])\n"
    )
    assert subprocess.run([sys.executable, "-c", code, str(file)], timeout=120).returncode == -9
    with sqlite3.connect(file) as connection:
        assert connection.execute("SELECT max(number) FROM ridgeline_migrations").fetchone() == (3,)
    with Notebook.open(file) as book:
        _check(book, stored_run, 3, count=10)


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become another user; run as root for the tests of permissions")
def test_an_older_one_that_may_only_be_read_is_said_and_left(file: Path, stored_run: Run, tmp_path: Path) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as directory:
        os.chmod(directory, 0o755)
        place = Path(directory) / "n.sqlite"
        _old(place, stored_run, 2)
        before = place.read_bytes()
        code = (
            "import os, sys\nfrom ridgeline.core import UsageError\nfrom ridgeline.notebook import Notebook\nimport tempfile\n"
            "with tempfile.TemporaryDirectory() as warm: Notebook.open(warm + '/n').close()\n"
            "os.setgroups([]); os.setgid(65534); os.setuid(65534)\n"
            "try: Notebook.open(sys.argv[1])\nexcept UsageError as error: print(error)\n"
        )
        done = subprocess.run([sys.executable, "-c", code, str(place)], capture_output=True, text=True, timeout=120)
        assert "older and read-only" in done.stdout, done.stderr
        assert place.read_bytes() == before


def test_a_full_disk_while_bringing_it_up_leaves_the_old_one(file: Path, stored_run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    from ridgeline.notebook import database

    _old(file, stored_run, 3, count=40)
    opened = database._opened
    with sqlite3.connect(file) as connection:
        (pages,) = connection.execute("PRAGMA page_count").fetchone()

    def small(path: Path, writable: bool) -> sqlite3.Connection:
        connection = opened(path, writable)
        connection.execute(f"PRAGMA max_page_count = {pages + 1}")
        return connection

    with monkeypatch.context() as patch:
        patch.setattr(database, "_opened", small)
        with pytest.raises(UsageError, match="space for the notebook"):
            Notebook.open(file)
    with sqlite3.connect(file) as connection:
        assert connection.execute("SELECT max(number) FROM ridgeline_migrations").fetchone() == (3,)
    with Notebook.open(file) as book:
        _check(book, stored_run, 3, count=40)
