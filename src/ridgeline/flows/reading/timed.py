"""The answers of a timeline: use, gaps, overhead, iterations, operators, the critical path and what changing it would give.

Decides the order, how much is listed, and which what-ifs are asked unasked; all else is in `timeline`. Imports are late: a profile without times
needs none of them.
"""

from __future__ import annotations

import difflib
import fnmatch
import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from ridgeline.core import EVENT_KINDS, CriticalPath, DeviceUse, OperatorUse, Timeline, UsageError
from ridgeline.core.units import format_quantity

from .callers import operator_callers

__all__ = ["timed_answers"]

Report = Callable[[str, float | None], None]
#: How many of the names with most time on the path are asked about, how many times faster, and up to how many events that is asked unasked: each
#: answer replays the whole graph.
_ASKED, _FACTOR, _UNASKED = 3, 2.0, 1_000_000


def timed_answers(
    timeline: Timeline, up: NDArray[np.int64], *, changes: Mapping[str, float | None], nested: bool, most: int, report: Report, judging: bool = False
) -> dict[str, Any]:
    """Fields of a `ReadReport` that a timeline answers.

    Args:
        timeline: at least one event.
        up: `nesting.parents` of it.
        changes: names of events and how many times faster they are to be, null for no time at all; the largest on the path are asked if empty.
        nested: whether calls of the host are changed with all that is nested in them.
        most: gaps that are listed.
        judging: whether only findings are wanted, which ask for no what-ifs.
        report: told what is being worked out.
    """
    from ridgeline.timeline.gaps import filled, gaps
    from ridgeline.timeline.iterations import iterations
    from ridgeline.timeline.overhead import overhead
    from ridgeline.timeline.ranks import rank_uses
    from ridgeline.timeline.serial import serial_pairs
    from ridgeline.timeline.use import lane_uses, window_of

    start, end = window_of(timeline)
    window_s = (end - start) * timeline.tick_s
    report("use of devices and lanes", None)
    idle = filled(timeline, up)
    listed, gap_count = gaps(timeline, most=most, found=idle)
    answers = {
        "window_s": window_s,
        "window": _window(timeline, start, window_s),
        "devices": _devices(timeline, idle),
        "lanes": lane_uses(timeline, up),
        "gaps": listed,
        "gap_count": gap_count,
    }
    report("iterations and overhead", None)
    answers |= {"overhead": overhead(timeline, up), "iterations": iterations(timeline), "serial": serial_pairs(timeline)}
    if not judging:
        answers["ranks"] = rank_uses(timeline)
    return answers | _path(timeline, changes, nested, up, report, judging)


def _window(timeline: Timeline, start: int, window_s: float) -> str:
    at = f"{start * timeline.tick_s:.6f} s"
    return f"{format_quantity(window_s, 's')} from the first start to the last end of {len(timeline)} events; it starts at {at} of the file's clock"


def _devices(timeline: Timeline, found: Any) -> tuple[DeviceUse, ...]:
    """Uses of devices, with what fills their idle time."""
    from ridgeline.timeline.gaps import IdleReasons, idle_reasons
    from ridgeline.timeline.use import device_uses

    idle, none = idle_reasons(timeline, found=found), IdleReasons({}, {}, 0.0)
    return tuple(
        msgspec.structs.replace(device, idle_because_s=why.because, drained_because_s=why.drained, ahead_s=why.ahead_s)
        for device, why in ((device, idle.get(device.name, none)) for device in device_uses(timeline))
    )


