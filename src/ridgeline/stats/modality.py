"""Levels at which values gather: whether a set of times has one of them or several.

Decides only that there are several, and which; what it means (a memory layout, a governor, two kinds of input) is for others.
"""

from __future__ import annotations

import msgspec
import numpy as np
from numpy.typing import NDArray

from ._checks import Values, positive_floats

__all__ = ["Level", "levels"]

#: The empty stretch between two levels is at least this many times as wide as the wider of them.
_APART = 3.0
#: Levels nearer to each other than this ratio are one to any reader.
_LEAST_RATIO = 0.02
#: Fewest values of a level.
_LEAST = 2


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

    >>> [level.share for level in levels([1280, 720, 735, 1285, 740, 730])]
    [0.6666666666666666, 0.3333333333333333]
    """
    ordered = np.sort(positive_floats(values))
    pieces = _pieces(np.log(ordered))
    if len(pieces) == 1:
        return ()
    return tuple(Level(value=float(np.exp(np.median(piece))), share=piece.size / ordered.size) for piece in pieces)


def _pieces(logs: NDArray[np.float64]) -> list[NDArray[np.float64]]:
    """Cut at the widest gap for as long as it is wide enough."""
    if logs.size < 2 * _LEAST:
        return [logs]
    gaps = np.diff(logs)[_LEAST - 1 : logs.size - _LEAST]
    cut = int(np.argmax(gaps)) + _LEAST
    below, above = logs[:cut], logs[cut:]
    gap = float(above[0] - below[-1])
    if gap < _LEAST_RATIO or gap < _APART * max(float(np.ptp(below)), float(np.ptp(above))):
        return [logs]
    return [*_pieces(below), *_pieces(above)]
