"""Boosted trees as plain arrays: what LightGBM trained, checked and evaluated without it.

This module decides how trees are kept and checked; how they are grown is in `growing`, what they predict in `ratio`. Trees are data: nothing of them
is executed, and every index is checked before it is used.
"""

from __future__ import annotations

import msgspec
import numpy as np
from numpy.typing import NDArray

from ridgeline import _native
from ridgeline.core import Column, ReadError, UsageError

__all__ = ["Forest", "Trees"]

_MOST_NODES = 2**24
_DTYPES = (np.int32, np.int32, np.float64, np.int32, np.float64)


class Trees(msgspec.Struct, frozen=True, kw_only=True, tag_field="schema", tag="ridgeline.trees/1"):
    """A sum of T binary trees whose K nodes stand in one table, the two that a node leads to side by side.

    At node i a row goes on to node `left[i]` if its value of `feature[i]` is at most `threshold[i]`, else to `left[i] + 1`. A leaf has feature −1
    and adds its `value`.

    Args:
        features: names, in the order of the columns of the rows.
        root: first node of each tree, int32, shape (T,).
        feature, left: int32; threshold, value: float64; shape (K,).
    """

    features: tuple[str, ...]
    root: Column
    feature: Column
    threshold: Column
    left: Column
    value: Column


class Forest:
    """Trees ready to be evaluated.

    Args:
        trees: as read from anywhere.

    Raises:
        ReadError: a table that is no set of trees: unequal lengths, a node that leads backwards or out of the table, a feature that there is not.
    """

    def __init__(self, trees: Trees) -> None:
        columns = (trees.root, trees.feature, trees.threshold, trees.left, trees.value)
        root, feature, threshold, left, value = (column.values for column in columns)
        nodes = len(feature)
        if not (nodes == len(threshold) == len(left) == len(value)) or nodes > _MOST_NODES:
            raise _damaged(f"columns of {nodes}, {len(threshold)}, {len(left)} and {len(value)} nodes")
        if any(column.kind != "i" for column in (root.dtype, feature.dtype, left.dtype)):
            raise _damaged("indexes that are no whole numbers")
        self.features = trees.features
        self._tables = tuple(
            np.ascontiguousarray(values, dtype) for values, dtype in zip((root, feature, threshold, left, value), _DTYPES, strict=True)
        )
        try:
            self._sum(np.zeros((0, len(trees.features))))
        except ValueError:
            raise _damaged("a node that leads backwards or out of the table, or a feature that there is not") from None

    def predict(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        """The sum over all trees, shape (n,).

        Args:
            rows: finite values, shape (n, number of features).

        Raises:
            UsageError: another shape, or a value that is not finite.
        """
        rows = np.ascontiguousarray(rows, np.float64)
        if rows.ndim != 2 or rows.shape[1] != len(self.features):
            raise UsageError(f"rows of {len(self.features)} features", found=f"shape {rows.shape}", remedy="give one column for each feature")
        if not np.isfinite(rows).all():
            row, column = np.argwhere(~np.isfinite(rows))[0].tolist()
            found = f"{rows[row, column]} for {self.features[column]} in row {row}"
            raise UsageError("features to be finite", found=found, remedy="leave such rows out")
        return self._sum(rows)

    def _sum(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        out = np.empty(len(rows))
        root, feature, threshold, left, value = self._tables
        _native.trees(rows, len(self.features), root, feature, threshold, left, value, out)
        return out


def _damaged(found: str) -> ReadError:
    return ReadError("trees of a model", found=found, remedy="train the model again, or take it from where it was kept")
