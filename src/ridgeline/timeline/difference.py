"""Two recordings of one program: which operators and kernels appeared, vanished, grew, shrank or stayed.

This module decides by name and kind. The unit is the iteration where both recordings have several (warm-up apart): a name's time in one iteration is
one value, own time on the host and durations on devices, and device work belongs to the iteration that launched it; the whole is the time from one
iteration's start to the next one's. Without iterations the calls stand in; where one recording covers another number of them, a name is compared by
the mean of its calls.

A name grew or shrank if the rank interval of its ratio leaves out 1, if Welch's test of the logarithms still stands among all names that were
compared (false discoveries below 5 %), and if it is by 3 % or more: two recordings are two runs, and what differs from run to run is in neither. A
name that takes too little of the window to matter is neutral; one with too few or too scattered values is inconclusive. Addresses in names differ
from run to run and are left out; the time of an iteration in which no event runs has a row of its own, since what fills it was not recorded.

Sources: B. Welch, Biometrika 34, 1947; Y. Benjamini, Y. Hochberg, J. R. Statist. Soc. B 57, 1995; ranks as in `stats.robust`.
"""

from __future__ import annotations

import math
import re
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ridgeline.core import EVENT_KINDS, Caution, Excluded, Growth, Profile, ProfileTable, Timeline, TimelineDifference
from ridgeline.stats import hodges_lehmann_shift, least_processes

from .events import events_of, is_kind, links_of, window_of
from .frame_changes import common_stacks, functions_difference
from .intervals import covered_before, merge
from .iterations import iteration_spans, iterations
from .nesting import own_ticks

__all__ = ["difference"]

Floats = NDArray[np.float64]
Verdict = Literal["faster", "slower", "same", "inconclusive", "incomparable"]
_CONFIDENCE = 0.97
#: A change by less than this is none: runs of one program differ by as much.
_MATTERS = 1.03
#: A scatter that could hide a change by this is too wide to call a name neutral.
_HIDES = 1.1
#: Part of the window that a name takes, or changes by, to be looked at.
_LEAST_SHARE = 1e-3
_FALSE_DISCOVERIES = 0.05
#: Values of a side that are compared (ranks are pairwise), and rows that are listed.
_MOST_VALUES, _MOST_ROWS = 100, 500
#: Addresses of objects in the names of functions.
_ADDRESS = re.compile(r"\b0x[0-9a-fA-F]{4,}\b")
#: The row of the time of iterations in which no event runs.
_NOTHING = ("time in which no event runs", "idle")
#: Below this part of names and of time in common two recordings are of different programs.
_LEAST_COMMON = 0.1


class _Side(NamedTuple):
    """A recording by name and kind: calls and seconds in all, and the values that are compared, by (name, kind).

    `units` is by how much calls and seconds are divided: iterations, or 1.
    """

    calls: dict[tuple[str, str], int]
    seconds: dict[tuple[str, str], float]
    values: dict[tuple[str, str], Floats]
    units: int
    window_s: float
    lengths: Floats
    outside: int


def difference(a: Profile, b: Profile) -> TimelineDifference:
    """What differs between two recordings, the largest change first.

    Args:
        a, b: before and after.
    """
    if a.timeline is not None and b.timeline is not None:
        return _of_timelines(a, b, a.timeline, b.timeline)
    stacks = common_stacks(a, b)
    # Tables of a profile without samples are what was counted; its stacks are an estimate.
    if stacks is not None and (stacks[0][0].samples is not None or not (a.tables and b.tables)):
        return functions_difference(a, b, *stacks)
    tables = [[table for table in profile.tables if table.rows] for profile in (a, b)]
    common = [of for of in dict.fromkeys(table.of for table in tables[0]) if of in {table.of for table in tables[1]}]
    if not common:
        weights = [", ".join(dict.fromkeys(stacks.measure for stacks in profile.stacks)) for profile in (a, b)]
        if all(weights):
            return _incomparable(a, b, f"their stacks weigh {weights[0]} and {weights[1]}")
        return _incomparable(a, b, "one has no timeline, and no stacks or table in common with the other")
    first, second = (next(table for table in side if table.of == common[0]) for side in tables)
    return _of_tables(a, b, first, second)


def _incomparable(a: Profile, b: Profile, why: str) -> TimelineDifference:
    windows = tuple(None if p.timeline is None else _window_s(p.timeline) for p in (a, b))
    caution = Caution(code="unlike-recordings", message=f"these are not two recordings of one program: {why}", effect="nothing is compared")
    return TimelineDifference(a=a.files, b=b.files, window_s=(windows[0], windows[1]), verdict="incomparable", rows=(), warnings=(caution,))


