"""What a recording of another device is worth to the default search, and that one which misleads does no harm: all pairs of devices of one kernel.

Each device of a kernel is searched with the guess from the recording of each other one (`recorded_guess`) and without, replaying its own recording.
Told are medians over seeds: the evaluations until best ÷ optimum ≤ 1.05, and best ÷ optimum after 1, 5, 10, 20 and 50. Kernels are the folders under
`tuning/` that hold more than one recording. Beside, two guesses that mislead on purpose: of the device's own recording with every time turned upside
down, and with times that belong to other configurations.

    RIDGELINE_DATA=FOLDER python benchmarks/tuning/transfer.py [--seeds N] [--kernel WORD …] [--out FILE.md]

Every pair is a line of the journal as soon as it is done, so that an interrupted run goes on.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray
from recorded import ROOT, Recording, folder, machine, recordings, state_of_searches

from ridgeline.tuning.search import DEFAULT, strategy
from ridgeline.tuning.search.transfer import Guess, recorded_guess

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from journal import append, read

Floats = NDArray[np.float64]
BUDGETS = (1, 5, 10, 20, 50)
NEAR, EVALUATIONS = 1.05, 100
#: Guesses that mislead on purpose.
TURNED, MIXED = "upside down", "mixed up"


class Line(msgspec.Struct, frozen=True):
    """One device searched with one guess (empty: none), or without: of each seed best ÷ optimum at the budgets and the evaluations to `NEAR`.

    Both are null where there is nothing: none ran yet, or never so near.
    """

    state: str
    guess: str
    device: str
    seeds: int
    known: int
    ratios: list[list[float | None]]
    needed: list[int | None]


def carried(to: Recording, of: Recording) -> tuple[NDArray[np.int64], Floats]:
    """Rows and times of a recording that are configurations of another."""
    rows, times = [], []
    for row, time in zip(of.space.at(np.arange(of.space.count)), of.times.tolist(), strict=True):
        config = of.space.config(row)
        if all(config.get(name) in values for name, values in zip(to.space.names, to.space.values, strict=True)):
            rows.append(to.space.row({name: config[name] for name in to.space.names}))
            times.append(time)
    found, values = np.array(rows, np.int64).reshape(-1, len(to.space.names)), np.array(times)
    kept = to.space.valid(found)
    return found[kept], values[kept]


def misleading(to: Recording, how: str) -> Guess:
    """From the device's own recording."""
    ran = np.flatnonzero(~np.isnan(to.times))
    times = 1.0 / to.times[ran] if how == TURNED else np.random.default_rng(0).permutation(to.times[ran])
    return recorded_guess(to.space, [(to.space.at(ran), times)])


def searched(to: Recording, name: str, guess: Guess | None, known: int, seeds: int, state: str) -> Line:
    """All seeds."""
    ratios, needed = [], []
    for seed in range(seeds):
        search = strategy(DEFAULT, to.space, seed, guess=guess)
        told: list[float] = []
        for _ in range(min(EVALUATIONS, to.space.count)):
            asked = search.ask(1)
            times = to.times[to.space.numbers(asked).astype(np.int64)]
            search.tell(asked, times)
            told += times.tolist()
            if len(told) >= BUDGETS[-1] and np.nanmin(told) <= NEAR * to.optimum:
                break
        best = np.fmin.accumulate(np.array(told)) / to.optimum
        reached = [float(best[min(budget, len(best)) - 1]) for budget in BUDGETS]
        ratios.append([None if np.isnan(each) else each for each in reached])
        near = np.flatnonzero(best <= NEAR)
        needed.append(int(near[0]) + 1 if len(near) else None)
    return Line(state, name, to.name, seeds, known, ratios, needed)


