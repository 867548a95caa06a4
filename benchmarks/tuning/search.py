"""How many evaluations a search needs: every recorded space replayed by all searches of Ridgeline and by other tuners, in one run.

A replay asks a search for one configuration after the other and answers with the recorded time; one that failed counts as one evaluation, the same
one again as none. Told are the medians over seeds of best ÷ optimum after so many different configurations (infinite where none ran yet; what stops
by itself keeps its best), their geometric mean over spaces, the 90th percentile over seeds, and each space's ratio to evenly drawn ones.

The peers run in an environment of their own, `build/peers/tuning/bin/python` or `--peers`; what is not installed there is told and left out:

    python -m venv build/peers/tuning
    build/peers/tuning/bin/pip install kernel_tuner==1.5.0 optuna==5.0.0 scikit-learn==1.9.1 opentuner==0.8.8

`peer_search.py` says what each is told. Seeds are the outermost loop, so that an interrupted run has the same of all; every run is a line of the
journal, and a line of searches of another state of the sources, or of another version of a peer, is not used. Slow methods may have fewer seeds.

    RIDGELINE_DATA=FOLDER python benchmarks/tuning/search.py [--seeds N] [--slow-seeds N] [--peers PYTHON] [--out FILE.md]
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray
from recorded import ROOT, Recording, folder, machine, recordings, state_of_searches

from ridgeline.tuning.search import DEFAULT, strategies, strategy

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from journal import append, read

Floats = NDArray[np.float64]
BUDGETS = (20, 50, 100, 200)
RANDOM = "ours random"
#: Methods of ten milliseconds a proposal and more.
SLOW = ("optuna TPE, index", "opentuner", "scikit-learn GP + EI", "scikit-learn forest + EI")
#: CPU seconds after which a run of a peer is stopped; what it has found by then counts.
PATIENCE_S = 60.0
#: Of Ridgeline's searches the one that is a peer's, which is run as that.
ADAPTER = "optuna"
#: Is the same for every seed.
ONCE = "ours exhaustive"


class Line(msgspec.Struct, frozen=True):
    """One run: ratios at the budgets (null: none ran yet), different configurations tried, CPU of each, and what went wrong."""

    method: str
    space: str
    seed: int
    state: str
    ratios: list[float | None]
    evaluated: int
    cpu_ms: float
    error: str = ""


class Peers:
    """A process of the peers' environment; `absent`: method → why it is not there."""

    def __init__(self, python: Path, spaces: list[Recording]) -> None:
        self._folder = tempfile.TemporaryDirectory()
        given = Path(self._folder.name) / "spaces.json"
        given.write_text(json.dumps({each.name: each.as_json() for each in spaces}), encoding="utf-8")
        script = Path(__file__).with_name("peer_search.py")
        alone = {**os.environ, **dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")}
        self._process = subprocess.Popen(
            [str(python), str(script), str(given)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=alone,
            cwd=self._folder.name,
        )
        said = self._answer()
        self.methods: list[str] = said["methods"]
        self.absent: dict[str, str] = said["absent"]
        self.versions: dict[str, str] = said["versions"]
        self._form: int = said["form"]

    def state(self, method: str) -> str:
        """Package and version, and the form in which it is told."""
        package = method.split()[0]
        return f"{package} {self.versions[package]}, form {self._form}"

    def run(self, method: str, space: str, seed: int) -> dict[str, Any]:
        """The configurations that it tried, in order, and its CPU seconds."""
        assert self._process.stdin
        request = {"method": method, "space": space, "seed": seed, "budget": BUDGETS[-1], "seconds": PATIENCE_S}
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        return self._answer()

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"the peers' process ended with {self._process.wait()}")
        return dict(json.loads(line))

    def close(self) -> None:
        """End the process."""
        assert self._process.stdin
        self._process.stdin.close()
        self._process.wait()
        self._folder.cleanup()


def ratios_of(recording: Recording, numbers: Sequence[int]) -> list[float | None]:
    """best ÷ optimum after each budget."""
    found: list[float | None] = []
    times = recording.times[np.array(numbers, np.int64)]
    for budget in BUDGETS:
        ran = times[:budget][~np.isnan(times[:budget])]
        found.append(float(ran.min()) / recording.optimum if len(ran) else None)
    return found


def own(name: str, recording: Recording, seed: int, state: str) -> Line:
    """A search of Ridgeline, asked for one at a time."""
    numbers: list[int] = []
    begin = time.process_time()
    search = strategy(name, recording.space, seed)
    for _ in range(min(BUDGETS[-1], recording.space.count)):
        rows = search.ask(1)
        asked = recording.space.numbers(rows).astype(np.int64)
        search.tell(rows, recording.times[asked])
        numbers += asked.tolist()
    cpu = time.process_time() - begin
    return Line(f"ours {name}", recording.name, seed, state, ratios_of(recording, numbers), len(set(numbers)), 1e3 * cpu / len(numbers))


def other(peers: Peers, method: str, recording: Recording, seed: int) -> Line:
    found = peers.run(method, recording.name, seed)
    count = len(found["numbers"])
    ratios, cpu_ms = ratios_of(recording, found["numbers"]), 1e3 * found["cpu_s"] / max(1, count)
    return Line(method, recording.name, seed, peers.state(method), ratios, count, cpu_ms, found["error"])


def run(given: argparse.Namespace, spaces: list[Recording], peers: Peers | None) -> list[Line]:
    """Every cell that is not in the journal; seeds outermost."""
    now = state_of_searches()
    states = {f"ours {name}": now for name in strategies() if name != ADAPTER} | (
        {name: peers.state(name) for name in peers.methods} if peers else {}
    )
    methods = [name for name in states if not given.method or any(word in name for word in given.method)]
    done = {(line.method, line.space, line.seed) for line in read(given.journal, Line) if states.get(line.method) == line.state}
    for seed in range(given.seeds):
        for recording in spaces:
            for method in methods:
                if (method, recording.name, seed) in done or seed >= wanted_seeds(method, given):
                    continue
                if method.startswith("ours "):
                    append(given.journal, own(method.removeprefix("ours "), recording, seed, now))
                elif peers:
                    append(given.journal, other(peers, method, recording, seed))
        print(f"seed {seed} of {given.seeds}", file=sys.stderr, flush=True)
    wanted = {each.name for each in spaces}
    kept = [line for line in read(given.journal, Line) if states.get(line.method) == line.state and line.method in methods and line.space in wanted]
    return [line for line in kept if line.seed < given.seeds]


def wanted_seeds(method: str, given: argparse.Namespace) -> int:
    if given.told:
        return 0
    if method.startswith("ours "):
        return 1 if method == ONCE else given.seeds
    return 0 if given.ours else min(given.slow_seeds if method in SLOW else given.peer_seeds, given.seeds)


class Summary(msgspec.Struct):
    """Of one method, by space: medians at the budgets, (spaces, budgets), 90th percentile at 100, CPU; and its seeds."""

    medians: Floats
    high: Floats
    cpu_ms: Floats
    seeds: int
    early: int
    runs: int
    errors: list[str]


def summarised(lines: list[Line], spaces: list[Recording]) -> dict[str, Summary]:
    """Method → what it found; a method that lacks a space is left out."""
    found = {}
    for method in dict.fromkeys(line.method for line in lines):
        of = {each.name: [line for line in lines if line.method == method and line.space == each.name] for each in spaces}
        if not all(of.values()):
            print(f"{method}: not all spaces are finished, left out", file=sys.stderr)
            continue
        ratios = [np.array([[np.inf if value is None else value for value in line.ratios] for line in of[each.name]]) for each in spaces]
        every = [line for each in spaces for line in of[each.name]]
        least = {each.name: min(BUDGETS[-1], each.space.count) for each in spaces}
        found[method] = Summary(
            np.array([np.median(each, axis=0) for each in ratios]),
            np.array([np.quantile(each[:, BUDGETS.index(100)], 0.9, method="higher") for each in ratios]),
            np.array([np.mean([line.cpu_ms for line in of[each.name]]) for each in spaces]),
            min(len(each) for each in ratios),
            sum(line.evaluated < least[line.space] for line in every),
            len(every),
            sorted({line.error for line in every if line.error}),
        )
    return found


def geometric(values: Floats) -> Floats:
    """Over spaces; infinite where one is."""
    return np.asarray(np.exp(np.log(values).mean(axis=0)), np.float64)


def report(found: dict[str, Summary], spaces: list[Recording], peers: Peers | None) -> Iterator[str]:
    """Tables: methods; spaces; what was absent or failed."""
    own_, peer_ = [name for name in found if name.startswith("ours ")], [name for name in found if not name.startswith("ours ")]
    baseline = found.get(RANDOM)
    yield "## Searches against other tuners, replaying recorded spaces\n"
    versions = ", ".join(f"{name} {version}" for name, version in peers.versions.items() if version) if peers else "no peers"
    yield f"{machine()}; peers: {versions}. {len(spaces)} recorded spaces, {sum(each.space.count for each in spaces):,} configurations.\n"
    yield (
        "Best found ÷ optimum after so many different configurations: median over seeds, geometric mean over spaces. p90: 90th percentile over seeds "
        "at 100, geometric mean and worst space. Against random: the worst ratio of medians to `ours random`, over spaces and budgets. "
        "Early: runs that stopped before 200.\n"
    )
    yield "| method | seeds | @20 | @50 | @100 | @200 | p90 @100 | worst space | against random | CPU ms an evaluation | early |"
    yield "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|"
    if peer_:
        best = np.min([found[name].medians for name in peer_], axis=0)
        least = min(found[name].seeds for name in peer_)
        yield f"| best peer of each space and budget, in hindsight (few seeds: luck) | {least} | {_cells(geometric(best))} | | | | | |"
    order = sorted(found, key=lambda name: (name != f"ours {DEFAULT}", name not in own_, geometric(found[name].medians)[2]))
    for name in order:
        one = found[name]
        against = _number(float((one.medians / baseline.medians).max())) if baseline else ""
        shown = f"**{name}** (default)" if name == f"ours {DEFAULT}" else name
        cpu = f"{one.cpu_ms.mean():.2f} ({one.cpu_ms.min():.2f}–{one.cpu_ms.max():.2f})"
        high = f"{_number(float(geometric(one.high)))} | {_number(one.high.max())}"
        yield f"| {shown} | {one.seeds} | {_cells(geometric(one.medians))} | {high} | {against} | {cpu} | {one.early} of {one.runs} |"
    yield from _by_space(found, spaces, peer_)
    for method, why in (peers.absent if peers else {}).items():
        yield f"\nAbsent: {method}: {why}"
    for method in peer_:
        for error in found[method].errors:
            yield f"\n{method}, in some runs: {error}"


def _by_space(found: dict[str, Summary], spaces: list[Recording], peers: list[str]) -> Iterator[str]:
    default, baseline = found.get(f"ours {DEFAULT}"), found.get(RANDOM)
    if default is None or baseline is None:
        return
    yield "\nBy space: median at 20 / 50 / 100 / 200, and that of the default search over random's.\n"
    yield "| space | configurations | failed | default | p90 @100 | random | default ÷ random | best peer at 100 | its medians |"
    yield "|---|--:|--:|---|--:|---|---|---|---|"
    for place, each in enumerate(spaces):
        best = min(peers, key=lambda name: tuple(found[name].medians[place][2:]), default="")
        cells = [each.name.replace("_NVIDIA_RTX_A4000_size-32768x32768_cache", ""), f"{each.space.count:,}", f"{np.isnan(each.times).mean():.0%}"]
        cells += [_joined(default.medians[place]), f"{default.high[place]:.3f}", _joined(baseline.medians[place])]
        cells += [_joined(default.medians[place] / baseline.medians[place]), best, _joined(found[best].medians[place]) if best else ""]
        yield "| " + " | ".join(cells) + " |"


def _cells(values: Floats) -> str:
    return " | ".join(_number(value) for value in values.tolist())


def _joined(values: Floats) -> str:
    return " / ".join(_number(value) for value in values.tolist())


def _number(value: float) -> str:
    return f"{value:.3f}" if np.isfinite(value) else "∞"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    found = ROOT / "build" / "peers" / "tuning" / "bin" / "python"
    parser.add_argument("--seeds", type=int, default=40, help="runs of each method on each space")
    parser.add_argument("--peer-seeds", type=int, default=40, help="at most so many of the peers")
    parser.add_argument("--slow-seeds", type=int, default=10, help=f"and so many of {'; '.join(SLOW)}")
    parser.add_argument("--peers", type=Path, default=found, help="python of the environment with the peers")
    parser.add_argument("--ours", action="store_true", help="run no peer; those of the journal are told")
    parser.add_argument("--told", action="store_true", help="run nothing: tell what the journal has")
    parser.add_argument("--method", action="append", help="only methods whose name holds this; may be given several times")
    parser.add_argument("--space", action="append", help="only spaces whose name holds this; may be given several times")
    parser.add_argument("--journal", type=Path, default=ROOT / "build" / "benchmarks" / "tuning-search.jsonl")
    parser.add_argument("--out", type=Path, help="write the tables here as well")
    given = parser.parse_args()
    where = folder()
    if where is None:
        return 0
    spaces = recordings(where, given.space)
    peers = Peers(given.peers, spaces) if given.peers.exists() else None
    if peers is None:
        print(f"{given.peers}: no environment with the peers, all of them left out (see --help)", file=sys.stderr)
    for method, why in (peers.absent if peers else {}).items():
        print(f"absent: {method}: {why}", file=sys.stderr)
    try:
        lines = run(given, spaces, peers)
    finally:
        if peers:
            peers.close()
    text = "\n".join(report(summarised(lines, spaces), spaces, peers)) + "\n"
    print(text)
    if given.out:
        given.out.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
