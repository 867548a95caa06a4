"""Time outside the operators: the window less the union of top-level operators, in all and in each iteration; not clamped.

The union of all operators is that of the top-level ones, since the others lie in them. On devices two definitions are in use, and they differ where a
file does not link all work to the call that launched it: the window less the work that an operator launched, and the window less all work.

Pieces of more than a millisecond are told apart as pauses: issuing an operator takes microseconds, so in a pause the host did something else.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ridgeline.core import Pause, Timeline, TraceOverhead

from .events import Events, events_of, is_kind, is_work, links_of, window_of
from .grouping import numbered
from .intervals import Ticks, covered_before, grouped_union, merge, union_length
from .iterations import Spans, iteration_spans
from .nesting import inside_of, parents

__all__ = ["overhead"]

#: What lies between operators for longer than this is not what issuing them takes.
_PAUSE_S = 1e-3
#: Pauses that are listed, the longest first.
_MOST = 10


def overhead(t: Timeline, up: Ticks | None = None) -> TraceOverhead | None:
    """Overhead of the whole and of each iteration; `None` where the timeline has no operator.

    Args:
        t: the timeline.
        up: `nesting.parents(t)`, where the caller has them.
    """
    events = events_of(t)
    chosen = is_kind(events, "operator")
    start, end = window_of(t)
    if not chosen.any() or end == start:
        return None
    operators = merge(events.start[chosen], events.end[chosen])
    covered = int((operators[1] - operators[0]).sum())
    work = is_work(t, events)
    linked_s = all_s = None
    if work.any():
        linked = np.zeros(len(t), dtype=np.bool_)
        linked[_launched_by_operators(t, events, up)] = True
        linked &= work
        linked_s = (end - start - union_length(events.start[linked], events.end[linked])) * t.tick_s
        all_s = (end - start - union_length(events.start[work], events.end[work])) * t.tick_s
    spans = iteration_spans(t)
    within = merge(spans.start, spans.end) if spans is not None else (np.array([start]), np.array([end]))
    pauses = _pauses(operators, within, round(_PAUSE_S / t.tick_s))
    return TraceOverhead(
        window_s=(end - start) * t.tick_s,
        operators_s=covered * t.tick_s,
        gap_s=(end - start - covered) * t.tick_s,
        gap_share=(end - start - covered) / (end - start),
        linked_s=linked_s,
        all_s=all_s,
        iterations=_each(t, operators, spans),
        pauses_s=int((pauses[1] - pauses[0]).sum()) * t.tick_s,
        pauses=_listed(t, events, chosen, pauses, start),
        calls=_begun(events.start[chosen], within),
    )


def _pauses(operators: tuple[Ticks, Ticks], within: tuple[Ticks, Ticks], least: int) -> tuple[Ticks, Ticks]:
    """(starts, ends) of what lies in neither operators nor outside of `within`, both unions, and is longer than `least` ticks."""
    edges = np.sort(np.concatenate((*operators, *within)))
    low, high = edges[:-1], edges[1:]
    inside = covered_before(within, high) - covered_before(within, low) == high - low
    free = covered_before(operators, high) == covered_before(operators, low)
    long = inside & free & (high - low > least)
    return low[long], high[long]


def _begun(starts: Ticks, within: tuple[Ticks, Ticks]) -> int:
    """How many begin within; in intervals of no length none does."""
    if not len(within[0]):
        return 0
    at = np.searchsorted(within[0], starts, side="right") - 1
    return int(((at >= 0) & (starts < within[1][np.maximum(at, 0)])).sum())


def _listed(t: Timeline, events: Events, operators: NDArray[np.bool_], pauses: tuple[Ticks, Ticks], origin: int) -> tuple[Pause, ...]:
    long = np.argsort(pauses[0] - pauses[1], kind="stable")[:_MOST]
    ranges = is_kind(events, "annotation")
    beside = ~operators & ~ranges & ~is_kind(events, "iteration", "profiler")
    length = events.end - events.start
    found = []
    for low, high in zip(pauses[0][long].tolist(), pauses[1][long].tolist(), strict=True):
        before = np.flatnonzero(operators & (events.end == low))
        after = t.strings[events.name[before[length[before].argmax()]]] if len(before) else ""
        # A named range says what goes on where nothing else does.
        during = _during(t, events, beside, low, high) or _during(t, events, ranges, low, high)
        found.append(Pause(start_s=(low - origin) * t.tick_s, duration_s=(high - low) * t.tick_s, after=after, during=during))
    return tuple(found)


def _during(t: Timeline, events: Events, chosen: NDArray[np.bool_], low: int, high: int) -> str:
    """What runs for more than half of a pause: the shortest event that does, else the name whose events do together; empty for none."""
    at = np.flatnonzero(chosen & (events.start < high) & (events.end > low))
    covers = np.minimum(events.end[at], high) - np.maximum(events.start[at], low)
    ran = at[2 * covers > high - low]
    if len(ran):
        shortest = ran[(events.end - events.start)[ran].argmin()]
        return t.strings[int(events.name[shortest])]
    names, number = numbered(events.name[at].astype(np.int64))
    if not len(names):
        return ""
    together = grouped_union(number, np.maximum(events.start[at], low), np.minimum(events.end[at], high), len(names))
    most = int(together.argmax())
    return t.strings[int(names[most])] if 2 * int(together[most]) > high - low else ""


def _each(t: Timeline, operators: tuple[Ticks, Ticks], spans: Spans | None) -> tuple[tuple[float, float], ...]:
    if spans is None:
        return ()
    length = spans.end - spans.start
    gap = length - (covered_before(operators, spans.end) - covered_before(operators, spans.start))
    return tuple((int(whole) * t.tick_s, int(left) * t.tick_s) for whole, left in zip(length, gap, strict=True))


def _launched_by_operators(t: Timeline, events: Events, up: Ticks | None) -> Ticks:
    """Targets of launches whose call is an operator or lies in one."""
    source, target = links_of(t, "launch")
    if not len(source):
        return target
    up = parents(t) if up is None else up
    return target[inside_of(up, is_kind(events, "operator"), source)]