def _window_s(t: Timeline) -> float:
    start, end = window_of(t)
    return (end - start) * t.tick_s


def _of_timelines(a: Profile, b: Profile, first: Timeline, second: Timeline) -> TimelineDifference:
    steps = [_steps(t) for t in (first, second)]
    per = "iteration" if all(step is not None and len(step[0]) >= 2 for step in steps) else "trace"
    sides = (_side(first, steps[0] if per == "iteration" else None), _side(second, steps[1] if per == "iteration" else None))
    why = _unlike(*sides)
    if why:
        return _incomparable(a, b, why)
    warnings = [_one_run()]
    if steps[0] is not None and steps[1] is not None and per == "iteration":
        _add_idle(sides, (first, second), (steps[0][0], steps[1][0]))
    if per == "trace":
        ratio = _calls_ratio(*sides)
        if not 1 / 1.05 < ratio < 1.05:
            per, sides = "call", (_per_call(sides[0]), _per_call(sides[1]))
            message = (
                f"the recordings cover different numbers of calls (× {ratio:.3g}) and iterations were not found in both: names are compared by call"
            )
            warnings.append(Caution(code="unequal-lengths", message=message, effect="the windows do not compare"))
    rows = _rows(*sides)
    verdict = _verdict(per, sides, rows)
    outside = tuple(
        Excluded(reason=f"outside of the iterations that are compared, in {_called(p, other)}", events=side.outside)
        for p, other, side in ((a, "the first", sides[0]), (b, "the second", sides[1]))
        if side.outside
    )
    return _result(a, b, (sides[0].window_s, sides[1].window_s), verdict, rows, per, a.excluded + b.excluded + outside, tuple(warnings))


def _called(profile: Profile, other: str) -> str:
    return profile.files[0] if profile.files else other


def _one_run() -> Caution:
    message = "two recordings are one run each: what differs from run to run of the same program is not in the intervals"
    return Caution(code="one-run-each", message=message, effect="differences of a few percent may be the machine's")


def _result(
    a: Profile,
    b: Profile,
    window_s: tuple[float | None, float | None],
    verdict: Verdict,
    rows: list[Growth],
    per: str,
    excluded: tuple[Excluded, ...],
    warnings: tuple[Caution, ...],
) -> TimelineDifference:
    neutral = sum(row.change == "neutral" for row in rows)
    told = sorted((row for row in rows if row.change != "neutral"), key=lambda row: (-abs(row.seconds[1] - row.seconds[0]), row.name, row.kind))
    if len(told) > _MOST_ROWS:
        message = f"{len(told) - _MOST_ROWS} more names changed less and are not listed"
        warnings += (Caution(code="not-listed", message=message),)
    return TimelineDifference(
        a=a.files, b=b.files, window_s=window_s, verdict=verdict, rows=tuple(told[:_MOST_ROWS]), neutral=neutral, per=per, excluded=excluded,
        warnings=warnings,
    )  # fmt: skip


def _steps(t: Timeline) -> tuple[NDArray[np.int64], NDArray[np.int64]] | None:
    """(starts, ends) of the iterations that count, in ticks; `None` where there are none."""
    spans, report = iteration_spans(t), iterations(t)
    if spans is None or report is None:
        return None
    return spans.start[report.first :], spans.end[report.first :]


