"""What a process imports before it measures: each of hundreds pays for it, so that what is heavy stays out."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from ridgeline.core import plugins
from ridgeline.machine import Worker
from ridgeline.measurement.bench.gathered import Gathered
from ridgeline.measurement.bench.plan import ProcessPlan, Version
from ridgeline.measurement.bench.processes import FreshProcess
from ridgeline.measurement.bench.report import ProcessReport
from ridgeline.targets import parse_target

_LOADED = "ridgeline.flows.comparing.origins:loaded_origins"
_HEAVY = {
    "inspect",
    "dataclasses",
    "hashlib",
    "typing_extensions",
    "traceback",
    "ast",
    "sysconfig",
    "statistics",
    "importlib.metadata",
    "numpy",
    "scipy",
}


@pytest.fixture
def target(tmp_path: Path) -> str:
    path = tmp_path / "short.py"
    path.write_text("def run():\n    sum(range(100))\n")
    return f"{path}:run"


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="which modules of Python bring which others is of its version")
def test_a_measured_process_loads_nothing_heavy(target: str) -> None:
    spec = parse_target(target)
    plan = ProcessPlan(seconds=0.01, samples=3)
    given = {"spec": spec, "plan": plan, "points": plugins.found(("targets", "synchronisers")), "described": True}
    with Worker(preload="ridgeline.measurement.agent.bench,ridgeline.targets.python") as worker:
        report = worker.call("ridgeline.measurement.agent.bench:run_process", given, ProcessReport)
        loaded = worker.call(_LOADED, {}, dict[str, str])
    assert report.pieces
    # The question itself loads importlib.util and pathlib, and no more.
    assert not _HEAVY & set(loaded)


def test_what_looks_at_results_loads_numpy_only_for_arrays(tmp_path: Path, target: str) -> None:
    agent = "ridgeline.measurement.agent.changed"
    with Worker(preload=agent) as worker:
        worker.call(f"{agent}:prepare_changed", {"spec": parse_target(target)}, dict)
        assert worker.call(f"{agent}:keep_outputs", {"path": str(tmp_path / "kept")}, int) == 2
        assert "numpy" not in worker.call(_LOADED, {}, dict[str, str])


def test_the_files_of_a_target_are_read_for_its_description_once(target: str) -> None:
    gathered, version = Gathered(0), Version(spec=parse_target(target), name="run")
    digests = []
    for _ in range(2):
        process = FreshProcess(version)
        process.measure(ProcessPlan(seconds=0.01, samples=2), gathered)
        process.leave()
        process.close()
        assert gathered.target is not None
        digests.append(gathered.target.digest)
    assert len(digests[0]) == 64
    assert digests[0] == digests[1]


def test_what_a_target_does_at_its_end_is_done(tmp_path: Path) -> None:
    path = tmp_path / "ending.py"
    path.write_text(
        "import atexit, pathlib, tempfile\n"
        f"kept = open({str(tmp_path / 'buffered.txt')!r}, 'a')\n"
        f"temporary = tempfile.NamedTemporaryFile(dir={str(tmp_path)!r}, suffix='.tmp')\n"
        f"atexit.register(lambda: pathlib.Path({str(tmp_path / 'ended.txt')!r}).touch())\n"
        "def run():\n    kept.write('x')\n"
    )
    process = FreshProcess(Version(spec=parse_target(f"{path}:run"), name="run"))
    process.measure(ProcessPlan(seconds=0.01, samples=2), Gathered(0))
    process.leave()
    process.end()  # it was asked to leave: not killed
    process.close()
    assert (tmp_path / "ended.txt").exists()
    assert (tmp_path / "buffered.txt").read_text().startswith("x")
    assert not list(tmp_path.glob("*.tmp"))
