"""Which row of the table each recorded entry belongs to: the path of names from the outermost stage to it.

A stage directly inside itself (recursion) belongs to the row of the outer one, whose time contains it; what is nested deeper than `_DEEPEST` rows
belongs to the last of them. The call of a model is a row of its own under the stage around it, and nothing is nested in it: the program's stages are
the same whether or not its models are watched.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .recorder import Recording

__all__ = ["Rows", "parent_index", "rows_of"]

_DEEPEST = 64


@dataclass
class Rows:
    """The rows of all recordings.

    Attributes:
        names, parents, depths: of each row; parent −1 and depth 1 at the top.
        models: whether it is the call of a model.
        sites: place that entered it first.
        of: one array a recording: row of each event, −1 for none.
        in_model: one array a recording: whether an event is the call of a model, or inside one.
    """

    names: list[str] = field(default_factory=list)
    parents: list[int] = field(default_factory=list)
    depths: list[int] = field(default_factory=list)
    models: list[bool] = field(default_factory=list)
    sites: list[tuple[str, int, str] | None] = field(default_factory=list)
    of: list[NDArray[np.int64]] = field(default_factory=list)
    in_model: list[NDArray[np.bool_]] = field(default_factory=list)
    _known: dict[tuple[int, str, bool], int] = field(default_factory=dict)

    def ancestors(self, row: int) -> set[int]:
        """Rows around it."""
        found = set()
        while (row := self.parents[row]) >= 0:
            found.add(row)
        return found

    def inside(self, row: int) -> set[int]:
        """Rows nested in it, at whatever depth: a row comes after the one around it."""
        found = {row}
        for other in range(row + 1, len(self.parents)):
            if self.parents[other] in found:
                found.add(other)
        return found - {row}

    def path(self, row: int) -> tuple[str, ...]:
        """Names from the outermost stage to it, and an empty one behind that of a model."""
        names = ["", self.names[row]] if self.models[row] else [self.names[row]]
        while (row := self.parents[row]) >= 0:
            names.append(self.names[row])
        return tuple(reversed(names))

    def find(self, parent: int, name: str, site: tuple[str, int, str] | None, *, model: bool = False) -> int:
        """The row of a name under a parent, made where there is none."""
        if parent >= 0 and not model and (self.names[parent] == name or self.depths[parent] >= _DEEPEST):
            return parent
        if (parent, name, model) not in self._known:
            self._known[parent, name, model] = len(self.names)
            self.names.append(name)
            self.models.append(model)
            self.parents.append(parent)
            self.depths.append(self.depths[parent] + 1 if parent >= 0 else 1)
            self.sites.append(site)
        return self._known[parent, name, model]


def rows_of(recordings: Sequence[Recording]) -> Rows:
    """Rows in order of first entry."""
    rows = Rows()
    for recording in recordings:
        of, in_model = _assigned(rows, recording)
        rows.of.append(of)
        rows.in_model.append(in_model)
    return rows


def _assigned(rows: Rows, recording: Recording) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    events = recording.events
    found, nests = np.full(len(events), -1, np.int64), np.full(len(events), -1, np.int64)
    model = np.isin(events["name"], list(recording.models))
    in_model = model.copy()
    parents = parent_index(events)
    by_parent = np.argsort(parents, kind="stable")
    sorted_parents = parents[by_parent]
    frontier = by_parent[: np.searchsorted(sorted_parents, 0)]
    while len(frontier):
        # In order of entry, so that rows are made in that order.
        frontier = frontier[np.argsort(events["id"][frontier], kind="stable")]
        around = np.maximum(parents[frontier], 0)
        above = np.where(parents[frontier] >= 0, nests[around], -1)
        in_model[frontier] |= (parents[frontier] >= 0) & in_model[around]
        pairs = np.stack([above, events["name"][frontier].astype(np.int64)])
        kinds, first, inverse = np.unique(pairs, axis=1, return_index=True, return_inverse=True)
        table = np.full(kinds.shape[1], -1, np.int64)
        for kind in np.argsort(first):
            parent, name = int(kinds[0, kind]), int(kinds[1, kind])
            table[kind] = rows.find(parent, recording.names[name], recording.sites[name], model=name in recording.models)
        found[frontier] = table[inverse.reshape(-1)]
        nests[frontier] = np.where(model[frontier], above, found[frontier])
        frontier = by_parent[_ranges(np.searchsorted(sorted_parents, frontier), np.searchsorted(sorted_parents, frontier, side="right"))]
    return found, in_model


def _ranges(low: NDArray[np.int64], high: NDArray[np.int64]) -> NDArray[np.int64]:
    """All whole numbers of the ranges [low, high), one range after the other."""
    counts = high - low
    return np.repeat(low - np.concatenate(([0], np.cumsum(counts)[:-1])), counts) + np.arange(int(counts.sum()))


def parent_index(events: NDArray[Any]) -> NDArray[np.int64]:
    """Index of each event's enclosing one, −1 at the top or where that one never ended."""
    if len(events) == 0:
        return np.zeros(0, np.int64)
    order = np.argsort(events["id"], kind="stable")
    ids = events["id"][order]
    at = np.minimum(np.searchsorted(ids, events["parent"]), len(ids) - 1)
    return np.where(ids[at] == events["parent"], order[at], -1)
