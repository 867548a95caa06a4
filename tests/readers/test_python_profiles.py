"""Profiles of Python and of JavaScript: cProfile against pstats itself, pyinstrument, austin, V8."""

from __future__ import annotations

import cProfile
import json
import marshal
import pstats
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from readers.stack_paths import paths
from ridgeline.core import Profile, ReadError
from ridgeline.readers import Source, read_profile
from ridgeline.readers.austin import Austin
from ridgeline.readers.cprofile import CProfile
from ridgeline.readers.cpu_profile import CpuProfile
from ridgeline.readers.marshalled import MarshalError, unmarshalled
from ridgeline.readers.pyinstrument import Pyinstrument
from ridgeline.readers.testing import ProfileReaderConformance

_Site = tuple[str, int, str]
_MAIN, _WORK, _SUM = ("app.py", 1, "main"), ("app.py", 9, "work"), ("~", 0, "<built-in method sum>")
_STATISTICS: dict[_Site, Any] = {
    _MAIN: (1, 1, 0.25, 1.75, {}),
    _WORK: (2, 5, 0.5, 1.5, {_MAIN: (2, 2, 0.25, 1.5), _WORK: (3, 3, 0.25, 0.75)}),
    _SUM: (8, 8, 1.0, 1.0, {_WORK: (8, 8, 1.0, 1.0)}),
}
_REPORT = {
    "start_time": 1.6e9, "duration": 0.625, "sample_count": 213, "target_description": "Program: app.py", "cpu_time": 0.5,
    "root_frame": {
        "function": "main", "file_path": "app.py", "line_no": 9, "time": 0.625, "children": [
            {"function": "load", "file_path": "app.py", "line_no": 2, "time": 0.25, "children": []},
            {"function": "[self]", "file_path": "", "line_no": 0, "time": 0.125, "children": []},
            {"function": "work", "file_path": "app.py", "line_no": 5, "time": 0.250001, "children": []},
        ],
    },
}  # fmt: skip
_SESSION = {
    "start_time": 1.6e9, "duration": 0.7, "min_interval": 0.001, "sample_count": 2, "start_call_stack": [], "target_description": "Program: app.py",
    "frame_records": [
        [["MainThread\x00<thread>\x00140", "main\x00app.py\x009\x01l10", "load\x00app.py\x002\x01l3"], 0.25],
        [["MainThread\x00<thread>\x00140", "main\x00app.py\x009\x01l11"], 0.5],
    ],
}  # fmt: skip
_V8 = {
    "nodes": [
        {"id": 1, "callFrame": {"functionName": "(root)", "scriptId": "0", "url": "", "lineNumber": -1, "columnNumber": -1}, "children": [2, 3]},
        {"id": 2, "callFrame": {"functionName": "run", "scriptId": "5", "url": "app.js", "lineNumber": 8}, "hitCount": 2, "children": [4]},
        {"id": 3, "callFrame": {"functionName": "(program)", "scriptId": "0", "url": "", "lineNumber": -1, "columnNumber": -1}, "hitCount": 1},
        {"id": 4, "callFrame": {"functionName": "", "scriptId": "5", "url": "app.js", "lineNumber": 0, "columnNumber": 0}, "hitCount": 1},
    ],
    "startTime": 1000, "endTime": 1600, "samples": [2, 4, 3], "timeDeltas": [100, 200, 50],
}  # fmt: skip
_AUSTIN_LINES = ("# austin: 3.6.0", "# interval: 100", "# mode: wall", "", "P12;T0:14;app.py:main:9;app.py:work:5 100", "P12;T0:14;app.py:main:9 250")
_AUSTIN = "\n".join((*_AUSTIN_LINES, "P12;T0:15 30", "", "# duration: 380", ""))


class TestCProfile(ProfileReaderConformance):
    def reader(self) -> CProfile:
        return CProfile()

    def examples(self) -> Mapping[str, bytes]:
        return {"statistics": marshal.dumps(_STATISTICS), "of an old version": marshal.dumps(_STATISTICS, 2)}


