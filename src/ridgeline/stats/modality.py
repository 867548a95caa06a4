"""Levels at which values gather: whether a set of times has one of them or several.

Decides only that there are several, and which; what it means (a memory layout, a governor, two kinds of input) is for others. A place divides two
levels where it is emptier than both sides by more than chance makes it. Of few values that is a gap wider than the levels themselves; of many
it is a stretch in which so many neighbours lie much further apart than in the densest stretch to either side. Both are told from a
single level with an error of about 1 %: the gap for log-normal and Pareto times, the stretch against the uniform distribution, which of all
single levels is the one most easily mistaken. Values that depend on their neighbours gather by chance more often than that.

Sources: J. Hartigan, P. Hartigan, "The dip test of unimodality", Annals of Statistics 13, 1985 (the uniform as the case to test against); R. Pyke,
"Spacings", JRSS B 27, 1965. The width that a gap needs is from simulation (benchmarks/statistics).
"""

from __future__ import annotations

import math
from functools import lru_cache

import msgspec
import numpy as np
from numpy.typing import NDArray

from ._checks import Values, positive_floats, thinned

__all__ = ["Level", "levels"]

Floats = NDArray[np.float64]
#: Levels nearer to each other than this ratio are one to any reader.
_LEAST_RATIO = 0.02
#: Fewest values of a level, and the smallest part of all values that is one.
_LEAST, _LEAST_SHARE = 2, 0.05
#: A gap is as many times as wide as the wider level: 2 for many values, 11 for four.
_WIDER, _WIDER_OF_FOUR = 2.0, 9.0
#: From so many values on stretches are looked at, each of this part of them and of so many at the least; more than the most are thinned.
_MANY, _STRETCH, _LEAST_STRETCH, _MOST = 24, 0.06, 4, 1000
_ALPHA, _DRAWS = 0.01, 400


class Level(msgspec.Struct, frozen=True, kw_only=True):
    """One level: its median, in the unit of the values, and the part of the values that belong to it."""

    value: float
    share: float


def levels(values: Values) -> tuple[Level, ...]:
    """The levels that the values gather at, lowest first; empty where there is one.

    Args:
        values: shape (n,), > 0.

    Raises:
        UsageError: no values, or one that is not above zero.

    >>> [round(level.share, 2) for level in levels([1280, 720, 735, 1285, 740, 730])]
    [0.67, 0.33]
    >>> levels([720, 735, 740, 730, 726, 745])
    ()
    """
    ordered = np.sort(positive_floats(values))
    least = max(_LEAST, math.ceil(_LEAST_SHARE * ordered.size))
    pieces = _pieces(np.log(ordered), least)
    if len(pieces) == 1:
        return ()
    return tuple(Level(value=float(np.exp(np.median(piece))), share=piece.size / ordered.size) for piece in pieces)


def _pieces(logs: Floats, least: int) -> list[Floats]:
    """Cut at the emptiest place for as long as it is empty enough, and what lies to both sides is not the same to a reader."""
    if logs.size < 2 * least:
        return [logs]
    cut = _gap(logs, least)
    if cut is None and logs.size >= _MANY:
        cut = _valley(logs)
    if cut is None or not least <= cut <= logs.size - least:
        return [logs]
    below, above = logs[:cut], logs[cut:]
    if float(np.median(above) - np.median(below)) < math.log1p(_LEAST_RATIO):
        return [logs]
    return [*_pieces(below, least), *_pieces(above, least)]


def _gap(logs: Floats, least: int) -> int | None:
    """The widest gap, if it is wide enough for so many values."""
    cut = int(np.argmax(np.diff(logs)[least - 1 : logs.size - least])) + least
    gap = float(logs[cut] - logs[cut - 1])
    wider = _WIDER + _WIDER_OF_FOUR * (4 / logs.size) ** 3
    return cut if gap > wider * max(float(np.ptp(logs[:cut])), float(np.ptp(logs[cut:]))) and gap > math.log1p(_LEAST_RATIO) else None


def _valley(logs: Floats) -> int | None:
    """The emptiest stretch between two denser ones, if chance does not make it as empty."""
    kept = thinned(_smoothed(logs), _MOST)
    # Sizes on a coarse grid, rounded down, so that few reference distributions are needed.
    kept = thinned(kept, int(_MANY * 1.25 ** math.floor(math.log(kept.size / _MANY, 1.25))))
    depth, place = _depth(kept)
    if depth <= _deepest_by_chance(kept.size):
        return None
    return int(np.searchsorted(logs, kept[place]))


def _smoothed(logs: Floats) -> Floats:
    """Equal values, as a coarse clock gives them, spread over one tick: a tick is no level."""
    distinct, inverse, counts = np.unique(logs, return_inverse=True, return_counts=True)
    if distinct.size == logs.size or distinct.size == 1:
        return logs
    # One tick is the usual step, not the smallest: rounding makes hairs of some.
    tick = float(np.median(np.diff(distinct)))
    within = np.arange(logs.size) - (np.cumsum(counts) - counts)[inverse]
    return np.sort(logs + tick * ((within + 0.5) / counts[inverse] - 0.5))


def _depth(ordered: Floats) -> tuple[float, int]:
    """(width of the widest stretch over the wider of the narrowest to both sides, place of its middle)."""
    width = max(_LEAST_STRETCH, round(_STRETCH * ordered.size))
    stretches = np.maximum(ordered[width:] - ordered[:-width], 1e-300)
    narrowest_before = np.minimum.accumulate(stretches)
    narrowest_after = np.minimum.accumulate(stretches[::-1])[::-1]
    at = np.arange(width, stretches.size - width)
    depths = stretches[at] / np.maximum(narrowest_before[at - width], narrowest_after[at + width])
    best = int(np.argmax(depths))
    return float(depths[best]), int(at[best]) + (width + 1) // 2


@lru_cache(maxsize=32)
def _deepest_by_chance(size: int) -> float:
    """The depth that so many uniform values exceed once in a hundred times; the same in every process, since the seed is fixed."""
    draws = np.sort(np.random.default_rng(size).random((_DRAWS, size)), axis=1)
    return float(np.quantile([_depth(row)[0] for row in draws], 1 - _ALPHA))
