"""The history of a target's results: what changed, between which commits, and where the next run is expected if nothing does.

One value a run: the run is the unit, since everything that differs from day to day is in it. Steps and drift are found by `stats.history`; what
is expected of the next run rests on the runs since the last change only, so that a step of long ago does not widen what a gate lets pass. Which
runs may stand in one history is decided by the keys of their entries; where the entries come from is left to the flow.

What is expected of the next run rests, where there are enough runs, on their order alone: of n + 1 runs that nothing tells apart, the next is as
likely to be the largest as any other, so that it lies beyond the j-th largest with probability j ÷ (n + 1), whatever the noise is. With fewer runs
than that takes (66 for 1.5 % a side) it rests on the assumption that their logarithms are a normal sample, and never ends within what was seen. How
often the next run really lies outside is in the tests, by simulation: on normal noise as often as said; on skewed, spiky or two-mode noise 3 to 8 %
a side instead of 1.5 % with 5 to 20 runs, and about 2 % from 40 on. So `assured` says beside it what holds without the assumption.

Sources: S. Wilks, Annals of Mathematical Statistics 12, 1941 (order statistics as limits); G. Hahn, W. Meeker, "Statistical Intervals", 1991, §4.7
(one further value of a normal sample).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ridgeline.core import Caution, HistoryChange, HistoryEntry, HistoryLine, HistoryPoint, HistoryReport
from ridgeline.stats import ChangePoint, history, mad_sigma, theil_sen_slope

__all__ = ["Expected", "expected_next", "history_report"]

Floats = NDArray[np.float64]
#: Runs at one level that an interval of the next is made of.
_LEAST_RUNS = 5
#: Values further from the level than this many robust standard deviations are pulled in to there.
_FAR = 3.0


class Expected(NamedTuple):
    """What the runs at one level, or along one slope, say of the next.

    Attributes:
        level: of the next run; null without a value.
        spread: relative standard deviation around it, accidents pulled in; null under five runs, or where a value is not above zero.
        interval: (low, high) of the next run; null where `spread` is.
        slope: relative change a run, of a drift only.
        assured: share of next runs in the interval whatever the noise is, if runs do not depend on one another; null where that is not known.
    """

    level: float | None = None
    spread: float | None = None
    interval: tuple[float, float] | None = None
    slope: float | None = None
    assured: float | None = None


def history_report(target: str, entries: Sequence[HistoryEntry], *, confidence: float = 0.97) -> HistoryReport:
    """The histories of the entries, oldest run first in each, the line with the newest run first.

    Args:
        target: what was asked for, for the reader.
        entries: of all runs and metrics, in any order; ordered by time (then by run) here.
        confidence: of what is expected of the next run, in (0, 1).
    """
    groups: dict[tuple[object, ...], list[HistoryEntry]] = {}
    for entry in sorted(entries, key=lambda entry: (entry.at, entry.run)):
        groups.setdefault((entry.name, entry.metric, entry.unit, entry.better, *sorted(entry.keys.items())), []).append(entry)
    newest_first = sorted(groups.values(), key=lambda group: (group[-1].at, len(group)), reverse=True)
    split = _differing([group[0].keys for group in newest_first])
    warnings: list[Caution] = []
    if split:
        message = f"runs differ in {', '.join(split)}: they stand in histories of their own"
        warnings.append(Caution(code="split-history", message=message, effect="a change between them is no change of the target"))
    return HistoryReport(
        target=target,
        lines=tuple(_line(group, confidence) for group in newest_first),
        runs=len({entry.run for entry in entries}),
        split_by=tuple(split),
        warnings=tuple(warnings),
    )


def _differing(keys: Sequence[dict[str, str]]) -> list[str]:
    names = sorted({name for each in keys for name in each})
    return [name for name in names if len({each.get(name, "") for each in keys}) > 1]


def _line(group: Sequence[HistoryEntry], confidence: float) -> HistoryLine:
    first = group[0]
    points = tuple(
        HistoryPoint(run=entry.run, at=entry.at, commit=entry.commit, value=_finite(entry.value), reason=_why_left_out(entry)) for entry in group
    )
    values = np.array([math.nan if point.value is None else point.value for point in points], np.float64)
    found = history(values)
    changes = tuple(_change(points, change, lower_is_better=first.better == "lower") for change in found.changes)
    start = found.changes[-1].index if found.changes else 0
    recent = values[start:][np.isfinite(values[start:])]
    level, spread, expected, slope, assured = expected_next(recent, drift=found.shape == "drift", confidence=confidence)
    return HistoryLine(
        name=first.name, metric=first.metric, unit=first.unit, better=first.better, points=points, shape=found.shape, changes=changes,
        keys=first.keys, drift_per_run=slope, level=level, level_runs=recent.size, spread=spread, expected=expected, assured=assured,
        confidence=confidence, left_out=sum(point.value is None for point in points), because=_because(found.shape, changes, slope, recent.size),
    )  # fmt: skip


def expected_next(values: Floats, *, drift: bool = False, confidence: float = 0.97) -> Expected:
    """What is expected of one further value, of values at one level, or along one slope.

    Args:
        values: shape (n,), finite, in order of time, since the last change.
        drift: whether they move all the time; the level then is where the next one is expected.
        confidence: of the interval, two-sided, in (0, 1).
    """
    if values.size == 0:
        return Expected()
    if values.size < _LEAST_RUNS or not (values > 0).all():
        return Expected(level=float(np.median(values)))
    logs = np.log(values)
    slope = theil_sen_slope(logs, np.arange(values.size, dtype=np.float64))[0] if drift else 0.0
    flat = logs - slope * np.arange(values.size)
    centre = float(np.median(flat)) + slope * values.size
    (low, high), assured = _normal(flat, 2 if drift else 1, confidence) if drift else _further(flat, confidence)
    interval = (math.exp(low + slope * values.size), math.exp(high + slope * values.size))
    return Expected(math.exp(centre), _spread(flat, 2 if drift else 1), interval, math.expm1(slope) if drift else None, assured)


def _spread(flat: Floats, fitted: int) -> float:
    """Standard deviation, values far from the level pulled in."""
    middle, far = float(np.median(flat)), _FAR * max(mad_sigma(flat), 1e-12)
    held = np.clip(flat, middle - far, middle + far)
    return float(np.sqrt(np.sum((held - held.mean()) ** 2) / (flat.size - fitted)))


def _further(flat: Floats, confidence: float) -> tuple[tuple[float, float], float | None]:
    """(interval of one further value, its assured share) of values that nothing tells apart."""
    # The least bit more: 66 runs times 1.5 % must not come out under one.
    beyond = int((flat.size + 1) * (1 - confidence) / 2 * (1 + 1e-9))
    if beyond < 1:
        return _normal(flat, 1, confidence)
    ordered = np.sort(flat)
    return (float(ordered[beyond - 1]), float(ordered[-beyond])), 1 - 2 * beyond / (flat.size + 1)


def _normal(flat: Floats, fitted: int, confidence: float) -> tuple[tuple[float, float], float | None]:
    """The same of a normal sample; what was seen is no news, whatever a normal sample would do."""
    from scipy.special import stdtrit

    size = flat.size
    # How uncertain the line is one step beyond its end; for a level the second term falls away.
    leverage = 1 / size + (12 * ((size + 1) / 2) ** 2 / size**3 if fitted == 2 else 0.0)
    middle = float(flat.mean())
    sigma = float(np.sqrt(np.sum((flat - middle) ** 2) / (size - fitted)))
    half = float(stdtrit(size - fitted, (1 + confidence) / 2)) * sigma * math.sqrt(1 + leverage)
    interval = (min(middle - half, float(flat.min())), max(middle + half, float(flat.max())))
    return interval, 1 - 2 / (size + 1) if fitted == 1 else None


def _change(points: Sequence[HistoryPoint], change: ChangePoint, *, lower_is_better: bool) -> HistoryChange:
    after = points[change.index]
    before = next(point for point in reversed(points[: change.index]) if point.value is not None)
    word: Literal["faster", "slower"] = "slower" if (change.after > change.before) == lower_is_better else "faster"
    return HistoryChange(
        index=change.index, before=change.before, after=change.after, ratio=change.after / change.before if change.before > 0 else None, word=word,
        chance=change.chance, last_before=before.run, first_after=after.run, from_commit=before.commit, to_commit=after.commit,
    )  # fmt: skip


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


def _why_left_out(entry: HistoryEntry) -> str:
    if _finite(entry.value) is not None:
        return ""
    return entry.reason or ("no value" if entry.value is None else "no finite value")


def _because(shape: str, changes: Sequence[HistoryChange], slope: float | None, recent: int) -> str:
    last = f"{recent} run{'s' * (recent != 1)}"
    if shape == "drift":
        moved = "moves all the time" if slope is None else f"moves by {100 * slope:+.2g} % a run"
        return f"a drift: it {moved}, and no step explains it better"
    if shape == "steps":
        newest = changes[-1]
        size = f" by {100 * (newest.ratio - 1):+.2g} %" if newest.ratio is not None else ""
        return f"{len(changes)} step{'s' * (len(changes) > 1)}; the last made it {newest.word}{size}, {last} since"
    return f"no change in {last} beyond noise" if recent >= 2 * 4 else f"{last}: too few for a change to be seen"
