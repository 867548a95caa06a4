"""Level 1 as it is reported: medians and quantiles with their distribution-free intervals."""

from __future__ import annotations

import numpy as np

from ridgeline.core import Facts, GroundTruth
from ridgeline.stats import quantile_interval

__all__ = ["ground_truth"]

_CONFIDENCE = 0.95


def ground_truth(facts: Facts) -> GroundTruth | None:
    """Summarise the samples; `None` without any. p99 is refused, not extrapolated, under its sample-size limit."""
    samples = facts.samples
    if samples is None or len(samples) == 0:
        return None
    wall = samples.wall_s.values
    median = quantile_interval(wall, 0.5, confidence=_CONFIDENCE)
    tail = quantile_interval(wall, 0.99, confidence=_CONFIDENCE)
    middle = float(np.median(wall))
    return GroundTruth(
        samples=len(samples),
        processes=len(np.unique(samples.process.values)),
        warmup=facts.warmup,
        first_s=facts.first_s,
        median_s=middle,
        # Too few samples for an interval at this confidence: the range of all of them is what is known.
        median_ci_s=(median.low, median.high) if median else (float(wall.min()), float(wall.max())),
        p99_s=tail.value if tail else None,
        p99_ci_s=(tail.low, tail.high) if tail else None,
        min_s=float(wall.min()),
        batched_s=facts.batched_s.value if facts.batched_s else None,
        noise_floor=facts.noise_floor,
        overhead_s=facts.overhead_s,
    )
