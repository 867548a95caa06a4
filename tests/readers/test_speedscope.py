"""speedscope files: sampled and evented profiles, units, and profiles that do not hold together."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from readers.stack_paths import paths
from ridgeline.core import Profile, ReadError
from ridgeline.readers import read_profile
from ridgeline.readers.speedscope import Speedscope
from ridgeline.readers.testing import ProfileReaderConformance

_FRAMES = [{"name": "a"}, {"name": "b", "file": "b.py", "line": 7}, {"name": "c"}]
_SAMPLES: dict[str, Any] = {
    "type": "sampled", "name": "one", "unit": "milliseconds", "startValue": 0, "endValue": 14, "samples": [[0, 1, 2], [0, 1], [0, 1, 2]],
    "weights": [1, 5, 2.5],
}  # fmt: skip
_EVENTS: dict[str, Any] = {
    "type": "evented", "name": "two", "unit": "microseconds", "startValue": 0, "endValue": 14,
    "events": [
        {"type": "O", "frame": 0, "at": 0}, {"type": "O", "frame": 1, "at": 2}, {"type": "C", "frame": 1, "at": 5},
        {"type": "O", "frame": 2, "at": 5}, {"type": "C", "frame": 2, "at": 5.25}, {"type": "C", "frame": 0, "at": 14},
    ],
}  # fmt: skip


def _file(*profiles: dict[str, Any], **more: Any) -> bytes:
    schema = "https://www.speedscope.app/file-format-schema.json"
    return json.dumps({"$schema": schema, "exporter": "py-spy@0.4.1", **more, "shared": {"frames": _FRAMES}, "profiles": profiles}).encode()


class TestSpeedscope(ProfileReaderConformance):
    def reader(self) -> Speedscope:
        return Speedscope()

    def examples(self) -> Mapping[str, bytes]:
        old = json.dumps({"version": "0.0.1", "shared": {"frames": _FRAMES}, "profiles": [_EVENTS]}).encode()
        return {"sampled": _file(_SAMPLES), "evented": _file(_EVENTS), "both": _file(_SAMPLES, _EVENTS), "without a schema": old}


def _read(folder: Path, data: bytes) -> Profile:
    path = folder / "profile.json"
    path.write_bytes(data)
    return read_profile(path)


def test_samples_are_in_seconds(tmp_path: Path) -> None:
    profile = _read(tmp_path, _file(_SAMPLES))
    (stacks,) = profile.stacks
    assert paths(stacks) == {("a", "b", "c"): pytest.approx(3.5e-3), ("a", "b"): pytest.approx(5e-3)}
    assert (stacks.unit, stacks.lane, stacks.samples, profile.tool) == ("s", "one", 3, "py-spy 0.4.1")
    assert (stacks.frames[1].file, stacks.frames[1].line, stacks.frames[1].kind) == ("b.py", 7, "python")
    assert profile.timeline is None


def test_events_are_own_times_and_a_timeline(tmp_path: Path) -> None:
    profile = _read(tmp_path, _file(_EVENTS))
    assert paths(profile.stacks[0]) == {("a",): pytest.approx(10.75e-6), ("a", "b"): pytest.approx(3e-6), ("a", "c"): pytest.approx(0.25e-6)}
    timeline = profile.timeline
    assert timeline is not None
    assert timeline.tick_s == 1e-9
    assert timeline.start_tick.values.tolist() == [0, 2000, 5000]
    assert timeline.duration_tick.values.tolist() == [14000, 3000, 250]
    assert [timeline.strings[index] for index in timeline.name.values] == ["a", "b", "c"]
    assert [track.name for track in timeline.tracks] == ["two"]


def _events(*steps: tuple[str, int, float]) -> dict[str, Any]:
    return {**_EVENTS, "events": [{"type": kind, "frame": frame, "at": at} for kind, frame, at in steps]}


@pytest.mark.parametrize(
    ("profile", "reason", "place"),
    [
        (_events(("O", 0, 0)), "never end", ".events[1]"),
        (_events(("O", 0, 0), ("O", 1, 1), ("C", 0, 2), ("C", 1, 3)), "do not nest", ".events[2]"),
        (_events(("O", 0, 5), ("C", 0, 4)), "do not follow in time", ".events[1]"),
        (_events(("C", 0, 4)), "do not nest", ".events[0]"),
        (_events(("O", 9, 4)), "frames that the file does not have", ".events[0]"),
        ({**_SAMPLES, "weights": [1, 2]}, "3 samples and 2 weights", ".weights"),
        ({**_SAMPLES, "samples": [[0], [9], [0]]}, "frames that the file does not have", ".samples[1]"),
        ({**_SAMPLES, "unit": "furlongs"}, "furlongs", ""),
    ],
)
def test_a_profile_that_does_not_hold_together_is_left_out(tmp_path: Path, profile: dict[str, Any], reason: str, place: str) -> None:
    found = _read(tmp_path, _file(_SAMPLES, profile))
    assert len(found.stacks) == 1
    assert reason in found.excluded[0].reason
    assert found.excluded[0].first == f"profiles[1]{place}"
    with pytest.raises(ReadError, match=r"profiles\[0\]"):
        _read(tmp_path, _file(profile))


def test_of_frames_over_the_same_time_the_first_opened_is_the_outer(tmp_path: Path) -> None:
    moments = [("O", 0, 0), ("O", 1, 0), ("O", 2, 0), ("C", 2, 9), ("C", 1, 9), ("C", 0, 9)]
    profile = _read(tmp_path, _file({**_EVENTS, "events": [{"type": kind, "frame": frame, "at": at} for kind, frame, at in moments]}))
    assert profile.timeline is not None
    assert [profile.timeline.strings[name] for name in profile.timeline.name.values] == ["a", "b", "c"]


def test_weights_that_are_none_are_left_out(tmp_path: Path) -> None:
    profile = _read(tmp_path, _file({**_SAMPLES, "weights": [1, -5, 1e300]}))
    assert paths(profile.stacks[0]) == {("a", "b", "c"): pytest.approx(1e-3)}
    assert [(entry.events, entry.first) for entry in profile.excluded] == [(2, "profiles[0].weights[1]")]


def test_damaged_json_names_the_byte(tmp_path: Path) -> None:
    with pytest.raises(ReadError, match=r"byte|truncated"):
        _read(tmp_path, _file(_SAMPLES)[:-20])
