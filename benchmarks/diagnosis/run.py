"""How often a diagnosis of the examples is right: bound, cause and place at first position, alone and beside a busy neighbour.

Each cell (example, condition, repetition) is one `ridgeline diagnose --json` in a fresh process, and a line of a journal as soon as it is done;
an interrupted run goes on where it stopped. Scores are made from the journal, so that a corrected answer sheet needs no new run.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec
from answers import Example, Verdict, load, verdict_of
from neighbour import Kind, busy
from table import markdown, text

sys.path[:0] = [str(Path(__file__).resolve().parents[1])]

from journal import append, read  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]


class Cell(msgspec.Struct, frozen=True, kw_only=True):
    """One finished diagnosis as the journal keeps it."""

    commit: str
    example: str
    condition: str
    repetition: int
    verdict: Verdict
    wall_s: float
    exit_code: int

    @property
    def key(self) -> tuple[str, str, str, int]:
        """What makes a cell the same as another."""
        return (self.commit, self.example, self.condition, self.repetition)


def commit() -> str:
    """The commit, with `+dirty` where the tree differs; empty outside of git."""
    command = ["git", "describe", "--always", "--abbrev=12", "--dirty=+dirty", "--exclude=*"]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True).stdout.strip()


def executable() -> list[str]:
    """The `ridgeline` beside this interpreter, or the one on the path."""
    beside = Path(sys.executable).with_name("ridgeline")
    found = str(beside) if beside.exists() else shutil.which("ridgeline")
    if found is None:
        raise SystemExit("ridgeline is not installed beside this interpreter: pip install -e .")
    return [found]


def diagnose(example: Example, extra: list[str], limit_s: float) -> tuple[Verdict, float, int]:
    """Run one diagnosis; an error of any kind becomes the verdict's `error`."""
    command = [*executable(), "diagnose", "--json", "--quiet", "--no-notebook", *example.options, *extra, *_argv(example.target)]
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"}
    start = time.perf_counter()
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, stdin=subprocess.DEVNULL, timeout=limit_s, env=environment)
    except subprocess.TimeoutExpired:
        return Verdict(error=f"no answer within {limit_s:.0f} s"), limit_s, -1
    wall_s = time.perf_counter() - start
    try:
        verdict = verdict_of(json.loads(done.stdout), ROOT)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        complaint = done.stderr.decode(errors="replace").strip().splitlines()
        verdict = Verdict(error=complaint[-1] if complaint else f"no JSON: {error}")
    return verdict, wall_s, done.returncode


def _argv(words: list[str]) -> list[str]:
    return [sys.executable if word == "python" else word for word in words]


def missing(example: Example) -> list[str]:
    """Packages that the example needs and this environment lacks."""
    return [name for name in example.needs if importlib.util.find_spec(name) is None]


def prepare(examples: Iterable[Example]) -> None:
    """Run every preparing command once."""
    for command in dict.fromkeys(tuple(example.prepare) for example in examples if example.prepare):
        subprocess.run(_argv(list(command)), cwd=ROOT, check=True, stdout=subprocess.DEVNULL)


def plan(examples: list[Example], conditions: list[str], repetitions: int) -> Iterator[tuple[Example, str, int]]:
    """The cells in order: whole rounds over all examples, so that an interrupted run has seen each about as often."""
    for repetition in range(repetitions):
        for condition in conditions:
            for example in examples:
                yield example, condition, repetition


def kind_of(condition: str, repetition: int) -> Kind | None:
    """Which neighbour: the two kinds take turns."""
    if condition == "alone":
        return None
    return "spin" if repetition % 2 == 0 else "stream"


def main() -> int:
    """Run what is not in the journal yet, then print and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", default=[], metavar="NAME", help="only examples whose name contains NAME; repeatable")
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--alone", action="store_true", help="leave out the runs beside a busy neighbour")
    parser.add_argument("--beside", action="store_true", help="leave out the runs alone")
    parser.add_argument("--again", action="store_true", help="also run what the journal already has for this commit")
    parser.add_argument("--report", action="store_true", help="run nothing, only print the table of the journal")
    parser.add_argument("--any-commit", action="store_true", help="take cells of every commit for finished (for work in progress)")
    parser.add_argument("--limit", type=float, default=600.0, metavar="SECONDS", help="longest time of one diagnosis")
    parser.add_argument("--option", action="append", default=[], help="further option for `ridgeline diagnose`, such as --option=--time-budget=5")
    parser.add_argument("--journal", type=Path, default=ROOT / "benchmarks" / "results" / "diagnosis.jsonl")
    parser.add_argument("--out", type=Path, help="write the Markdown fragment here")
    arguments = parser.parse_args()

    examples = [example for example in load(ROOT / "examples" / "answers.toml") if _wanted(example.name, arguments.only)]
    if not examples:
        parser.error(f"no example has {' or '.join(arguments.only)} in its name")
    skipped = {example.name: missing(example) for example in examples if missing(example)}
    for name, lacks in skipped.items():
        print(f"skipped: {name} needs {', '.join(lacks)}", file=sys.stderr)
    examples = [example for example in examples if example.name not in skipped]
    conditions = [name for name, leave_out in (("alone", arguments.beside), ("beside", arguments.alone)) if not leave_out]
    now = commit()
    if not arguments.report:
        prepare(examples)
        _run(examples, conditions, now, arguments)
    cells = {cell.key: cell for cell in read(arguments.journal, Cell) if arguments.any_commit or cell.commit == now}
    rows = [(cell.example, cell.condition, cell.verdict) for cell in cells.values()]
    print(text(examples, rows))
    if arguments.out:
        arguments.out.parent.mkdir(parents=True, exist_ok=True)
        arguments.out.write_text(markdown(examples, rows, skipped, now))
    return 0


def _wanted(name: str, only: list[str]) -> bool:
    return not only or any(part in name for part in only)


def _run(examples: list[Example], conditions: list[str], now: str, arguments: argparse.Namespace) -> None:
    finished = {cell.key if not arguments.any_commit else ("", *cell.key[1:]) for cell in read(arguments.journal, Cell)}
    for example, condition, repetition in plan(examples, conditions, arguments.repetitions):
        key = ("" if arguments.any_commit else now, example.name, condition, repetition)
        if key in finished and not arguments.again:
            continue
        with busy(kind_of(condition, repetition)):
            verdict, wall_s, exit_code = diagnose(example, arguments.option, arguments.limit)
        cell = Cell(commit=now, example=example.name, condition=condition, repetition=repetition, verdict=verdict, wall_s=wall_s, exit_code=exit_code)
        append(arguments.journal, cell)
        said = verdict.error or f"{verdict.bound} {verdict.cause} at {verdict.operator or verdict.function or '?'}:{verdict.line or ''}"
        print(f"{condition:6s} {repetition} {example.name:24s} {wall_s:6.1f} s  {said}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    raise SystemExit(main())
