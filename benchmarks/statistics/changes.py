"""Change points: series without a change that are flagged, steps put into recorded noise that are found, the Turing set, and time a series.

Recorded noise is what `noise.py` left in its journal, or the journal of `benchmarks/comparison/run.py` given by `--noise`: medians of processes of
unchanged programs, in order. A point of a history is the median of so many consecutive processes, as a run would report it. A step at a random place
in the middle three fifths counts as found where a change is reported within five points of it (the margin of the Turing set); every other reported
change is a false one. F1 = 2 hits ÷ (2 hits + false + missed). The Turing set is read from `$RIDGELINE_DATA/bench/TCPD` and left out with a word
where that is not set; its F1 is that of G. van den Burg, C. Williams, "An evaluation of change point detection algorithms", 2020: annotators' points
within five places, the first place counting for everyone. Apache Otava, where an interpreter that has it is given by `--otava`, sees the very same
series.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import numpy as np
from noise import compared, recorded
from numpy.typing import NDArray
from tables import markdown, share

from ridgeline.stats import history, mad_sigma

__all__ = ["report"]

Floats = NDArray[np.float64]
POINTS, _NEAR = 100, 5


def _correlated(g: np.random.Generator) -> Floats:
    from scipy.signal import lfilter

    return np.asarray(1 + 0.01 * lfilter([1.0], [1.0, -0.6], g.standard_normal(POINTS + 50))[50:])


def _spiky(g: np.random.Generator) -> Floats:
    noise = 1 + 0.01 * g.standard_normal(POINTS)
    return np.where(g.random(POINTS) < 0.05, noise * (1 + g.exponential(0.5, POINTS)), noise)


#: Series without a change → part of them that may be flagged.
NULLS: dict[str, tuple[Callable[[np.random.Generator], Floats], float]] = {
    "independent": (lambda g: 1 + 0.02 * g.standard_normal(POINTS), 0.01),
    "exponential tail": (lambda g: 1 + 0.02 * g.exponential(size=POINTS), 0.01),
    "5 % spikes": (_spiky, 0.01),
    "bimodal": (lambda g: np.where(g.random(POINTS) < 0.5, 1.0, 1.1) + 0.01 * g.standard_normal(POINTS), 0.01),
    "AR(1) 0.6": (_correlated, 0.05),
}


def _places(values: Floats) -> list[int]:
    return [change.index for change in history(values).changes]


def _nulls(g: np.random.Generator, repeats: int) -> list[list[str]]:
    rows = []
    for name, (draw, allowed) in NULLS.items():
        flagged = sum(bool(_places(draw(g))) for _ in range(repeats))
        rows.append([name, share(flagged, repeats), f"≤ {allowed:.0%}"])
    return rows


Find = Callable[[list[Floats]], list[list[int]]]
#: Processes whose median is one point, as a run of so many processes would report it.
RUNS = (1, 3, 5, 9, 15)
#: Reads a list of series on stdin, prints the places of the changes of each.
_OTAVA = """
import json, sys
from otava.analysis import compute_change_points
print(json.dumps([[int(change.index) for change in compute_change_points(series)[0]] for series in json.load(sys.stdin)]))
"""


def _ours(series: list[Floats]) -> list[list[int]]:
    return [_places(values) for values in series]


def _otava(python: str) -> Find:
    def find(series: list[Floats]) -> list[list[int]]:
        given = json.dumps([values.tolist() for values in series])
        printed = subprocess.run([python, "-c", _OTAVA], input=given, capture_output=True, text=True, check=True).stdout
        found: list[list[int]] = json.loads(printed)
        return found

    return find


def _runs(medians: Floats, processes: int) -> Floats:
    """Medians of consecutive processes, shape (runs,)."""
    runs = medians.size // processes
    return np.asarray(np.median(medians[: runs * processes].reshape(runs, processes), axis=1))


def _windows(g: np.random.Generator, series: Sequence[Floats], count: int) -> Iterable[Floats]:
    for _ in range(count):
        whole = series[int(g.integers(len(series)))]
        start = int(g.integers(0, whole.size - POINTS + 1))
        yield whole[start : start + POINTS]


def _injected(g: np.random.Generator, series: Sequence[Floats], count: int, tools: dict[str, Find]) -> list[list[str]]:
    """A row a tool: part of unchanged windows that is flagged, and F1 and part found of each step."""
    plain = list(_windows(g, series, count))
    stepped = {}
    for step in (0.02, 0.05):
        places = [int(place) for place in g.integers(POINTS // 5, 4 * POINTS // 5, count)]
        moved = [np.where(np.arange(POINTS) >= at, 1 + step, 1.0) * window for at, window in zip(places, _windows(g, series, count), strict=True)]
        stepped[step] = places, moved
    rows = []
    for name, find in tools.items():
        row = [name, share(sum(map(bool, find(plain))), count)]
        for places, moved in stepped.values():
            hits = false = 0
            for at, found in zip(places, find(moved), strict=True):
                hit = any(abs(place - at) <= _NEAR for place in found)
                hits, false = hits + hit, false + len(found) - hit
            row.append(f"F1 {2 * hits / (2 * hits + false + count - hits):.2f}; found {share(hits, count)}")
        rows.append(row)
    return rows


def _recorded(g: np.random.Generator, noise: Path | None, count: int, tools: dict[str, Find]) -> Iterable[str]:
    found = compared(noise) if noise else recorded()
    for processes in RUNS:
        every = {program: _runs(medians, processes) for program, medians in found.items()}
        series = {program: values for program, values in every.items() if values.size >= POINTS}
        what = f"medians of {processes} processes" if processes > 1 else "processes"
        if not series:
            yield f"No program has {POINTS} {what} in the noise that was recorded (most: {max((v.size for v in every.values()), default=0)}).\n"
            continue
        spread = ", ".join(f"{program} {values.size} points, σ {100 * mad_sigma(np.log(values)):.1f} %" for program, values in series.items())
        head = ["rule", "no step: flagged (aim: ≤ 2 %)", "2 % (aim: F1 ≥ 0.75)", "5 % (aim: F1 ≥ 0.90)"]
        yield markdown(f"A step put into {POINTS} recorded {what} ({spread})", head, _injected(g, list(series.values()), count, tools))
        # In order the noise also holds what the machine itself did in that time, which is no false alarm; in random order only how points scatter.
        shuffled = [g.permutation(values) for values in series.values()]
        yield markdown(f"The same {what} in random order: how they scatter, without what the machine did in that time", head,
                       _injected(g, shuffled, count, tools))  # fmt: skip


def _agreed(truth: set[int], found: set[int]) -> int:
    """How many of the true places have a found place of their own near them."""
    left, agreed = set(found), 0
    for place in sorted(truth):
        near = [candidate for candidate in left if abs(candidate - place) <= _NEAR]
        if near:
            left.remove(min(near, key=lambda candidate: abs(candidate - place)))
            agreed += 1
    return agreed


def _f1(annotations: dict[str, list[int]], found: list[int]) -> float:
    people = [{0, *places} for places in annotations.values()]
    places = {0, *found}
    precision = _agreed(set().union(*people), places) / len(places)
    recall = statistics.fmean(_agreed(person, places) / len(person) for person in people)
    return 2 * precision * recall / (precision + recall)


def _turing() -> str:
    data = os.environ.get("RIDGELINE_DATA")
    folder = Path(data) / "bench" / "TCPD" if data else None
    if folder is None or not (folder / "annotations.json").exists():
        return "The Turing change point set was left out: RIDGELINE_DATA does not lead to it.\n"
    annotations = json.loads((folder / "annotations.json").read_text())
    scores = []
    for path in sorted((folder / "datasets").glob("*/*.json")):
        given = json.loads(path.read_text())
        if given["name"] in annotations and len(given["series"]) == 1:
            raw = [np.nan if value is None else value for value in given["series"][0]["raw"]]
            scores.append(_f1(annotations[given["name"]], _places(np.array(raw, float))))
    return f"Turing change point set, {len(scores)} series of one variable: mean F1 {statistics.fmean(scores):.3f} (aim: ≥ 0.73).\n"


def report(full: bool, noise: Path | None = None, otava: str | None = None) -> str:
    """The tables.

    Args:
        full: more draws.
        noise: a journal of comparisons, whose pairs of equal code are the noise; else what `noise.py` recorded.
        otava: a Python interpreter that has Apache Otava.
    """
    g = np.random.default_rng(14)
    repeats = 2000 if full else 300
    parts = [markdown(f"Series of {POINTS} points without a change that are flagged", ["noise", "flagged", "aim"], _nulls(g, repeats))]
    tools = {"ridgeline": _ours} | ({"Apache Otava": _otava(otava)} if otava else {})
    parts.extend(_recorded(g, noise, min(repeats, 600), tools))
    parts.append(_turing())
    taken = []
    for _ in range(50):
        values = 1 + 0.02 * g.standard_normal(POINTS)
        before = time.perf_counter()
        history(values)
        taken.append(1e3 * (time.perf_counter() - before))
    parts.append(f"A series of {POINTS} points takes {statistics.median(taken):.1f} ms (aim: ≤ 5 ms; slowest of 50: {max(taken):.1f} ms).\n")
    return "\n".join(parts)
