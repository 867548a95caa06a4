"""Begin and end events to spans: which end belongs to which begin.

Events of one thread nest: an end closes what began last. Found without a stack, from the depth (begins less ends so far): a begin at depth d belongs
to the next end at depth d. Where ends carry names that nesting contradicts, names decide instead: an end closes the innermost open begin of its
name, and one whose name was never begun is left over. Only such threads are gone through event by event.
Source: Google, Trace Event Format (the public document of 2016), "Duration Events" and "Async Events".
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Marked", "Pairs", "paired"]

Ints = NDArray[np.int64]


class Pairs(NamedTuple):
    """Indices into the begins and ends that were given: pairs in order of their begins, and what is left over."""

    begin: Ints
    end: Ints
    open_begins: Ints
    surplus_ends: Ints


class Marked(NamedTuple):
    """Begins or ends: thread (any number), time, order in the file and name (index of a text, negative where an end has none), shape (k,) each."""

    thread: Ints
    time: Ints
    order: Ints
    name: Ints


class _Sorted(NamedTuple):
    thread: Ints
    name: Ints
    sign: Ints
    origin: Ints


def paired(begins: Marked, ends: Marked) -> Pairs:
    """Match begins with ends."""
    events = _sorted(begins, ends)
    partner = _nested(events)
    wrong = (events.sign < 0) & (events.name >= 0) & (partner >= 0)
    wrong[wrong] = events.name[wrong] != events.name[partner[wrong]]
    for thread in np.unique(events.thread[wrong]).tolist():
        rows = np.arange(*np.searchsorted(events.thread, (thread, thread + 1)))
        partner[rows] = _by_name(events, rows)
    last = np.flatnonzero((events.sign < 0) & (partner >= 0))
    first = partner[last]
    order = np.argsort(events.origin[first], kind="stable")
    return Pairs(
        events.origin[first[order]],
        events.origin[last[order]],
        np.sort(events.origin[(events.sign > 0) & (partner < 0)]),
        np.sort(events.origin[(events.sign < 0) & (partner < 0)]),
    )


def _sorted(begins: Marked, ends: Marked) -> _Sorted:
    """By thread, time and order in the file: two events at one time happened as they were written."""
    thread, time, order, name = (np.concatenate([one, other]) for one, other in zip(begins, ends, strict=True))
    by = np.lexsort((order, time, thread))
    sign = np.concatenate([np.ones(len(begins.thread), np.int64), -np.ones(len(ends.thread), np.int64)])
    origin = np.concatenate([np.arange(len(begins.thread)), np.arange(len(ends.thread))])
    return _Sorted(thread[by], name[by], sign[by], origin[by])


def _nested(events: _Sorted) -> Ints:
    """The partner of each event by nesting alone, −1 for none."""
    partner = np.full(len(events.sign), -1)
    if not len(partner):
        return partner
    depth = _depth(events.thread, events.sign)
    low = np.minimum(_running_minimum(events.thread, depth), 0)
    before = np.concatenate([[0], low[:-1]])
    before[np.flatnonzero(np.diff(events.thread, prepend=events.thread[0] - 1))] = 0
    # An end that takes the depth below all that was before has no begin: without those, every end has one.
    kept = np.flatnonzero(~((events.sign < 0) & (depth < before)))
    thread, sign = events.thread[kept], events.sign[kept]
    level = _depth(thread, sign) + (sign < 0)
    by = np.lexsort((np.arange(len(kept)), level, thread))
    first, second = by[:-1], by[1:]
    pair = (sign[first] > 0) & (sign[second] < 0) & (level[first] == level[second]) & (thread[first] == thread[second])
    begins, ends = kept[first[pair]], kept[second[pair]]
    partner[begins], partner[ends] = ends, begins
    return partner


def _depth(thread: Ints, sign: Ints) -> Ints:
    """Begins less ends of the thread, up to and with each event."""
    total = np.cumsum(sign)
    starts = np.flatnonzero(np.diff(thread, prepend=thread[0] - 1)) if len(thread) else np.empty(0, np.int64)
    base = np.where(starts > 0, total[starts - 1], 0)
    return np.asarray(total - np.repeat(base, np.diff(np.append(starts, len(thread)))))


def _running_minimum(thread: Ints, values: Ints) -> Ints:
    """The least value so far within each thread: threads are moved apart by more than their range, so that one sweep does for all."""
    starts = np.diff(thread, prepend=thread[0] - 1) != 0
    number = np.cumsum(starts)
    spread = int(np.abs(values).max()) * 2 + 2
    moved = values - number * spread
    return np.asarray(np.minimum.accumulate(moved) + number * spread)


def _by_name(events: _Sorted, rows: Ints) -> Ints:
    """The partners within one thread where names decide."""
    partner = dict.fromkeys(rows.tolist(), -1)
    opened: list[int] = []
    by_name: dict[int, list[int]] = {}
    closed: set[int] = set()
    for row, sign, name in zip(rows.tolist(), events.sign[rows].tolist(), events.name[rows].tolist(), strict=True):
        if sign > 0:
            opened.append(row)
            by_name.setdefault(name, []).append(row)
            continue
        while opened and opened[-1] in closed:
            opened.pop()
        stack = opened if name < 0 else by_name.get(name, [])
        while stack and stack[-1] in closed:
            stack.pop()
        if stack:
            begin = stack.pop()
            closed.add(begin)
            partner[row], partner[begin] = begin, row
    return np.array(list(partner.values()))
