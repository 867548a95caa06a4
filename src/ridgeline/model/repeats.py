"""Measurements of the same work: whether they agree, and whether a stretch of them was taken in another state of the machine.

This module decides what is a repeat (kind, variant, sizes, precision, device and clocks are equal) and compares only those, so that no model is
needed. Steps in the order of the file are found by `stats.history`, whose test is one of ranks.
"""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ridgeline.core import LatencyTable
from ridgeline.stats import history

__all__ = ["disagreeing", "other_clock", "other_level"]

Indexes = NDArray[np.intp]
Floats = NDArray[np.float64]

#: Part of a device's rows that one clock must have for the others to be exceptions; with less the clock was varied on purpose.
_USUAL = 0.8
#: Repeats in a file from which steps are looked for, and into how many blocks more of them are gathered.
_LEAST, _BLOCKS = 24, 200
_SPREADS = 6.0


def other_clock(table: LatencyTable, least: float) -> tuple[Indexes, Floats]:
    """(Rows whose core clock differs by more than `least`, a relative difference, from that of nearly all rows of their device; the ratio to it)."""
    clock = table.optional("core_clock_hz")
    ratio = np.ones(len(table))
    for code in np.unique(table.device.values).tolist():
        own = np.flatnonzero((table.device.values == code) & (clock > 0))
        if not own.size:
            continue
        usual = float(np.median(clock[own]))
        near = np.abs(clock[own] / usual - 1) <= least
        if near.mean() >= _USUAL:
            ratio[own] = clock[own] / usual
    return np.flatnonzero(np.abs(ratio - 1) > least), ratio


def other_level(table: LatencyTable, least: float) -> tuple[Indexes, Floats]:
    """(Repeats in stretches of a file that all take longer or shorter by more than `least`, a relative difference, than in the longest stretch;
    their factor, shape of the table)."""
    factor = np.ones(len(table))
    distance, repeated = _from_median(table)
    for own in _in_order(table, repeated):
        blocks = np.array_split(own, min(len(own), _BLOCKS))
        middles = np.array([float(np.median(distance[block])) for block in blocks])
        found = history(np.exp(middles))
        if found.shape != "steps":
            continue
        edges = [0, *(change.index for change in found.changes), len(blocks)]
        pieces = [np.concatenate(blocks[start:stop]) for start, stop in pairwise(edges)]
        levels = [float(np.median(distance[piece])) for piece in pieces]
        longest = max(range(len(pieces)), key=lambda at: len(pieces[at]))
        for piece, level in zip(pieces, levels, strict=True):
            factor[piece] = math.exp(level - levels[longest])
    return np.flatnonzero(np.abs(factor - 1) > least), factor


def disagreeing(table: LatencyTable, least: float) -> tuple[Indexes, Floats, float]:
    """(Repeats that are further from the median of theirs than all are as a rule; row ÷ median of the other repeats; the limit of that factor).

    Of two that disagree none can be told to be right, so that both are caught.

    Args:
        least: factor up to which repeats agree in any case, > 1.
    """
    distance, repeated = _from_median(table)
    if not repeated.any():
        return np.zeros(0, np.intp), np.ones(len(table)), least
    spread = 1.4826 * float(np.median(np.abs(distance[repeated])))
    limit = max(math.log(least), _SPREADS * spread)
    codes = _repeat_codes(table)
    counts = np.bincount(codes)[codes]
    # The median of two lies between them: each is half of their difference from it.
    apart = np.where(counts == 2, 2.0, 1.0) * distance
    return np.flatnonzero(repeated & (np.abs(apart) > limit)), np.exp(apart), math.exp(limit)


def _repeat_codes(table: LatencyTable) -> NDArray[np.int64]:
    return table.shape_codes("precision", "device", "core_clock_hz", "memory_clock_hz")


def _from_median(table: LatencyTable) -> tuple[Floats, NDArray[np.bool_]]:
    """(ln of latency ÷ median of its repeats, rows that have a repeat)."""
    codes = _repeat_codes(table)
    logs = np.log(table.latency_s.values)
    order = np.lexsort((logs, codes))
    counts = np.bincount(codes)
    first = np.concatenate([[0], np.cumsum(counts)[:-1]])
    ordered = logs[order]
    middle = (ordered[first + (counts - 1) // 2] + ordered[first + counts // 2]) / 2
    return logs - middle[codes], counts[codes] > 1


def _in_order(table: LatencyTable, repeated: NDArray[np.bool_]) -> list[Indexes]:
    """Repeats of each file and device in the order of the file, where there are enough of them."""
    codes = table.codes("file", "device")
    order = np.lexsort((table.row.values, codes))
    order = order[repeated[order]]
    parts = np.split(order, np.flatnonzero(np.diff(codes[order])) + 1)
    return [part for part in parts if len(part) >= _LEAST]
