"""The log ratio of two runs of one model: main effects of where each ran, and trees on what is left.

This module decides ln (target ÷ reference), so that one measurement on one chip carries to the others. Which reference to measure, how wide an
interval must be and which columns describe a pair is left to the caller; without any measurement of a model it says nothing: numbers of layers
alone do not tell a time (median error 85 % on recordings of 167 models).

    ln ratio = e[cell of the target] − e[cell of the reference] + trees(columns of both, both effects)

A cell is what the main effects are of, such as (chip, float or integer, runtime). They are antisymmetric by construction; a cell that was never
seen has effect 0, and `unseen` says so. The trees follow absolute errors: recordings mix clock states, and squared errors follow the slow one.
Categories must come as numbers, such as one column of 0 and 1 each. Source of ratios between devices: G. Yu et al., "Habitat", USENIX ATC 2021
(scaling one measurement).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from ridgeline.core import Column, UsageError

from .growing import Growth, grow, taken_over
from .scaling import checked_rows, damaged
from .trees import Forest, Trees

__all__ = ["RatioModel", "RatioPairs", "fit_ratio"]

Floats = NDArray[np.float64]
Indexes = NDArray[np.int64]

_GROWTH = Growth(rounds=300, leaves=31, depth=31, least=40, rate=0.06, smoothing=5.0, loss="l1", rows=0.7, columns=0.7)
#: Rows of nothing that pull a main effect to 0.
_RIDGE = 3.0
#: What the trees see after the caller's columns.
_EFFECTS = ("reference_effect", "target_effect")


class RatioPairs(NamedTuple):
    """n pairs of runs: cells of the reference and of the target, indexes, and columns that describe both, (n, f)."""

    reference: Indexes
    target: Indexes
    columns: Floats


class RatioModel(msgspec.Struct, frozen=True, kw_only=True, dict=True, tag_field="schema", tag="ridgeline.ratio/1"):
    """Fitted ratio.

    Args:
        cells: names; effects: in logs, float64; counts: pairs of the training that each was in, int64.
        trees: on what the effects leave, of the caller's columns and the two effects.
        data_version: of the recordings.

    Raises:
        ReadError: effects, counts or trees that do not fit together.
    """

    cells: tuple[str, ...]
    effects: Column
    counts: Column
    trees: Trees
    data_version: str = ""

    def __post_init__(self) -> None:
        if not len(self.cells) == len(self.effects) == len(self.counts) or self.effects.values.dtype.kind != "f":
            raise damaged(f"{len(self.effects)} effects and {len(self.counts)} counts of {len(self.cells)} cells")
        if self.trees.features[-2:] != _EFFECTS:
            raise damaged("trees of other columns")

    @cached_property
    def _forest(self) -> Forest:
        return Forest(self.trees)

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns of a pair."""
        return self.trees.features[:-2]

    def log_ratio(self, pairs: RatioPairs) -> Floats:
        """ln (target ÷ reference), shape (n,).

        Raises:
            UsageError: columns of another shape or not finite, or a cell that there is not.
        """
        return np.asarray(self.main_effects(pairs) + self._forest.predict(_rows(pairs, self.effects.values, self.columns)))

    def main_effects(self, pairs: RatioPairs) -> Floats:
        """The part without trees, shape (n,)."""
        _within(pairs, len(self.cells))
        return np.asarray(self.effects.values[pairs.target] - self.effects.values[pairs.reference])

    def unseen(self, pairs: RatioPairs) -> NDArray[np.bool_]:
        """Pairs with a cell that was in no pair of the training, shape (n,): out of range."""
        _within(pairs, len(self.cells))
        return np.asarray((self.counts.values[pairs.target] == 0) | (self.counts.values[pairs.reference] == 0))


def fit_ratio(
    pairs: RatioPairs, log_ratio: Floats, cells: Sequence[str], columns: Sequence[str], *, growth: Growth = _GROWTH, data_version: str = ""
) -> RatioModel:
    """Both parts.

    Args:
        pairs: of the training; log_ratio: ln (target ÷ reference) measured, shape (n,).
        cells: names of all cells; columns: names of the columns of a pair.

    Raises:
        UsageError: no pairs, other lengths, numbers that are not finite, or a cell that there is not. BackendUnavailable: LightGBM is not installed.
    """
    ratio = np.asarray(log_ratio, np.float64)
    if not (ratio.shape == pairs.reference.shape == pairs.target.shape) or not len(ratio) or not np.isfinite(ratio).all():
        raise UsageError("a finite log ratio of each pair", found=f"shape {ratio.shape}", remedy="leave out pairs without one")
    _within(pairs, len(cells))
    effects = _main_effects(pairs, ratio, len(cells))
    names = (*columns, *_EFFECTS)
    rest = ratio - (effects[pairs.target] - effects[pairs.reference])
    trees = taken_over(grow(_rows(pairs, effects, columns), rest, names, growth), names)
    counts = np.bincount(pairs.target, minlength=len(cells)) + np.bincount(pairs.reference, minlength=len(cells))
    return RatioModel(cells=tuple(cells), effects=Column(effects, "1"), counts=Column(counts, "1", "<i8"), trees=trees, data_version=data_version)


def _rows(pairs: RatioPairs, effects: Floats, columns: Sequence[str]) -> Floats:
    return np.column_stack((checked_rows(pairs.columns, tuple(columns)), effects[pairs.reference], effects[pairs.target]))


def _within(pairs: RatioPairs, cells: int) -> None:
    for index in (pairs.reference, pairs.target):
        if len(index) and not 0 <= int(index.min()) <= int(index.max()) < cells:
            raise UsageError(f"indexes of {cells} cells", found=f"{index.min()} to {index.max()}", remedy="name the cells that the model has")


def _main_effects(pairs: RatioPairs, ratio: Floats, cells: int) -> Floats:
    """Ridge regression on the difference of two indicators: the normal matrix is a graph's Laplacian."""
    normal = np.diag(np.bincount(pairs.target, minlength=cells) + np.bincount(pairs.reference, minlength=cells) + _RIDGE)
    np.subtract.at(normal, (pairs.target, pairs.reference), 1.0)
    np.subtract.at(normal, (pairs.reference, pairs.target), 1.0)
    moment = np.bincount(pairs.target, ratio, cells) - np.bincount(pairs.reference, ratio, cells)
    return np.asarray(np.linalg.solve(normal, moment))
