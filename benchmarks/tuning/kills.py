"""Tunings of a C kernel that are killed at random moments, with everything that they started, and gone on with each time.

After each kill every trial that the record held before is still there and equal, numbers of trials have no hole (only what was in flight, which has
none yet, is lost), and no process of the tuning lives. At the end one run ends by itself: it has tried every configuration, and none failed, as some
would by a compile cache that a kill had spoilt.

    python benchmarks/tuning/kills.py [--kills N] [--seed N] [--out FILE.md]
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from recorded import machine

from ridgeline.flows.tuning.record import read_record
from ridgeline.machine import process_tree

SPEC = """
schema = "ridgeline.tuning/1"
name = "fill"
[kernel]
runner = "c"
source = "fill.c"
function = "fill"
flags = ["-O{level}"]
[[kernel.arguments]]
name = "y"
shape = [65536]
fill = "zeros"
output = true
[kernel.check]
reference = {level = 0, step = 1, way = 0}
[parameters]
level = [0, 1, 2, 3]
step = [1, 2, 4, 8, 16]
way = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19]
"""
KERNEL = """
void fill(float *y) { for (int k = 0; k < 65536; k += step) for (int i = k; i < k + step && i < 65536; i++) y[way % 2 ? 65535 - i : i] = 1; }
"""
#: All there are.
_CONFIGURATIONS = 400
#: Seconds in which a kill falls, from the start of the process on.
_SOONEST_S, _LATEST_S = 0.2, 6.0
#: A kill of a parent reaches the workers by the pipes that close.
_GONE_S = 10.0


def started(folder: Path, configurations: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "ridgeline", "tune", "fill.toml", "--record", "record", "--resume", "--no-notebook", "--quiet"]
    environment = {**os.environ, "RIDGELINE_CACHE": str(folder / "cache")}
    return subprocess.Popen(
        [*command, "--json", "--runs", "2", "--trials", str(configurations)],
        cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in ("Z", "X")
    except OSError:
        return False


def killed(folder: Path, configurations: int, after_s: float, found: collections.Counter[str]) -> None:
    """One start and one kill, and what it did to the record."""
    record = folder / "record"
    before = read_record(record).trials if record.exists() and b"\n" in record.read_bytes() else []
    process = started(folder, configurations)
    time.sleep(after_s)
    tree = process_tree(process.pid)
    # Workers have sessions of their own: half of them fall with the command, the others by the pipe that closes.
    for pid in (process.pid, *(pid for pid in tree if pid % 2)):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    process.communicate()
    deadline = time.monotonic() + _GONE_S
    while time.monotonic() < deadline and any(map(alive, tree)):
        time.sleep(0.02)
    found["left a process"] += any(map(alive, tree))
    found["kills"] += 1
    if not record.exists() or b"\n" not in (written := record.read_bytes()):
        found["before the record began"] += 1
        return
    after = read_record(record)
    found["with a line cut short"] += not written.endswith(b"\n")
    found["lost a trial"] += after.trials[: len(before)] != before
    found["trials told between kills"] += len(after.trials) - len(before)
    numbers = [trial.number for trial in after.trials]
    found["with a number missing or twice"] += numbers != list(range(len(numbers)))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0, help="of the moments")
    parser.add_argument("--configurations", type=int, default=_CONFIGURATIONS, help="that are tried in all")
    parser.add_argument("--out", type=Path, help="write the table there instead of to stdout")
    given = parser.parse_args()
    draw, found = random.Random(given.seed), collections.Counter[str]()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "fill.toml").write_text(SPEC)
        (folder / "fill.c").write_text(KERNEL)
        for number in range(given.kills):
            killed(folder, given.configurations, draw.uniform(_SOONEST_S, _LATEST_S), found)
            print(f"kill {number + 1} of {given.kills}: {dict(found)}", file=sys.stderr, flush=True)
        kept = read_record(folder / "record").trials
        process = started(folder, given.configurations)
        out, err = process.communicate(timeout=600)
        last = json.loads(out) if process.returncode == 0 else {"unique_evaluations": 0, "failures": {"the command": process.returncode}}
        trials = read_record(folder / "record").trials
        lost = trials[: len(kept)] != kept
    wrong = {
        "processes left after ten seconds": found["left a process"],
        "records that lost a trial": found["lost a trial"] + lost,
        "records with a number missing or twice": found["with a number missing or twice"],
        "configurations that the last run has not tried": given.configurations - last["unique_evaluations"],
        "failures in all": sum(last["failures"].values()),
    }
    rows = [
        ("kills", found["kills"]),
        ("of which before the record began", found["before the record began"]),
        ("of which with a line cut short", found["with a line cut short"]),
        ("trials told between kills", found["trials told between kills"]),
        *wrong.items(),
    ]
    lines = "\n".join(f"| {name} | {value:,} |" for name, value in rows)
    text = f"## Killed at random moments\n\n{machine()}. {given.configurations} configurations of a C kernel.\n\n| what | |\n|---|--:|\n{lines}\n"
    if given.out:
        given.out.write_text(text, encoding="utf-8")
    else:
        print(text)
    if any(wrong.values()):
        print(err, file=sys.stderr)
    return int(any(wrong.values()))


if __name__ == "__main__":
    sys.exit(main())