class TestPyinstrument(ProfileReaderConformance):
    def reader(self) -> Pyinstrument:
        return Pyinstrument()

    def examples(self) -> Mapping[str, bytes]:
        return {"report": json.dumps(_REPORT).encode(), "session": json.dumps(_SESSION).encode()}


class TestCpuProfile(ProfileReaderConformance):
    def reader(self) -> CpuProfile:
        return CpuProfile()

    def examples(self) -> Mapping[str, bytes]:
        return {"timed": json.dumps(_V8).encode(), "counted": json.dumps({"nodes": _V8["nodes"]}).encode()}


class TestAustin(ProfileReaderConformance):
    def reader(self) -> Austin:
        return Austin()

    def examples(self) -> Mapping[str, bytes]:
        return {"wall": _AUSTIN.encode(), "full": b"# austin: 3.6.0\n# mode: full\nP1;T2;a.py:f:1 100,0,4096\nP1;T2;a.py:f:1 50,1,-10\n"}


def _read(folder: Path, data: bytes) -> Profile:
    path = folder / "profile"
    path.write_bytes(data)
    return read_profile(path)


def test_the_table_of_cprofile_is_exact(tmp_path: Path) -> None:
    profile = _read(tmp_path, marshal.dumps(_STATISTICS))
    rows = {row.name: (row.calls, row.numbers["primitive_calls"], row.own_s, row.total_s, row.kind) for row in profile.tables[0].rows}
    assert rows == {
        "main": (1, 1, 0.25, 1.75, "python"), "work": (5, 2, 0.5, 1.5, "python"), "<built-in method sum>": (8, 8, 1.0, 1.0, "built-in"),
    }  # fmt: skip
    assert paths(profile.stacks[0]) == pytest.approx({("main",): 0.25, ("main", "work"): 0.5, ("main", "work", "<built-in method sum>"): 1.0})


def _busy(depth: int) -> int:
    return sum(_busy(depth - 1) for _ in range(2)) + len(sorted(range(50))) if depth else 1


def test_cprofile_agrees_with_pstats(tmp_path: Path) -> None:
    profiler = cProfile.Profile()
    profiler.runcall(_busy, 6)
    file = tmp_path / "real"
    profiler.dump_stats(file)
    expected = pstats.Stats(str(file)).stats  # type: ignore[attr-defined]
    profile = read_profile(file)
    found = {row.name: (row.numbers["primitive_calls"], row.calls, row.own_s, row.total_s) for row in profile.tables[0].rows}
    assert found == {site[2]: tuple(values[:4]) for site, values in expected.items()}
    assert float(profile.stacks[0].own.values.sum()) == pytest.approx(sum(values[2] for values in expected.values()))


def test_damaged_statistics_are_refused_with_the_byte(tmp_path: Path) -> None:
    with pytest.raises(ReadError, match="byte"):
        _read(tmp_path, marshal.dumps(_STATISTICS)[:-30])
    profile = _read(tmp_path, marshal.dumps({**_STATISTICS, ("x.py", 1, "odd"): (1, 1, float("nan"), 1.0, {})}))
    assert [(entry.events, entry.first) for entry in profile.excluded] == [(1, "entry 3")]


_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**200), 2**200) | st.floats(allow_nan=False) | st.text(max_size=300),
    lambda inner: st.lists(inner, max_size=4).map(tuple) | st.dictionaries(st.text(max_size=5) | st.integers(), inner, max_size=4),
    max_leaves=12,
)


@given(_values, st.sampled_from([2, 3, 4]))
def test_marshal_reads_what_marshal_writes(value: object, version: int) -> None:
    assert unmarshalled(marshal.dumps(value, version)) == value


