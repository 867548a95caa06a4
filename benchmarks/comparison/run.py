"""Comparisons of known truth: how often equal code is called different, and how often a true 1 % or 2 % is found, in how long.

Each comparison is a whole command, `ridgeline compare A B`, from the start of its process to its end, as a person waits for it. Every one is a line
of a journal as soon as it is done; an interrupted run goes on where it stopped. Workloads take turns, so that whatever the machine does meets all
alike. The rules of other tools are applied to the very samples that were recorded.

    python benchmarks/comparison/run.py [--pairs N] [--power N] [--neighbour N] [--only KIND …] [--journal FILE]
"""

from __future__ import annotations

import argparse
import contextlib
import multiprocessing
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

sys.path[:0] = [str(Path(__file__).resolve().parents[1]), str(Path(__file__).resolve().parent)]

from peers import PEERS  # noqa: E402
from workloads import KINDS, target  # noqa: E402

from journal import append, read  # noqa: E402
from ridgeline.core import Comparison, Run  # noqa: E402
from ridgeline.core.documents import decode  # noqa: E402
from ridgeline.diagnosis.comparison import process_medians, series_of  # noqa: E402
from ridgeline.notebook import Notebook  # noqa: E402
from ridgeline.stats import wilson_interval  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent
#: What is compared with `base` → (seconds allowed for the whole command, the true ratio).
TRUTHS: dict[str, tuple[float, float]] = {"twin": (20.0, 1.0), "plus_1": (20.0, 1.01), "plus_2": (10.0, 1.02)}
_BUSY_S, _IDLE_S = 0.2, 0.3
#: Seconds of a command that are not for measuring: starting and loading ridgeline, and saying what was found.
_AROUND_S = 0.6
_LONGEST_S = 600.0


class Line(msgspec.Struct, frozen=True, kw_only=True):
    """One comparison."""

    commit: str
    kind: str
    truth: str
    repetition: int
    neighbours: int
    verdict: str = ""
    tail: str = ""
    ratio: float | None = None
    low: float | None = None
    high: float | None = None
    processes: int = 0
    samples: int = 0
    seconds: float = 0.0
    medians_a: tuple[float, ...] = ()
    medians_b: tuple[float, ...] = ()
    clear_a: tuple[float, ...] = ()
    clear_b: tuple[float, ...] = ()
    peers: dict[str, bool] = {}
    error: str = ""


def commit() -> str:
    """The commit, with `+dirty` where the tree differs; empty outside of git."""
    command = ["git", "describe", "--always", "--abbrev=12", "--dirty=+dirty", "--exclude=*"]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True).stdout.strip()


def _busy() -> None:
    """A neighbour that works in bursts, as neighbours do."""
    while True:
        until = time.monotonic() + _BUSY_S
        while time.monotonic() < until:
            sum(range(10_000))
        time.sleep(_IDLE_S)


@contextlib.contextmanager
def neighbours(count: int) -> Iterator[None]:
    """So many busy processes beside what is measured."""
    others = [multiprocessing.get_context("spawn").Process(target=_busy, daemon=True) for _ in range(count)]
    for other in others:
        other.start()
    try:
        yield
    finally:
        for other in others:
            other.terminate()
            other.join()


