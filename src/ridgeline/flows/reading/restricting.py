"""A part of the time of a timeline: the events that lie in it, cut where they reach over its ends.

Cut events keep busy time, gaps and paths of the part exact; their own durations are shorter than they were, which is said. Times are integer ticks.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from ridgeline.core import Caution, Column, CounterTrack, Excluded, Links, Marks, Profile, Timeline, UsageError
from ridgeline.core.units import format_quantity, parse

__all__ = ["iteration_span", "part_of", "restricted", "span_of"]


def span_of(text: str) -> tuple[float, float | None]:
    """`FROM..TO` in seconds from the start of the window, such as `10ms..25ms`, `..1s`, `2s..`; null for an open end.

    Raises:
        UsageError: another form, or an end before its start.

    >>> span_of("10ms..0.5")
    (0.01, 0.5)
    """
    match = re.fullmatch(r"\s*([^.]?.*?)\s*\.\.\s*(.*?)\s*", text, re.DOTALL)
    if match is None or not (match[1] or match[2]):
        raise UsageError("a part of the time FROM..TO", found=repr(text), remedy="write it like 10ms..25ms, ..1s or 2s..")
    start_s = parse(match[1], "s") if match[1] else 0.0
    end_s = parse(match[2], "s") if match[2] else None
    if start_s < 0 or (end_s is not None and end_s <= start_s):
        raise UsageError("a part FROM..TO with 0 ≤ FROM < TO", found=repr(text), remedy="times count from the start of the window")
    return start_s, end_s


def iteration_span(spans_s: tuple[tuple[float, float], ...], number: int) -> tuple[float, float]:
    """Start and end in seconds of an iteration, counted from 1.

    Raises:
        UsageError: there are not so many, or it ends before the window begins.
    """
    if not 1 <= number <= len(spans_s):
        found = f"{number} of {len(spans_s)} iterations" if spans_s else "no iterations in this file"
        raise UsageError("an iteration that was found", found=found, remedy="leave --iteration out to see which there are, or give --window")
    start_s, duration_s = spans_s[number - 1]
    if start_s + duration_s <= 0:
        found = f"iteration {number}, which ends before the first event that counts"
        raise UsageError("an iteration with events in it", found=found, remedy="ask for another one")
    return start_s, start_s + duration_s


def restricted(profile: Profile, start_s: float, end_s: float | None) -> Profile:
    """The profile with only what its timeline has between two times; tables and all that has no times is left out.

    Args:
        start_s, end_s: seconds from the start of the window; null for its end.

    Raises:
        UsageError: no timeline, or nothing in that part.
    """
    from ridgeline.timeline.use import window_of

    timeline = profile.timeline
    if timeline is None or not len(timeline):
        which = f"{profile.files[0]} ({profile.format}), which has none"
        raise UsageError("a file with times, to look at a part of them", found=which, remedy="leave --window out")
    first, last = window_of(timeline)
    # Floor and ceiling would take in a neighbour's tick where seconds were rounded; the nearest tick is what was meant.
    start = first + round(start_s / timeline.tick_s)
    end = last if end_s is None else min(last, first + round(end_s / timeline.tick_s))
    part, outside, cut = part_of(timeline, start, end)
    if not len(part):
        window = format_quantity((last - first) * timeline.tick_s, "s")
        found = f"no event from {format_quantity(start_s, 's')} on, in a window of {window}"
        raise UsageError("a part of the time with events in it", found=found, remedy="times count from the start of the window")
    warnings = list(profile.warnings)
    if cut:
        message = f"{cut} events reach over the ends of the part that was asked for and are cut there"
        warnings.append(Caution(code="cut-events", message=message, effect="their durations are those inside"))
    excluded = profile.excluded
    if outside.events:
        excluded = (*excluded, outside)
    return msgspec.structs.replace(
        profile, timeline=part, tables=(), stacks=(), counters=None, kernels=None, excluded=excluded, warnings=tuple(warnings)
    )  # fmt: skip


def part_of(timeline: Timeline, start: int, end: int) -> tuple[Timeline, Excluded, int]:
    """Events in [start, end) ticks, cut at its ends; what lies outside, and how many were cut."""
    starts = timeline.start_tick.values.astype(np.int64)
    durations = timeline.duration_tick.values.astype(np.int64)
    ends = starts + durations
    keep = ((ends > start) & (starts < end)) | ((durations == 0) & (starts >= start) & (starts < end))
    low, high = np.maximum(starts[keep], start), np.minimum(ends[keep], end)
    cut = int(np.count_nonzero((low != starts[keep]) | (high != ends[keep])))
    outside_s = float(durations[~keep].sum()) * timeline.tick_s
    outside = Excluded(reason="outside the part that was asked for", events=int(np.count_nonzero(~keep)), total_s=outside_s)
    made = msgspec.structs.replace(
        timeline,
        start_tick=Column(low, timeline.start_tick.unit),
        duration_tick=Column(high - low, timeline.duration_tick.unit),
        name=_kept(timeline.name, keep),
        track=_kept(timeline.track, keep),
        kind=None if timeline.kind is None else _kept(timeline.kind, keep),
        links=_links(timeline.links, keep),
        numbers={name: _kept(column, keep) for name, column in timeline.numbers.items()},
        texts={name: _kept(column, keep) for name, column in timeline.texts.items()},
        marks=_marks(timeline.marks, start, end),
        counters=tuple(_counter(track, start, end) for track in timeline.counters),
    )
    return made, outside, cut


def _kept(column: Column, keep: NDArray[np.bool_]) -> Column:
    return Column(column.values[keep], column.unit)


def _links(links: Links | None, keep: NDArray[np.bool_]) -> Links | None:
    """Links of which both ends are kept, with the new indices."""
    if links is None:
        return None
    index = np.cumsum(keep) - 1
    source, target = links.source.values, links.target.values
    both = keep[source] & keep[target]

    def moved(values: NDArray[Any]) -> Column:
        return Column(index[values[both]].astype(np.int64), "count")

    kind = None if links.kind is None else _kept(links.kind, both)
    return Links(source=moved(source), target=moved(target), kind=kind)


def _marks(marks: Marks | None, start: int, end: int) -> Marks | None:
    if marks is None:
        return None
    keep = (marks.tick.values >= start) & (marks.tick.values < end)
    return Marks(tick=_kept(marks.tick, keep), name=_kept(marks.name, keep), track=_kept(marks.track, keep))


def _counter(track: CounterTrack, start: int, end: int) -> CounterTrack:
    """Values inside, and the one that held at the start."""
    ticks = track.tick.values
    keep = (ticks >= start) & (ticks < end)
    before = np.flatnonzero(ticks < start)
    if len(before):
        keep[before[-1]] = True
    return msgspec.structs.replace(track, tick=_kept(track.tick, keep), value=_kept(track.value, keep))
