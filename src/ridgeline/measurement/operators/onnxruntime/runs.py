"""Node events sorted into the runs they belong to, with exclusive times.

This module decides which run an event belongs to, which event holds which (a node of a body lies inside the If, Loop or Scan that ran it), and how
whole microseconds become an estimate: onnxruntime cuts every duration down to a whole tick, so half a tick is added to each.
"""

from __future__ import annotations

import bisect
from collections import defaultdict
from collections.abc import Sequence

import msgspec

from ridgeline.readers.onnxruntime import TICK_S, NodeEvent, Profile, Span
from ridgeline.timeline import union_length

__all__ = ["HALF_TICK_S", "Executed", "RunEvents", "run_events"]

HALF_TICK_S = 0.5 * TICK_S
_HOLDERS = frozenset({"If", "Loop", "Scan", "SequenceMap", "BeamSearch", "GreedySearch", "Sampling"})


class Executed(msgspec.Struct, frozen=True, kw_only=True):
    """One execution: its event, its own seconds without the nodes inside it, and the names of the nodes around it, outermost first."""

    event: NodeEvent
    own_s: float
    path: tuple[str, ...] = ()


class RunEvents(msgspec.Struct, frozen=True, kw_only=True):
    """One call: its wall by the profile's clock, the union of its node intervals, both in seconds, and its executions in order of their start."""

    wall_s: float
    union_s: float
    executed: tuple[Executed, ...]


def run_events(profile: Profile, iterations: int) -> list[RunEvents]:
    """The last `iterations` complete runs; fewer if the profile holds fewer."""
    runs = sorted(profile.runs, key=lambda run: run.start)
    starts = [run.start for run in runs]
    of_run: dict[int, list[NodeEvent]] = defaultdict(list)
    for event in profile.nodes:
        index = bisect.bisect_right(starts, event.span.start) - 1
        if index >= 0 and event.span.start <= runs[index].end:
            of_run[index].append(event)
    chosen = range(max(0, len(runs) - iterations), len(runs))
    return [_run(runs[index], of_run[index]) for index in chosen]


def _run(run: Span, events: list[NodeEvent]) -> RunEvents:
    executed = _exclusive(events)
    outer = [part.event.span for part in executed if not part.path]
    union = union_length([span.start for span in outer], [span.end for span in outer])
    return RunEvents(wall_s=run.duration * TICK_S + HALF_TICK_S, union_s=union * TICK_S + len(outer) * HALF_TICK_S, executed=tuple(executed))


def _exclusive(events: Sequence[NodeEvent]) -> list[Executed]:
    """Own time of each: duration less that of the nodes directly inside."""
    order = sorted(range(len(events)), key=lambda index: (events[index].span.start, -events[index].span.duration, events[index].kind not in _HOLDERS))
    inside_s = [0.0] * len(events)
    paths: dict[int, tuple[str, ...]] = {}
    open_holders: list[int] = []
    for index in order:
        span = events[index].span
        # The file lists the nodes of a body before the node that holds it, which settles what whole ticks leave open.
        while open_holders and (events[open_holders[-1]].span.end < span.end or open_holders[-1] < index):
            open_holders.pop()
        if open_holders:
            inside_s[open_holders[-1]] += span.duration * TICK_S + HALF_TICK_S
        paths[index] = tuple(events[holder].name for holder in open_holders)
        if events[index].kind in _HOLDERS:
            open_holders.append(index)
    return [
        Executed(event=events[index], own_s=max(0.0, events[index].span.duration * TICK_S + HALF_TICK_S - inside_s[index]), path=paths[index])
        for index in order
    ]