def run(given: argparse.Namespace, kernels: dict[str, list[Recording]]) -> list[Line]:
    """Every pair that is not in the journal."""
    state = state_of_searches()
    known = {(line.guess, line.device): line for line in read(given.journal, Line) if line.state == state and line.seeds == given.seeds}
    found = []
    for devices in kernels.values():
        for to in devices:
            for name in ("", *(of.name for of in devices if of is not to), TURNED, MIXED):
                if (name, to.name) not in known:
                    if given.told:
                        continue
                    guess, count = None, 0
                    if name in (TURNED, MIXED):
                        guess = misleading(to, name)
                    elif name:
                        rows, times = carried(to, next(of for of in devices if of.name == name))
                        guess, count = recorded_guess(to.space, [(rows, times)]), len(rows)
                    known[name, to.name] = searched(to, name, guess, count, given.seeds, state)
                    append(given.journal, known[name, to.name])
                    print(f"{name or 'none'} → {to.name}", file=sys.stderr, flush=True)
                found.append(known[name, to.name])
    return found


def medians(line: Line) -> Floats:
    """At the budgets."""
    return np.median([[np.inf if each is None else each for each in ratios] for ratios in line.ratios], axis=0)


def evaluations(line: Line) -> str:
    middle = float(np.median([np.inf if each is None else each for each in line.needed]))
    return f"{middle:g}" if np.isfinite(middle) else f"> {EVALUATIONS}"


def report(lines: list[Line], seeds: int) -> Iterator[str]:
    without = {line.device: line for line in lines if not line.guess}
    yield "## Transfer: with the recording of another device, and without\n"
    yield f"{machine()}. Medians over {seeds} seeds of best ÷ optimum, with / without; evaluations until ≤ {NEAR}, the same.\n"
    yield f"| recorded on | searched on | known | until ≤ {NEAR} | " + " | ".join(f"@{each}" for each in BUDGETS) + " |"
    yield "|---|---|--:|---|" + "---|" * len(BUDGETS)
    within: dict[str, list[bool]] = defaultdict(list)
    guard: dict[str, list[float]] = defaultdict(list)
    for line in lines:
        if not line.guess:
            continue
        plain, mine, theirs = without[line.device], medians(line), medians(without[line.device])
        kernel, _, device = line.device.rpartition("/")
        group = line.guess if line.guess in (TURNED, MIXED) else kernel
        within[group].append(bool(mine[BUDGETS.index(10)] <= NEAR))
        guard[group].append(float(mine[-1] / theirs[-1]))
        cells = [line.guess.rpartition("/")[2], f"{kernel.rpartition('/')[2]} {device}", f"{line.known:,}" if line.known else "all"]
        cells += [f"{evaluations(line)} / {evaluations(plain)}"]
        cells += [f"{_number(one)} / {_number(other)}" for one, other in zip(mine.tolist(), theirs.tolist(), strict=True)]
        yield "| " + " | ".join(cells) + " |"
    yield f"\n| guesses | pairs | ≤ {NEAR} at 10 | with ÷ without at 50: worst | no worse by more than 1 % |"
    yield "|---|--:|--:|--:|--:|"
    for group in within:
        kept = sum(each <= 1.01 for each in guard[group])
        yield f"| {group} | {len(within[group])} | {sum(within[group])} | {max(guard[group]):.3f} | {kept} |"


def _number(value: float) -> str:
    return f"{value:.3f}" if np.isfinite(value) else "∞"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=40)
    parser.add_argument("--told", action="store_true", help="run nothing: tell what the journal has")
    parser.add_argument("--kernel", action="append", help="only kernels whose folder holds this; may be given several times")
    parser.add_argument("--journal", type=Path, default=ROOT / "build" / "benchmarks" / "tuning-transfer.jsonl")
    parser.add_argument("--out", type=Path, help="write the tables here as well")
    given = parser.parse_args()
    where = folder()
    if where is None:
        return 0
    kernels: dict[str, list[Recording]] = defaultdict(list)
    for each in recordings(where):
        kernels[each.name.rpartition("/")[0]].append(each)
    chosen = {name: found for name, found in kernels.items() if len(found) > 1 and (not given.kernel or any(word in name for word in given.kernel))}
    text = "\n".join(report(run(given, chosen), given.seeds)) + "\n"
    print(text)
    if given.out:
        given.out.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
