"""`CallGraph`: own costs of functions and inclusive costs of the calls between them, as callgrind and cProfile record them, spread out into stacks.

Such files do not tell which callers a callee's cost came from beyond the last one. This module decides the split: a function's cost belongs to its
callers in proportion to the inclusive cost of their calls (the assumption of gprof: Graham, Kessler, McKusick, "gprof: a call graph execution
profiler", SIGPLAN 1982). Functions that call each other in a circle are one group: calls within it are not followed. Own costs are exact whatever
the split; so are totals where a function does not recur, but for what is in paths
too light for a node of their own: those are summed by function below one root.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ridgeline.core import Stacks

from .source import Source
from .stacking import StackTree

__all__ = ["LIGHT", "CallGraph"]

#: Root of the paths that have no node of their own.
LIGHT = "[paths too light to tell apart]"
_MOST_NODES = 20_000
_LIGHTEST = 1e-9

Floats = NDArray[np.float64]


class _Edge(NamedTuple):
    caller: int
    callee: int
    cost: float


class CallGraph:
    """Functions, their own costs and their calls, in several measures at once.

    Args:
        source: whose limits bound names.
        measures: how many costs each function and call has.
    """

    def __init__(self, source: Source, measures: int) -> None:
        self.tree = StackTree(source)
        self._source, self._measures = source, measures
        self._frames: list[int] = []
        self._own: list[list[float]] = []
        self._calls: dict[tuple[int, int], list[float]] = {}

    def __len__(self) -> int:
        return len(self._frames)

    def function(self, frame: int) -> int:
        """A new function, by its frame in `tree`."""
        self._frames.append(frame)
        self._own.append([0] * self._measures)
        return len(self._frames) - 1

    def add_own(self, function: int, costs: Sequence[float]) -> None:
        """Add own costs, in order of the measures; missing ones are zero."""
        own = self._own[function]
        for place, cost in enumerate(costs):
            own[place] += cost

    def add_call(self, caller: int, callee: int, costs: Sequence[float]) -> None:
        """Add the inclusive costs of calls; missing ones are zero."""
        total = self._calls.setdefault((caller, callee), [0] * self._measures)
        for place, cost in enumerate(costs):
            total[place] += cost

    def own_of(self, function: int) -> list[float]:
        """Own costs of a function."""
        return self._own[function]

    def whole(self, measure: int) -> float:
        """All own costs of a measure."""
        return sum(own[measure] for own in self._own)

    def stacks(self, measure: int, *, name: str, unit: str, per_unit: int = 1) -> Stacks | None:
        """The costs of one measure as stacks; `None` where there are none.

        Args:
            measure: its place; name, unit: as in `Stacks`; per_unit: how many of the costs make one unit.
        """
        whole = self.whole(measure)
        if whole <= 0:
            return None
        key = str(measure)
        _Spread(self, measure, key, whole).run()
        return self.tree.stacks(key, measure=name, unit=unit, per_unit=per_unit, sampled=False)

    def groups(self) -> NDArray[np.int64]:
        """Number of the group of each function: those that call each other in a circle share one."""
        from scipy.sparse import coo_matrix  # late: half of the files read have no graph
        from scipy.sparse.csgraph import connected_components

        pairs = np.array(list(self._calls), np.int64).reshape(-1, 2)
        size = len(self._frames)
        matrix = coo_matrix((np.ones(len(pairs), np.int8), (pairs[:, 0], pairs[:, 1])), shape=(size, size))
        return np.asarray(connected_components(matrix, directed=True, connection="strong")[1], np.int64)

    def edges(self, measure: int) -> list[_Edge]:
        """Calls with a cost of one measure."""
        return [_Edge(caller, callee, costs[measure]) for (caller, callee), costs in self._calls.items() if costs[measure] > 0]

    def frame_of(self, function: int) -> int:
        """Its frame in `tree`."""
        return self._frames[function]


class _Spread:
    """One measure of a graph put into the tree, the heaviest paths first."""

    def __init__(self, graph: CallGraph, measure: int, key: str, whole: float) -> None:
        self._graph, self._measure, self._key, self._whole = graph, measure, key, whole
        self._group = graph.groups().tolist()
        count = max(self._group) + 1
        self._members: list[list[int]] = [[] for _ in range(count)]
        for function, group in enumerate(self._group):
            self._members[group].append(function)
        self._out: list[list[_Edge]] = [[] for _ in self._group]
        self._total = [0.0] * count
        self._entered = [0.0] * count
        for edge in graph.edges(measure):
            if self._group[edge.caller] != self._group[edge.callee]:
                self._out[edge.caller].append(edge)
                self._total[self._group[edge.caller]] += edge.cost
                self._entered[self._group[edge.callee]] += edge.cost
        for function in range(len(graph)):
            self._total[self._group[function]] += graph.own_of(function)[measure]
        self._light = [0.0] * count
        self._nodes = 0

    def run(self) -> None:
        """Put all of it into the tree."""
        heap: list[tuple[float, int, int, int, float]] = []  # −weight, order, parent node, function, share of its group
        for group, members in enumerate(self._members):
            share = 1 - self._entered[group] / self._total[group] if self._total[group] > self._entered[group] else 0.0
            if share > 1e-12:
                heapq.heappush(heap, (-share * self._total[group], len(heap), -1, self._entry(members), share))
        order = len(heap)
        while heap:
            weight, _, parent, function, share = heapq.heappop(heap)
            if self._nodes >= _MOST_NODES or -weight < _LIGHTEST * self._whole:
                self._light[self._group[function]] += share
                continue
            for callee_share, node, callee in self._entered_at(parent, function, share):
                group = self._group[callee]
                order += 1
                heapq.heappush(heap, (-callee_share * self._total[group], order, node, callee, callee_share))
        self._flush()

    def _entry(self, members: Sequence[int]) -> int:
        """The member of a group that nobody outside calls where it starts a stack: the first of the file."""
        return members[0]

    def _entered_at(self, parent: int, function: int, share: float) -> list[tuple[float, int, int]]:
        """Nodes for a share of a group entered at a function; its calls out of the group as (share of the callee's group, node, callee)."""
        first = self._node(parent, function, share)
        calls: list[tuple[float, int, int]] = []
        for member in self._members[self._group[function]]:
            if member == function:
                node = first
            elif self._graph.own_of(member)[self._measure] > 0 or self._out[member]:
                node = self._node(first, member, share)
            else:
                continue
            calls.extend((share * self._part(edge), node, edge.callee) for edge in self._out[member])
        return calls

    def _node(self, parent: int, function: int, share: float) -> int:
        node = self._graph.tree.child(parent, self._graph.frame_of(function))
        self._nodes += 1
        self._graph.tree.add(node, self._graph.own_of(function)[self._measure] * share, self._key)
        return node

    def _part(self, edge: _Edge) -> float:
        """Share of the callee's group that a call answers for; the shares of all its calls and of its start are 1 together."""
        group = self._group[edge.callee]
        return float(edge.cost / max(self._total[group], self._entered[group]))

    def _flush(self) -> None:
        """What had no node, by function: from callers to callees, each group once all that call it are done."""
        waiting = [0] * len(self._members)
        for edges in self._out:
            for edge in edges:
                waiting[self._group[edge.callee]] += 1
        ready = [group for group, count in enumerate(waiting) if not count]
        root = -1
        while ready:
            group = ready.pop()
            share = self._light[group]
            if share > 0 and root < 0:
                root = self._graph.tree.child(-1, self._graph.tree.frame(LIGHT, kind="process"))
            for member in self._members[group]:
                if share > 0 and self._graph.own_of(member)[self._measure] > 0:
                    self._node(root, member, share)
                for edge in self._out[member]:
                    callee = self._group[edge.callee]
                    self._light[callee] += share * self._part(edge)
                    waiting[callee] -= 1
                    if not waiting[callee]:
                        ready.append(callee)
