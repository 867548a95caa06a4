"""The pure comparison on made noise of processes: equal versions called different, real differences found, families, levels, and its speed."""

from __future__ import annotations

import statistics
import time

import numpy as np
from numpy.typing import NDArray
from tables import markdown, share

from ridgeline.core import Column, Series, SeriesSet
from ridgeline.diagnosis.comparison import compare_series, compare_sets
from ridgeline.stats import levels

__all__ = ["report"]

Floats = NDArray[np.float64]
#: How levels of processes are spread.
LEVELS = {
    "normal 1 %": lambda g, n: 0.01 * g.standard_normal(n),
    "skewed 1.5 %": lambda g, n: 0.015 * g.exponential(size=n),
    "two levels 3 % apart": lambda g, n: 0.003 * g.standard_normal(n) + 0.03 * (g.random(n) < 0.3),
    "heavy (t3) 0.7 %": lambda g, n: 0.007 * g.standard_t(3, n),
}
PROCESSES, SAMPLES = 15, 30


def _series(g: np.random.Generator, kind: str, ratio: float = 1.0, name: str = "f", processes: int = PROCESSES, samples: int = SAMPLES) -> Series:
    """Processes of a kind; each call is an exponential tail above the level of its process."""
    level = ratio * np.exp(LEVELS[kind](g, processes))
    values = level[:, None] * (1 + 0.02 * g.exponential(size=(processes, samples)))
    return Series(name=name, values=Column(values.ravel(), "s"), process=Column(np.arange(processes).repeat(samples), "count"))


def _verdicts(g: np.random.Generator, kind: str, ratio: float, repeats: int) -> list[str]:
    return [compare_series(_series(g, kind), _series(g, kind, ratio)).verdict for _ in range(repeats)]


def _family(g: np.random.Generator, count: int, processes: int, samples: int) -> SeriesSet:
    kinds = list(LEVELS)
    series = tuple(_series(g, kinds[i % len(kinds)], name=f"b{i}", processes=processes, samples=samples) for i in range(count))
    return SeriesSet(source="made", tool="made", series=series)


def _red(g: np.random.Generator, repeats: int) -> int:
    red = 0
    for _ in range(repeats):
        found = compare_sets(_family(g, 25, PROCESSES, 3), _family(g, 25, PROCESSES, 3))
        red += any(each.verdict in ("faster", "slower") for each in found.comparisons)
    return red


def _speed(g: np.random.Generator) -> list[float]:
    a, b = _family(g, 100, 20, 3), _family(g, 100, 20, 3)
    taken = []
    for _ in range(7):
        before = time.perf_counter()
        compare_sets(a, b)
        taken.append(time.perf_counter() - before)
    return taken


_ONE_LEVEL = {
    "normal": lambda g, n: np.exp(0.03 * g.standard_normal(n)),
    "log-normal": lambda g, n: np.exp(0.5 * g.standard_normal(n)),
    "Pareto": lambda g, n: 1 + g.pareto(2, n),
    "uniform": lambda g, n: 1 + 0.2 * g.random(n),
}


def report(full: bool) -> str:
    """The tables."""
    g = np.random.default_rng(12)
    repeats = 2000 if full else 200
    rows = []
    for kind in LEVELS:
        equal = _verdicts(g, kind, 1.0, repeats)
        wrong = sum(verdict in ("faster", "slower") for verdict in equal)
        found = [sum(verdict == "slower" for verdict in _verdicts(g, kind, ratio, repeats // 2)) for ratio in (1.02, 1.05)]
        same = sum(verdict == "same" for verdict in equal)
        rows.append([kind, share(wrong, repeats), share(same, repeats), *(share(hits, repeats // 2) for hits in found)])
    families = 400 if full else 40
    red = _red(g, families)
    many = 2000 if full else 300
    modes = [
        [kind, *(share(sum(levels(draw(g, n)) != () for _ in range(many)), many) for n in (6, 15, 60, 1000))] for kind, draw in _ONE_LEVEL.items()
    ]
    taken = _speed(g)
    speed = f"100 benchmarks × 20 processes × 3 samples compared in {statistics.median(taken):.3f} s (7 times: {min(taken):.3f}–{max(taken):.3f} s)"
    return "\n".join(
        [
            markdown(
                f"Equal versions called different (designed for ≤ 3 %) and slowdowns found, {PROCESSES} processes × {SAMPLES} samples",
                ["levels of processes", "equal: called different", "equal: called the same", "+2 % found", "+5 % found"],
                rows,
            ),
            markdown("25 unchanged benchmarks, any called different (designed for ≤ 3 %)", ["families"], [[share(red, families)]]),
            markdown("One level taken for several (designed for 1 %)", ["values", "of 6", "of 15", "of 60", "of 1,000"], modes),
            f"{speed}\n",
        ]
    )
