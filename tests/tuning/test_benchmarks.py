"""The benchmarks of tuning run without peers on a recorded space, and say in a word what is missing."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).resolve().parents[2] / "benchmarks" / "tuning"


def run(script: str, data: Path | None, *arguments: str) -> subprocess.CompletedProcess[str]:
    known = {name: value for name, value in os.environ.items() if name != "RIDGELINE_DATA"}
    if data:
        known["RIDGELINE_DATA"] = str(data)
    return subprocess.run([sys.executable, str(SCRIPTS / script), *arguments], capture_output=True, text=True, env=known, timeout=300)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """One kernel on two devices: thirty configurations, of which those with x = 5 fail."""
    folder = tmp_path / "tuning" / "kernel"
    folder.mkdir(parents=True)
    for place, device in enumerate(("one", "other")):
        cache = {}
        for x in range(6):
            for y in (1, 2, 4, 8, 16):
                time = "RuntimeFailedConfig" if x == 5 else 1.0 + abs(x - 3) + abs(y - 4 - place) / 4
                cache[f"{x},{y}"] = {"x": x, "y": y, "time": time}
        document = {
            "device_name": device, "kernel_name": "kernel", "tune_params_keys": ["x", "y"],
            "tune_params": {"x": list(range(6)), "y": [1, 2, 4, 8, 16]}, "objective": "time", "cache": cache,
        }  # fmt: skip
        (folder / f"{device}.json.gz").write_bytes(gzip.compress(json.dumps(document).encode()))
    return tmp_path


@pytest.mark.parametrize("script", ["search.py", "transfer.py", "proposals.py", "construction.py"])
def test_without_recordings_it_is_skipped_with_a_word(script: str) -> None:
    done = run(script, None)
    assert done.returncode == 0
    assert done.stdout == ""
    assert done.stderr == "RIDGELINE_DATA names no folder with tuning/: skipped\n"


def test_searches_find_the_best_and_go_on_from_the_journal(data: Path) -> None:
    given = ["--seeds", "2", "--peers", str(data / "none"), "--journal", str(data / "journal"), "--out", str(data / "out.md")]
    done = run("search.py", data, *given)
    assert done.returncode == 0, done.stderr
    assert "no environment with the peers" in done.stderr
    text = (data / "out.md").read_text()
    assert "| **ours guided** (default) | 2 | " in text
    # Thirty configurations are all of them after fifty evaluations.
    assert " | 1.000 | 1.000 | 1.000 | " in next(line for line in text.splitlines() if line.startswith("| ours random"))
    before = (data / "journal").read_bytes()
    assert run("search.py", data, *given).returncode == 0
    assert (data / "journal").read_bytes() == before


def test_transfer_tells_every_pair_and_guesses_that_mislead(data: Path) -> None:
    done = run("transfer.py", data, "--seeds", "2", "--journal", str(data / "journal"))
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert sum(line.startswith(("| one | kernel other | 30 ", "| other | kernel one | 30 ")) for line in lines) == 2
    assert sum(line.startswith("| upside down | kernel") for line in lines) == 2


def test_spaces_are_counted_and_the_large_one_is_drawn_from(data: Path) -> None:
    (data / "tuning" / "spaces.toml").write_text(
        '[small]\nraw = 6\nvalid = 4\nconstraints = ["x % y == 0"]\n[small.parameters]\nx = [1, 2, 4]\ny = [1, 4]\n'
    )
    done = run("construction.py", data, "--repetitions", "1", "--peers", str(data / "none"))
    assert done.returncode == 0, done.stderr
    assert "| small | 6 | 4 | equal | " in done.stdout
    assert "1,440,115,200 valid" in done.stdout


def test_devices_that_behave_badly_are_judged_by_what_was_planted(tmp_path: Path) -> None:
    given = ["--seeds", "1", "--trials", "12", "--only", "30 %", "--journal", str(tmp_path / "journal")]
    done = run("ugly.py", None, *given)
    assert done.returncode == 0, done.stderr
    row = next(line for line in done.stdout.splitlines() if line.startswith("| 30 % fail | 1 | 1 | "))
    told, all_ = row.split("|")[4].split(" of ")
    assert int(told) == int(all_) >= 12
    kept = json.loads((tmp_path / "journal").read_text())
    (tmp_path / "journal").write_text(json.dumps({**kept, "right": False, "told": kept["told"] - 1}) + "\n")
    again = run("ugly.py", None, *given)
    assert f"| {int(told) - 1} of {int(all_)} | 0 (0 %) |" in again.stdout


def test_a_tuning_is_killed_and_gone_on_with() -> None:
    done = run("kills.py", None, "--kills", "2", "--configurations", "4")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "| kills | 2 |" in done.stdout
    assert "| configurations that the last run has not tried | 0 |" in done.stdout
