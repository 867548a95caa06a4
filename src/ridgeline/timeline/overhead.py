"""Time outside the operators: the window less the union of top-level operators, in all and in each iteration; not clamped.

The union of all operators is that of the top-level ones, since the others lie in them. On devices two definitions are in use, and they differ where a
file does not link all work to the call that launched it: the window less the work that an operator launched, and the window less all work.
"""

from __future__ import annotations

import numpy as np

from ridgeline.core import Timeline, TraceOverhead

from .events import Events, events_of, is_kind, is_work, links_of, window_of
from .intervals import Ticks, covered_before, merge, union_length
from .iterations import iteration_spans
from .nesting import inside_of, parents

__all__ = ["overhead"]


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
    return TraceOverhead(
        window_s=(end - start) * t.tick_s,
        operators_s=covered * t.tick_s,
        gap_s=(end - start - covered) * t.tick_s,
        gap_share=(end - start - covered) / (end - start),
        linked_s=linked_s,
        all_s=all_s,
        iterations=_each(t, operators),
    )


def _each(t: Timeline, operators: tuple[Ticks, Ticks]) -> tuple[tuple[float, float], ...]:
    spans = iteration_spans(t)
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
