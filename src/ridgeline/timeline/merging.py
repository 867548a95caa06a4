"""Several files of one run on one clock: ranks of a distributed job, or the host's and the device's side of one process.

This module joins the columns, each file's times moved by its offset against the first, which `clocks` finds; durations stay what they are. Tracks of
several ranks are kept apart by the rank in their names and devices, whatever their process and thread ids.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePath

import msgspec
import numpy as np
from numpy.typing import NDArray

from ridgeline.core import Caution, Column, CounterTrack, Excluded, Links, Marks, NotComparable, Profile, Timeline, Track, UsageError
from ridgeline.core.timeline import LINK_KINDS
from ridgeline.core.units import format_quantity

from .clocks import Offset, femtoseconds, name_of, offset_of, timeline_of

__all__ = ["Offset", "merged", "offset_of"]

Ints = NDArray[np.int64]


def merged(profiles: Sequence[Profile]) -> tuple[Profile, dict[str, float]]:
    """One profile of all files, and the skew of each file's clock against the first, in seconds by file.

    Args:
        profiles: of one run, one a file.

    Raises:
        UsageError: no profile at all, or the same events twice.
        NotComparable: times of the files that cannot be put on one clock, or that lie too far apart for one run.
    """
    if not profiles:
        raise UsageError("a profile at least", found="none", remedy="name a file")
    if len(profiles) == 1:
        return profiles[0], {}
    timed = [profile for profile in profiles if profile.timeline is not None]
    _check_once(timed)
    offsets = [Offset(0, "the first file")] + [offset_of(timed[0], other) for other in timed[1:]]
    _check_together(timed, offsets)
    labels = _labels(timed)
    timeline = _joined(timed, offsets, labels) if timed else None
    cautions = [_caution(profile, offset) for profile, offset in zip(timed[1:], offsets[1:], strict=True)]
    resolutions = [profile.resolution_s for profile in profiles if profile.resolution_s is not None]
    kernels = [profile.kernels for profile in profiles if profile.kernels is not None]
    partitions = [profile.partitions for profile in profiles if profile.partitions is not None]
    counters = [profile.counters for profile in profiles if profile.counters is not None]
    # Of what a profile holds one of, several cannot be joined: the first is kept, and the others are said to be left out.
    more = {"kernel counters": len(kernels), "partitions": len(partitions), "counters": len(counters)}
    cautions += [Caution(code="left-out", message=f"{name} of {count - 1} more file(s) are left out") for name, count in more.items() if count > 1]
    result = Profile(
        format="+".join(dict.fromkeys(profile.format for profile in profiles)),
        files=tuple(file for profile in profiles for file in profile.files),
        tool=", ".join(dict.fromkeys(profile.tool for profile in profiles if profile.tool)),
        resolution_s=max(resolutions, default=None),
        timeline=timeline,
        tables=tuple(table for profile in profiles for table in profile.tables),
        counters=counters[0] if counters else None,
        kernels=kernels[0] if kernels else None,
        stacks=tuple(stacks for profile in profiles for stacks in profile.stacks),
        partitions=partitions[0] if partitions else None,
        facts=_facts(profiles),
        excluded=_excluded(profiles),
        warnings=tuple(caution for profile in profiles for caution in profile.warnings) + tuple(cautions),
    )
    return result, {profile.files[0]: offset.skew_s for profile, offset in zip(timed, offsets, strict=True) if profile.files}


def _check_once(profiles: Sequence[Profile]) -> None:
    """A copy of a file would count everything twice."""
    for at, second in enumerate(profiles):
        first = next((each for each in profiles[:at] if each.rank == second.rank and _same(timeline_of(each), timeline_of(second))), None)
        if first is not None:
            raise UsageError("each file once", found=f"the same events in {name_of(first)} and {name_of(second)}", remedy="leave one out")


def _same(a: Timeline, b: Timeline) -> bool:
    columns = ((getattr(a, field).values, getattr(b, field).values) for field in ("start_tick", "duration_tick", "name", "track"))
    return 0 < len(a) == len(b) and a.strings == b.strings and all(np.array_equal(*pair) for pair in columns)


def _check_together(profiles: Sequence[Profile], offsets: Sequence[Offset]) -> None:
    """Recordings with more time between them than they last all together are no pieces of one window: nobody knows what went on between them."""
    windows = sorted(window for each in zip(profiles, offsets, strict=True) if (window := _window(*each)) is not None)
    most = sum(end - start for start, end, _ in windows)
    reached, last = (windows[0][1], windows[0][2]) if windows else (0.0, "")
    for start, end, name in windows:
        if start - reached > most:
            found = f"{name}, which begins {format_quantity(start - reached, 's')} after {last} ends"
            raise NotComparable("recordings of one run, at one time", found=found, remedy="read them one by one, or one against the other")
        reached, last = max((reached, last), (end, name))


def _window(profile: Profile, offset: Offset) -> tuple[float, float, str] | None:
    """Start and end in seconds on the common clock, and the file."""
    t = timeline_of(profile)
    if not len(t):
        return None
    start = t.start_tick.values.astype(np.int64)
    first, last = int(start.min()), int((start + t.duration_tick.values.astype(np.int64)).max())
    return first * t.tick_s + offset.nanoseconds * 1e-9, last * t.tick_s + offset.nanoseconds * 1e-9, name_of(profile)


def _caution(profile: Profile, offset: Offset) -> Caution:
    if offset.how == "base times":
        checked = f"the {offset.unlike} collectives that they have in common do not agree" if offset.unlike else "no common collectives check it"
        if offset.matches:
            checked = f"{offset.matches} collectives of the host, which end together, agree with it within {offset.spread_s:.3g} s"
        said = f"put on one clock by what the files say their times count from; {checked}"
    else:
        of = " of the host" if offset.host else ""
        spread = f"their ends agree within {offset.spread_s:.3g} s"
        said = f"put on one clock by {offset.matches} collectives{of}, which end together: {spread}; its own clock was off by {offset.skew_s:.3g} s"
    if offset.drift:
        faster = f"runs {abs(offset.drift) * 1e6:.3g} ppm {'faster' if offset.drift > 0 else 'slower'}"
        said += f", and {faster}, which puts its times off by up to {offset.drift_s:.3g} s at either end"
    if offset.steps_apart:
        said += "; the files do not begin with the same one: those nearest by their base times were taken"
    return Caution(code="common-clock", message=f"{name_of(profile)}: {said}", effect="times of different files compare no better than this")


def _labels(profiles: Sequence[Profile]) -> list[str]:
    """What is put before names of each file: its rank, or, where several unranked files hold work of devices or the same lanes, its file."""
    ranks = [profile.rank for profile in profiles]
    stems = [PurePath(name_of(profile)).name.split(".")[0] for profile in profiles]
    if len(set(stems)) < len(stems) or "" in stems:
        stems = [f"file {at + 1}" for at in range(len(stems))]
    if None not in ranks and len(set(ranks)) > 1:
        several = len(set(ranks)) < len(ranks)
        return [f"rank {rank}, {stem}" if several else f"rank {rank}" for rank, stem in zip(ranks, stems, strict=True)]
    lanes = [{track.name for track in timeline_of(profile).tracks} for profile in profiles]
    devices = [{track.device for track in timeline_of(profile).tracks if track.device} for profile in profiles]
    collide = any(lanes[a] & lanes[b] or devices[a] & devices[b] for a in range(len(lanes)) for b in range(a))
    return stems if collide else [""] * len(profiles)


def _joined(profiles: Sequence[Profile], offsets: Sequence[Offset], labels: Sequence[str]) -> Timeline:
    """Columns one after the other, times on the clock and in the ticks of the finest file."""
    timelines = [timeline_of(profile) for profile in profiles]
    tick_s = min(t.tick_s for t in timelines)
    shifts = [_Shift(t.tick_s / tick_s, offset.nanoseconds * 10**6 // femtoseconds(tick_s)) for t, offset in zip(timelines, offsets, strict=True)]
    strings: dict[str, int] = {}
    interned = [np.array([strings.setdefault(text, len(strings)) for text in t.strings], dtype=np.int64) for t in timelines]
    counts = np.cumsum([0, *(len(t) for t in timelines)])
    lanes = np.cumsum([0, *(len(t.tracks) for t in timelines)])
    numbers = sorted({name for t in timelines for name in t.numbers})
    texts = sorted({name for t in timelines for name in t.texts})
    return Timeline(
        tick_s=tick_s,
        start_tick=_column([shift(t.start_tick.values) for shift, t in zip(shifts, timelines, strict=True)]),
        duration_tick=_column([shift.length(t.duration_tick.values) for shift, t in zip(shifts, timelines, strict=True)]),
        name=_column([new[t.name.values] for new, t in zip(interned, timelines, strict=True)]),
        track=_column([t.track.values.astype(np.int64) + first for first, t in zip(lanes, timelines, strict=False)]),
        strings=tuple(strings),
        tracks=tuple(_track(track, label, profile.rank) for t, label, profile in zip(timelines, labels, profiles, strict=True) for track in t.tracks),
        links=_links(timelines, counts),
        kind=_column([np.zeros(len(t), np.uint8) if t.kind is None else t.kind.values for t in timelines]),
        numbers={name: Column(np.concatenate([_number(t, name) for t in timelines]), _unit(timelines, name)) for name in numbers},
        texts={name: _column([_text(t, name, new) for t, new in zip(timelines, interned, strict=True)]) for name in texts},
        marks=_marks(timelines, shifts, interned, lanes),
        counters=tuple(_counter(counter, shift, label) for t, shift, label in zip(timelines, shifts, labels, strict=True) for counter in t.counters),
    )


class _Shift:
    """Ticks of a file to those of all."""

    def __init__(self, scale: float, ticks: int) -> None:
        self.scale, self.ticks = scale, ticks

    def __call__(self, ticks: NDArray[np.generic]) -> Ints:
        return self.length(ticks) + self.ticks

    def length(self, ticks: NDArray[np.generic]) -> Ints:
        whole = round(self.scale)
        signed = ticks.astype(np.int64)
        if abs(self.scale - whole) > 1e-9 * whole:
            return np.asarray(np.rint(signed * self.scale), dtype=np.int64)
        if len(signed) and max(abs(int(signed.min())), abs(int(signed.max()))) * whole + abs(self.ticks) > 2**62:
            raise NotComparable("times that fit one clock of 63 bits", found=f"{signed.max()} ticks × {whole}", remedy="read the files one by one")
        return np.asarray(signed * whole, dtype=np.int64)


def _column(parts: Sequence[NDArray[np.generic]]) -> Column:
    return Column(np.concatenate(parts), "count" if parts[0].dtype.kind in "iu" else "1")


def _track(track: Track, label: str, rank: int | None) -> Track:
    rank = track.rank if track.rank is not None else rank
    if not label:
        return msgspec.structs.replace(track, rank=rank)
    device = f"{label} {track.device}" if track.device else ""
    process = f"{label} {track.process}".strip()
    return msgspec.structs.replace(track, name=f"{label}: {track.name}", device=device, process=process, rank=rank)


def _links(timelines: Sequence[Timeline], counts: NDArray[np.int64]) -> Links | None:
    linked = [(t.links, first) for t, first in zip(timelines, counts, strict=False) if t.links is not None]
    if not linked:
        return None
    flow = LINK_KINDS.index("flow")
    return Links(
        source=_column([links.source.values.astype(np.int64) + first for links, first in linked]),
        target=_column([links.target.values.astype(np.int64) + first for links, first in linked]),
        kind=_column([np.full(len(links.source), flow, np.uint8) if links.kind is None else links.kind.values for links, _ in linked]),
    )


def _unit(timelines: Sequence[Timeline], name: str) -> str:
    """That of the first file with such a number."""
    return next(t.numbers[name].unit for t in timelines if name in t.numbers)


def _number(t: Timeline, name: str) -> NDArray[np.generic]:
    column = t.numbers.get(name)
    return np.full(len(t), -1, dtype=np.int64) if column is None else column.values


def _text(t: Timeline, name: str, interned: Ints) -> Ints:
    column = t.texts.get(name)
    if column is None or not len(t):
        return np.full(len(t), -1, dtype=np.int64)
    values = column.values
    known = np.flatnonzero(values >= 0)
    out = np.full(len(t), -1, dtype=np.int64)
    out[known] = interned[values[known]]
    return out


def _marks(timelines: Sequence[Timeline], shifts: Sequence[_Shift], interned: Sequence[Ints], lanes: NDArray[np.int64]) -> Marks | None:
    marked = [(t.marks, shift, new, first) for t, shift, new, first in zip(timelines, shifts, interned, lanes, strict=False) if t.marks is not None]
    if not marked:
        return None
    return Marks(
        tick=_column([shift(marks.tick.values) for marks, shift, _, _ in marked]),
        name=_column([new[marks.name.values] for marks, _, new, _ in marked]),
        track=_column([marks.track.values.astype(np.int64) + first for marks, _, _, first in marked]),
    )


def _counter(counter: CounterTrack, shift: _Shift, label: str) -> CounterTrack:
    device = f"{label} {counter.device}".strip() if counter.device else ""
    process = f"{label} {counter.process}".strip() if counter.process or not device else ""
    name = f"{label}: {counter.name}" if label else counter.name
    return msgspec.structs.replace(counter, name=name, tick=Column(shift(counter.tick.values), counter.tick.unit), device=device, process=process)


def _facts(profiles: Sequence[Profile]) -> dict[str, str]:
    """What all say alike, and else of each file by its name."""
    out: dict[str, str] = {}
    for key in dict.fromkeys(key for profile in profiles for key in profile.facts):
        values = [profile.facts.get(key) for profile in profiles]
        if len(set(values)) == 1 and values[0] is not None:
            out[key] = values[0]
        else:
            out |= {f"{key} of {name_of(profile)}": value for profile, value in zip(profiles, values, strict=True) if value is not None}
    return out


def _excluded(profiles: Sequence[Profile]) -> tuple[Excluded, ...]:
    """One entry a reason; the first place with its file."""
    out: dict[str, Excluded] = {}
    for profile in profiles:
        for one in profile.excluded:
            first = f"{name_of(profile)}, {one.first}" if one.first else name_of(profile)
            known = out.get(one.reason, Excluded(reason=one.reason, events=0, first=first))
            out[one.reason] = msgspec.structs.replace(known, events=known.events + one.events, total_s=known.total_s + one.total_s)
    return tuple(out.values())
