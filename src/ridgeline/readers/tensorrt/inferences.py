"""Inferences of `trtexec --exportTimes`: when each was enqueued, copied in, computed and copied out.

This module decides the ticks: nanoseconds. Times are printed with six digits, so starts late in a run are coarse; of work on the device the duration
is taken as printed, which has more digits than the difference of its ends.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ridgeline.core import Caution, Excluded, Profile, ProfileRow, ProfileTable, Timeline, Track
from ridgeline.readers.assembling import Assembly, Whole, kind_of
from ridgeline.readers.source import Source

from .records import FORMAT, MS, TOOL, Records, number, seconds

__all__ = ["inferences"]

#: Digits with which times are printed.
_DIGITS = 6
_PARTS = (("computeMs", "GPU compute"), ("h2dMs", "copies to the device"), ("d2hMs", "copies to the host"), ("enqueueMs", "enqueue"))
#: Part of the names of times, key of its duration, name, kind.
_WORK = (
    ("H2d", "h2dMs", "copy to the device", "copy"),
    ("Compute", "computeMs", "inference", "compute"),
    ("D2h", "d2hMs", "copy to the host", "copy"),
)


def inferences(source: Source, records: Records, kept: Sequence[tuple[int, dict[str, Any]]]) -> Profile:
    """The inferences; raises `ReadError` where there is none with a time."""
    sound = []
    for place, record in kept:
        numbers = {key: number(record, key) for key in ("startComputeMs", "computeMs", "latencyMs")}
        if None in numbers.values() or (numbers["computeMs"] or 0.0) < 0.0:
            records.left_out.add("inferences without a time, or with one that is none", f"record {place}")
        else:
            sound.append(record)
    if not sound:
        raise source.damaged("inferences with startComputeMs", "none", "write it with trtexec --exportTimes")
    timeline, excluded, coarse_s = _timeline(sound)
    latency = np.array([record["latencyMs"] for record in sound], float) / MS
    table = ProfileTable(
        rows=tuple(row for key, name in _PARTS if (row := _part(sound, key, name)) is not None),
        of="ranges",
        per_call=True,
        nested=True,
        iterations=len(sound),
        wall_s=float(latency.mean()),
        wall_deviation_s=float(latency.std(ddof=1)) if len(latency) > 1 else None,
        first_wall_s=float(latency[0]),
        name="inferences",
    )
    message = f"starts are printed with {_DIGITS} digits: the last ones to {coarse_s * 1e6:.0f} µs, durations to less"
    return Profile(
        format=FORMAT,
        files=(source.name,),
        tool=TOOL,
        resolution_s=coarse_s,
        timeline=timeline,
        tables=(table,),
        excluded=(*records.left_out.listed, *excluded),
        warnings=(Caution(code="coarse-times", message=message, effect="gaps and overlaps shorter than that are not real"),),
    )


def _part(records: Sequence[Mapping[str, Any]], key: str, name: str) -> ProfileRow | None:
    def of(record: Mapping[str, Any]) -> float | None:
        if key != "enqueueMs":
            return seconds(record, key)
        start, end = number(record, "startEnqMs"), number(record, "endEnqMs")
        return None if start is None or end is None or end < start else (end - start) / MS

    values = np.array([value for record in records if (value := of(record)) is not None])
    if not len(values):
        return None
    return ProfileRow(
        name=name,
        calls=1.0,
        total_s=float(values.mean()),
        first_s=float(values[0]),
        least_s=float(values.min()),
        most_s=float(values.max()),
        median_s=float(np.median(values)),
        device="" if key == "enqueueMs" else "GPU 0",
        numbers={"calls": float(len(values))},
    )


def _timeline(records: Sequence[Mapping[str, Any]]) -> tuple[Timeline | None, tuple[Excluded, ...], float]:
    """Events in nanoseconds, and how coarse the latest starts are."""
    assembly, coarse_s = Assembly(1e-9), _coarse(records)
    host = assembly.lane(Track(name="enqueue", role="thread", thread="enqueue"))
    enqueued = _add(assembly, host, "enqueue", "runtime", _ticks(records, "startEnqMs"), _ticks(records, "endEnqMs"))
    for part, duration, name, kind in _WORK:
        lane = assembly.lane(Track(name=f"GPU 0 {name}", device="GPU 0", role="queue", thread=part))
        length = _ticks(records, duration)
        start = _in_turn(_ticks(records, f"start{part}Ms"), length, coarse_s * 1e9)
        done = _add(assembly, lane, name, kind, start, start + length)
        both = (enqueued >= 0) & (done >= 0)
        assembly.link(enqueued[both], done[both], "launch")
    timeline, excluded = assembly.timeline()
    return timeline, excluded, coarse_s


def _coarse(records: Sequence[Mapping[str, Any]]) -> float:
    """Seconds of the last digit of the latest start."""
    latest = max(abs(number(record, "startComputeMs") or 0.0) for record in records)
    digits = math.floor(math.log10(latest)) + 1 if latest >= 1.0 else 1
    return 10.0 ** (digits - _DIGITS) / MS


def _in_turn(start: NDArray[np.float64], length: NDArray[np.float64], coarse: float) -> NDArray[np.float64]:
    """Starts of one queue, none before the end of the one ahead: s'ᵢ = max(sᵢ, s'ᵢ₋₁ + dᵢ₋₁).

    Where the queue did run one after the other, that is at most half of the last digit off, and rounding alone makes no overlaps. Where overlaps are
    longer than that digit there were several queues, and the starts stay as printed.
    """
    if not (np.isfinite(start).all() and np.isfinite(length).all()):
        return start
    before = np.concatenate(([0.0], np.cumsum(length)[:-1]))
    moved: NDArray[np.float64] = before + np.maximum.accumulate(start - before)
    return moved if float((moved - start).max()) <= coarse else start


def _ticks(records: Sequence[Mapping[str, Any]], key: str) -> NDArray[np.float64]:
    return np.array([math.nan if (value := number(record, key)) is None else value * 1e6 for record in records], float)


def _add(assembly: Assembly, lane: int, name: str, kind: str, start: NDArray[np.float64], end: NDArray[np.float64]) -> Whole:
    """What the events are called, −1 where there is none; a copy of no length is one that there was not."""
    there = np.isfinite(start) & np.isfinite(end) & ((end != start) | (kind != "copy"))
    rows = np.full(len(start), -1, np.int64)
    if there.any():
        begun, ended = np.rint(start[there]).astype(np.int64), np.rint(end[there]).astype(np.int64)
        rows[there] = assembly.add(begun, ended, name=assembly.name(name), lane=lane, kind=kind_of(kind), place="record")
    return rows
