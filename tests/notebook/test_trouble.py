"""Many writers, killed writers, a full disk: what was said to be kept is there, and the rest is not there at all."""

from __future__ import annotations

import itertools
import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from ridgeline.core import Run, UsageError
from ridgeline.core.documents import encode
from ridgeline.notebook import Notebook

# Imports once and then forks a writer for each line it is given: starting an interpreter takes longer than what is tested.
_NURSERY = """
import json, os, sys, traceback
import msgspec, numpy as np
import sqlalchemy.dialects.sqlite, ridgeline.notebook.database
from ridgeline.core import Column, Run
from ridgeline.core.documents import decode
from ridgeline.notebook import Notebook, new_run_id

def write(place, template, who, count, said):
    run = decode(open(template, "rb").read(), Run)
    with Notebook.open(place) as book, open(said, "ab", buffering=0) as told:
        for number in range(count):
            wall = Column(np.random.default_rng([who, number]).random(len(run.facts.samples)), "s")
            samples = msgspec.structs.replace(run.facts.samples, wall_s=wall)
            facts = msgspec.structs.replace(run.facts, samples=samples)
            book.add(msgspec.structs.replace(run, id=new_run_id(), method=f"{who}/{number}", facts=facts))
            told.write(f"{who}/{number}\\n".encode())

for line in sys.stdin:
    asked = json.loads(line)
    if isinstance(asked, int):
        print(os.waitstatus_to_exitcode(os.waitpid(asked, 0)[1]), flush=True)
        continue
    child = os.fork()
    if child == 0:
        try:
            write(*asked)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    print(child, flush=True)
"""


class Nursery:
    """Writers in processes of their own."""

    def __init__(self, template: Path, said: Path) -> None:
        self._template, self._said = template, said
        said.touch()
        self._process = subprocess.Popen([sys.executable, "-c", _NURSERY], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def _ask(self, what: object) -> int:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(what) + "\n")
        self._process.stdin.flush()
        return int(self._process.stdout.readline())

    def start(self, place: str, who: int, count: int) -> int:
        """Process id of a writer of `count` runs."""
        return self._ask([place, str(self._template), who, count, str(self._said)])

    def wait(self, child: int) -> int:
        """Its exit status, minus the signal that ended it."""
        return self._ask(child)

    def said(self) -> list[str]:
        """The runs that writers were told are kept."""
        return self._said.read_text().split()

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(timeout=30)


@pytest.fixture
def nursery(tmp_path: Path, template: Path) -> Iterator[Nursery]:
    made = Nursery(template, tmp_path / "said")
    yield made
    made.close()


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
def test_eight_writers_at_once_on_a_new_notebook(request: pytest.FixtureRequest, tmp_path: Path, nursery: Nursery, kind: str) -> None:
    place = str(tmp_path / "shared.sqlite") if kind == "sqlite" else request.getfixturevalue("postgres")
    writers = [nursery.start(place, who, 50) for who in range(8)]
    assert [nursery.wait(writer) for writer in writers] == [0] * 8
    assert _methods(place) == sorted(nursery.said())
    assert len(nursery.said()) == 400


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_a_killed_writer_loses_at_most_the_run_in_flight(request: pytest.FixtureRequest, tmp_path: Path, nursery: Nursery, kind: str) -> None:
    """Writers killed one after the other, each at another point of its work and always after at least one run."""
    place, times = (str(tmp_path / "n.sqlite"), 25) if kind == "sqlite" else (request.getfixturevalue("postgres"), 15)
    for who in range(times):
        writer = nursery.start(place, who, 10_000)
        while not any(line.startswith(f"{who}/") for line in nursery.said()):
            time.sleep(0.001)
        # A run takes a few milliseconds: the steps reach every part of one.
        time.sleep(0.0007 * who)
        os.kill(writer, signal.SIGKILL)
        assert nursery.wait(writer) == -signal.SIGKILL
    promised, found = set(nursery.said()), set(_methods(place))
    assert len({name.partition("/")[0] for name in promised}) == times
    assert promised <= found
    # A run that was kept before it could be said, one for each writer.
    assert len(found - promised) <= times
    if kind == "sqlite":
        with sqlite3.connect(place) as connection:
            assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_a_killed_import_leaves_whole_entries_and_goes_on(file: Path, stored_run: Run, tmp_path: Path) -> None:
    from ridgeline.flows.notebook_transfer import export_notebook, import_notebook

    with Notebook.open(file) as book:
        for number in range(150):
            book.add(msgspec.structs.replace(stored_run, id=f"r{number:03}"))
    export_notebook(file, str(tmp_path / "all.jsonl"))
    other = tmp_path / "other.sqlite"
    code = "import sys; from ridgeline.flows.notebook_transfer import import_notebook; import_notebook(sys.argv[1], sys.argv[2])"
    seen = []
    for wait in (0.0, 0.05, 0.1):
        taking = subprocess.Popen([sys.executable, "-c", code, str(other), str(tmp_path / "all.jsonl")])
        # From when the notebook is there on, so that the kill falls into the taking.
        while not other.exists() and taking.poll() is None:
            time.sleep(0.005)
        time.sleep(wait)
        taking.kill()
        taking.wait()
        with Notebook.open(other) as book:
            seen.append([run.id for run in book.runs()])
            assert all(msgspec.structs.replace(book.get(identity), id=stored_run.id) == stored_run for identity in seen[-1][:5])
    assert all(set(earlier) <= set(later) for earlier, later in itertools.pairwise(seen))
    done = import_notebook(other, str(tmp_path / "all.jsonl"))
    assert (done.added + done.present, done.conflict_count, done.left_out_count) == (150, 0, 0)


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
