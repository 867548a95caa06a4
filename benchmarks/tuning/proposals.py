"""What a proposal costs: CPU of asking for one configuration and telling its time, and how memory grows, on small and large spaces.

Each case is a fresh process with one thread. The spaces are the valid configurations of the recorded GEMM (RTX 2080 Ti), and made ones of 10⁵ and of
more than 10⁸; the times are made, a product of a factor for each value, as only the cost is of interest. Memory is what is resident, and
the most that ever was, after trial 100 and after the last.

The peers run in an environment of their own, `build/peers/tuning/bin/python` or `--peers`; without it they are left out:

    python -m venv build/peers/tuning
    build/peers/tuning/bin/pip install optuna==5.0.0 scikit-learn==1.9.1

    RIDGELINE_DATA=FOLDER python benchmarks/tuning/proposals.py [--trials N] [--repetitions N] [--search NAME …] [--peers PYTHON] [--out FILE.md]
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from recorded import ROOT, folder, machine, recording

from ridgeline.core import Parameter, Space
from ridgeline.tuning.search import DEFAULT, strategies, strategy
from ridgeline.tuning.space import Configurations

GEMM = "KernelTuner/gemm/RTX_2080_Ti"
#: Values of each parameter of the made spaces: 10⁵ and 4.3 × 10⁹.
MADE = {"made, 10⁵": [10] * 5, "made, 4.3 × 10⁹": [16, 16, 16, 8, 8, 8, 4, 4, 4, 4, 2, 2, 2]}
PEERS = ("optuna TPE, parameters", "scikit-learn forest + EI")
FIRST_MARK = 100


def problem(name: str, where: Path) -> dict[str, Any]:
    """Sizes, valid configurations where not all are, and ln(seconds) of each value."""
    generator = np.random.default_rng(7)
    rows = None
    sizes = MADE.get(name, [])
    if name == GEMM:
        space = recording(GEMM, where / f"{GEMM}.json.gz").space
        sizes, rows = space.sizes.tolist(), space.at(np.arange(space.count)).tolist()
    return {"sizes": sizes, "rows": rows, "tables": [generator.normal(0.0, 0.3, size).tolist() for size in sizes]}


def memory_now() -> tuple[int, int]:
    """Bytes in use, and the most that ever were."""
    resident = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return resident, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def own(request: dict[str, Any]) -> dict[str, Any]:
    """A search of Ridgeline in this process."""
    names = [f"p{place}" for place in range(len(request["sizes"]))]
    space = Space(parameters=tuple(Parameter(name=name, values=tuple(range(size))) for name, size in zip(names, request["sizes"], strict=True)))
    rows = request["rows"]
    configurations = Configurations(space, listed=None if rows is None else [dict(zip(names, row, strict=True)) for row in rows])
    begin = time.thread_time()
    search = strategy(request["method"], configurations, request["seed"])
    made_ms = 1e3 * (time.thread_time() - begin)
    spent, memory = [], []
    for number in range(1, request["trials"] + 1):
        begin = time.thread_time()
        asked = search.ask(1)
        between = time.thread_time()
        seconds = np.exp([sum(table[value] for table, value in zip(request["tables"], row, strict=True)) for row in asked.tolist()])
        again = time.thread_time()
        search.tell(asked, seconds)
        spent.append(1e3 * (time.thread_time() - again + between - begin))
        if number in request["marks"]:
            memory.append(memory_now())
    return {"ms": spent, "bytes": memory, "made_ms": made_ms, "count": configurations.count}


def answer(command: list[str], request: dict[str, Any]) -> dict[str, Any]:
    """Of a fresh process."""
    alone = {**os.environ, **dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")}
    done = subprocess.run(command, input=json.dumps(request) + "\n", capture_output=True, text=True, env=alone)
    if done.returncode:
        raise RuntimeError(done.stderr.strip()[-300:])
    return dict(json.loads(done.stdout.splitlines()[-1]))


def report(given: argparse.Namespace, where: Path) -> Iterator[str]:
    yield "## What a proposal costs\n"
    yield (
        f"{machine()}. CPU milliseconds of asking for one and telling its time over {given.trials} trials, {given.repetitions} fresh processes with "
        f"one thread each (medians of them); memory: growth from trial {FIRST_MARK} to {given.trials}, the most of them.\n"
    )
    yield "| space | configurations | search | mean | median | p99 | most | trials 200 to 300 | making the search, ms | memory, MiB | its peak, MiB |"
    yield "|---|--:|---|--:|--:|--:|--:|--:|--:|--:|--:|"
    for name in (GEMM, *MADE):
        posed = problem(name, where) | {"trials": given.trials, "marks": [FIRST_MARK, given.trials]}
        count = len(posed["rows"]) if posed["rows"] is not None else int(np.prod(posed["sizes"], dtype=object))
        for method in (*(given.search or [DEFAULT]), *(PEERS if given.peers.exists() else ())):
            yield line(name, count, method, posed, given)


def line(name: str, count: int, method: str, posed: dict[str, Any], given: argparse.Namespace) -> str:
    """One search on one space."""
    ours = method in strategies()
    command = [sys.executable, __file__, "--one"] if ours else [str(given.peers), str(Path(__file__).with_name("peer_proposals.py"))]
    try:
        found = [answer(command, posed | {"method": method, "seed": seed}) for seed in range(given.repetitions)]
    except RuntimeError as error:
        return f"| {name} | {count:,} | {method} | {str(error).splitlines()[-1][:150] if str(error) else 'ended'} | | | | | | |"
    times = np.array([each["ms"] for each in found])
    figures = [times.mean(axis=1), np.median(times, axis=1), np.quantile(times, 0.99, axis=1), times.max(axis=1), times[:, 200:300].mean(axis=1)]
    cells = [f"{np.median(each):.2f}" if len(each) else "" for each in figures]
    making = f"{np.median([each['made_ms'] for each in found]):.0f}" if ours else ""
    grown = " | ".join(f"{max(each['bytes'][-1][of] - each['bytes'][0][of] for each in found) / 2**20:.1f}" for of in (0, 1))
    return f"| {name} | {count:,} | {f'**ours {method}**' if ours else method} | {' | '.join(cells)} | {making} | {grown} |"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    found = ROOT / "build" / "peers" / "tuning" / "bin" / "python"
    parser.add_argument("--trials", type=int, default=300)
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--search", action="append", choices=strategies(), help="of ours; the default unless named")
    parser.add_argument("--peers", type=Path, default=found, help="python of the environment with the peers")
    parser.add_argument("--out", type=Path, help="write the table here as well")
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        print(json.dumps(own(json.loads(sys.stdin.readline()))))
        return 0
    where = folder()
    if where is None:
        return 0
    if not given.peers.exists():
        print(f"{given.peers}: no environment with the peers, left out (see --help)", file=sys.stderr)
    lines = []
    for each in report(given, where):
        print(each, flush=True)
        lines.append(each)
    if given.out:
        given.out.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
