"""Which call put which work into a queue: two tables joined by process and correlation number, by sorting and one sweep."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["codes_of", "distinct", "last_before", "matches", "next_after"]

Whole = NDArray[np.int64]
#: Numbers within a range this wide are counted in a table of that size instead of being sorted.
_TABLE = 2**22


def distinct(*columns: Whole) -> tuple[list[tuple[int, ...]], Whole]:
    """The different rows of some columns, in order, and which of them each row is, shape (n,).

    O(n) where the numbers of a column lie close together, else a sort.
    """
    size = len(columns[0])
    if not size:
        return [], np.empty(0, np.int64)
    code, first = np.zeros(size, np.int64), np.zeros(1, np.int64)
    for column in columns:
        found, inverse = _factorised(column)
        combined, code = _factorised(code * len(found) + inverse)
    first = np.empty(len(combined), np.int64)
    first[code[::-1]] = np.arange(size)[::-1]
    return list(zip(*(column[first].tolist() for column in columns), strict=True)), code


def codes_of(*tables: tuple[Whole, ...]) -> list[Whole]:
    """One number for each row of several tables with the same columns: equal where all columns are equal."""
    _, code = distinct(*(np.concatenate(columns) for columns in zip(*tables, strict=True)))
    return np.split(code, np.cumsum([len(table[0]) for table in tables])[:-1])


def _factorised(values: Whole) -> tuple[Whole, Whole]:
    """As `np.unique` with its inverse."""
    least, most = int(values.min()), int(values.max())
    if most - least >= _TABLE:
        found, inverse = np.unique(values, return_inverse=True)
        return found, inverse.astype(np.int64, copy=False)
    shifted = values - least
    there = np.flatnonzero(np.bincount(shifted, minlength=1))
    place = np.empty(most - least + 1, np.int64)
    place[there] = np.arange(len(there))
    return there + least, place[shifted]


def matches(groups: Whole, numbers: Whole, wanted_groups: Whole, wanted_numbers: Whole) -> Whole:
    """The row (the first, where several are alike) with the same group and number; −1 where there is none.

    Args:
        groups, numbers: of the rows to look in, shape (n,).
        wanted_groups, wanted_numbers: to look for, shape (m,).

    Returns:
        Rows, shape (m,). Cost: O((n + m) log n), however often a number is repeated.
    """
    if not len(groups) or not len(wanted_groups):
        return np.full(len(wanted_groups), -1, np.int64)
    order = np.lexsort((numbers, groups))  # stable: the first row of those that are alike stays first
    position = _searched(groups[order], numbers[order], wanted_groups, wanted_numbers, "left")
    at = order[np.minimum(position, len(order) - 1)]
    same = (position < len(order)) & (groups[at] == wanted_groups) & (numbers[at] == wanted_numbers)
    found: Whole = np.where(same, at, -1)
    return found


def last_before(groups: Whole, numbers: Whole, wanted_groups: Whole, wanted_numbers: Whole) -> Whole:
    """The row of the same group with the largest number below the wanted one; −1 where there is none, shape (m,)."""
    return _neighbour(groups, numbers, wanted_groups, wanted_numbers, "left", -1)


def next_after(groups: Whole, numbers: Whole, wanted_groups: Whole, wanted_numbers: Whole) -> Whole:
    """The row of the same group with the smallest number above the wanted one; −1 where there is none, shape (m,)."""
    return _neighbour(groups, numbers, wanted_groups, wanted_numbers, "right", 0)


def _neighbour(groups: Whole, numbers: Whole, wanted_groups: Whole, wanted_numbers: Whole, side: str, step: int) -> Whole:
    if not len(groups) or not len(wanted_groups):
        return np.full(len(wanted_groups), -1, np.int64)
    order = np.lexsort((numbers, groups))
    position = _searched(groups[order], numbers[order], wanted_groups, wanted_numbers, side) + step
    inside = (position >= 0) & (position < len(order))
    at = order[np.clip(position, 0, len(order) - 1)]
    found: Whole = np.where(inside & (groups[at] == wanted_groups), at, -1)
    return found


def _searched(groups: Whole, numbers: Whole, wanted_groups: Whole, wanted_numbers: Whole, side: str) -> Whole:
    """Positions in rows sorted by group and then number; pairs are ranked together, so that one search does."""
    size = len(groups)
    ranks = np.lexsort((np.concatenate([numbers, wanted_numbers]), np.concatenate([groups, wanted_groups])))
    both_groups, both_numbers = np.concatenate([groups, wanted_groups])[ranks], np.concatenate([numbers, wanted_numbers])[ranks]
    new = np.ones(len(ranks), np.int64)
    new[1:] = (both_groups[1:] != both_groups[:-1]) | (both_numbers[1:] != both_numbers[:-1])
    rank = np.empty(len(ranks), np.int64)
    rank[ranks] = np.cumsum(new)
    position: Whole = np.searchsorted(rank[:size], rank[size:], side="right" if side == "right" else "left").astype(np.int64)
    return position
