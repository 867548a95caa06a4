"""Intervals of a p99, and two p99s held against each other: coverage, false alarms, and a p99 that is 1.3 times as long under the same median.

The ratio rule beside is what many tools do: the p99 of all samples together, called worse where it is 10 % longer.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from tables import markdown, share

from ridgeline.stats import clustered_quantile_interval, quantile_interval, tail_effect

__all__ = ["report"]

Floats = NDArray[np.float64]
Draw = Callable[[np.random.Generator, tuple[int, ...]], Floats]


def _bimodal(g: np.random.Generator, shape: tuple[int, ...]) -> Floats:
    return np.where(g.random(shape) < 0.05, 2.0, 1.0) * np.exp(0.05 * g.standard_normal(shape))


#: How the calls of one process are spread, with the p99 of it (bimodal: from ten million draws).
SHAPES: dict[str, tuple[Draw, float]] = {
    "log-normal": (lambda g, shape: np.exp(0.3 * g.standard_normal(shape)), float(np.exp(0.3 * 2.3263478740408408))),
    "bimodal": (_bimodal, float(np.quantile(_bimodal(np.random.default_rng(0), (10_000_000,)), 0.99))),
    "Pareto": (lambda g, shape: 1 + g.pareto(2.5, shape), 0.01 ** (-1 / 2.5)),
}
PROCESSES, SAMPLES = 20, 500


def _coverage(draw: Draw, truth: float, samples: int, repeats: int, g: np.random.Generator) -> int:
    held = 0
    for _ in range(repeats):
        found = quantile_interval(draw(g, (samples,)), 0.99)
        held += found is not None and found.low <= truth <= found.high
    return held


def _clustered(draw: Draw, truth: float, repeats: int, g: np.random.Generator) -> tuple[int, int]:
    """(held by the interval that looks at processes, held by the one that takes all samples for independent), where 10 % of processes are busy."""
    held = plain = 0
    # The truth of the mixture, by brute force.
    busy = np.where(np.arange(2_000_000) % 10 == 0, 1.5, 1.0) * draw(g, (2_000_000,))
    truth = float(np.quantile(busy, 0.99))
    for _ in range(repeats):
        level = np.where(g.random((PROCESSES, 1)) < 0.1, 1.5, 1.0)
        processes = list(level * draw(g, (PROCESSES, 100)))
        found, other = clustered_quantile_interval(processes, 0.99), quantile_interval(np.concatenate(processes), 0.99)
        held += found is not None and found.low <= truth <= found.high
        plain += other is not None and other.low <= truth <= other.high
    return held, plain


def _side(draw: Draw, g: np.random.Generator, longer: float = 1.0) -> list[Floats]:
    """Processes whose levels differ by 1 %; `longer` stretches what lies beyond the p98 so that the p99 is that much longer."""
    times = np.exp(0.01 * g.standard_normal((PROCESSES, 1))) * draw(g, (PROCESSES, SAMPLES))
    if longer > 1:
        edge = np.quantile(times, 0.98)
        times = np.where(times > edge, times * longer, times)
    return list(times)


def _against(draw: Draw, longer: float, repeats: int, g: np.random.Generator) -> tuple[int, int]:
    """(called different, called worse by the ratio rule)."""
    found = ratio = 0
    for _ in range(repeats):
        a, b = _side(draw, g), _side(draw, g, longer)
        effect = tail_effect(a, b)
        found += effect is not None and (effect.worse if longer > 1 else effect.worse or effect.better)
        ratio += float(np.quantile(np.concatenate(b), 0.99) / np.quantile(np.concatenate(a), 0.99)) > 1.1
    return found, ratio


def report(full: bool) -> str:
    """The tables."""
    g = np.random.default_rng(11)
    many, some = (4000, 400) if full else (1000, 60)
    coverage = [
        [name, str(samples), share(_coverage(draw, truth, samples, many, g), many)]
        for name, (draw, truth) in SHAPES.items()
        for samples in (299, 1000, 10_000)
    ]
    clustered = []
    for name, (draw, truth) in SHAPES.items():
        held, plain = _clustered(draw, truth, some * 4, g)
        clustered.append([name, share(held, some * 4), share(plain, some * 4)])
    verdicts = []
    for name, (draw, _) in SHAPES.items():
        alarms, ratio = _against(draw, 1.0, some, g)
        found, _ = _against(draw, 1.3, some, g)
        verdicts.append([name, share(alarms, some), share(ratio, some), share(found, some)])
    return "\n".join(
        [
            markdown("The p99's 95 % interval holds the truth (aim: ≥ 93 %)", ["shape", "samples", "held"], coverage),
            markdown(
                "The same over 20 processes × 100 samples, a tenth of the processes 1.5 times as slow",
                ["shape", "by processes", "all samples taken for independent"],
                clustered,
            ),
            markdown(
                f"Two p99s, {PROCESSES} processes × {SAMPLES} samples (aims: false alarms ≤ 5 %, found ≥ 90 %)",
                ["shape", "equal: called different", "equal: ratio of p99s over 1.1", "p99 × 1.3, same median: found"],
                verdicts,
            ),
        ]
    )
