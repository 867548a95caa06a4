"""Record the noise of this machine: medians of fresh processes of programs that do not change, one line each in a journal, so that it goes on
where it was interrupted.

    python benchmarks/statistics/noise.py --processes 300
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import journal

__all__ = ["JOURNAL", "compared", "record", "recorded"]

JOURNAL = Path(__file__).resolve().parents[1] / "results" / "noise.jsonl"
#: Bodies of functions, each of some hundred microseconds; every process times one for a while and prints the median in nanoseconds.
PROGRAMS = {
    "python loop": "sum(i * i for i in range(3000))",
    "numpy": "np.exp(values).sum()",
    "objects": "sorted({str(i): i for i in range(1500)})",
}
_CHILD = """
import statistics, time
{setup}
def run():
    return {body}
end = time.perf_counter_ns() + 150_000_000
taken = []
while time.perf_counter_ns() < end:
    before = time.perf_counter_ns()
    run()
    taken.append(time.perf_counter_ns() - before)
print(statistics.median(taken[len(taken) // 4:]))
"""


class Line(msgspec.Struct, frozen=True):
    """One process: the program, when, and the median of its later calls."""

    program: str
    at_s: float
    median_ns: float


class _Pair(msgspec.Struct, frozen=True):
    """Of a comparison what is needed here."""

    kind: str
    truth: str
    medians_a: tuple[float, ...] = ()
    medians_b: tuple[float, ...] = ()
    clear_a: tuple[float, ...] = ()
    clear_b: tuple[float, ...] = ()
    error: str = ""


def record(processes: int) -> None:
    """Record until every program has so many processes, the programs in turns."""
    for _ in range(processes):
        counts = dict.fromkeys(PROGRAMS, 0)
        for line in journal.read(JOURNAL, Line):
            counts[line.program] = counts.get(line.program, 0) + 1
        for program in [name for name in PROGRAMS if counts[name] < processes]:
            setup = "import numpy as np\nvalues = np.linspace(0, 1, 40_000)" if program == "numpy" else ""
            code = _CHILD.format(setup=setup, body=PROGRAMS[program])
            printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
            journal.append(JOURNAL, Line(program, time.time(), float(printed)))


def recorded() -> dict[str, NDArray[np.float64]]:
    """Medians of each program in order; empty where nothing was recorded."""
    found: dict[str, list[float]] = {}
    for line in journal.read(JOURNAL, Line):
        found.setdefault(line.program, []).append(line.median_ns)
    return {program: np.array(medians) for program, medians in found.items()}


def compared(path: Path) -> dict[str, NDArray[np.float64]]:
    """Medians of the processes of every pair of equal code in a journal of comparisons, by workload; the two sides took turns."""
    found: dict[str, list[float]] = {}
    for line in journal.read(path, _Pair):
        if line.truth == "twin" and not line.error:
            # What a history is made of: the medians of calls that nothing slowed, where a journal has them.
            sides = (line.clear_a, line.clear_b) if line.clear_a else (line.medians_a, line.medians_b)
            turns = [median for pair in zip(*sides, strict=False) for median in pair]
            found.setdefault(line.kind, []).extend(turns)
    return {kind: np.array(medians) for kind, medians in found.items()}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--processes", type=int, default=120, help="of each program")
    record(parser.parse_args().processes)