@given(st.binary(max_size=60) | st.builds(lambda rest: b"\xfb\xa9\x03" + rest, st.binary(max_size=60)))
def test_marshal_refuses_or_reads_any_bytes(data: bytes) -> None:
    try:
        found = unmarshalled(data)
    except (MarshalError, ValueError):
        return
    # What was read is made of nothing but plain values, which can be written again.
    assert isinstance(marshal.dumps(found), bytes)


def test_a_report_of_pyinstrument_is_own_times(tmp_path: Path) -> None:
    profile = _read(tmp_path, json.dumps(_REPORT).encode())
    (stacks,) = profile.stacks
    # The frames below sum to a microsecond more than the frame itself: its own time is what [self] says.
    assert paths(stacks) == pytest.approx({("main", "load"): 0.25, ("main",): 0.125, ("main", "work"): 0.250001})
    assert (stacks.samples, stacks.at_s, profile.facts["target"]) == (213, 1.6e9, "Program: app.py")


def test_a_session_of_pyinstrument_is_stacks(tmp_path: Path) -> None:
    (stacks,) = _read(tmp_path, json.dumps(_SESSION).encode()).stacks
    assert paths(stacks) == {("MainThread", "main", "load"): 0.25, ("MainThread", "main"): 0.5}
    assert {(frame.function, frame.kind, frame.line) for frame in stacks.frames} == {
        ("MainThread", "process", None),
        ("main", "python", 9),
        ("load", "python", 2),
    }


def test_a_sample_of_v8_lasts_until_the_next(tmp_path: Path) -> None:
    (stacks,) = _read(tmp_path, json.dumps(_V8).encode()).stacks
    assert paths(stacks) == pytest.approx({("(root)", "run"): 200e-6, ("(root)", "run", "(anonymous)"): 50e-6, ("(root)", "(program)"): 250e-6})
    assert next(frame.line for frame in stacks.frames if frame.function == "run") == 9
    (hits,) = _read(tmp_path, json.dumps({"nodes": _V8["nodes"]}).encode()).stacks
    assert (hits.unit, hits.samples) == ("count", 4)


def test_a_trace_of_chrome_with_a_profile_inside_is_no_profile(tmp_path: Path) -> None:
    event = {"name": "ProfileChunk", "ph": "P", "ts": 1, "pid": 1, "tid": 1, "args": {"data": {"cpuProfile": {"nodes": _V8["nodes"]}}}}
    path = tmp_path / "trace.json"
    path.write_text(json.dumps({"traceEvents": [event]}), encoding="utf-8")
    assert CpuProfile().recognises(Source(path)) == 0


def test_nodes_in_a_circle_are_refused(tmp_path: Path) -> None:
    nodes = [{"id": 1, "callFrame": {}, "children": [2], "hitCount": 1}, {"id": 2, "callFrame": {}, "children": [1]}]
    with pytest.raises(ReadError, match="node 1"):
        _read(tmp_path, json.dumps({"nodes": nodes}).encode())


def test_austin_says_its_unit(tmp_path: Path) -> None:
    profile = _read(tmp_path, _AUSTIN.encode())
    (wall,) = profile.stacks
    assert (wall.measure, wall.unit, wall.interval_s, profile.tool) == ("wall", "s", 1e-4, "austin 3.6.0")
    assert paths(wall) == pytest.approx(
        {("process 12", "thread 0:14", "main", "work"): 1e-4, ("process 12", "thread 0:14", "main"): 2.5e-4, ("process 12", "thread 0:15"): 3e-5}
    )
    full = _read(tmp_path, b"# austin: 3.6.0\n# mode: full\nP1;T2;a.py:f:1 100,0,4096\nP1;T2;a.py:f:1 50,1,-10\n").stacks
    assert {stacks.measure: (stacks.unit, round(float(stacks.own.values.sum()), 9)) for stacks in full} == {
        "wall": ("s", 150e-6), "cpu": ("s", 100e-6), "allocated": ("B", 4096), "freed": ("B", 10),
    }  # fmt: skip