def _path(timeline: Timeline, changes: Mapping[str, float | None], nested: bool, up: Any, report: Report, judging: bool) -> dict[str, Any]:
    """Critical path, operators with their slack and time on it, and what-ifs, from one graph."""
    from ridgeline.timeline.critical_path import critical_path, path_of, path_ticks
    from ridgeline.timeline.dependencies import graph_of
    from ridgeline.timeline.operators import operator_uses
    from ridgeline.timeline.replay import slack, what_if

    # Before the graph, which is large: what both need beside the events is never needed at once.
    report("operators", None)
    uses = operator_callers(timeline, up, operator_uses(timeline, up=up))
    report("critical path", None)
    deps = graph_of(timeline)
    found = path_of(deps)
    path = critical_path(timeline, deps=deps, path=found)
    operators = _with_path(timeline, uses, path_ticks(deps, found), slack(timeline, deps=deps))
    asked = () if judging else _asked(timeline, changes, path)
    changed = []
    for index, one in enumerate(asked):
        report(f"what if {one.what} were faster", index / len(asked))
        changed.append(what_if(timeline, one.names, one.factor, nested=nested, deps=deps, what=one.what))
    return {"critical_path": path, "operators": operators, "what_if": tuple(changed)}


class _Asked(NamedTuple):
    """A what-if: what to call it, the names that are meant, how many times faster."""

    what: str
    names: frozenset[str]
    factor: float | None


def _asked(timeline: Timeline, changes: Mapping[str, float | None], path: CriticalPath) -> tuple[_Asked, ...]:
    """What is to be tried: what was asked, else the names of events with most time on the path."""
    if changes or len(timeline) > _UNASKED:
        return tuple(_meant(timeline, name, factor) for name, factor in changes.items())
    # What the path itself calls its pieces is no event.
    known = set(timeline.strings)
    largest = [name for name, _ in sorted(path.by_name.items(), key=lambda item: -item[1]) if name in known]
    return tuple(_Asked(name, frozenset({name}), _FACTOR) for name in largest[:_ASKED])


def _meant(timeline: Timeline, text: str, factor: float | None) -> _Asked:
    """The names that a text means: the one that is the same, else those that match it with * and ?, else those that it is a part of.

    Raises:
        UsageError: none does.
    """
    used = {timeline.strings[number] for number in np.flatnonzero(np.bincount(timeline.name.values, minlength=len(timeline.strings))).tolist()}
    if text in used:
        return _Asked(text, frozenset({text}), factor)
    fits = re.compile(fnmatch.translate(text)).match if set(text) & set("*?") else re.compile(re.escape(text), re.IGNORECASE).search
    found = frozenset(name for name in used if fits(name))
    if not found:
        near = difflib.get_close_matches(text, used, n=3, cutoff=0.5)
        remedy = f"such as {', '.join(map(repr, near))}" if near else "names stand in the table of operators; a part of one, or * and ?, will do"
        raise UsageError("the name of an event of this trace, or a part of it, for --what-if", found=repr(text), remedy=remedy)
    return _Asked(next(iter(found)) if len(found) == 1 else f"{text} ({len(found)} names)", found, factor)


def _with_path(
    timeline: Timeline, operators: tuple[OperatorUse, ...], on_path: NDArray[np.int64], slack: NDArray[np.int64]
) -> tuple[OperatorUse, ...]:
    """Operators with the least slack of their events, and their time on the path; a slack below zero is of an event that is in no graph."""
    from ridgeline.timeline.grouping import numbered

    names = timeline.name.values.astype(np.int64)
    kinds = timeline.kind.values.astype(np.int64) if timeline.kind is not None else np.zeros(len(names), dtype=np.int64)
    unique, place = numbered(names * len(EVENT_KINDS) + kinds)
    never = np.iinfo(np.int64).max
    least, ticks = np.full(len(unique), never), np.zeros(len(unique), dtype=np.int64)
    known = np.flatnonzero(slack >= 0)
    np.minimum.at(least, place[known], slack[known])
    np.add.at(ticks, place, on_path)
    numbers = {(timeline.strings[key // len(EVENT_KINDS)], EVENT_KINDS[key % len(EVENT_KINDS)]): at for at, key in enumerate(unique.tolist())}
    found = []
    for one in operators:
        at = numbers[one.name, one.kind]
        room = None if least[at] == never else int(least[at]) * timeline.tick_s
        found.append(msgspec.structs.replace(one, slack_s=room, on_path_s=int(ticks[at]) * timeline.tick_s))
    return tuple(found)