def _side(t: Timeline, steps: tuple[NDArray[np.int64], NDArray[np.int64]] | None) -> _Side:
    events = events_of(t)
    on_device = np.array([bool(track.device) for track in t.tracks], dtype=bool)[events.track] if len(t) else np.zeros(0, dtype=bool)
    ticks = np.where(on_device, events.end - events.start, own_ticks(t)) if len(t) else np.zeros(0, dtype=np.int64)
    at = np.flatnonzero(~is_kind(events, "annotation", "iteration", "profiler"))
    step, outside = np.zeros(len(at), dtype=np.int64), 0
    if steps is not None:
        # Work of a device belongs to the step that launched it.
        moment = events.start.copy()
        source, target = links_of(t, "launch")
        moment[target] = events.start[source]
        step = np.searchsorted(steps[0], moment[at], side="right") - 1
        inside = (step >= 0) & (moment[at] < steps[1][np.maximum(step, 0)])
        at, step, outside = at[inside], step[inside], int((~inside).sum())
    kinds = len(EVENT_KINDS)
    strings, named = _without_addresses(t)
    used, group = np.unique(named[events.name[at]] * kinds + events.kind[at], return_inverse=True)
    names = [(strings[code // kinds], EVENT_KINDS[code % kinds]) for code in used.tolist()]
    calls = np.bincount(group, minlength=len(used))
    total = np.zeros(len(used), dtype=np.int64)
    np.add.at(total, group, ticks[at])
    seconds = total * t.tick_s
    lengths = np.array([_window_s(t)], dtype=np.float64) if steps is None else _periods_s(t, steps)
    own = np.asarray(ticks[at] * t.tick_s, dtype=np.float64)
    keep = seconds >= _LEAST_SHARE * float(lengths.sum()) / 10
    values = _by_call(group, own, keep) if steps is None else _by_step(group, step, own, keep, len(steps[0]))
    return _Side(
        calls=dict(zip(names, calls.tolist(), strict=True)),
        seconds=dict(zip(names, seconds.tolist(), strict=True)),
        values={names[number]: found for number, found in values.items()},
        units=1 if steps is None else len(steps[0]),
        window_s=float(np.median(lengths)),
        lengths=lengths,
        outside=outside,
    )


def _add_idle(sides: tuple[_Side, _Side], timelines: tuple[Timeline, Timeline], starts: tuple[NDArray[np.int64], NDArray[np.int64]]) -> None:
    """Where no event runs is a row as well, if it is of any length."""
    idle = []
    for t, start in zip(timelines, starts, strict=True):
        events = events_of(t)
        counts = np.flatnonzero(~is_kind(events, "annotation", "iteration", "profiler"))
        covered = merge(events.start[counts], events.end[counts])
        idle.append((np.diff(start) - np.diff(covered_before(covered, start))) * t.tick_s)
    if max(float(each.mean()) for each in idle) < _LEAST_SHARE * max(side.window_s for side in sides):
        return
    for side, each in zip(sides, idle, strict=True):
        side.calls[_NOTHING], side.seconds[_NOTHING], side.values[_NOTHING] = side.units, float(each.mean()) * side.units, each


def _without_addresses(t: Timeline) -> tuple[tuple[str, ...], NDArray[np.int64]]:
    """(names without addresses of objects, the number of each string of the timeline among them)."""
    plain = [_ADDRESS.sub("0x…", text) if "0x" in text else text for text in t.strings]
    numbers = {text: number for number, text in enumerate(dict.fromkeys(plain))}
    return tuple(numbers), np.array([numbers[text] for text in plain], dtype=np.int64)


def _periods_s(t: Timeline, steps: tuple[NDArray[np.int64], NDArray[np.int64]]) -> Floats:
    """From the start of each iteration to that of the next: a host that marks its own part only still waits for the rest between the marks."""
    return np.asarray(np.diff(steps[0]) * t.tick_s, dtype=np.float64)


def _by_call(group: NDArray[np.int64], seconds: Floats, keep: NDArray[np.bool_]) -> dict[int, Floats]:
    order = np.argsort(group, kind="stable")
    numbers, first = np.unique(group[order], return_index=True)
    parts = np.split(seconds[order], first[1:])[: len(numbers)]
    return {number: part for number, part in zip(numbers.tolist(), parts, strict=True) if keep[number]}


def _by_step(group: NDArray[np.int64], step: NDArray[np.int64], seconds: Floats, keep: NDArray[np.bool_], steps: int) -> dict[int, Floats]:
    numbers = np.flatnonzero(keep)
    place = np.full(len(keep), -1, dtype=np.int64)
    place[numbers] = np.arange(len(numbers))
    chosen = place[group] >= 0
    table = np.bincount(place[group[chosen]] * steps + step[chosen], seconds[chosen], len(numbers) * steps).reshape(-1, steps)
    return {int(number): table[at] for at, number in enumerate(numbers)}


def _per_call(side: _Side) -> _Side:
    """Seconds as the mean of a call."""
    return side._replace(seconds={name: side.seconds[name] / side.calls[name] for name in side.seconds})


def _unlike(first: _Side, second: _Side) -> str:
    """Why two recordings are not of one program; empty where they may be."""
    if not first.calls or not second.calls:
        return "one of them holds no event" if first.calls or second.calls else ""
    common = first.calls.keys() & second.calls.keys()
    names = len(common) / min(len(first.calls), len(second.calls))
    times = [sum(side.seconds[name] for name in common) / max(sum(side.seconds.values()), 1e-300) for side in (first, second)]
    if names < _LEAST_COMMON and max(times) < _LEAST_COMMON:
        return f"{len(common)} of {len(first.calls)} and {len(second.calls)} names in common, with {times[0]:.1%} and {times[1]:.1%} of their time"
    return ""


def _calls_ratio(first: _Side, second: _Side) -> float:
    """By how much calls of common names differ, the median by time; where Python stands and what waits has calls of its own reasons."""
    common = [name for name in first.calls if name in second.calls and name[1] not in ("python", "wait")]
    if not common:
        return 1.0
    ratios = np.array([second.calls[name] / first.calls[name] for name in common])
    weight = np.array([first.seconds[name] for name in common])
    order = np.argsort(ratios, kind="stable")
    total = np.cumsum(weight[order])
    return float(ratios[order][np.searchsorted(total, total[-1] / 2)]) if total[-1] > 0 else float(np.median(ratios))


def _rows(first: _Side, second: _Side) -> list[Growth]:
    names = list(dict.fromkeys([*first.calls, *second.calls]))
    tests = {name: _Test.of(first.values[name], second.values[name]) for name in names if name in first.values and name in second.values}
    bound = _discoveries([test.p_value for test in tests.values() if test is not None])
    return [_row(name, first, second, tests.get(name), bound) for name in names]


class _Test(NamedTuple):
    """Ratio after ÷ before with its interval and Welch's chance."""

    ratio: float
    low: float
    high: float
    p_value: float

    @staticmethod
    def of(before: Floats, after: Floats) -> _Test | None:
        """`None` where values are too few, or not all above zero."""
        if len(before) and np.array_equal(np.sort(before), np.sort(after)):
            return _Test(1.0, 1.0, 1.0, 1.0)
        if min(len(before), len(after)) < least_processes(_CONFIDENCE) or not (before.min() > 0 and after.min() > 0):
            return None
        a, b = (np.log(_thinned(side)) for side in (before, after))
        shift, low, high = hodges_lehmann_shift(a, b, _CONFIDENCE)
        return _Test(math.exp(shift), math.exp(low), math.exp(high), _welch(a, b))


def _thinned(values: Floats) -> Floats:
    return values[np.linspace(0, len(values) - 1, _MOST_VALUES).astype(np.int64)] if len(values) > _MOST_VALUES else values


def _welch(a: Floats, b: Floats) -> float:
    """Two-sided chance of means so far apart, of values with spreads of their own."""
    errors = [float(side.var(ddof=1)) / len(side) for side in (a, b)]
    apart, error = abs(float(b.mean() - a.mean())), sum(errors)
    if error <= 1e-24:
        return 1.0 if apart <= 1e-12 else 0.0
    from scipy.special import stdtr

    freedom = error**2 / sum(one**2 / (len(side) - 1) for one, side in zip(errors, (a, b), strict=True))
    return float(2 * stdtr(freedom, -apart / math.sqrt(error)))


def _discoveries(p_values: list[float]) -> float:
    """The chance up to which a test counts, so that of all that count a twentieth is false on average."""
    ordered = np.sort(np.array(p_values))
    fits = np.flatnonzero(ordered <= _FALSE_DISCOVERIES * (np.arange(len(ordered)) + 1) / max(1, len(ordered)))
    return float(ordered[fits[-1]]) if len(fits) else -1.0


def _row(name: tuple[str, str], first: _Side, second: _Side, test: _Test | None, bound: float) -> Growth:
    sides = (first, second)
    seconds = tuple(side.seconds.get(name, 0.0) / (side.units or 1) for side in sides)
    calls = tuple(side.calls.get(name, 0) / (side.units or 1) for side in sides)
    sums = seconds[1] / seconds[0] if min(seconds) > 0 else None
    # The test is of times of a call or of an iteration; in a trace the number of calls comes on top, which is counted and not sampled.
    scale = sums / test.ratio if test is not None and sums is not None and first.units == 1 and calls[0] != calls[1] else 1.0
    interval = (test.low * scale, test.high * scale) if test is not None and math.isfinite(test.low) and math.isfinite(test.high) else None
    # An interval is of what it was worked out of: sums follow a single slow call, the ratio of typical ones does not.
    ratio = test.ratio * scale if test is not None and interval is not None and sums is not None else sums
    return Growth(
        name=name[0],
        kind=name[1],
        change=_change(sides, name, seconds, ratio, test, interval, bound),
        calls=(calls[0], calls[1]),
        seconds=(seconds[0], seconds[1]),
        ratio=ratio,
        ratio_ci=interval,
    )


def _change(
    sides: tuple[_Side, _Side],
    name: tuple[str, str],
    seconds: tuple[float, ...],
    ratio: float | None,
    test: _Test | None,
    interval: tuple[float, float] | None,
    bound: float,
) -> str:
    if name not in sides[0].calls:
        return "appeared"
    if name not in sides[1].calls:
        return "vanished"
    if max(seconds) < _LEAST_SHARE * max(side.window_s for side in sides):
        return "neutral"
    if ratio is None or test is None or interval is None:
        return "inconclusive"
    differs = (interval[0] > 1 or interval[1] < 1) and (test.p_value <= bound or sides[0].calls[name] != sides[1].calls[name])
    if differs and not 1 / _MATTERS < ratio < _MATTERS:
        return "grew" if ratio > 1 else "shrank"
    if interval[0] > 1 / _HIDES and interval[1] < _HIDES:
        return "neutral"
    return "inconclusive"


def _verdict(per: str, sides: tuple[_Side, _Side], rows: list[Growth]) -> Verdict:
    """Of iterations by the time from one to the next; of single windows only that nothing changed."""
    if per == "iteration":
        test = _Test.of(sides[0].lengths, sides[1].lengths)
        if test is None:
            return "inconclusive"
        if (test.low > 1 or test.high < 1) and not 1 / _MATTERS < test.ratio < _MATTERS:
            return "slower" if test.ratio > 1 else "faster"
        return "same" if test.low > 1 / _HIDES and test.high < _HIDES else "inconclusive"
    alike = sides[0].window_s > 0 and 1 / _MATTERS < sides[1].window_s / sides[0].window_s < _MATTERS
    changed = any(row.change != "neutral" for row in rows if max(row.seconds) >= _LEAST_SHARE * max(side.window_s for side in sides))
    return "same" if per == "trace" and alike and not changed else "inconclusive"


def _of_tables(a: Profile, b: Profile, first: ProfileTable, second: ProfileTable) -> TimelineDifference:
    """Sums without their scatter: what appeared and vanished is known, what grew is not."""
    sides = [_table_sums(table) for table in (first, second)]
    common = sides[0].keys() & sides[1].keys()
    if len(common) < _LEAST_COMMON * min(len(sides[0]), len(sides[1])):
        return _incomparable(a, b, f"{len(common)} of {len(sides[0])} and {len(sides[1])} rows in common")
    rows = []
    for name in dict.fromkeys([*sides[0], *sides[1]]):
        (seconds_a, calls_a), (seconds_b, calls_b) = (side.get(name, (0.0, 0.0)) for side in sides)
        ratio = seconds_b / seconds_a if min(seconds_a, seconds_b) > 0 else None
        close = ratio is not None and 1 / _MATTERS < ratio < _MATTERS
        change = "appeared" if name not in sides[0] else "vanished" if name not in sides[1] else "neutral" if close else "inconclusive"
        rows.append(Growth(name=name[0], kind=name[1], change=change, calls=(calls_a, calls_b), seconds=(seconds_a, seconds_b), ratio=ratio))
    walls = (_whole_s(first), _whole_s(second))
    alike = bool(walls[0] and walls[1]) and 1 / _MATTERS < (walls[1] or 0.0) / (walls[0] or 1.0) < _MATTERS
    same = all(row.change == "neutral" for row in rows) and alike
    message = "tables hold sums without their scatter: whether a name grew cannot be told"
    warnings = (_one_run(), Caution(code="no-scatter", message=message, effect="changes of more than 3 % are inconclusive"))
    per = "call" if first.per_call and second.per_call else "trace"
    return _result(a, b, walls, "same" if same else "inconclusive", rows, per, a.excluded + b.excluded, warnings)


def _whole_s(table: ProfileTable) -> float | None:
    """Seconds that a table covers: its wall, else what its rows take together; of rows that contain one another what they take themselves."""
    if table.wall_s is not None:
        return table.wall_s
    own = [row.own_s if table.nested else row.total_s for row in table.rows]
    known = [seconds for seconds in own if seconds is not None]
    return sum(known) if len(known) == len(own) else None


def _table_sums(table: ProfileTable) -> dict[tuple[str, str], tuple[float, float]]:
    """(seconds, calls) by name and kind; own seconds where rows contain one another and the file tells them."""
    out: dict[tuple[str, str], tuple[float, float]] = {}
    for row in table.rows:
        seconds, calls = out.get((row.name, row.kind), (0.0, 0.0))
        own = row.own_s if table.nested and row.own_s is not None else row.total_s
        out[row.name, row.kind] = (seconds + own, calls + (row.calls or 0.0))
    return out
