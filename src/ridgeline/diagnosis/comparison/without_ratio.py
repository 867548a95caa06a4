"""Two sides of which one cannot be divided by the other, since values are zero: bytes allocated, calls counted. Ranks still say which is larger."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ridgeline.core import Verdict
from ridgeline.core.units import format_quantity
from ridgeline.stats import rank_sum_p_value

from .sides import Side

__all__ = ["Ranked", "ranked"]


@dataclass(frozen=True)
class Ranked:
    """Verdict, chance of such ranks between equal versions, and the sentence."""

    verdict: Verdict
    p_value: float
    reason: str


def ranked(a: Side, b: Side, confidence: float) -> Ranked:
    """Whether b has more than a, by the medians of the units.

    Args:
        a, b: both with values.
        confidence: a difference is one where its chance is at most 1 less this.
    """
    chance = rank_sum_p_value(a.medians, b.medians)
    middles = float(np.median(a.medians)), float(np.median(b.medians))
    said = " against ".join(format_quantity(middle, a.series.unit) for middle in middles)
    if np.ptp(np.concatenate([a.values, b.values])) == 0:
        return Ranked("same", chance, f"both are {format_quantity(middles[0], a.series.unit)} throughout")
    if chance > 1 - confidence:
        return Ranked("inconclusive", chance, f"cannot tell: {said}, and no ratio since values are zero")
    more = middles[1] > middles[0] if middles[0] != middles[1] else float(b.medians.mean()) > float(a.medians.mean())
    worse = more == (a.series.better == "lower")
    direction = "more" if more else "less"
    return Ranked("slower" if worse else "faster", chance, f"B has {direction} than A: {said}; no ratio since values are zero")
