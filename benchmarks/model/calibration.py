"""Continuous calibration on made noise: pairs to the finding of a shift by 10 %, and false alarms.

Noise of ln (actual ÷ predicted) is normal with a deviation of 3, 5 or 10 %, and 1 % of all pairs are 2 to 10 times slower. Every stream starts from
nothing and is 10,000 pairs long, so that learning the level is part of what is counted; groups have biases of their own (30 %), and pairs fall on
them at random. A shift comes at a random place in the second half, up or down by 10 %; its delay is counted in pairs of the stream where all groups
move, and in pairs of its group where one of eight moves. An alarm before it is a false one, and so is every alarm of a stream without a shift.
Beyond what is promised: noise with a heavier body (Student's t, three degrees of freedom), and noise of which each pair depends on the one before.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ridgeline.model.calibration import Calibration, Pair, start, update

Floats = NDArray[np.float64]
STREAM = 10_000


def _with_outliers(g: np.random.Generator, logs: Floats) -> Floats:
    return logs + np.where(g.random(logs.size) < 0.01, np.log(g.uniform(2, 10, logs.size)), 0.0)


def _normal(deviation: float) -> Callable[[np.random.Generator, int], Floats]:
    return lambda g, n: _with_outliers(g, deviation * g.standard_normal(n))


def _student(g: np.random.Generator, n: int) -> Floats:
    return _with_outliers(g, 0.05 * g.standard_t(3, n))


def _dependent(g: np.random.Generator, n: int) -> Floats:
    from scipy.signal import lfilter

    return _with_outliers(g, 0.05 * lfilter([np.sqrt(1 - 0.25)], [1.0, -0.5], g.standard_normal(n)))


NOISE = {
    "3 %": _normal(0.03), "5 %": _normal(0.05), "10 %": _normal(0.10), "5 %, Student t3": _student, "5 %, AR(1) 0.5": _dependent,
}  # fmt: skip


def _stream(g: np.random.Generator, noise: str, groups: int, shift: Callable[[NDArray[np.int64]], Floats]) -> tuple[list[float], list[str]]:
    group = g.integers(0, groups, STREAM)
    logs = NOISE[noise](g, STREAM) + g.normal(0, 0.3, groups)[group] + shift(group)
    return np.exp(logs).tolist(), [f"group {number}" for number in group.tolist()]


def _nothing(group: NDArray[np.int64]) -> Floats:
    return np.zeros(group.size)


def false_alarms(noise: str, groups: int, pairs: int, seed: int) -> tuple[int, int]:
    """(alarms, pairs) of streams without a shift."""
    alarms, seen = 0, 0
    g = np.random.default_rng([seed, groups])
    while seen < pairs:
        state = start("made")
        for actual, group in zip(*_stream(g, noise, groups, _nothing), strict=True):
            state = update(state, Pair(predicted_s=1.0, actual_s=actual, group=group))
        alarms, seen = alarms + len(state.changes), seen + STREAM
    return alarms, seen


def delays(noise: str, groups: int, factor: float, repeats: int, seed: int, *, one: bool = False) -> tuple[list[int], int, list[float]]:
    """(pairs to the alarm of each stream that had none before, streams with one before, after ÷ before as found); missed ones count as the rest."""
    g = np.random.default_rng([seed, groups, int(100 * factor), one])
    found: list[int] = []
    early, ratios = 0, []
    for _ in range(repeats):
        at = int(g.integers(STREAM // 2, STREAM - 2500))

        def shift(group: NDArray[np.int64], at: int = at) -> Floats:
            moved = (np.arange(group.size) >= at) & ((group == 0) | (not one))
            return np.where(moved, np.log(factor), 0.0)

        actual, group = _stream(g, noise, groups, shift)
        state = start("made")
        number = _first_alarm(actual, group, state)
        if number[0] <= at:
            early += 1
            continue
        counted = [name for name in group[at : number[0]] if not one or name == "group 0"]
        found.append(len(counted))
        ratios.append(number[1])
    return found, early, ratios


def _first_alarm(actual: list[float], group: list[str], state: Calibration) -> tuple[int, float]:
    for time_s, name in zip(actual, group, strict=True):
        state = update(state, Pair(predicted_s=1.0, actual_s=time_s, group=name))
        if state.changes:
            change = state.changes[0]
            return change.number, change.after.value / change.before.value
    return len(actual), 1.0


def report(pairs: int, repeats: int, seed: int) -> str:
    """The fragment."""
    began = time.perf_counter()
    lines = ["## Continuous calibration", "", str(__doc__).partition("\n\n")[2].strip(), ""]
    lines += ["| noise | groups | pairs without a shift | false alarms | in 10,000 |", "|---|---:|---:|---:|---:|"]
    promised = [0, 0]
    for noise in NOISE:
        for groups in (1, 8, 30):
            alarms, seen = false_alarms(noise, groups, pairs, seed)
            lines.append(f"| {noise} | {groups} | {seen:,} | {alarms} | {1e4 * alarms / seen:.3f} |")
            if "," not in noise:
                promised = [promised[0] + alarms, promised[1] + seen]
            print(lines[-1], file=sys.stderr, flush=True)
    lines += ["", f"Promised noise together: {promised[0]} false alarms in {promised[1]:,} pairs.", ""]
    lines += [
        "| noise | who moves | by | streams | found within 200 pairs | median | worst | alarms before | size found (median) |",
        "|---|---|---|---:|---:|---:|---:|---:|---:|",
    ]
    for noise in NOISE:
        for who, groups, one in (("the only group", 1, False), ("all of 8", 8, False), ("one of 8", 8, True)):
            for factor in (1.1, 1 / 1.1):
                found, early, ratios = delays(noise, groups, factor, repeats, seed, one=one)
                within = sum(delay <= 200 for delay in found)
                figures = f"{len(found)} | {within} | {np.median(found):.0f} | {max(found)} | {early} | {np.median(ratios):.3f}"
                lines.append(f"| {noise} | {who} | {factor:.3f} | {figures} |")
                print(lines[-1], file=sys.stderr, flush=True)
    seconds = time.perf_counter() - began
    lines += ["", f"{seconds:.0f} s in all."]
    return "\n".join(lines) + "\n"


def main() -> int:
    """Write the fragment."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=120_000, help="pairs without a shift for each noise and number of groups")
    parser.add_argument("--repeats", type=int, default=20, help="streams with a shift of each kind")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    text = report(arguments.pairs, arguments.repeats, arguments.seed)
    print(text)
    if arguments.out:
        arguments.out.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
