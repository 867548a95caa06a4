"""Small trace files in the style of their recorders, and reading them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ridgeline.core import Profile
from ridgeline.core.timeline import EVENT_KINDS, LINK_KINDS
from ridgeline.readers import read_profile
from ridgeline.readers.source import Limits


def span(name: str = "f", ts: Any = 0, dur: Any = 1, pid: Any = 1, tid: Any = 1, cat: str | None = None, **args: Any) -> dict[str, Any]:
    """An X event."""
    found = {"ph": "X", "name": name, "pid": pid, "tid": tid, "ts": ts, "dur": dur}
    return found | ({"cat": cat} if cat else {}) | ({"args": args} if args else {})


def call(name: str, ts: Any, dur: Any, correlation: Any, **more: Any) -> dict[str, Any]:
    """A call of the CUDA runtime."""
    return span(name, ts, dur, 10, 11, "cuda_runtime", correlation=correlation, **more)


def work(name: str, ts: Any, dur: Any, correlation: Any, stream: Any = 7, cat: str = "kernel", device: Any = 0, **more: Any) -> dict[str, Any]:
    """Device work."""
    return span(name, ts, dur, device, stream, cat, device=device, stream=stream, correlation=correlation, **more)


def document(*events: dict[str, Any], **metadata: Any) -> bytes:
    """The object form."""
    return json.dumps({"schemaVersion": 1, **metadata, "traceEvents": list(events)}).encode()


def read(tmp_path: Path, data: bytes, limits: Limits | None = None) -> Profile:
    path = tmp_path / "trace.json"
    path.write_bytes(data)
    return read_profile(path, format="chrome", limits=limits)


def rows(profile: Profile) -> list[tuple[str, int, int, str, str]]:
    """(name, start and duration in ns, kind, track) of each event."""
    timeline = profile.timeline
    assert timeline is not None
    kinds = timeline.kind.values.tolist() if timeline.kind is not None else [0] * len(timeline)
    columns = (
        timeline.name.values.tolist(),
        timeline.start_tick.values.tolist(),
        timeline.duration_tick.values.tolist(),
        kinds,
        timeline.track.values,
    )
    return [
        (timeline.strings[name], start, duration, EVENT_KINDS[kind], timeline.tracks[track].name)
        for name, start, duration, kind, track in zip(*columns, strict=True)
    ]


def links(profile: Profile) -> set[tuple[str, str, str]]:
    """(kind, source, target) of each link, by the names of the events."""
    timeline = profile.timeline
    assert timeline is not None
    if timeline.links is None:
        return set()
    assert timeline.links.kind is not None
    names = [timeline.strings[name] for name in timeline.name.values]
    columns = (timeline.links.kind.values, timeline.links.source.values, timeline.links.target.values)
    return {(LINK_KINDS[kind], names[source], names[target]) for kind, source, target in zip(*columns, strict=True)}


def excluded(profile: Profile) -> dict[str, int]:
    return {entry.reason: entry.events for entry in profile.excluded}


def codes(profile: Profile) -> set[str]:
    return {warning.code for warning in profile.warnings}
