"""From recorded entries to a `StageTable`: unions per call, what overlaps, and the median over the calls with its interval.

The time of a stage is the union of its intervals: entered on three threads at once it takes what the clock on the wall says, not three times that.
Work that an asynchronous device did for it is an interval too, beside those in which the program was in the stage. What is its own is that union
without the union of the stages nested in it; what overlaps is the part in which a stage that is neither around nor inside it ran as well. The calls
of models stand beside: nothing of the program's own stages but their own time changes with them, and they overlap only each other.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ridgeline.core import Quantity, Site, Stage, StageTable
from ridgeline.timeline import merge, union_length

from ..medians import median_of
from .looks import Looks
from .recorder import Recording
from .rows import Rows, rows_of

__all__ = ["table_of"]

#: Rows kept; a program that makes up names has thousands.
_MOST_ROWS = 64
#: Entries on one thread that overlap by more than this part are tasks that take turns.
_TURNS = 0.001
#: What the interpreter counts up in the names that it gives to threads: the same thread of the next call is the same lane.
_COUNTED = re.compile(r"^Thread-\d+(?: \((.*)\))?$|^(ThreadPoolExecutor)-\d+")

Intervals = tuple[NDArray[Any], NDArray[Any]]


def table_of(
    recordings: Sequence[Recording], *, looks: Looks | None = None, automatic: bool = False, cost_s: float | None = None, problem: str = ""
) -> StageTable:
    """The table of at least one recording, one a call of the target.

    Args:
        recordings: of calls of one target.
        looks: what a closer look at further calls found.
        automatic: whether the stages are the calls of models and not the program's own.
        cost_s: seconds that recording an entry takes.
        problem: what the instrument could not do, to be said with it.
    """
    rows = rows_of(recordings)
    measured = [_PerCall(found, of, inside, rows.models) for found, of, inside in zip(recordings, rows.of, rows.in_model, strict=True)]
    kept = _kept(rows, [float(np.median([call.total_s[row] for call in measured])) for row in range(len(rows.names))])
    for call in measured:
        call.compare(rows, kept)
    place = {row: index for index, row in enumerate(kept)}
    origin = f"union of its intervals in each of {len(recordings)} calls"
    stages = tuple(_stage(rows, row, place, measured, origin, looks) for row in kept)
    return StageTable(
        stages=stages,
        wall_s=median_of([(r.end_ns - r.start_ns) / 1e9 for r in recordings], "calls with stages recorded"),
        covered_s=median_of([call.covered_s for call in measured], "union of all stages"),
        instrument="; ".join(filter(None, (_instrument(recordings, automatic, cost_s, looks), problem))),
        iterations=len(recordings),
        automatic=automatic,
        cost_s=cost_s,
        unfinished=_unfinished(recordings),
        missed=sum(recording.missed for recording in recordings),
        merged=float(np.mean([recording.merged for recording in recordings])),
        left_out=_left_out(rows, kept),
        models_s=_median([call.models_s for call in measured], "union of the calls of models") if any(rows.models) else None,
        child_processes=max(recording.children for recording in recordings),
    )


def _unfinished(recordings: Sequence[Recording]) -> dict[str, int]:
    """By name, most entries first, the most of any call; no more names than there are rows."""
    most: dict[str, int] = {}
    for recording in recordings:
        for name, count in recording.unfinished.items():
            most[name] = max(count, most.get(name, 0))
    return dict(sorted(most.items(), key=lambda item: (-item[1], item[0]))[:_MOST_ROWS])


class _PerCall:
    """The rows of one call, seconds by row; what is compared with other rows is there for those that are kept."""

    def __init__(self, recording: Recording, of: NDArray[np.int64], in_model: NDArray[np.bool_], models: Sequence[bool]) -> None:
        count = len(models)
        order = np.argsort(of, kind="stable")
        bounds = np.searchsorted(of[order], np.arange(count + 1))
        self.members = [order[bounds[row] : bounds[row + 1]] for row in range(count)]
        self.unions = [_intervals(recording, part) for part in self.members]
        self.calls = [len(part) for part in self.members]
        self.total_s = [_length(union) for union in self.unions]
        self.covered_s = _length(_joined(self.unions, {row for row in range(count) if not models[row]} or set(range(count))))
        self.in_models = [_intervals(recording, part[in_model[part]]) for part in self.members]
        self.models_s = _length(_joined(self.in_models, set(range(count))))
        self.recording = recording
        self.own_s: dict[int, float] = {}
        self.overlapped_s: dict[int, float] = {}
        self.in_models_s: dict[int, float] = {}

    def compare(self, rows: Rows, kept: Sequence[int]) -> None:
        """Fill in what each kept row has for itself, in models, and in common with kept rows of its kind neither around nor inside it."""
        for row in kept:
            inside = rows.inside(row)
            beside = {other for other in kept if rows.models[other] == rows.models[row]} - inside - rows.ancestors(row) - {row}
            self.own_s[row] = self.total_s[row] - _shared(self.unions[row], _joined(self.unions, inside & set(kept)))
            self.overlapped_s[row] = _shared(self.unions[row], _joined(self.unions, beside))
            self.in_models_s[row] = _shared(self.unions[row], _joined(self.in_models, inside | {row}))


def _joined(unions: Sequence[Intervals], members: set[int]) -> Intervals:
    if not members:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    starts, ends = zip(*(unions[row] for row in sorted(members)), strict=True)
    return merge(np.concatenate(starts), np.concatenate(ends))


def _length(union: Intervals) -> float:
    return float((union[1] - union[0]).sum()) / 1e9


def _shared(one: Intervals, other: Intervals) -> float:
    """Seconds in both: |A| + |B| − |A ∪ B|."""
    both = union_length(np.concatenate((one[0], other[0])), np.concatenate((one[1], other[1])))
    # In whole nanoseconds: what does not overlap shares nothing, not a rounding error.
    return (int((one[1] - one[0]).sum()) + int((other[1] - other[0]).sum()) - int(both)) / 1e9


def _intervals(recording: Recording, part: NDArray[np.int64]) -> Intervals:
    """When the program was in some entries, and when a device worked for them."""
    starts, ends = recording.events["start_ns"][part], recording.events["end_ns"][part]
    if len(recording.device.seconds):
        on = part[~np.isnan(recording.device.seconds[part])]
        starts, ends = np.concatenate((starts, recording.device.start_ns[on])), np.concatenate((ends, recording.device.end_ns[on]))
    return merge(starts, ends)


def _device(recording: Recording, part: NDArray[np.int64]) -> float | None:
    seconds = recording.device.seconds[part] if len(recording.device.seconds) else np.zeros(0)
    known = seconds[~np.isnan(seconds)]
    return float(known.sum()) if len(known) else None


def _lanes(recording: Recording, part: NDArray[np.int64]) -> tuple[str, ...]:
    """Names of the lanes of some entries; a thread on which they overlap runs tasks in turn."""
    events, names = recording.events, []
    for lane in np.unique(events["lane"][part]):
        here = part[events["lane"][part] == lane]
        starts, ends = events["start_ns"][here], events["end_ns"][here]
        turns = float((ends - starts).sum()) > (1 + _TURNS) * union_length(starts, ends)
        names.append(_COUNTED.sub(lambda found: found[1] or found[2] or "Thread", recording.lanes[lane]) + (" (tasks)" if turns else ""))
    return tuple(names)


def _kept(rows: Rows, totals: Sequence[float]) -> list[int]:
    """The largest rows with everything around them, in order of first entry; the program's own before the calls of models."""
    if len(totals) <= _MOST_ROWS:
        return list(range(len(totals)))
    kept: set[int] = set()
    for row in sorted(range(len(totals)), key=lambda row: (rows.models[row], -totals[row])):
        wanted = {row, *rows.ancestors(row)}
        if len(kept | wanted) <= _MOST_ROWS:
            kept |= wanted
    return sorted(kept)


