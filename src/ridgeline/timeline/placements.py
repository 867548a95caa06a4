"""Nodes of a graph on a timeline with the provider that ran each, as means over the runs of the graph.

This module decides which events are nodes: those with a `provider`, the outermost of those that lie within one another (the body of an If is part of
the If). Copies that a runtime inserts where a graph is cut (`purpose` is `copy`) are no nodes: their time is that of the boundary they stand at.
"""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import msgspec
import numpy as np
from numpy.typing import NDArray

from ridgeline.core import EVENT_KINDS, BoundaryCost, Timeline

__all__ = ["Placements", "placements_of"]

_ITERATION = EVENT_KINDS.index("iteration")


class Placements(msgspec.Struct):
    """Nodes in order of run and start, shape (n,) each.

    Args:
        start, end: ticks; run: number of the run; provider, kind, name: index into the strings.
        runs: how many there are; whole_s: seconds of one; nodes, seconds: of one run by provider; crossings: boundaries of one run.
    """

    start: NDArray[np.int64]
    end: NDArray[np.int64]
    run: NDArray[np.int64]
    provider: NDArray[np.int64]
    kind: NDArray[np.int64]
    name: NDArray[np.int64]
    strings: tuple[str, ...]
    tick_s: float
    runs: int
    whole_s: float
    nodes: dict[str, int] = {}
    seconds: dict[str, float] = {}
    crossings: int = 0

    def last(self) -> NDArray[np.bool_]:
        """Which nodes are of the last run: the one whose cut is told (an earlier one may be of another shape)."""
        chosen: NDArray[np.bool_] = self.run == self.run[-1]
        return chosen

    def changes(self) -> NDArray[np.int64]:
        """Positions i where the provider of i differs from that of i − 1 in the same run."""
        if len(self.run) < 2:
            return np.zeros(0, dtype=np.int64)
        return np.flatnonzero((self.provider[1:] != self.provider[:-1]) & (self.run[1:] == self.run[:-1])) + 1

    def stretches(self, name: str) -> tuple[int, int]:
        """How many stretches of nodes a provider has in a run, and the nodes of the largest."""
        own = self.provider[self.last()] == self.strings.index(name)
        edges = np.flatnonzero(np.diff(np.concatenate(([False], own, [False])).astype(np.int8)))
        lengths = edges[1::2] - edges[::2]
        return len(lengths), int(lengths.max()) if len(lengths) else 0

    def boundaries(self) -> list[BoundaryCost]:
        """Boundaries by the nodes on their two sides, with the seconds of one run."""
        at = self.changes()
        gap = self.start[1:] - self.end[:-1]
        same = (self.provider[1:] == self.provider[:-1]) & (self.run[1:] == self.run[:-1])
        ordinary = float(np.median(np.maximum(gap[same], 0))) if same.any() else 0.0
        cost = np.maximum(gap[at - 1] - ordinary, 0.0) * self.tick_s
        seconds: dict[tuple[int, int, int, int], float] = {}
        times: Counter[tuple[int, int, int, int]] = Counter()
        columns = (self.provider[at - 1], self.provider[at], self.name[at - 1], self.name[at])
        for key, one in zip(zip(*(column.tolist() for column in columns), strict=True), cost.tolist(), strict=True):
            seconds[key] = seconds.get(key, 0.0) + one
            times[key] += 1
        names = self.strings
        return [
            BoundaryCost(
                source=names[key[0]],
                target=names[key[1]],
                crossings=max(1, round(times[key] / self.runs)),
                total_s=total / self.runs,
                after=names[key[2]],
                before=names[key[3]],
            )
            for key, total in seconds.items()
        ]

    def fallbacks(self, main: str) -> tuple[Counter[str], dict[str, float]]:
        """Kinds of nodes on other providers in a run: how many, and their seconds."""
        other = self.last() & (self.provider != self.strings.index(main))
        kinds = [self.strings[kind] for kind in self.kind[other].tolist()]
        seconds: dict[str, float] = {}
        for kind, ticks in zip(kinds, (self.end - self.start)[other].tolist(), strict=True):
            seconds[kind] = seconds.get(kind, 0.0) + ticks * self.tick_s
        return Counter(kinds), seconds


