"""The steps of a program in its timeline: marked by ranges that name them, by a range that comes again and again, or by the launches repeating.

Looked for in this order, and the first that is found counts. *Marks*: events of kind `iteration`, on the track that has most of them. *Ranges*: one
named range, by the same name or counting up by one, at least three times, one after the other, on one host track, covering half of the window or
more; of several the one that covers most. *Pattern*: the names of the work on the busiest device repeat exactly, with a period of two launches
or more and of two names or more, from some launch up to the last, at least four times and over half of all launches. Anything less is no iteration.
The statistics follow `stats`: no median below three steps, no interval of it below six, warm-up by `steady_start` from eight steps on.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ridgeline.core import IterationReport, Timeline
from ridgeline.stats import LEAST_STEADY, median_interval, steady_start

from .events import Events, events_of, is_kind, window_of
from .intervals import Ticks, covered_before, merge
from .use import work_of_devices

__all__ = ["Spans", "iteration_spans", "iterations"]

_LEAST_RANGES, _LEAST_PERIODS = 3, 4
#: Part of the window, or of the launches, that repeats.
_HALF = 0.5
#: Launches at the end in which a period is looked for, one by one.
_MOST = 200_000
#: With few steps the first one stands apart if it is further above the slowest of the others than these are from each other, and 5 % at the least.
_APART = 1.05


class Spans(NamedTuple):
    """Steps in order: how they were found, by what name, start and end in ticks, shape (k,)."""

    how: str
    name: str
    start: NDArray[np.int64]
    end: NDArray[np.int64]


def iterations(t: Timeline) -> IterationReport | None:
    """The steps and their statistics; `None` where none are found."""
    spans = iteration_spans(t)
    if spans is None:
        return None
    origin = window_of(t)[0]
    length_s = np.asarray((spans.end - spans.start) * t.tick_s, dtype=np.float64)
    first = _first_apart(length_s)
    rest = length_s[first:]
    interval = median_interval(rest)
    return IterationReport(
        how=spans.how,
        name=spans.name,
        spans_s=tuple(((int(start) - origin) * t.tick_s, float(length)) for start, length in zip(spans.start, length_s, strict=True)),
        first=first,
        median_s=float(np.median(rest)) if len(rest) >= _LEAST_RANGES else None,
        median_ci_s=None if interval is None else (interval.low, interval.high),
        least_s=float(rest.min()) if len(rest) else None,
        most_s=float(rest.max()) if len(rest) else None,
        busy_share=_busy_shares(t, spans),
    )


def iteration_spans(t: Timeline) -> Spans | None:
    """The steps in ticks, or `None`."""
    if not len(t):
        return None
    events = events_of(t)
    return _marks(t, events) or _ranges(t, events) or _pattern(t, events)


def _first_apart(length_s: NDArray[np.float64]) -> int:
    if len(length_s) >= LEAST_STEADY and bool((length_s > 0).all()):
        start = steady_start(length_s)
        # Of few steps those after the first are too few for a steady state of calls, and still show that the first is unlike them.
        if start is not None or len(length_s) > 2 * LEAST_STEADY:
            return start or 0
    if len(length_s) < 1 + _LEAST_RANGES:
        return 0
    head, rest = float(length_s[0]), length_s[1:]
    spread = float(rest.max() - rest.min())
    return int(head > float(rest.max()) + spread and head > _APART * float(rest.max()))


def _busy_shares(t: Timeline, spans: Spans) -> tuple[float, ...]:
    """Busy part of each step, the mean over the devices."""
    events = events_of(t)
    devices = work_of_devices(t, events)
    if not devices:
        return ()
    busy = np.zeros(len(spans.start), dtype=np.int64)
    for _, mine in devices:
        union = merge(events.start[mine], events.end[mine])
        busy += covered_before(union, spans.end) - covered_before(union, spans.start)
    length = np.maximum(spans.end - spans.start, 1) * len(devices)
    return tuple((busy / length).tolist())


def _marks(t: Timeline, events: Events) -> Spans | None:
    chosen = np.flatnonzero(is_kind(events, "iteration"))
    if not len(chosen):
        return None
    on_host = np.array([not track.device for track in t.tracks])[events.track[chosen]]
    chosen = chosen[on_host] if on_host.any() else chosen
    track = int(np.bincount(events.track[chosen]).argmax())
    chosen = _in_order(events, chosen[events.track[chosen] == track])
    return Spans("marks", _common(t, events, chosen), events.start[chosen], events.end[chosen])


def _in_order(events: Events, chosen: NDArray[np.intp]) -> NDArray[np.intp]:
    """In order of time, without what begins before the one before it has ended: of nested steps the outer ones."""
    chosen = chosen[np.lexsort((-events.end[chosen], events.start[chosen]))]
    reach = np.maximum.accumulate(events.end[chosen])
    return chosen[np.concatenate(([True], events.start[chosen][1:] >= reach[:-1]))] if len(chosen) else chosen


def _common(t: Timeline, events: Events, chosen: NDArray[np.intp]) -> str:
    names = dict.fromkeys(_base(t.strings[name])[0] for name in np.unique(events.name[chosen]).tolist())
    return next(iter(names))


def _base(name: str) -> tuple[str, int | None]:
    """A name without the number at its end, and that number."""
    found = re.search(r"^(.*?)[\s#_:.=-]*(\d{1,15})$", name[-500:], re.DOTALL)
    return (found[1], int(found[2])) if found and found[1] else (name, None)


def _ranges(t: Timeline, events: Events) -> Spans | None:
    on_host = np.array([not track.device for track in t.tracks])
    chosen = np.flatnonzero(is_kind(events, "annotation") & on_host[events.track])
    if len(chosen) < _LEAST_RANGES:
        return None
    start, end = window_of(t)
    best: tuple[int, str, NDArray[np.intp]] | None = None
    families = _families(t, events, chosen)
    for name, members in families:
        length = int((events.end[members] - events.start[members]).sum())
        one_by_one = bool((events.start[members][1:] >= events.end[members][:-1]).all())
        if one_by_one and length >= _HALF * (end - start) and length > 0 and (best is None or length > best[0]):
            best = length, name, members
    return None if best is None else _in_turn(events, families, *best[1:])


def _in_turn(events: Events, families: list[tuple[str, NDArray[np.intp]]], name: str, members: NDArray[np.intp]) -> Spans:
    """Ranges as steps; where others come in turn with them on their track (forward, backward, optimiser), whole turns."""
    start, end = events.start[members], events.end[members]
    turn = [(int(start[0]), name)]
    low, high = start, end
    for other, theirs in families:
        if len(theirs) != len(members) or events.track[theirs[0]] != events.track[members[0]] or theirs[0] == members[0]:
            continue
        first, last = events.start[theirs], events.end[theirs]
        before = bool((last <= start).all() and (first[1:] >= end[:-1]).all())
        after = bool((first >= end).all() and (last[:-1] <= start[1:]).all())
        if before or after:
            low, high = np.minimum(low, first), np.maximum(high, last)
            turn.append((int(first[0]), other))
    apart = bool((low[1:] >= high[:-1]).all())
    if not apart or len(turn) == 1:
        return Spans("ranges", name, start, end)
    turn.sort()
    return Spans("ranges", f"{turn[0][1]} … {turn[-1][1]}", low, high)


def _families(t: Timeline, events: Events, chosen: NDArray[np.intp]) -> list[tuple[str, NDArray[np.intp]]]:
    """Ranges of one track and name, and those whose names count up by one; at least three, in order of time."""
    chosen = chosen[np.lexsort((events.start[chosen], events.name[chosen], events.track[chosen]))]
    cuts = np.flatnonzero((np.diff(events.name[chosen].astype(np.int64)) != 0) | (np.diff(events.track[chosen].astype(np.int64)) != 0)) + 1
    found = []
    counted: dict[tuple[int, str], list[tuple[int, int, int]]] = {}
    for members in np.split(chosen, cuts):
        name = t.strings[events.name[members[0]]]
        if len(members) >= _LEAST_RANGES:
            found.append((name, members))
        elif len(members) == 1 and (base := _base(name))[1] is not None:
            counted.setdefault((int(events.track[members[0]]), base[0]), []).append((int(events.start[members[0]]), base[1], int(members[0])))
    for (_, name), rows in counted.items():
        rows.sort()
        numbers = np.array([row[1] for row in rows])
        if len(rows) >= _LEAST_RANGES and bool((np.diff(numbers) == 1).all()):
            found.append((name, np.array([row[2] for row in rows])))
    return found


def _pattern(t: Timeline, events: Events) -> Spans | None:
    devices = work_of_devices(t, events)
    if not devices:
        return None
    work = max((mine for _, mine in devices), key=len)
    work = work[np.lexsort((work, events.start[work]))]
    names = events.name[work].astype(np.int64)
    period, whole = repeated_suffix(names)
    if period < 2 or whole < _LEAST_PERIODS * period or whole < _HALF * len(names) or len(np.unique(names[-period:])) < 2:
        return None
    work = work[len(work) - whole :]
    start, end = events.start[work], np.maximum.accumulate(events.end[work])
    phase = _longest_pause(start, end, period)
    edges = np.arange(phase, whole + 1, period)
    # Each step up to the beginning of the next: the last one has no next, and is left out.
    begins = start[edges[edges < whole]]
    if len(begins) < _LEAST_PERIODS:
        return None
    return Spans("pattern", t.strings[events.name[work[phase]]], begins[:-1], begins[1:])


def _longest_pause(start: Ticks, end: Ticks, period: int) -> int:
    """The place in the period before which the device pauses longest, by the median over the repetitions; the first of equal ones."""
    pause = np.maximum(start[1:] - end[:-1], 0)
    rows = len(pause) // period
    medians = np.median(pause[: rows * period].reshape(rows, period), axis=0)
    return (int(medians.argmax()) + 1) % period


def repeated_suffix(names: NDArray[Any]) -> tuple[int, int]:
    """(period, length) of the longest end of a series that repeats exactly with some period at least three times; (0, 0) if there is none.

    The failure function of the reversed series gives the least period of each of its beginnings, which are the ends of the series.
    Source: D. Knuth, J. Morris, V. Pratt, "Fast pattern matching in strings", SIAM Journal on Computing 6, 1977.

    >>> repeated_suffix(np.array([9, 8, 1, 2, 3, 1, 2, 3, 1, 2, 3]))
    (3, 9)
    """
    backwards = names[::-1][:_MOST].tolist()
    failure = [0] * len(backwards)
    k = 0
    for index in range(1, len(backwards)):
        while k and backwards[index] != backwards[k]:
            k = failure[k - 1]
        if backwards[index] == backwards[k]:
            k += 1
        failure[index] = k
    lengths = np.arange(1, len(backwards) + 1)
    periods = lengths - np.array(failure, dtype=np.int64)
    fits = np.flatnonzero(lengths >= 3 * periods)
    if not len(fits):
        return 0, 0
    whole, period = int(lengths[fits[-1]]), int(periods[fits[-1]])
    if whole == len(backwards) < len(names):  # it goes on before what was looked at
        differs = np.flatnonzero(names[:-period] != names[period:])
        whole = len(names) - (int(differs[-1]) + 1 if len(differs) else 0)
    return period, whole
