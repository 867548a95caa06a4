"""Live: priority of a process of the test's own, in a tree that grants it everything; where this machine does not, that is said."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from machine.control.trees import AUTOGROUP, laptop

LOOK = """
import json, os, subprocess, sys
from pathlib import Path
from ridgeline.machine.control import tuned
ask = "import os; print(os.getpriority(os.PRIO_PROCESS, 0), os.sched_getscheduler(0))"
def here():
    return [os.getpriority(os.PRIO_PROCESS, 0), os.sched_getscheduler(0) & ~os.SCHED_RESET_ON_FORK]
def below():
    return [int(word) for word in subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True, check=True).stdout.split()]
before = here()
with tuned(True, root=Path(sys.argv[1]), folder=Path(sys.argv[2]), real_time=sys.argv[3] == "real time") as settings:
    setting = {setting.name: setting for setting in settings}["priority"]
    inside, started = here(), below()
print(json.dumps([setting.state, setting.reason, before, inside, started, here()]))
"""


def look(tmp_path: Path, kind: str) -> tuple[str, str, list[int], list[int], list[int], list[int]]:
    root = laptop(tmp_path / "root", **{"proc/self/status": "Cpus_allowed_list:\t0-1\nCapEff:\t000001ffffffffff\n", AUTOGROUP: "1\n"})
    done = subprocess.run([sys.executable, "-c", LOOK, str(root), str(tmp_path / "state"), kind], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert (root / AUTOGROUP).read_text().strip() == "1"
    return tuple(json.loads(done.stdout))


@pytest.mark.parametrize("kind", ["nice", "real time"])
def test_set_for_itself_and_put_back(tmp_path: Path, kind: str) -> None:
    state, reason, before, inside, started, after = look(tmp_path, kind)
    assert after == before
    if state == "cannot":  # without privilege the kernel refuses, and nothing has changed
        assert reason
        assert inside == before
        return
    assert state == "set"
    if kind == "nice":
        assert inside[0] == started[0] == -20
    else:
        # What it starts is ordinary again: a target that spins must not starve whoever could end it.
        assert (inside[1], started[1]) == (1, 0)