def placements_of(timeline: Timeline) -> Placements | None:
    """The nodes with their providers, or `None` where the timeline tells none."""
    provider = timeline.texts.get("provider")
    if provider is None or not bool((provider.values >= 0).any()):
        return None
    start = timeline.start_tick.values.astype(np.int64)
    end = start + timeline.duration_tick.values.astype(np.int64)
    chosen = np.flatnonzero(provider.values >= 0)
    chosen = chosen[_outermost(start[chosen], end[chosen], timeline.track.values[chosen].astype(np.int64))]
    chosen = chosen[~_copies(timeline)[chosen]]
    if not len(chosen):
        return None
    run, runs, whole = _runs(timeline, start, end, chosen)
    chosen, run = chosen[run >= 0], run[run >= 0]
    if not len(chosen):
        return None
    order = np.lexsort((end[chosen], start[chosen], run))
    chosen, run = chosen[order], run[order]
    name = timeline.name.values.astype(np.int64)
    operator = timeline.texts.get("operator")
    kind = np.where(operator.values >= 0, operator.values, name).astype(np.int64) if operator is not None else name
    placed = Placements(
        start=start[chosen], end=end[chosen], run=run, provider=provider.values[chosen].astype(np.int64), kind=kind[chosen], name=name[chosen],
        strings=timeline.strings, tick_s=timeline.tick_s, runs=runs, whole_s=whole * timeline.tick_s,
    )  # fmt: skip
    return _summed(placed)


def _summed(placed: Placements) -> Placements:
    last = placed.last()
    nodes = Counter(placed.provider[last].tolist())
    length = np.bincount(placed.provider, weights=placed.end - placed.start, minlength=len(placed.strings)) * placed.tick_s / placed.runs
    placed.nodes = {placed.strings[index]: count for index, count in nodes.items()}
    placed.seconds = {placed.strings[index]: float(length[index]) for index in nodes}
    placed.crossings = int((placed.run[placed.changes()] == placed.run[-1]).sum()) if len(placed.run) > 1 else 0
    return placed


def _copies(timeline: Timeline) -> NDArray[np.bool_]:
    purpose = timeline.texts.get("purpose")
    if purpose is None or "copy" not in timeline.strings:
        return np.zeros(len(timeline), dtype=np.bool_)
    found: NDArray[np.bool_] = purpose.values == timeline.strings.index("copy")
    return found


def _outermost(start: NDArray[np.int64], end: NDArray[np.int64], track: NDArray[np.int64]) -> NDArray[np.int64]:
    """Positions of events that lie within no other of their track (up to the tick by which cut times may miss)."""
    order = np.lexsort((-end, start, track))
    kept = np.ones(len(order), dtype=np.bool_)
    starts, ends = start[order], end[order]
    begins = np.flatnonzero(np.diff(track[order], prepend=-1))
    for begin, close in pairwise([*begins.tolist(), len(order)]):
        reach = np.maximum.accumulate(ends[begin:close])[:-1]
        kept[begin + 1 : close] = (starts[begin + 1 : close] >= reach) | (ends[begin + 1 : close] > reach + 1)
    return np.sort(order[kept])


def _runs(timeline: Timeline, start: NDArray[np.int64], end: NDArray[np.int64], chosen: NDArray[np.int64]) -> tuple[NDArray[np.int64], int, float]:
    """The run of each chosen event (−1 outside of any), how many there are, and the mean ticks of one."""
    spans = np.flatnonzero(timeline.kind.values == _ITERATION) if timeline.kind is not None else np.zeros(0, dtype=np.int64)
    if not len(spans):
        return np.zeros(len(chosen), dtype=np.int64), 1, float(end[chosen].max() - start[chosen].min())
    spans = spans[np.argsort(start[spans], kind="stable")]
    allowed = np.ones(len(chosen), dtype=np.bool_)
    if bool((start[spans][1:] < np.maximum.accumulate(end[spans])[:-1]).any()):
        # Runs at the same time on several threads take no turns with one another: the cut is that of one thread.
        threads, counts = np.unique(timeline.track.values[spans], return_counts=True)
        thread = threads[np.argmax(counts)]
        spans, allowed = spans[timeline.track.values[spans] == thread], timeline.track.values[chosen] == thread
    run = np.searchsorted(start[spans], start[chosen], side="right") - 1
    outside = ~allowed | (run < 0) | (start[chosen] > end[spans][np.maximum(run, 0)])
    return np.where(outside, -1, run), len(spans), float((end[spans] - start[spans]).mean())
