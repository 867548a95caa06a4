"""speedscope's JSON: sampled profiles from stacks, evented ones from a timeline; readable by speedscope.app and by ridgeline itself.

This module decides how nouns stand in that format. Weights are written in seconds, bytes or plain numbers, times of a timeline in its own ticks where
they are a unit of speedscope's. Events that overlap on a lane without nesting cannot be in one evented profile: they go to further ones of the lane.
Format: speedscope.app/file-format-schema.json.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec
import numpy as np

from ridgeline.core import Stacks, Timeline

__all__ = ["speedscope", "speedscope_of_timeline"]

_SCHEMA = "https://www.speedscope.app/file-format-schema.json"
_UNITS = {"s": "seconds", "B": "bytes"}
_TICKS = {1e-9: "nanoseconds", 1e-6: "microseconds", 1e-3: "milliseconds", 1.0: "seconds"}


def speedscope(stacks: Stacks | Sequence[Stacks], *, name: str = "") -> bytes:
    """One sampled profile for each of the stacks that have a weight: a sample for each node that has some of its own."""
    frames: dict[tuple[str, str | None, int | None], int] = {}
    profiles = [_sampled(each, frames) for each in ((stacks,) if isinstance(stacks, Stacks) else stacks)]
    return _file([{"name": text, "file": file, "line": line} for text, file, line in frames], profiles, name)


def speedscope_of_timeline(timeline: Timeline, *, name: str = "") -> bytes:
    """One evented profile for each lane, and further ones where events of a lane overlap without nesting."""
    unit = _TICKS.get(timeline.tick_s)
    profiles = []
    for track in np.unique(timeline.track.values):
        events = np.flatnonzero(timeline.track.values == track)
        start, end = timeline.start_tick.values[events].astype(np.int64), timeline.duration_tick.values[events].astype(np.int64)
        end = start + end
        order = np.lexsort((-end, start))
        rows = list(zip(start[order].tolist(), end[order].tolist(), timeline.name.values[events][order].tolist(), strict=True))
        lane = timeline.tracks[int(track)].name
        number = 1
        while rows:
            steps, rows = _nested(rows)
            profiles.append(_evented(steps, lane if number == 1 else f"{lane} (overlapping, {number})", unit, timeline.tick_s))
            number += 1
    return _file([{"name": text} for text in timeline.strings], profiles, name)


def _sampled(stacks: Stacks, frames: dict[tuple[str, str | None, int | None], int]) -> dict[str, Any]:
    index = [frames.setdefault((frame.function, frame.file, frame.line), len(frames)) for frame in stacks.frames]
    paths: list[list[int]] = []
    samples, weights = [], []
    for parent, frame, own in zip(stacks.parent.values.tolist(), stacks.frame.values.tolist(), stacks.own.values.tolist(), strict=True):
        path = [*(paths[parent] if parent >= 0 else ()), index[frame]]
        paths.append(path)
        if own:
            samples.append(path)
            weights.append(own)
    named = f"{stacks.measure} {stacks.lane}".strip()
    unit = _UNITS.get(stacks.unit, "none")
    return {"type": "sampled", "name": named, "unit": unit, "startValue": 0, "endValue": sum(weights), "samples": samples, "weights": weights}


Row = tuple[int, int, int]
Step = tuple[str, int, int]


def _nested(rows: Iterable[Row]) -> tuple[list[Step], list[Row]]:
    """Steps (O or C, frame, tick) of the rows that nest, and the rows that do not fit among them; rows by start, longest first."""
    steps: list[Step] = []
    left: list[Row] = []
    still: list[tuple[int, int]] = []  # end and frame of what is open
    for start, end, frame in rows:
        while still and still[-1][0] <= start:
            done, closed = still.pop()
            steps.append(("C", closed, done))
        if still and still[-1][0] < end:
            left.append((start, end, frame))
            continue
        steps.append(("O", frame, start))
        still.append((end, frame))
    steps.extend(("C", closed, done) for done, closed in reversed(still))
    return steps, left


def _evented(steps: Sequence[Step], lane: str, unit: str | None, tick_s: float) -> dict[str, Any]:
    events = [{"type": kind, "frame": frame, "at": tick if unit else tick * tick_s} for kind, frame, tick in steps]
    ends = {"startValue": events[0]["at"], "endValue": events[-1]["at"]}
    return {"type": "evented", "name": lane, "unit": unit or "seconds", **ends, "events": events}


def _file(frames: list[dict[str, Any]], profiles: list[dict[str, Any]], name: str) -> bytes:
    frames = [{key: value for key, value in frame.items() if value is not None} for frame in frames]
    document = {"$schema": _SCHEMA, "exporter": "ridgeline", "name": name or "ridgeline", "shared": {"frames": frames}, "profiles": profiles}
    return msgspec.json.encode(document)
