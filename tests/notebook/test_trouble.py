"""Many writers, killed writers, a full disk: what was said to be kept is there, and the rest is not there at all."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import pytest

from ridgeline.core import Run, UsageError
from ridgeline.core.documents import encode
from ridgeline.notebook import Notebook

_WRITER = """
import sys, msgspec, numpy as np
from ridgeline.core import Column, Run
from ridgeline.core.documents import decode
from ridgeline.notebook import Notebook, new_run_id
place, template, who, count = sys.argv[1:]
run = decode(open(template, "rb").read(), Run)
with Notebook.open(place) as book:
    for number in range(int(count)):
        wall = Column(np.random.default_rng([int(who), number]).random(len(run.facts.samples)), "s")
        samples = msgspec.structs.replace(run.facts.samples, wall_s=wall)
        facts = msgspec.structs.replace(run.facts, samples=samples)
        book.add(msgspec.structs.replace(run, id=new_run_id(), method=f"{who}/{number}", facts=facts))
        print(f"{who}/{number}", flush=True)
"""


def _writer(place: str, template: Path, who: int, count: int) -> subprocess.Popen[str]:
    return subprocess.Popen([sys.executable, "-c", _WRITER, place, str(template), str(who), str(count)], stdout=subprocess.PIPE, text=True)


@pytest.fixture
def template(tmp_path: Path, stored_run: Run) -> Path:
    file = tmp_path / "template.json"
    file.write_bytes(encode(stored_run))
    return file


def _methods(place: str | Path) -> list[str]:
    """The method of every run, each read in full."""
    with Notebook.open(place) as book:
        return sorted(book.get(run.id).method for run in book.runs())


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_eight_writers_at_once_on_a_new_notebook(request: pytest.FixtureRequest, tmp_path: Path, template: Path, kind: str) -> None:
    place = str(tmp_path / "shared.sqlite") if kind == "sqlite" else request.getfixturevalue("postgres")
    writers = [_writer(place, template, who, 20) for who in range(8)]
    said = [line for writer in writers for line in writer.communicate(timeout=240)[0].split()]
    assert [writer.returncode for writer in writers] == [0] * 8
    assert _methods(place) == sorted(said)
    assert len(said) == 160


def test_a_killed_writer_loses_at_most_the_run_in_flight(file: Path, template: Path) -> None:
    promised: set[str] = set()
    for who in range(6):
        writer = _writer(str(file), template, who, 10_000)
        assert writer.stdout is not None
        # Killed at another point of the work each time, always after at least one run.
        promised.add(writer.stdout.readline().strip())
        time.sleep(0.02 * who)
        writer.send_signal(signal.SIGKILL)
        promised |= set(writer.stdout.read().split())
        writer.wait()
    assert len(promised) >= 6
    with sqlite3.connect(file) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    found = set(_methods(file))
    assert promised <= found
    # A run whose line was not printed any more may be there, one for each writer.
    assert len(found - promised) <= 6


def _grown(run: Run, identity: str) -> Run:
    return msgspec.structs.replace(run, id=identity, method=os.urandom(200_000).hex())


def test_a_full_disk_keeps_what_was_there(file: Path, stored_run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    from ridgeline.notebook import database

    with Notebook.open(file) as book:
        book.add(stored_run)
    opened = database._opened

    def small(path: Path, writable: bool) -> sqlite3.Connection:
        connection = opened(path, writable)
        connection.execute("PRAGMA max_page_count = 60")
        return connection

    monkeypatch.setattr(database, "_opened", small)
    with Notebook.open(file) as book:
        with pytest.raises(UsageError, match="space for the notebook"):
            book.add(_grown(stored_run, "big"))
        assert [run.id for run in book.runs()] == [stored_run.id]
        assert book.get("last") == stored_run
        assert book.last_saved is None


def test_a_limit_on_file_size_keeps_what_was_there(file: Path, template: Path, stored_run: Run) -> None:
    code = (
        "import os, resource, signal, sys, msgspec\n"
        "from ridgeline.core import Run, RidgelineError\n"
        "from ridgeline.core.documents import decode\n"
        "from ridgeline.notebook import Notebook\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "run = decode(open(sys.argv[2], 'rb').read(), Run)\n"
        "book = Notebook.open(sys.argv[1])\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (150_000, 150_000))\n"
        "try:\n    book.add(msgspec.structs.replace(run, id='big', method=os.urandom(200_000).hex()))\n"
        "except RidgelineError as error:\n    print(type(error).__name__, error)\n"
    )
    with Notebook.open(file) as book:
        book.add(stored_run)
    done = subprocess.run([sys.executable, "-c", code, str(file), str(template)], capture_output=True, text=True, timeout=120)
    assert done.stdout.startswith("UsageError"), done.stderr
    assert len(done.stdout.splitlines()) == 1
    with Notebook.open(file) as book:
        assert [run.id for run in book.runs()] == [stored_run.id]


def test_readers_do_not_wait_for_a_writer(file: Path, stored_run: Run) -> None:
    with Notebook.open(file) as book:
        book.add(stored_run)
        other = sqlite3.connect(file, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        try:
            assert book.get("last") == stored_run
        finally:
            other.execute("ROLLBACK")
            other.close()


def test_a_writer_that_waits_too_long_says_so(file: Path, stored_run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    from ridgeline.notebook import database

    monkeypatch.setattr(database, "BUSY_S", 0.05)
    with Notebook.open(file) as book:
        other = sqlite3.connect(file, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        try:
            with pytest.raises(UsageError, match="try again"):
                book.add(stored_run)
        finally:
            other.execute("ROLLBACK")
            other.close()
        book.add(stored_run)


@pytest.mark.parametrize("room", [0, 100, 5000, 20_000])
def test_a_disk_that_is_full_at_the_beginning_leaves_no_piece_of_a_notebook(tmp_path: Path, room: int) -> None:
    script = (
        "import resource, sys; from ridgeline.notebook import Notebook; from ridgeline.core import UsageError\n"
        "import sqlalchemy.dialects.sqlite, ridgeline.notebook.database\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]),) * 2)\n"
        "try: Notebook.open(sys.argv[1])\nexcept UsageError as error: sys.exit(str(error))\n"
    )
    done = subprocess.run([sys.executable, "-c", script, str(tmp_path / "n.sqlite"), str(room)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 1, done.stderr
    assert "space" in done.stderr
    assert list(tmp_path.iterdir()) == []