def one(kind: str, truth: str, repetition: int, count: int, at: str, seconds: float | None) -> Line:
    """Compare one pair, and apply the other rules to what was recorded."""
    line = Line(commit=at, kind=kind, truth=truth, repetition=repetition, neighbours=count)
    budget_s = TRUTHS[truth][0] if seconds is None else seconds
    # Which of the two comes first must not matter: every other pair is turned around.
    labels = ("base", truth) if truth != "twin" or repetition % 2 == 0 else (truth, "base")
    before = time.monotonic()
    try:
        with tempfile.TemporaryDirectory() as folder:
            found = _command([target(kind, label) for label in labels], max(1.0, budget_s - _AROUND_S), repetition, Path(folder) / "runs.sqlite")
            wall_s = time.monotonic() - before
            with Notebook.open(Path(folder) / "runs.sqlite") as notebook:
                runs = [notebook.get(str(run)) for run in (found.run_a, found.run_b)]
            sides = [_processes(run) for run in runs]
            clear = [tuple(process_medians(series_of(run).series[0]).tolist()) for run in runs]
    except Exception as error:  # one broken pair must not cost the others; it is counted
        return msgspec.structs.replace(line, error=f"{type(error).__name__}: {error}", seconds=time.monotonic() - before)
    ends = found.ratio_ci or (None, None)
    return msgspec.structs.replace(
        line,
        verdict=found.verdict,
        tail=found.tail.verdict,
        ratio=found.ratio,
        low=ends[0],
        high=ends[1],
        processes=min(map(len, sides)),
        samples=sum(map(len, sides[0])),
        seconds=wall_s,
        medians_a=tuple(float(np.median(process)) for process in sides[0]),
        medians_b=tuple(float(np.median(process)) for process in sides[1]),
        clear_a=clear[0],
        clear_b=clear[1],
        peers={name: rule(sides[0], sides[1]) for name, rule in PEERS.items()},
    )


def _command(texts: Sequence[str], seconds: float, seed: int, notebook: Path) -> Comparison:
    """What the command says of two targets."""
    line = [sys.executable, "-m", "ridgeline", "compare", *texts, "--json", "--time-budget", f"{seconds:g}", "--seed", str(seed)]
    done = subprocess.run(line, capture_output=True, timeout=_LONGEST_S, env={**os.environ, "RIDGELINE_NOTEBOOK": str(notebook)}, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2] or f"exit code {done.returncode}")
    return decode(done.stdout, Comparison)


def _processes(run: Run) -> list[NDArray[np.float64]]:
    """The steady calls of each process."""
    assert run.facts.samples is not None
    walls, process = run.facts.samples.wall_s.values, run.facts.samples.process.values
    return [walls[process == number] for number in np.unique(process)]


# ---- the report ----------------------------------------------------------------------------------------------------------------------


def report(lines: Sequence[Line]) -> Iterable[str]:
    """Tables with counts and Wilson intervals, as Markdown."""
    equal = [line for line in lines if line.truth == "twin" and not line.error]
    failed = [line for line in lines if line.error]
    if equal:
        yield "Equal code (A/A): called different"
        yield ""
        yield "| rule | pairs | different | share (95 %) |"
        yield "|---|---:|---:|---|"
        yield _counted("ridgeline compare", equal, lambda line: line.verdict in ("faster", "slower"))
        yield _counted("ridgeline, its tail", equal, lambda line: line.tail in ("faster", "slower"))
        for name in PEERS:
            yield _counted(name, equal, lambda line, name=name: line.peers.get(name, False))
        yield ""
        same = sum(line.verdict == "same" for line in equal)
        undecided = sum(line.verdict == "inconclusive" for line in equal)
        yield f"Shown to be the same within 1 %: {same} of {len(equal)}; cannot tell: {undecided}. {_times(equal)}"
        yield ""
    yield from _power(lines)
    if failed:
        yield f"Failed: {len(failed)}; the first: {failed[0].kind} {failed[0].truth}, {failed[0].error}"


