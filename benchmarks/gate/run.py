"""Gates of known truth over 25 benchmarks: how often one is red on unchanged code, and how often a true slowdown in one of the 25 is found.

Every gate is measured for real: a repository of two commits is made, and `ridgeline gate` holds the second against the first. A gate is a line of a
journal as soon as it is done; an interrupted run goes on where it stopped.

    python benchmarks/gate/run.py [--gates N] [--seeded N] [--slowdown 0.05] [--seconds S] [--journal FILE] [--out FILE]
"""

from __future__ import annotations

import argparse
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec
import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "benchmarks"))

from journal import append, read  # noqa: E402
from ridgeline.core import GateReport  # noqa: E402
from ridgeline.core.documents import decode  # noqa: E402
from ridgeline.stats import wilson_interval  # noqa: E402
from run import commit  # noqa: E402

SUITE = (ROOT / "benchmarks" / "gate" / "suite.py").read_text("utf-8")
NAMES = re.findall(r"^def (bench_\w+)", SUITE, re.MULTILINE)


class Line(msgspec.Struct, frozen=True, kw_only=True):
    """One gate.

    Args:
        seeded: the benchmark that was made slower, by `slowdown`; empty where nothing was.
        state: of the gate; empty where it ended with `error`.
        red, suspects: names.
        seconds: wall; budget_s: of the first looking at a benchmark.
    """

    commit: str
    repetition: int
    seeded: str
    slowdown: float
    budget_s: float
    state: str = ""
    red: tuple[str, ...] = ()
    suspects: tuple[str, ...] = ()
    ratio: float | None = None
    seconds: float = 0.0
    error: str = ""


def _repository(folder: Path, seeded: str, slowdown: float) -> None:
    def git(*arguments: str) -> None:
        identity = ["-c", "user.name=benchmark", "-c", "user.email=benchmark@localhost", "-c", "init.defaultBranch=main"]
        subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True, timeout=60)

    git("init", "-q")
    (folder / "suite.py").write_text(SUITE, "utf-8")
    git("add", "-A")
    git("commit", "-q", "-m", "before")
    # The file differs in both cases, so that neither side has an advantage of a compiled copy.
    factors = f'{{"{seeded}": {1 + slowdown}}}' if seeded else '{"none": 1.0}'
    (folder / "suite.py").write_text(SUITE.replace("FACTORS: dict[str, float] = {}", f"FACTORS: dict[str, float] = {factors}"), "utf-8")
    git("commit", "-q", "-a", "-m", "after")


def one(now: str, repetition: int, seeded: str, slowdown: float, seconds: float) -> Line:
    """One gate, in a repository of its own."""
    line = Line(commit=now, repetition=repetition, seeded=seeded, slowdown=slowdown, budget_s=seconds)
    before = time.monotonic()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        _repository(folder, seeded, slowdown)
        command = [sys.executable, "-m", "ridgeline", "gate", "suite.py", "--baseline", "HEAD^", "--json", "--quiet", "--no-notebook"]
        command += ["--seed", str(repetition), "--time-budget", str(seconds), "--confirm-budget", str(3 * seconds)]
        environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, stdin=subprocess.DEVNULL)
    took = time.monotonic() - before
    if done.returncode not in (0, 1) or not done.stdout:
        return msgspec.structs.replace(line, error=done.stderr.decode("utf-8", "replace")[-300:] or f"exit code {done.returncode}", seconds=took)
    found = decode(done.stdout, GateReport)
    return msgspec.structs.replace(
        line,
        state=found.state,
        red=tuple(check.name for check in found.of("regression", "tail regression", "failed")),
        suspects=tuple(check.name for check in found.checks if check.suspected),
        ratio=next((check.ratio for check in found.checks if check.name == seeded), None),
        seconds=took,
    )


def report(lines: Sequence[Line]) -> Iterable[str]:
    """Tables with counts and Wilson intervals, as Markdown."""
    failed = [line for line in lines if line.error]
    unchanged = [line for line in lines if not line.error and not line.seeded]
    seeded = [line for line in lines if not line.error and line.seeded]
    yield "| gates over 25 benchmarks | gates | hits | share (95 %) |"
    yield "|---|---:|---:|---|"
    if unchanged:
        yield _counted("unchanged: red", unchanged, [line for line in unchanged if line.red])
    if seeded:
        yield _counted(f"one slower by {seeded[0].slowdown:.0%}: found", seeded, [line for line in seeded if line.seeded in line.red])
        yield _counted("· suspected in the first looking", seeded, [line for line in seeded if line.seeded in line.suspects])
        yield _counted("· another one red", seeded, [line for line in seeded if set(line.red) - {line.seeded}])
    yield ""
    told = unchanged + seeded
    if told:
        suspects = [len(line.suspects) for line in told]
        yield (
            f"Suspects a gate: {np.mean(suspects):.1f} on average, {max(suspects)} at the most. Seconds a gate: "
            f"{np.median([line.seconds for line in told]):.0f} at the median, with {told[0].budget_s:g} s for the first looking at a benchmark."
        )
    if failed:
        yield f"Failed: {len(failed)}; the first: {failed[0].error}"


def _counted(label: str, lines: Sequence[Line], hits: Sequence[Line]) -> str:
    low, high = wilson_interval(len(hits), len(lines))
    return f"| {label} | {len(lines)} | {len(hits)} | {len(hits) / len(lines):.1%} ({low:.1%}–{high:.1%}) |"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gates", type=int, default=3, help="gates on unchanged code; 20 or more for a figure of record")
    parser.add_argument("--seeded", type=int, default=2, help="gates in which one benchmark is slower; 20 or more for a figure of record")
    parser.add_argument("--slowdown", type=float, default=0.05, help="of that one")
    parser.add_argument("--seconds", type=float, default=4.0, help="for the first looking at a benchmark; three times that for the second")
    parser.add_argument("--journal", type=Path, default=ROOT / "build" / "benchmarks" / "gate.jsonl")
    parser.add_argument("--at", help="go on with the lines of this commit instead of the present one")
    parser.add_argument("--out", type=Path, help="write the report there as well")
    given = parser.parse_args()
    now = given.at or commit()
    # By turns, so that whatever the machine does meets both kinds alike.
    wanted = sorted([(number, False) for number in range(given.gates)] + [(number, True) for number in range(given.seeded)])

    def mine(line: Line) -> bool:
        return line.commit == now and line.budget_s == given.seconds and (not line.seeded or line.slowdown == given.slowdown)

    done = {(line.repetition, bool(line.seeded)) for line in read(given.journal, Line) if mine(line)}
    for number, slower in wanted:
        if (number, slower) in done:
            continue
        seeded = random.Random(number).choice(NAMES) if slower else ""
        line = one(now, number, seeded, given.slowdown if slower else 0.0, given.seconds)
        append(given.journal, line)
        what = f"{seeded} slower" if seeded else "unchanged"
        print(f"{what} {number}: {line.state or line.error}, red {list(line.red)}, {len(line.suspects)} suspects, {line.seconds:.0f} s",
              file=sys.stderr, flush=True)  # fmt: skip
    lines = [line for line in read(given.journal, Line) if mine(line)]
    text = "\n".join(("## Gates of known truth", "", *report(lines), ""))
    print(text)
    if given.out is not None:
        given.out.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
