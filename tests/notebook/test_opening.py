"""Opening what is not a notebook, what may not be opened, and what another version wrote."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from ridgeline.core import ReadError, RidgelineError, Run, UsageError
from ridgeline.core.documents import encode
from ridgeline.notebook import Notebook
from ridgeline.notebook.migrate import migrations

AS_NOBODY = pytest.mark.skipif(os.getuid() != 0, reason="only root can become another user; run as root for the tests of permissions")


def _schema(file: Path) -> list[str]:
    with sqlite3.connect(file) as connection:
        return sorted(row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'"))


def _as_nobody(code: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    """Run code as user nobody; it prints the error as JSON."""
    program = (
        "import json, os, sys\n"
        "from ridgeline.core import RidgelineError\n"
        "from ridgeline.core.documents import decode\n"
        "from ridgeline.core import Run\n"
        "from ridgeline.notebook import Notebook\n"
        # Whatever is imported late must be in before the rights are gone.
        "import tempfile\n"
        "with tempfile.TemporaryDirectory() as warm: Notebook.open(warm + '/n').close()\n"
        "os.setgroups([]); os.setgid(65534); os.setuid(65534)\n"
        "try:\n    " + code.replace("\n", "\n    ") + "\n"
        "except RidgelineError as error:\n    print(json.dumps([type(error).__name__, str(error)]))\n"
    )
    return subprocess.run([sys.executable, "-c", program, *map(str, arguments)], capture_output=True, text=True, timeout=120)


def test_a_new_notebook_has_its_tables_once(file: Path) -> None:
    for _ in range(2):
        Notebook.open(file).close()
    assert _schema(file) == ["ridgeline_blobs", "ridgeline_comparisons", "ridgeline_experiments", "ridgeline_migrations", "ridgeline_runs"]
    with sqlite3.connect(file) as connection:
        numbers = [row[0] for row in connection.execute("SELECT number FROM ridgeline_migrations ORDER BY number")]
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    assert numbers == list(range(1, len(numbers) + 1))


@pytest.mark.parametrize("dialect", ["sqlite", "postgresql"])
def test_migrations_are_numbered_without_a_gap(dialect: str) -> None:
    found = migrations(dialect)
    assert [migration.number for migration in found] == list(range(1, len(found) + 1))
    assert all(migration.statements for migration in found)


def test_parents_are_made(tmp_path: Path) -> None:
    Notebook.open(tmp_path / "a" / "b" / "n.sqlite").close()
    assert (tmp_path / "a" / "b" / "n.sqlite").exists()


def test_a_notebook_that_must_exist_is_not_made(file: Path) -> None:
    with pytest.raises(UsageError, match="no file"):
        Notebook.open(file, create=False)
    assert not file.exists()


def test_an_empty_file_becomes_a_notebook(file: Path) -> None:
    file.touch()
    with Notebook.open(file) as book:
        assert book.runs() == ()


@pytest.mark.parametrize("content", [b"hello", b"\xff\xfe" * 100, b"SQLite format 4\0" + b"x" * 100, b"\0"])
def test_another_kind_of_file_is_left_alone(file: Path, content: bytes) -> None:
    file.write_bytes(content)
    with pytest.raises(ReadError, match="no SQLite file"):
        Notebook.open(file)
    assert file.read_bytes() == content
    assert sorted(file.parent.iterdir()) == [file]


@pytest.mark.parametrize("keep", [16, 50, 100, 1000, 5000])
def test_a_truncated_notebook_is_an_error_of_ours(file: Path, stored_run: Run, keep: int) -> None:
    with Notebook.open(file) as book:
        book.add(stored_run)
    file.write_bytes(file.read_bytes()[:keep])
    with pytest.raises(RidgelineError) as caught, Notebook.open(file) as book:
        book.get("last")
    assert str(file) in str(caught.value)


def test_the_database_of_another_program_is_left_alone(file: Path) -> None:
    with sqlite3.connect(file) as connection:
        connection.execute("CREATE TABLE songs (title TEXT)")
    with pytest.raises(ReadError, match="songs"):
        Notebook.open(file)
    assert _schema(file) == ["songs"]


def test_a_newer_notebook_is_refused(file: Path) -> None:
    Notebook.open(file).close()
    with sqlite3.connect(file) as connection:
        connection.execute("INSERT INTO ridgeline_migrations VALUES (99, 'later', 'then')")
    with pytest.raises(ReadError, match=r"migration 99.*update ridgeline"):
        Notebook.open(file)


def test_an_older_notebook_is_brought_up_with_its_runs(file: Path, stored_run: Run) -> None:
    """A notebook of the first migration only, written by hand as that version would have."""
    document = encode(stored_run).decode()
    with sqlite3.connect(file) as connection:
        connection.execute("CREATE TABLE ridgeline_migrations (number INTEGER NOT NULL PRIMARY KEY, title TEXT NOT NULL, at TEXT NOT NULL)")
        for statement in migrations("sqlite")[0].statements:
            connection.execute(statement)
        connection.execute("INSERT INTO ridgeline_migrations VALUES (1, 'runs', 'then')")
        row = (stored_run.id, "diagnose", stored_run.at, "t", "", "", None, None, None, None, document)
        connection.execute(f"INSERT INTO ridgeline_runs VALUES ({', '.join('?' * len(row))})", row)
    with Notebook.open(file) as book:
        assert book.get("last") == stored_run
    assert "ridgeline_experiments" in _schema(file)


def test_a_migration_that_fails_leaves_nothing(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from ridgeline.notebook import migrate

    broken = migrate.Migration(9, "broken", ("CREATE TABLE half (x)", "CREATE TABLE half (x)"))
    known = migrations("sqlite")
    monkeypatch.setattr(migrate, "migrations", lambda dialect: (*known, broken))
    with pytest.raises(RidgelineError):
        Notebook.open(file)
    assert _schema(file) == []


@pytest.mark.parametrize(
    "location", ["", "mysql://host/db", "sqlite://", ":memory:", "a\0b", "postgresql+psycopg://[bad", "~nosuchuser12345/n.sqlite"]
)
def test_a_location_that_names_nothing(location: str) -> None:
    with pytest.raises(UsageError):
        Notebook.open(location)


def test_a_directory_and_a_device_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="directory"):
        Notebook.open(tmp_path)
    with pytest.raises(UsageError, match="no ordinary file"):
        Notebook.open("/dev/null")
    with pytest.raises(UsageError):
        Notebook.open(tmp_path / ("x" * 300))
    (tmp_path / "file").touch()
    with pytest.raises(UsageError):
        Notebook.open(tmp_path / "file" / "n.sqlite")


def test_a_path_with_characters_of_a_url(tmp_path: Path) -> None:
    file = tmp_path / "a b?c#d%20e.sqlite"
    Notebook.open(file).close()
    assert file.exists()
    Notebook.open(f"sqlite:///{file}").close()


def test_a_server_that_is_not_there_is_said_without_the_password() -> None:
    pytest.importorskip("psycopg", reason="psycopg is not installed: pip install 'ridgeline[postgres]'")
    with pytest.raises(UsageError) as caught:
        Notebook.open("postgresql://ann:s3cret@127.0.0.1:1/db")
    assert "127.0.0.1" in str(caught.value)
    assert "s3cret" not in str(caught.value)


@pytest.fixture
def public() -> Iterator[Path]:
    """A directory that others may enter and read; those that pytest makes are closed to them."""
    with tempfile.TemporaryDirectory() as directory:
        os.chmod(directory, 0o755)
        yield Path(directory)


@AS_NOBODY
def test_another_user_cannot_make_one_where_it_may_not(public: Path) -> None:
    done = _as_nobody("Notebook.open(sys.argv[1])", public / "n.sqlite")
    kind, text = json.loads(done.stdout)
    assert kind == "UsageError"
    assert "--no-notebook" in text or "permissions" in text
    assert list(public.iterdir()) == []


@AS_NOBODY
def test_another_user_may_read_but_not_write(public: Path, stored_run: Run) -> None:
    file = public / "n.sqlite"
    with Notebook.open(file) as book:
        book.add(stored_run)
    os.chmod(file, 0o644)
    read = _as_nobody("book = Notebook.open(sys.argv[1]); print(book.get('last').id, book.writable)", file)
    assert read.stdout.split() == [stored_run.id, "False"], read.stderr
    wrote = _as_nobody("book = Notebook.open(sys.argv[1]); book.save(book.get('last'))", file)
    kind, text = json.loads(wrote.stdout)
    assert kind == "UsageError"
    assert "only be read" in text
    os.chmod(file, 0o600)
    closed = _as_nobody("Notebook.open(sys.argv[1])", file)
    assert json.loads(closed.stdout)[0] == "UsageError"
    with Notebook.open(file) as book:
        assert book.get("last") == stored_run