def _power(lines: Sequence[Line]) -> Iterable[str]:
    slower = [line for line in lines if line.truth != "twin" and not line.error]
    if not slower:
        return
    yield "True slowdowns: found"
    yield ""
    yield "| rule | truth | pairs | found slower | share (95 %) | processes a side | seconds, median and most |"
    yield "|---|---|---:|---:|---|---:|---|"
    for truth in dict.fromkeys(line.truth for line in slower):
        these = [line for line in slower if line.truth == truth]
        label = f"{100 * (TRUTHS[truth][1] - 1):.0f} % in {TRUTHS[truth][0]:.0f} s"
        yield f"{_counted(f'ridgeline compare | {label}', these, lambda line: line.verdict == 'slower')} {_spent(these)}"
        for kind in dict.fromkeys(line.kind for line in these):
            own = [line for line in these if line.kind == kind]
            yield f"{_counted(f'· {kind} | {label}', own, lambda line: line.verdict == 'slower')} {_spent(own)}"
        for name in PEERS:
            yield f"{_counted(f'{name} | {label}', these, lambda line, name=name: line.peers.get(name, False))} | |"
    yield ""
    for truth in dict.fromkeys(line.truth for line in slower):
        these = [line for line in slower if line.truth == truth]
        covered = sum(line.low is not None and line.high is not None and line.low <= TRUTHS[truth][1] <= line.high for line in these)
        wrong = sum(line.verdict == "faster" for line in these)
        yield f"{truth}: {_times(these)} The truth in the interval: {covered} of {len(these)}; called faster: {wrong}."
    yield ""


def _spent(lines: Sequence[Line]) -> str:
    """Two more cells: processes a side, and the seconds of whole commands."""
    seconds = [line.seconds for line in lines]
    return f"{np.median([line.processes for line in lines]):.0f} | {np.median(seconds):.1f}, {max(seconds):.1f} |"


def _times(lines: Sequence[Line]) -> str:
    seconds, processes = (sorted(getattr(line, name) for line in lines) for name in ("seconds", "processes"))
    return (
        f"Seconds a comparison: {np.median(seconds):.1f} at the median, {seconds[-1]:.1f} at the most; "
        f"processes a side: {np.median(processes):.0f} at the median."
    )


def _counted(label: str, lines: Sequence[Line], hit: Callable[[Line], bool]) -> str:
    hits = sum(hit(line) for line in lines)
    low, high = wilson_interval(hits, len(lines))
    return f"| {label} | {len(lines)} | {hits} | {hits / len(lines):.1%} ({low:.1%}–{high:.1%}) |"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=20, help="pairs of equal code, over all workloads; 200 for a figure of record")
    parser.add_argument("--power", type=int, default=12, help="pairs of each true slowdown, over all workloads; 120 for a figure of record")
    parser.add_argument("--neighbours", type=int, default=0, help="busy processes beside what is measured")
    parser.add_argument("--seconds", type=float, help="time of each comparison in place of the ones that the figures are for")
    parser.add_argument("--only", nargs="*", default=[], choices=sorted(KINDS))
    parser.add_argument("--journal", type=Path, default=ROOT / "build" / "benchmarks" / "comparison.jsonl")
    parser.add_argument("--at", help="go on with the lines of this commit instead of the present one")
    parser.add_argument("--out", type=Path, help="write the report there as well")
    given = parser.parse_args()
    now = given.at or commit()
    kinds = given.only or list(KINDS)
    wanted = [("twin", number) for number in range(given.pairs)]
    wanted += [(truth, number) for number in range(given.power) for truth in ("plus_2", "plus_1")]
    done = {(line.kind, line.truth, line.repetition, line.neighbours) for line in read(given.journal, Line) if line.commit == now}
    with neighbours(given.neighbours):
        for truth, number in wanted:
            kind = kinds[number % len(kinds)]
            if (kind, truth, number, given.neighbours) in done:
                continue
            line = one(kind, truth, number, given.neighbours, now, given.seconds)
            append(given.journal, line)
            ratio = f"{line.ratio:.4f}" if line.ratio is not None else "—"
            print(f"{kind} {truth} {number}: {line.verdict or line.error} {ratio} in {line.seconds:.1f} s", file=sys.stderr, flush=True)
    lines = [line for line in read(given.journal, Line) if line.commit == now and line.neighbours == given.neighbours]
    beside = f", {given.neighbours} busy neighbours" if given.neighbours else ""
    text = "\n".join((f"## Comparisons of known truth{beside}", "", *report(lines), ""))
    print(text)
    if given.out is not None:
        given.out.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
