"""`slope`: what one more operator costs, from chains of operators that do next to nothing.

The slope of the fastest run over the length of the chain, since what disturbs a run of microseconds only adds to it. Which operators make a
chain, and how it is run, is the business of each runtime.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from ridgeline.core import Quantity
from ridgeline.stats import theil_sen_slope

__all__ = ["LENGTHS", "slope"]

#: Operators of the chains.
LENGTHS = (4, 20, 36, 52, 68)
#: The chains take turns, so that a disturbance falls on all of them.
_ROUNDS = 8


def slope(chains: Sequence[Callable[[], Any]], runs: int, origin: str) -> Quantity:
    """Seconds an operator, with the interval of the slope (95 %).

    Args:
        chains: one call for each of `LENGTHS`, in that order.
        runs: of each chain in each round.
        origin: what was chained.
    """
    best = [float("inf")] * len(LENGTHS)
    for _ in range(_ROUNDS):
        for position, call in enumerate(chains):
            best[position] = min(best[position], _fastest(call, runs))
    value, low, high = theil_sen_slope(best, list(LENGTHS))
    # Noise can turn the slope of next to nothing below zero; a cost is not.
    value = max(value, 0.0)
    return Quantity(value=value, low=max(0.0, min(low, value)), high=max(high, value), confidence=0.95, unit="s", source="measured", origin=origin)


def _fastest(call: Callable[[], Any], runs: int) -> float:
    best = float("inf")
    for _ in range(runs):
        before = time.perf_counter()
        call()
        best = min(best, time.perf_counter() - before)
    return best
