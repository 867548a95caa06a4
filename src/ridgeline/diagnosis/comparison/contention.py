"""What slowed the core beside a call is taken out of what is compared, on both sides by one rule.

A thread of somebody else on the other half of a core makes calls longer by up to a half, for a tenth of a second to seconds; a clock that rises and
falls moves them by per cents. No counter of ours sees either; a short loop of additions beside the calls does (`Series.sentinel_s`). Calls beside
which it took much longer are left out; the others are divided by what it says of their moment, to the power that fits both sides together.

The rule looks at that loop, and at how calls follow it within a process, never at which side is faster. It must not take out what a version does
itself: one that keeps the core busy behind its calls, or lowers the clock by wide instructions, gives itself away by loops that differ from the other
side's, and then all its values count as they are.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ridgeline.core import Series

__all__ = ["Clear", "clear_of", "process_medians"]

Floats = NDArray[Any]
#: The fastest twentieth of the loops ran alone, if any did.
_ALONE = 0.05
#: Loops that took this many times as long had company.
_COMPANY = 1.1
#: Fewest values of a process, and the part of the processes of each side, that must be left.
_LEAST_VALUES, _LEAST_PART, _LEAST_PROCESSES = 5, 0.2, 5
#: Shares of values with company may differ by this much between the sides, and by more only as far as chance explains it.
_ALIKE = 0.1
#: Loops of the two sides that differ by more than this many standard errors are not for chance to explain.
_CHANCE = 2.5
#: A value further from its process's median than this (of its logarithm) is no evidence of the clock.
_NEAR = 0.3


@dataclass(frozen=True)
class Clear:
    """The undisturbed values of each process that has enough of them, for both sides.

    Args:
        a, b: seconds at one clock, one array a process.
        shares: of the values of each side that were left out.
        power: calls take (loop)^power; 0 where nothing was divided.
        clocks: what the median process of each side was divided by.
    """

    a: tuple[Floats, ...]
    b: tuple[Floats, ...]
    shares: tuple[float, float]
    power: float = 0.0
    clocks: tuple[float, float] = (1.0, 1.0)


@dataclass(frozen=True)
class _Process:
    """Logarithms of the undisturbed values of one process, and of the loops beside them."""

    values: Floats
    loops: Floats


def clear_of(a: Series, b: Series) -> Clear | None:
    """What is left of both sides without what slowed the core; `None` where nobody looked, nothing did, or too little is left."""
    if a.sentinel_s is None or b.sentinel_s is None or not (len(a.values) and len(b.values)):
        return None
    loops = a.sentinel_s.values, b.sentinel_s.values
    alone = float(np.quantile(np.concatenate(loops), _ALONE))
    if alone <= 0 or min(float(a.values.values.min()), float(b.values.values.min())) <= 0:
        return None
    shares = float((loops[0] > _COMPANY * alone).mean()), float((loops[1] > _COMPANY * alone).mean())
    if abs(shares[0] - shares[1]) > _ALIKE and not _by_chance(_disturbed(a, loops[0] / alone), _disturbed(b, loops[1] / alone)):
        return None
    left = _left(a, loops[0] / alone), _left(b, loops[1] / alone)
    for series, processes in zip((a, b), left, strict=True):
        if len(processes) < max(_LEAST_PROCESSES, _LEAST_PART * len(series.by_process())):
            return None
    # Where the clocks differ by more than chance, that is a version's own doing.
    power = _power([*left[0], *left[1]]) if _by_chance(_medians(left[0]), _medians(left[1])) else 0.0
    if power == 0 and max(shares) == 0:
        return None
    return Clear(_divided(left[0], power), _divided(left[1], power), shares, power, (_clock(left[0], power), _clock(left[1], power)))


def process_medians(series: Series) -> Floats:
    """Median of each process, from the calls that nothing slowed where enough of them are left, else from all; in the series' unit.

    They are at one clock, the median one of these calls: what a stopwatch shows beside them, and not what the fastest clock would have made of it.
    """
    clear = clear_of(series, series)
    units = series.by_process() if clear is None else clear.a
    clock = 1.0 if clear is None else clear.clocks[0]
    return np.array([clock * float(np.median(unit)) for unit in units if len(unit)])


def _left(series: Series, loops: Floats) -> list[_Process]:
    values, process = series.values.values, series.process.values
    kept = loops <= _COMPANY
    parts = [np.flatnonzero((process == number) & kept) for number in np.unique(process)]
    return [_Process(np.log(values[part].astype(np.float64)), np.log(loops[part])) for part in parts if part.size >= _LEAST_VALUES]


def _disturbed(series: Series, loops: Floats) -> Floats:
    """Share of the values of each process that had company."""
    process = series.process.values
    return np.array([float((loops[process == number] > _COMPANY).mean()) for number in np.unique(process)])


def _by_chance(a: Floats, b: Floats) -> bool:
    """Whether what the processes of two sides are like differs as chance makes it: Welch's statistic."""
    error = math.sqrt(sum(float(side.var(ddof=1)) / side.size if side.size > 1 else 0.0 for side in (a, b)))
    return abs(float(a.mean() - b.mean())) <= _CHANCE * error


def _power(processes: Sequence[_Process]) -> float:
    """Slope of the calls over the loops within the processes, in [0, 1]: what a clock does, and no more."""
    together = spread = 0.0
    for process in processes:
        loops = process.loops - process.loops.mean()
        together += float(loops @ np.clip(process.values - np.median(process.values), -_NEAR, _NEAR))
        spread += float(loops @ loops)
    return min(1.0, max(0.0, together / spread)) if spread > 0 else 0.0


def _divided(processes: Sequence[_Process], power: float) -> tuple[Floats, ...]:
    return tuple(np.exp(process.values - power * process.loops) for process in processes)


def _medians(processes: Sequence[_Process]) -> Floats:
    return np.array([float(np.median(process.loops)) for process in processes])


def _clock(processes: Sequence[_Process], power: float) -> float:
    return math.exp(power * float(np.median(_medians(processes))))