def _left_out(rows: Rows, kept: Sequence[int]) -> int:
    """Rows that are not in the table; of a program that marks stages only these, since the models are in their `models_s` all the same."""
    rest = set(range(len(rows.names))) - set(kept)
    return len(rest) if all(rows.models) else sum(not rows.models[row] for row in rest)


def _stage(rows: Rows, row: int, place: dict[int, int], measured: Sequence[_PerCall], origin: str, looks: Looks | None) -> Stage:
    site = rows.sites[row]
    device = [seconds for call in measured if (seconds := _device(call.recording, call.members[row])) is not None]
    look = looks.of(rows.path(row)) if looks is not None else None
    return Stage(
        name=rows.names[row],
        calls=float(np.mean([call.calls[row] for call in measured])),
        total_s=_median([call.total_s[row] for call in measured], origin),
        own_s=_median([call.own_s[row] for call in measured], f"{origin}, without the stages nested in it"),
        parent=place.get(rows.parents[row]),
        lanes=tuple(dict.fromkeys(lane for call in measured for lane in _lanes(call.recording, call.members[row])))[:16],
        overlapped_s=float(np.median([call.overlapped_s[row] for call in measured])),
        device_s=_median(device, "the device's own events") if device else None,
        site=Site(file=site[0], line=site[1], function=site[2]) if site is not None else None,
        busy_cpus=look.busy_cpus if look is not None else None,
        interpreter=look.interpreter if look is not None else None,
        lines=look.lines if look is not None else (),
        busy_range=look.busy_range if look is not None else None,
        model=rows.models[row],
        models_s=_median([call.in_models_s[row] for call in measured], "calls of models in it") if _has_models(rows, row) else None,
    )


def _has_models(rows: Rows, row: int) -> bool:
    """Whether it can be said of a stage how much of it is in models: some were seen, and it is none itself."""
    return any(rows.models) and not rows.models[row]


def _median(seconds: Sequence[float], origin: str) -> Quantity:
    return median_of([max(0.0, value) for value in seconds], origin)


def _instrument(recordings: Sequence[Recording], automatic: bool, cost_s: float | None, looks: Looks | None) -> str:
    what = "calls of models, found by ridgeline" if automatic else "ridgeline.stage"
    what += " and calls of models" if not automatic and any(recording.models for recording in recordings) else ""
    parts = [f"{what}, clock read at both ends"]
    if cost_s is not None:
        parts.append(f"{cost_s * 1e9:.0f} ns an entry")
    if any(not np.isnan(recording.device.seconds).all() for recording in recordings):
        parts.append("asynchronous work by the device's own events")
    if looks is not None and looks.samples:
        parts.append(f"{looks.samples} line samples in calls of their own")
    return "; ".join([*parts, *dict.fromkeys(problem for recording in recordings for problem in recording.problems)])
