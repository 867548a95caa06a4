"""From events to seconds of every node, run by run.

This module decides how whole microseconds become an estimate, and refuses a profile of another graph than the clean calls run.
"""

from __future__ import annotations

from collections.abc import Sequence

from ridgeline.core import BackendUnavailable

from .align import align
from .cut import Cut
from .litert import DELEGATE_EVENT, NODE_EVENT, ProfiledRun
from .rows import TICK_S, Times

__all__ = ["NodeTimes", "invoke_us"]

_INVOKE = "Invoke"


def invoke_us(run: ProfiledRun) -> int:
    """Whole microseconds of the runtime's own Invoke.

    Raises:
        BackendUnavailable: there is not exactly one.
    """
    found = [event.elapsed_us for event in run.events if event.tag == _INVOKE and event.subgraph == 0]
    if len(found) != 1:
        raise BackendUnavailable("one Invoke a call in LiteRT's profile", found=str(len(found)), remedy="diagnose without this level")
    return found[0]


class NodeTimes:
    """Seconds of every node of a model.

    Args:
        seen: the cut.
        kinds: of the nodes.
        clean_s: wall of a clean run: what the clock cuts off can be no more than that leaves.
    """

    def __init__(self, seen: Cut, kinds: Sequence[str], clean_s: float) -> None:
        self._seen, self._kinds, self._clean_us = seen, kinds, clean_s / TICK_S
        self._aligned: dict[tuple[int, tuple[str, ...]], list[tuple[int, ...]]] = {}

    def of(self, run: ProfiledRun) -> Times:
        """Of one run.

        The clock counts whole microseconds and cuts the rest off: half of one is added to each event, or where that is less an even part of what
        the Invoke, or a clean run, holds beside the events.

        Raises:
            BackendUnavailable: the profile is of another cut.
        """
        events = [event for event in run.events if event.kind in (NODE_EVENT, DELEGATE_EVENT) and event.subgraph == 0]
        rest = max(0.0, min(invoke_us(run), self._clean_us) - sum(event.elapsed_us for event in events))
        slack_s = min(0.5, rest / max(1, len(events))) * TICK_S
        node_s = {event.index: event.elapsed_us * TICK_S + slack_s for event in events if event.kind == NODE_EVENT}
        self._check(set(node_s))
        groups = _delegated(run)
        pieces = [piece for piece in self._seen.pieces if piece.delegated]
        if len(groups) != len(pieces):
            raise _another(f"{len(groups)} delegated partitions for {len(pieces)}")
        kernels: dict[int, tuple[str, ...]] = {}
        for number, (piece, group) in enumerate(zip(pieces, groups, strict=True)):
            for node, positions in zip(piece.nodes, self._align(number, piece.nodes, tuple(name for name, _ in group)), strict=True):
                node_s[node] = sum(group[position][1] * TICK_S + slack_s for position in positions)
                kernels[node] = tuple(group[position][0] for position in positions)
        return Times(node_s=node_s, kernels=kernels, inner=_inner(run))

    def _align(self, number: int, nodes: Sequence[int], names: tuple[str, ...]) -> list[tuple[int, ...]]:
        key = (number, names)
        if key not in self._aligned:
            self._aligned[key] = align([self._kinds[node] for node in nodes], names)
        return self._aligned[key]

    def _check(self, own: set[int]) -> None:
        """Nodes with an event of their own are those that the delegate did not take; one that only names a variable may be on either side."""
        extra = {node for node in own - self._seen.fallback if self._kinds[node] != "VAR_HANDLE"}
        missing = {node for node in self._seen.fallback - own if self._kinds[node] != "VAR_HANDLE"}
        if extra:
            raise _another(f"node {min(extra)} on its own")
        if missing:
            raise _another(f"node {min(missing)} inside the delegate")


def _delegated(run: ProfiledRun) -> list[list[tuple[str, int]]]:
    """(name, microseconds) of the delegate's operators, one list a partition: its own numbers start again at 0."""
    groups: list[list[tuple[str, int]]] = []
    open_group = False
    for event in run.events:
        if event.subgraph:
            continue
        if event.kind == NODE_EVENT:
            open_group = False
        elif event.kind == DELEGATE_EVENT:
            if not open_group or event.index == 0:
                groups.append([])
            open_group = True
            groups[-1].append((event.tag, event.elapsed_us))
    return groups


def _inner(run: ProfiledRun) -> dict[int, dict[int, int]]:
    """Node of the main graph → subgraph → how often it ran inside that node: the events of a subgraph follow that of the node that runs it."""
    found: dict[int, dict[int, int]] = {}
    node = -1
    for event in run.events:
        if event.kind == NODE_EVENT and event.subgraph == 0:
            node = event.index
        elif event.tag == _INVOKE and event.subgraph:
            runs = found.setdefault(node, {})
            runs[event.subgraph] = runs.get(event.subgraph, 0) + 1
    return found


def _another(found: str) -> BackendUnavailable:
    remedy = "diagnose without this level"
    return BackendUnavailable("a profiled runtime that cuts the graph as the interpreter does", found=found, remedy=remedy)
