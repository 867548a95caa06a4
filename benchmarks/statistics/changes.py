"""Change points: series without a change that are flagged, steps put into recorded noise that are found, the Turing set, and time a series.

Recorded noise is what `noise.py` left in its journal: medians of processes of unchanged programs, in order. The Turing set is read from
`$RIDGELINE_DATA/bench/TCPD` and left out with a word where that is not set; its F1 is that of G. van den Burg, C. Williams, "An evaluation of change
point detection algorithms", 2020: annotators' points within five places, the first place counting for everyone.
"""

from __future__ import annotations

import json
import os
import statistics
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import numpy as np
from noise import recorded
from numpy.typing import NDArray
from tables import markdown, share

from ridgeline.stats import history

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


def _windows(g: np.random.Generator, series: Sequence[Floats], count: int) -> Iterable[Floats]:
    for _ in range(count):
        whole = series[int(g.integers(len(series)))]
        start = int(g.integers(0, whole.size - POINTS + 1))
        yield whole[start : start + POINTS]


def _injected(g: np.random.Generator, series: Sequence[Floats], count: int) -> list[list[str]]:
    flagged = sum(bool(_places(window)) for window in _windows(g, series, count))
    rows = [["none", share(flagged, count), "≤ 2 % flagged"]]
    for step, aim in ((0.02, 0.75), (0.05, 0.90)):
        hits = false = 0
        for window in _windows(g, series, count):
            at = int(g.integers(20, 80))
            moved = np.where(np.arange(POINTS) >= at, 1 + step, 1.0) * window
            found = _places(moved)
            hit = any(abs(place - at) <= _NEAR for place in found)
            hits, false = hits + hit, false + len(found) - hit
        rows.append([f"{step:.0%}", f"F1 {2 * hits / (2 * hits + false + count - hits):.2f}; found {share(hits, count)}", f"F1 ≥ {aim}"])
    return rows


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


def report(full: bool) -> str:
    """The tables."""
    g = np.random.default_rng(14)
    repeats = 2000 if full else 300
    parts = [markdown(f"Series of {POINTS} points without a change that are flagged", ["noise", "flagged", "aim"], _nulls(g, repeats))]
    series = [values for values in recorded().values() if values.size >= POINTS]
    if series:
        sizes = ", ".join(str(values.size) for values in series)
        title = f"A step put into {POINTS} recorded medians of processes ({len(series)} programs, {sizes} processes)"
        parts.append(markdown(title, ["step", "result", "aim"], _injected(g, series, repeats)))
    else:
        parts.append(f"No recorded noise of {POINTS} processes yet: noise.py records it.\n")
    parts.append(_turing())
    taken = []
    for _ in range(50):
        values = 1 + 0.02 * g.standard_normal(POINTS)
        before = time.perf_counter()
        history(values)
        taken.append(1e3 * (time.perf_counter() - before))
    parts.append(f"A series of {POINTS} points takes {statistics.median(taken):.1f} ms (aim: ≤ 5 ms; slowest of 50: {max(taken):.1f} ms).\n")
    return "\n".join(parts)
