"""What puts the times of one file on the clock of another: the offset between two recordings of one run.

This module decides it in this order: *collectives*: communication of one name that both files hold equally often ends together, the i-th here with
the i-th there, and the offset is the median of the differences, if they agree among themselves better than such a piece takes, or do once two clocks
that run at unlike speed are allowed for; *base times*: what a file says its times count from, or times that count from 1970. Where both are known and
the i-th collectives are more than half a period apart by the base times, those that are nearest by them are taken instead: one file began a step
later. Files with neither are refused: times of two clocks do not compare.

Collectives of the host serve where no device communicates. Their ends are as late as its scheduler wakes a thread: base times from which they differ
by no more than that, or than they differ among themselves, stand, and are checked by them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ridgeline.core import NotComparable, Profile, Timeline, UsageError

from .events import events_of
from .meetings import AGREE_SHARE, agree_s, device_pieces, host_pieces

__all__ = ["Offset", "femtoseconds", "name_of", "offset_of", "timeline_of"]

Ints = NDArray[np.int64]
#: Ends and durations in seconds.
Side = tuple[NDArray[np.floating], NDArray[np.floating]]
#: Facts in which readers leave what times count from, in nanoseconds since 1970.
_BASES = ("baseTimeNanoseconds",)
#: Times later than this count from 1970 (it is September 2001 there); a machine that has been up for so long has not been built.
_EPOCH_S = 1e9
_LEAST_MATCHES = 3
#: Clocks run at speeds that differ by less than this, and it takes this many collectives to tell.
_DRIFT, _LEAST_FOR_DRIFT = 2e-4, 9
#: The nearest of many always agree to a part of their distance: they have to do so to this part of it.
_NEAR = 0.1


class Offset(NamedTuple):
    """What is added to the times of a file to get those of the first: how it was found, from how many matches, and their robust spread."""

    #: Whole: seconds since 1970 leave a float no nanoseconds.
    nanoseconds: int
    how: str
    matches: int = 0
    spread_s: float = 0.0
    #: By how much the file's own clock (its base times, or what its times count from) was ahead of the first file's; 0 where nothing tells.
    skew_s: float = 0.0
    #: By what part the file's clock runs faster than the first's; times are not stretched, and so off by up to this long at either end.
    drift: float = 0.0
    drift_s: float = 0.0
    #: Common collectives whose ends do not fit one clock.
    unlike: int = 0
    #: Whether the i-th collectives of the files are not the same, by their base times.
    steps_apart: bool = False
    #: Whether these collectives are the host's.
    host: bool = False


class _Pairs(NamedTuple):
    """Ends of collectives of both files in seconds from one of them each (`origins`, in ticks), their duration, and the gap between neighbours."""

    first: NDArray[np.floating]
    other: NDArray[np.floating]
    length_s: float
    gap_s: float
    host: bool


def offset_of(first: Profile, other: Profile) -> Offset:
    """What puts the times of the other file on the clock of the first.

    Raises:
        NotComparable: neither common collectives nor base times.
    """
    bases = (_base_ns(first), _base_ns(other))
    based = None if bases[0] is None or bases[1] is None else bases[1] - bases[0]
    found, common = _by_collectives(first, other, based)
    if found is not None and found.host and based is not None and abs(found.nanoseconds - based) * 1e-9 <= max(found.spread_s, agree_s(True)):
        return Offset(based, "base times", found.matches, found.spread_s, host=True)
    if found is not None:
        return found._replace(skew_s=((based or 0) - found.nanoseconds) * 1e-9)
    if based is not None:
        return Offset(based, "base times", unlike=common)
    raise NotComparable(
        "files of one run on one clock: collectives that both hold equally often, or times of which both say what they count from",
        found=f"neither in {name_of(first)} and {name_of(other)}" + (f": the ends of {common} common ones do not agree" if common else ""),
        remedy="read them one by one, or record with base times",
    )


def name_of(profile: Profile) -> str:
    """What a file is called in messages."""
    return profile.files[0] if profile.files else profile.format


def timeline_of(profile: Profile) -> Timeline:
    """The events; raises `UsageError` where there are none."""
    if profile.timeline is None:
        raise UsageError("a profile with a timeline", found=name_of(profile), remedy="leave it out")
    return profile.timeline


def femtoseconds(tick_s: float) -> int:
    """The length of a tick as a whole number."""
    return max(1, round(tick_s * 1e15))


def _nanoseconds(ticks: int, tick_s: float) -> int:
    return ticks * femtoseconds(tick_s) // 10**6


def _base_ns(profile: Profile) -> int | None:
    """What times count from, in whole nanoseconds since 1970; `None` if not known."""
    for key in _BASES:
        text = profile.facts.get(key, "")
        if text.lstrip("-").isdecimal() and len(text) < 25:
            return int(text)
    t = profile.timeline
    if t is not None and len(t) and int(t.start_tick.values.min()) * t.tick_s > _EPOCH_S:
        return 0
    return None


def _by_collectives(first: Profile, other: Profile, based: int | None) -> tuple[Offset | None, int]:
    """The offset from communication that both hold, `None` where there is too little or the differences do not agree; and how many are common."""
    sides, names, host = _common(first, other)
    if not names:
        return None, 0
    ticks = (timeline_of(first).tick_s, timeline_of(other).tick_s)
    # Relative to one event of each side, so that floats keep nanoseconds.
    origins = (int(sides[0][names[0]][0][0]), int(sides[1][names[0]][0][0]))
    between = _nanoseconds(origins[0], ticks[0]) - _nanoseconds(origins[1], ticks[1])
    sought = None if based is None else (based - between) * 1e-9
    ends: list[tuple[Side, ...]] = [
        tuple(((sides[at][name][0] - origins[at]) * ticks[at], sides[at][name][1] * ticks[at]) for at in range(2)) for name in names
    ]
    same = [pair for pair in ends if len(pair[0][0]) == len(pair[1][0])]
    found = _offset(_ordinal(same, host), between)
    common = sum(len(pair[0][0]) for pair in same)
    if sought is None or (found is not None and abs(found.nanoseconds - (based or 0)) * 1e-9 <= 0.5 * _ordinal(same, host).gap_s):
        return found, common
    pairs = _nearest(ends, sought, host)
    near = _offset(pairs, between)
    if near is None or near.spread_s > _NEAR * pairs.gap_s or 2 * near.matches < sum(min(len(a[0]), len(b[0])) for a, b in ends):
        return found, common
    return near._replace(steps_apart=found is not None or not same), common


def _ordinal(ends: Sequence[tuple[Side, ...]], host: bool) -> _Pairs:
    """The i-th of each name here with the i-th there."""
    return _paired([(a[0], b[0], a) for a, b in ends], host)


def _nearest(ends: Sequence[tuple[Side, ...]], offset_s: float, host: bool) -> _Pairs:
    """Of each name those that lie nearest to one another once an offset is added."""
    found = []
    for a, b in ends:
        here, there = a[0], b[0] + offset_s
        if len(here) < 2:
            continue
        middle = (here[1:] + here[:-1]) / 2
        place = np.searchsorted(middle, there)
        apart = np.abs(here[place] - there)
        # Within half a gap; one for each.
        good = apart <= 0.5 * np.median(np.diff(here))
        order = np.lexsort((apart, place))
        order = order[good[order]]
        chosen = order[np.diff(place[order], prepend=-1) > 0]
        found.append((here[place[chosen]], b[0][chosen], a))
    return _paired(found, host)


def _paired(found: Sequence[tuple[NDArray[np.floating], NDArray[np.floating], Side]], host: bool) -> _Pairs:
    empty = np.empty(0)
    lengths, gaps = (np.concatenate([empty, *parts]) for parts in ([side[1] for _, _, side in found], [np.diff(side[0]) for _, _, side in found]))
    return _Pairs(
        np.concatenate([empty, *(each[0] for each in found)]),
        np.concatenate([empty, *(each[1] for each in found)]),
        float(np.median(lengths)) if len(lengths) else 0.0,
        float(np.median(gaps)) if len(gaps) else 0.0,
        host,
    )


def _offset(pairs: _Pairs, between: int) -> Offset | None:
    """The median of the differences; `None` where they are too few or do not agree."""
    if len(pairs.first) < _LEAST_MATCHES:
        return None
    difference = pairs.first - pairs.other
    middle = float(np.median(difference))
    most = max(AGREE_SHARE * pairs.length_s, agree_s(pairs.host))
    offset = Offset(between + round(middle * 1e9), "collectives", len(difference), _spread(difference), host=pairs.host)
    if offset.spread_s <= most:
        return offset
    slope = _slope(pairs.first, difference)
    rest = difference - slope * (pairs.first - np.median(pairs.first))
    if not abs(slope) <= _DRIFT or _spread(rest) > most:
        return None
    span_s = float(np.ptp(pairs.first))
    return offset._replace(spread_s=_spread(rest), drift=-slope, drift_s=abs(slope) * span_s / 2)


def _spread(values: NDArray[np.floating]) -> float:
    return 1.4826 * float(np.median(np.abs(values - np.median(values))))


def _slope(time: NDArray[np.floating], difference: NDArray[np.floating]) -> float:
    """By how much the difference grows in a second, from the medians of the first and the last third; NaN where too few tell."""
    if len(time) < _LEAST_FOR_DRIFT:
        return float("nan")
    order, third = np.argsort(time, kind="stable"), len(time) // 3
    early, late = order[:third], order[-third:]
    span = float(np.median(time[late]) - np.median(time[early]))
    return float(np.median(difference[late]) - np.median(difference[early])) / span if span > 0.0 else float("nan")


def _common(first: Profile, other: Profile) -> tuple[tuple[dict[str, tuple[Ints, Ints]], ...], list[str], bool]:
    """(communication by name of both, names that both have, whether it is the host's): of devices, or else of hosts."""
    sides = tuple(dict(_by_name(timeline_of(one), host=False)) for one in (first, other))
    if not all(sides):
        sides = tuple(dict(_by_name(timeline_of(one), host=True)) for one in (first, other))
        return sides, [name for name in sides[0] if name in sides[1]], True
    return sides, [name for name in sides[0] if name in sides[1]], False


def _by_name(t: Timeline, *, host: bool) -> Iterator[tuple[str, tuple[Ints, Ints]]]:
    """(ends, durations) in ticks of the communication of each name, in order of time."""
    events = events_of(t)
    at = np.flatnonzero((host_pieces if host else device_pieces)(t, events))
    at = at[np.lexsort((events.end[at], events.name[at]))]
    names, first = np.unique(events.name[at], return_index=True)
    for name, part in zip(names.tolist(), np.split(at, first[1:])[: len(names)], strict=True):
        yield t.strings[name], (events.end[part], (events.end - events.start)[part])
