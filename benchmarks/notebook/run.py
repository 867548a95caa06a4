"""How fast a notebook of ten thousand runs is: the log and its filters against the same rows read by `sqlite3` alone, and the two forms of a file.

The runs are copies of one real diagnosis, every tenth a benchmark with calls of its own. Each time is the median of several, and both
sides of a ratio are measured in turns in one process. What a command costs besides (starting Python, drawing the table) is measured apart.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import platform
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import numpy as np

from ridgeline.core import Column, Run, Samples
from ridgeline.flows.notebook_transfer import export_notebook, import_notebook
from ridgeline.notebook import Entry, Notebook, RunFilter

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent.parent / "tests")]

#: What is asked of the log: name, filter, limit, and the same rows for `sqlite3`.
COLUMNS = (
    "id, verb, at, target, target_digest, machine, bound, cause, median_s, commit_id, machine_name, threads, p99_s, batched_s, processes, samples"
)
QUESTIONS: tuple[tuple[str, RunFilter, int | None, str], ...] = (
    ("the newest 20", RunFilter(), 20, "ORDER BY id DESC LIMIT 20"),
    ("20 of a commit", RunFilter(commit="00c"), 20, "WHERE commit_id LIKE '00c%' ORDER BY id DESC LIMIT 20"),
    (
        "20 of a machine that has none",
        RunFilter(machine="nothing"),
        20,
        "WHERE machine LIKE 'nothing%' OR lower(machine_name) LIKE '%nothing%' ORDER BY id DESC LIMIT 20",
    ),
    ("20 since a day", RunFilter(since="2026-01-02"), 20, "WHERE at >= '2026-01-02' ORDER BY id DESC LIMIT 20"),
    ("all", RunFilter(), None, "ORDER BY id DESC"),
)


def made_up(count: int, template: Run, bench: Run) -> Iterator[Entry]:
    """Runs a second apart; every tenth is a benchmark."""
    random = np.random.default_rng(0)
    for number in range(count):
        day, second = divmod(number * 60, 86_400)
        stamp = f"202601{1 + day:02}T{second // 3600:02}{second // 60 % 60:02}{second % 60:02}-{number:08x}"
        at = f"2026-01-{1 + day:02}T{second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}+00:00"
        commit = f"{number // 8:040x}"[::-1]
        run = shaken(bench if number % 10 == 0 else template, random)
        yield Entry(kind="run", id=stamp, document=msgspec.structs.replace(run, id=stamp, at=at, commit=commit))


def shaken(run: Run, random: np.random.Generator) -> Run:
    """The run with times of its own: the same ones would be kept, and compressed, only once."""
    if run.bench is not None:
        run = msgspec.structs.replace(run, bench=msgspec.structs.replace(run.bench, samples=jittered(run.bench.samples, random)))
    if run.facts.samples is not None:
        run = msgspec.structs.replace(run, facts=msgspec.structs.replace(run.facts, samples=jittered(run.facts.samples, random)))
    return run


def jittered(samples: Samples, random: np.random.Generator) -> Samples:
    """Every time of every call a little longer, in whole nanoseconds as clocks give them."""
    columns = {name: getattr(samples, name) for name in ("wall_s", "start_s", "thread_cpu_s", "process_cpu_s", "run_queue_s")}
    changed = {
        name: Column(column.values + random.integers(0, 1000, len(column)) * 1e-9, column.unit)
        for name, column in columns.items()
        if column is not None
    }
    return msgspec.structs.replace(samples, **changed)


def diagnosed(folder: Path) -> Run:
    """A diagnosis of a small function."""
    (folder / "t.py").write_text("def work():\n    return sum(range(1000))\n")
    place = str(folder / "template.sqlite")
    command = [sys.executable, "-m", "ridgeline", "diagnose", "--time-budget", "1", "--notebook", place, "t.py:work"]
    subprocess.run(command, check=True, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    with Notebook.open(place) as book:
        return book.get("last")


def medians(first: Callable[[], object], second: Callable[[], object], repetitions: int) -> tuple[float, float]:
    """Median seconds of both, called in turns, in an order that changes."""
    times: tuple[list[float], list[float]] = ([], [])
    for repetition in range(repetitions):
        for index in (0, 1) if repetition % 2 else (1, 0):
            start = time.perf_counter()
            (first, second)[index]()
            times[index].append(time.perf_counter() - start)
    return statistics.median(times[0]), statistics.median(times[1])


def questions(file: Path, repetitions: int) -> Iterator[str]:
    """A row of the table for each question."""
    with contextlib.closing(sqlite3.connect(file)) as raw, Notebook.open(file) as book:
        for name, wanted, limit, clause in QUESTIONS:
            statement = f"SELECT {COLUMNS} FROM ridgeline_runs {clause}"
            assert [row[0] for row in raw.execute(statement)] == [run.id for run in book.runs(limit, wanted=wanted)], name
            ours, bare = medians(
                lambda wanted=wanted, limit=limit: book.runs(limit, wanted=wanted),
                lambda statement=statement: raw.execute(statement).fetchall(),
                repetitions,
            )
            yield f"| {name} | {1e3 * ours:.2f} | {1e3 * bare:.2f} | {ours / bare:.1f} |"


def command_s(file: Path, repetitions: int) -> tuple[float, float]:
    """Median seconds of `ridgeline log`, and of a start that only says the version."""

    def call(*arguments: str) -> Callable[[], object]:
        command = [sys.executable, "-m", "ridgeline", *arguments]
        return lambda: subprocess.run(command, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, env={**os.environ, "NO_COLOR": "1"})

    return medians(call("log", "--notebook", str(file)), call("--version"), repetitions)


def forms(file: Path, folder: Path) -> Iterator[str]:
    """A row for each form of a file: size, time out and time in."""
    for ending in (".jsonl", ".jsonl.gz", ".parquet"):
        target = folder / f"out{ending}"
        start = time.perf_counter()
        done = export_notebook(file, str(target))
        out_s = time.perf_counter() - start
        start = time.perf_counter()
        taken = import_notebook(folder / f"in{ending}.sqlite", str(target))
        in_s = time.perf_counter() - start
        assert (taken.added, taken.left_out_count) == (done.runs, 0)
        yield f"| {ending} | {(done.size_bytes or 0) / 1e6:.1f} | {out_s:.1f} | {in_s:.1f} |"


def main() -> int:
    """Measure and print a Markdown fragment."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--moved", type=int, default=1_000, help="runs that are exported and imported")
    parser.add_argument("--repetitions", type=int, default=15)
    parser.add_argument("--out", type=Path, help="write the fragment there as well")
    arguments = parser.parse_args()
    from support.notebook_entries import benchmarked

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        template = diagnosed(folder)
        bench = benchmarked(template, "bench", processes=20, calls=100)
        file, moved = folder / "n.sqlite", folder / "moved.sqlite"
        for place, count in ((file, arguments.runs), (moved, arguments.moved)):
            with Notebook.open(place) as book:
                assert sum(outcome == "added" for _, outcome in book.take(made_up(count, template, bench))) == count
        lines = [
            "## A notebook of many runs",
            "",
            f"{arguments.runs} runs, {file.stat().st_size / 1e6:.0f} MB, SQLite {sqlite3.sqlite_version}, Python {platform.python_version()}; "
            f"medians of {arguments.repetitions}.",
            "",
            "| question | ridgeline (ms) | sqlite3 alone (ms) | ratio |",
            "|---|---|---|---|",
            *questions(file, arguments.repetitions),
        ]
        log_s, start_s = command_s(file, max(3, arguments.repetitions // 3))
        lines += ["", f"`ridgeline log` takes {log_s:.2f} s, of which a start that only says the version is {start_s:.2f} s.", ""]
        lines += [f"Export and import of {arguments.moved} runs, every tenth with the 2,000 calls of a benchmark:", ""]
        lines += ["| form | MB | out (s) | in (s) |", "|---|---|---|---|", *forms(moved, folder), ""]
    text = "\n".join(lines)
    print(text)
    if arguments.out:
        arguments.out.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
