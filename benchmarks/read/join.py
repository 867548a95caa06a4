"""Whether reading grows with the size of a recording and not with its square: launches × kernels with nested NVTX ranges in an Nsight Systems export.

A database made here, as Nsight Systems writes it: n calls on 4 threads, each launching one kernel on one of 8 streams, inside NVTX ranges nested four
deep. Load and the whole analysis of n/4, n/2 and n.

    python benchmarks/read/join.py [--launches N] [--repetitions N] [--out FILE.md]
"""

from __future__ import annotations

import argparse
import json
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from statistics import median

import numpy as np

SPEED = Path(__file__).resolve().parent / "speed.py"
THREADS, STREAMS, DEPTH = 4, 8, 4
PARTS = (0.25, 0.5, 1.0)
TABLES = """
CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER, streamId INTEGER, correlationId INTEGER,
    globalPid INTEGER, demangledName INTEGER, shortName INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER, eventClass INTEGER, globalTid INTEGER, correlationId INTEGER, nameId INTEGER,
    returnValue INTEGER);
CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, eventType INTEGER, rangeId INTEGER, category INTEGER, color INTEGER, text TEXT,
    globalTid INTEGER, endGlobalTid INTEGER, textId INTEGER, domainId INTEGER);
"""


def write(path: Path, launches: int) -> None:
    """A recording of so many launches and kernels, and a quarter as many ranges."""
    rng = np.random.default_rng(7)
    thread = np.arange(launches) % THREADS
    turn = np.arange(launches) // THREADS
    start = turn * 10_000 + rng.integers(0, 1000, launches)
    took = rng.integers(2000, 4000, launches)
    work = rng.integers(1000, 9000, launches)
    process = 77 << 24
    with sqlite3.connect(path) as db:
        db.executescript(TABLES)
        names = ["cudaLaunchKernel_v7000", *(f"kernel_{number}" for number in range(50)), *(f"range {number}" for number in range(20))]
        db.executemany("INSERT INTO StringIds VALUES (?, ?)", enumerate(names))
        calls = zip(start.tolist(), (start + took).tolist(), (process + thread + 1).tolist(), range(launches), strict=True)
        db.executemany("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (?, ?, 0, ?, ?, 0, 0)", calls)
        begin = turn * 10_000 + 5000 + (np.arange(launches) % STREAMS) * 7
        stream = 7 + np.arange(launches) % STREAMS
        kernels = zip(begin.tolist(), (begin + work).tolist(), stream.tolist(), range(launches), rng.integers(1, 51, launches).tolist(), strict=True)
        db.executemany(f"INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (?, ?, 0, 1, ?, ?, {process}, ?, 1)", kernels)
        db.executemany("INSERT INTO NVTX_EVENTS VALUES (?, ?, 59, NULL, 0, 0, NULL, ?, NULL, ?, 0)", _ranges(launches, process))
    db.close()


def _ranges(launches: int, process: int) -> Iterator[tuple[int, int, int, int]]:
    """Ranges around 4, 16, 64 and 256 calls of each thread."""
    turns = launches // THREADS
    for level in range(1, DEPTH + 1):
        length = 4**level
        for first in range(0, turns, length):
            last = min(first + length, turns)
            for thread in range(THREADS):
                yield first * 10_000 - level, last * 10_000 - 5000 + level, process + thread + 1, 51 + level


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--launches", type=int, default=1_000_000)
    parser.add_argument("--repetitions", type=int, default=1)
    parser.add_argument("--out", type=Path, help="write the table here as well")
    arguments = parser.parse_args()
    lines = ["## Reading Nsight Systems: launches and kernels are joined by a sweep\n"]
    lines += ["| launches | events | seconds | processor s | µs an event | peak MB |", "| ---: | ---: | ---: | ---: | ---: | ---: |"]
    for part in PARTS:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "made.sqlite"
            write(path, int(arguments.launches * part))
            command = [sys.executable, str(SPEED), "--measure", "ridgeline", str(path)]
            done = [json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout) for _ in range(arguments.repetitions)]
        wall, cpu = (median(one[field] for one in done) for field in ("wall_s", "cpu_s"))
        events, peak = done[0]["events"], max(one["peak_bytes"] for one in done) / 1e6
        lines.append(f"| {int(arguments.launches * part)} | {events} | {wall:.2f} | {cpu:.2f} | {cpu / events * 1e6:.2f} | {peak:.0f} |")
        print(lines[-1], file=sys.stderr, flush=True)
    print("\n".join(lines))
    if arguments.out:
        arguments.out.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
