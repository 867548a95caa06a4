"""Sums over forests given by the parent of each node, a parent before its children, level by level without a Python loop over nodes.

This module decides depth, order and sums; what a node stands for is left to the caller.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["depths", "inclusive", "preorder"]

Indices = NDArray[np.int64]


def depths(parent: NDArray[Any]) -> Indices:
    """How many nodes are above each, shape (n,): 0 for an outermost one. Pointer doubling, O(n log depth).

    >>> depths(np.array([-1, 0, 1, 0])).tolist()
    [0, 1, 2, 1]
    """
    above = np.asarray(parent, np.int64).copy()
    depth = (above >= 0).astype(np.int64)
    rest = np.flatnonzero(above >= 0)
    while len(rest):
        up = above[rest]
        depth[rest] += depth[up]
        above[rest] = above[up]
        rest = rest[above[rest] >= 0]
    return depth


def inclusive(parent: NDArray[Any], own: NDArray[Any]) -> NDArray[Any]:
    """Own value of each node and all below it, shape (n,), of the dtype of `own`.

    >>> inclusive(np.array([-1, 0, 1, 0]), np.array([1, 2, 3, 4])).tolist()
    [10, 5, 3, 4]
    """
    total = np.array(own)
    for level in _levels(parent, deepest_first=True):
        np.add.at(total, parent[level], total[level])
    return total


def preorder(parent: NDArray[Any]) -> tuple[Indices, Indices]:
    """Place of each node in a walk that takes a node before its children and those by index, and the nodes of its subtree; shape (n,) each.

    A node b lies below a, or is a, exactly where place[a] ≤ place[b] < place[a] + size[a].
    """
    parent = np.asarray(parent, np.int64)
    size = inclusive(parent, np.ones(len(parent), np.int64))
    place = np.zeros(len(parent), np.int64)
    place[parent < 0] = _before(size[parent < 0], np.zeros(int((parent < 0).sum()), np.int64))
    for level in _levels(parent, deepest_first=False):
        level = level[np.argsort(parent[level], kind="stable")]
        place[level] = place[parent[level]] + 1 + _before(size[level], parent[level])
    return place, size


def _before(size: Indices, group: Indices) -> Indices:
    """Sum of the sizes of those before in the same group; groups stand together."""
    if not len(size):
        return size
    sums = np.cumsum(size) - size
    starts = np.flatnonzero(np.concatenate(([True], group[1:] != group[:-1])))
    counts = np.diff(np.append(starts, len(group)))
    return np.asarray(sums - np.repeat(sums[starts], counts), np.int64)


def _levels(parent: NDArray[Any], *, deepest_first: bool) -> Iterator[Indices]:
    """The nodes of each depth below the outermost."""
    depth = depths(parent)
    order = np.argsort(depth, kind="stable")
    ends = np.cumsum(np.bincount(depth)) if len(depth) else np.zeros(0, np.int64)
    levels = range(1, len(ends))
    for level in reversed(levels) if deepest_first else levels:
        yield order[ends[level - 1] : ends[level]]
