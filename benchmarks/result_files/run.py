"""Reads every recorded result file of other tools under `$RIDGELINE_DATA/bench`, and checks by a second path that nothing is lost.

The second path counts with `json` alone what a file holds: values, or entries; each has to be in a series or counted as left out. Files of tools that
are not read have to be refused in one line. Without RIDGELINE_DATA nothing is read, and the fragment says so.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ridgeline.core import ReadError, SeriesSet
from ridgeline.readers.results import read_results

FOLDERS = ("pyperf", "benchmark", "nvbench", "github-action-benchmark")


def values_of(found: SeriesSet, metric: str | None = None) -> int:
    """Values in the series, of one metric where each entry has several."""
    return sum(len(series.values) for series in found.series if metric in (None, series.metric))


def left_of(found: SeriesSet) -> int:
    """Entries that are counted as left out, of the file and of its series."""
    return sum(entry.count for entry in found.left_out) + sum(entry.count for series in found.series for entry in series.left_out)


def pyperf(data: Any, found: SeriesSet) -> tuple[int, int]:
    """Values and calibration runs."""
    runs = [run for benchmark in data["benchmarks"] for run in benchmark["runs"]]
    held = sum(len(run.get("values", [])) for run in runs) + sum(not run.get("values") for run in runs)
    return held, values_of(found) + left_of(found)


def google(data: Any, found: SeriesSet) -> tuple[int, int]:
    """Entries: repetitions are values of their real time, fits and nameless aggregates are left out; each counter is left out once a benchmark."""
    return len(data["benchmarks"]), values_of(found, "real_time") + left_of(found)


def nvbench(data: Any, found: SeriesSet) -> tuple[int, int]:
    """States: each that ran has its isolated time."""
    states = [state for benchmark in data["benchmarks"] for state in benchmark["states"]]
    return len(states), sum(series.metric == "cold_gpu_time" for series in found.series) + left_of(found)


def jmh(data: Any, found: SeriesSet) -> tuple[int, int]:
    """Iterations of all forks."""
    return sum(len(fork) for result in data for fork in result["primaryMetric"]["rawData"]), values_of(found) + left_of(found)


def pytest_benchmark(data: Any, found: SeriesSet) -> tuple[int, int]:
    """Rounds whose data are there (these recordings were shortened by a word among the numbers, which is counted)."""
    return sum(len(benchmark["stats"].get("data", [])) for benchmark in data["benchmarks"]), values_of(found) + left_of(found)


def benchmarkdotnet(data: Any, found: SeriesSet) -> tuple[int, int]:
    """Original values: the measurements of these recordings were shortened to those before the results."""
    return sum(len(benchmark["Statistics"]["OriginalValues"]) for benchmark in data["Benchmarks"]), values_of(found) + left_of(found)


COUNTS: Mapping[str, Callable[[Any, SeriesSet], tuple[int, int]]] = {
    "pyperf": pyperf,
    "google-benchmark": google,
    "nvbench": nvbench,
    "jmh": jmh,
    "pytest-benchmark": pytest_benchmark,
    "benchmarkdotnet": benchmarkdotnet,
}


def one(path: Path, root: Path) -> tuple[str, bool]:
    """A row for one file, and whether nothing of it was lost."""
    start = time.perf_counter()
    try:
        found = read_results(path)
    except ReadError as error:
        line = str(error).replace(str(root), "")
        return f"| {path.relative_to(root)} | refused | | | {line.partition('found: ')[2].partition('; to do')[0][-110:]} |", "\n" not in line
    seconds = time.perf_counter() - start
    held, accounted = COUNTS[found.tool](json.loads(path.read_text(encoding="utf-8-sig")), found)
    lost = "none lost" if held == accounted else f"**{held} held, {accounted} accounted for**"
    counts = f"{len(found.series)} series, {values_of(found)} values, {left_of(found)} left out"
    return f"| {path.relative_to(root)} | {found.tool} | {counts} | {seconds * 1e3:.0f} ms | {lost} |", held == accounted


def main() -> int:
    """Read them all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    root = Path(os.environ.get("RIDGELINE_DATA", "")) / "bench"
    files = sorted(path for folder in FOLDERS for path in (root / folder).rglob("*") if path.suffix in (".json", ".txt"))
    if not os.environ.get("RIDGELINE_DATA") or not files:
        text, good = "The recorded result files were left out: RIDGELINE_DATA does not lead to them.\n", True
    else:
        rows = [one(path, root) for path in files]
        refused = sum("| refused |" in row for row, _ in rows)
        head = "| file | tool | holds | read in | check |\n|---|---|---|---|---|\n"
        lost = sum(not good for _, good in rows)
        text = f"{len(rows)} files, {refused} refused in one line, {lost} with something lost.\n\n{head}" + "\n".join(row for row, _ in rows) + "\n"
        good = all(good for _, good in rows)
    text = f"## Result files of other tools\n\n{text}"
    print(text)
    if arguments.out:
        arguments.out.write_text(text, encoding="utf-8")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
