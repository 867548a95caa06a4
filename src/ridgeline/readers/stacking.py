"""`StackTree`: many call stacks with weights, gathered into the trees of `Stacks`; and `LeftOut`, what a reader could not count.

This module decides how stacks become a tree (one node a distinct path), which weights can be believed and where the limits lie; how a stack is
written in a file is left to the readers. Weights are added up as the file gives them (whole numbers exactly) and converted once, at the end.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from ridgeline.core import Column, Excluded, Frame, ReadError, Stacks

from .source import Source

__all__ = ["UNKNOWN", "LeftOut", "StackTree", "believable", "nothing"]

#: What a frame without a name is called.
UNKNOWN = "[unknown]"
#: No counter of a profiler is wider.
_MOST_WEIGHT = 2.0**63


def believable(weight: float) -> bool:
    """Whether a weight is one: finite, not negative, in 64 bits."""
    return math.isfinite(weight) and 0 <= weight <= _MOST_WEIGHT


class LeftOut:
    """Counts what is in no figure, by reason, with the place of the first."""

    def __init__(self) -> None:
        self._found: dict[str, Excluded] = {}

    def add(self, reason: str, first: str = "", events: int = 1, total_s: float = 0.0) -> None:
        """Count `events` left out for `reason`, `total_s` seconds together, the first at `first`."""
        before = self._found.get(reason)
        if before is not None:
            events, total_s, first = before.events + events, before.total_s + total_s, before.first
        self._found[reason] = Excluded(reason=reason, events=events, total_s=total_s, first=first)

    @property
    def listed(self) -> tuple[Excluded, ...]:
        """One entry a reason, in the order in which they were met."""
        return tuple(self._found.values())


class StackTree:
    """A forest that grows by one path at a time, with weights of several measures.

    Args:
        source: whose `limits` bound the depth of a stack and the length of a name.
    """

    def __init__(self, source: Source) -> None:
        self._source = source
        self._frames: dict[tuple[str, str | None, int | None, str, str], int] = {}
        self._keys: list[tuple[str, str | None, int | None, str, str]] = []
        self._children: dict[tuple[int, int], int] = {}
        self._parent: list[int] = []
        self._frame: list[int] = []
        self._weights: dict[str, dict[int, float]] = {}
        self._samples: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._parent)

    def frame(self, function: str, *, file: str | None = None, line: int | None = None, library: str = "", kind: str = "") -> int:
        """The index of a frame, the same for the same frame; see `Frame` for the arguments.

        Raises:
            ReadError: a name longer than the limit.
        """
        key = (function or UNKNOWN, file, line, library, kind)
        found = self._frames.get(key)
        if found is None:
            most = self._source.limits.name_characters
            if len(function) > most or len(library) > most or (file is not None and len(file) > most):
                longest = max(len(function), len(library), len(file or ""))
                raise self._source.damaged(
                    f"names of at most {most} characters",
                    f"one of {longest} that starts with {(function or library)[:40]!r}",
                    "raise it with --limit names=…",
                )
            found = self._frames[key] = len(self._keys)
            self._keys.append(key)
        return found

    def frame_at(self, frame: int, file: str, line: int) -> int:
        """The same frame at a line of a file."""
        name, _, _, library, kind = self._keys[frame]
        return self.frame(name, file=file, line=line, library=library, kind=kind)

    def told(self, frame: int) -> Frame:
        """What a frame is."""
        return _frame_of(self._keys[frame])

    def child(self, parent: int, frame: int) -> int:
        """The node of `frame` called from the node `parent` (−1: outermost)."""
        key = (parent, frame)
        found = self._children.get(key)
        if found is None:
            found = self._children[key] = len(self._parent)
            self._parent.append(parent)
            self._frame.append(frame)
        return found

    def node(self, frames: Sequence[int], parent: int = -1) -> int:
        """The innermost node of a stack, outermost frame first, below `parent`.

        Raises:
            ReadError: more frames than the limit.
        """
        self.shallow(len(frames))
        for frame in frames:
            parent = self.child(parent, frame)
        return parent

    def shallow(self, depth: int) -> None:
        """Refuse a stack of more frames than the limit.

        Raises:
            ReadError: it has more.
        """
        most = self._source.limits.depth
        if depth > most:
            raise self._source.damaged(f"stacks of at most {most} frames", f"one of {depth} or more", "raise it with --limit depth=…")

    def add(self, node: int, weight: float, measure: str = "", samples: int = 1) -> None:
        """Add a weight (`believable`) of a measure that ended at a node."""
        weights = self._weights.get(measure)
        if weights is None:
            weights = self._weights[measure] = {}
            self._samples[measure] = 0
        weights[node] = weights.get(node, 0) + weight
        self._samples[measure] += samples

    @property
    def measures(self) -> tuple[str, ...]:
        """Those that got a weight, in that order."""
        return tuple(self._weights)

    def stacks(self, key: str = "", *, measure: str, unit: str, per_unit: int = 1, sampled: bool = True, lane: str = "",
               at_s: float | None = None, interval_s: float | None = None) -> Stacks:  # fmt: skip
        """The tree of one measure, without the paths that have none of it.

        Args:
            key: the measure as `add` was told it; measure, unit, lane, at_s, interval_s: as in `Stacks`.
            per_unit: how many of what was added make one `unit`, such as 10⁹ for nanoseconds.
            sampled: whether each weight was a sample.
        """
        weights = self._weights.get(key, {})
        nodes = _with_ancestors(np.array(self._parent, np.int64), np.fromiter(weights, np.int64, len(weights)))
        place = np.full(len(self._parent) + 1, -1, np.int64)  # one more, so that the parent of an outermost node stays −1
        place[nodes] = np.arange(len(nodes))
        own = np.zeros(len(nodes))
        for node, weight in weights.items():
            own[place[node]] = weight / per_unit
        parents = np.array(self._parent, np.int64)[nodes] if len(nodes) else np.zeros(0, np.int64)
        used, frame = np.unique(np.array(self._frame, np.int64)[nodes], return_inverse=True) if len(nodes) else (nodes, nodes)
        return Stacks(
            measure=measure, unit=unit, frames=tuple(_frame_of(self._keys[index]) for index in used), parent=Column(place[parents], "count", "int64"),
            frame=Column(frame, "count", "int64"), own=Column(own, unit), samples=self._samples.get(key, 0) if sampled else None, lane=lane,
            at_s=at_s, interval_s=interval_s,
        )  # fmt: skip


def _frame_of(key: tuple[str, str | None, int | None, str, str]) -> Frame:
    return Frame(function=key[0], file=key[1], line=key[2], library=key[3], kind=key[4])


def _with_ancestors(parent: NDArray[np.int64], nodes: NDArray[np.int64]) -> NDArray[np.int64]:
    """The nodes and all above them, in ascending order."""
    kept = np.zeros(len(parent) + 1, bool)
    while len(nodes):
        kept[nodes] = True
        above = np.unique(parent[nodes])
        nodes = above[(above >= 0) & ~kept[above]]
    return np.flatnonzero(kept[:-1])


def nothing(source: Source, what: str, left_out: Iterable[Excluded]) -> ReadError:
    """The error of a file in which no weight could be counted: `what` was expected, and why there is none."""
    reasons = "; ".join(f"{entry.reason} ({entry.events}, first at {entry.first})" if entry.first else entry.reason for entry in left_out)
    return source.damaged(what, reasons or "none", "record again")
