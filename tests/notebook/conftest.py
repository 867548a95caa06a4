"""A notebook in a temporary file, and a PostgreSQL server of the test's own."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from ridgeline.notebook import Notebook


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "notebook.sqlite"


@pytest.fixture
def notebook(file: Path) -> Iterator[Notebook]:
    with Notebook.open(file) as opened:
        yield opened


@pytest.fixture(params=["sqlite", "postgresql"])
def book(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Notebook]:
    """An empty notebook of either kind."""
    if request.param == "sqlite":
        with Notebook.open(tmp_path / "n.sqlite") as opened:
            yield opened
        return
    with Notebook.open(request.getfixturevalue("postgres")) as opened:
        yield opened


def _server_user() -> str | None:
    """PostgreSQL refuses to run as root: another user then, or the present one."""
    if os.getuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        try:
            pwd.getpwnam(name)
        except KeyError:
            continue
        return name
    pytest.skip("no user to run PostgreSQL as")


@pytest.fixture
def postgres(_server: str) -> Iterator[str]:
    """URL of a database without tables; what a test leaves there is dropped."""
    from sqlalchemy import create_engine, text

    yield _server
    engine = create_engine(_server)
    with engine.begin() as connection:
        for table in ("runs", "blobs", "experiments", "comparisons", "migrations"):
            connection.execute(text(f"DROP TABLE IF EXISTS ridgeline_{table}"))
    engine.dispose()


@pytest.fixture(scope="session")
def _server() -> Iterator[str]:
    """A server that lives as long as the tests."""
    pytest.importorskip("psycopg", reason="psycopg is not installed: pip install 'ridgeline[postgres]'")
    if shutil.which("initdb") is None or shutil.which("pg_ctl") is None:
        pytest.skip("initdb and pg_ctl are not on PATH: install a PostgreSQL server to run these tests")
    user = _server_user()
    with tempfile.TemporaryDirectory(prefix="ridgeline-pg-") as directory:
        if user:
            shutil.chown(directory, user)
        data = f"{directory}/data"
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        options = f"-p {port} -k {directory} -c listen_addresses=127.0.0.1 -c fsync=off"
        common = {"user": user, "cwd": directory, "check": True, "stdout": subprocess.DEVNULL}
        subprocess.run(["initdb", "-D", data, "-U", "tester", "-A", "trust", "--no-sync"], **common)
        subprocess.run(["pg_ctl", "-D", data, "-o", options, "-l", f"{directory}/log", "-w", "start"], **common)
        try:
            yield f"postgresql+psycopg://tester@127.0.0.1:{port}/postgres"
        finally:
            subprocess.run(["pg_ctl", "-D", data, "-m", "immediate", "stop"], **common)
