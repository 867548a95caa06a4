"""Profiles of onnxruntime: what is read, and what a broken or hostile file gives."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ridgeline.core import ReadError
from ridgeline.readers.onnxruntime import read_profile


def node(name: str, kind: str, start: int, duration: int, tasks: int | None = None, **arguments: Any) -> dict[str, Any]:
    pool = {"main_thread": {"core": 0}, "sub_threads": {"7": {"num_run": tasks, "core": 1}}}
    scheduling = {} if tasks is None else {"thread_scheduling_stats": pool}
    args = {"op_name": kind, "provider": "CPUExecutionProvider", "node_index": "3", **scheduling, **arguments}
    return {"cat": "Node", "pid": 1, "tid": 1, "dur": duration, "ts": start, "ph": "X", "name": f"{name}_kernel_time", "args": args}


def session(name: str, start: int, duration: int) -> dict[str, Any]:
    return {"cat": "Session", "pid": 1, "tid": 1, "dur": duration, "ts": start, "ph": "X", "name": name, "args": {}}


def run(start: int) -> list[dict[str, Any]]:
    shapes = {"input_type_shape": [{"float": [1, 3]}, {"int64": []}], "output_type_shape": [{"float": [1, 5]}]}
    return [
        node("conv", "Conv", start + 10, 40, tasks=start + 1, **shapes),
        node("relu", "Relu", start + 55, 5, tasks=start + 1),
        session("SequentialExecutor::Execute", start + 5, 60),
        session("model_run", start, 70),
    ]


EVENTS = [session("model_loading_uri", 0, 9), session("session_initialization", 9, 11), *run(100), *run(200)]


def lines(events: list[dict[str, Any]]) -> bytes:
    """One event a line, as onnxruntime writes."""
    return ("[\n" + ",\n".join(json.dumps(event) for event in events) + "\n]\n").encode()


def test_everything_is_read() -> None:
    profile = read_profile(lines(EVENTS))
    assert [event.name for event in profile.nodes] == ["conv", "relu"] * 2
    assert [(span.start, span.duration, span.end) for span in profile.runs] == [(100, 70, 170), (200, 70, 270)]
    assert len(profile.executors) == 2
    assert profile.session["session_initialization"].duration == 11
    assert profile.excluded == ()
    first = profile.nodes[0]
    assert (first.kind, first.provider, first.index) == ("Conv", "CPUExecutionProvider", 3)
    assert [(types.dtype, types.shape) for types in first.inputs] == [("float", (1, 3)), ("int64", ())]
    assert first.outputs[0].shape == (1, 5)


def test_the_timeline_holds_every_event_in_ticks_of_a_microsecond() -> None:
    timeline = read_profile(lines(EVENTS)).timeline
    assert timeline.tick_s == 1e-6
    assert len(timeline) == len(EVENTS)
    assert timeline.duration_tick.values.sum() == sum(event["dur"] for event in EVENTS)
    assert timeline.strings[timeline.name.values[2]] == "conv_kernel_time"
    assert timeline.start_tick.values.dtype == np.int64


def test_a_pool_thread_took_part_where_its_counter_grew() -> None:
    assert [event.workers for event in read_profile(lines(EVENTS)).nodes] == [1, 0, 1, 0]
    assert read_profile(lines([node("a", "Add", 0, 1), session("model_run", 0, 2)])).nodes[0].workers is None


def test_layout_of_the_file_does_not_matter() -> None:
    assert read_profile(json.dumps(EVENTS).encode()) == read_profile(json.dumps(EVENTS, indent=2).encode()) == read_profile(lines(EVENTS))


@settings(max_examples=300)
@given(st.integers(60, len(lines(EVENTS))))
def test_cut_short_it_keeps_every_whole_event_and_counts_the_rest(length: int) -> None:
    data = lines(EVENTS)[:length]
    whole = sum(1 for index in range(len(EVENTS)) if len(lines(EVENTS[: index + 1])) - 3 <= length)
    begun = data.count(b'{"cat":')
    if whole == 0:
        with pytest.raises(ReadError):
            read_profile(data)
        return
    profile = read_profile(data)
    assert len(profile.timeline) == whole
    assert sum(part.events for part in profile.excluded) == begun - whole


def test_a_damaged_line_costs_that_event_only() -> None:
    broken = lines(EVENTS).split(b"\n")
    broken[3] = broken[3][:50] + b"\xff\xfe" + broken[3][60:]
    profile = read_profile(b"\n".join(broken))
    assert len(profile.timeline) == len(EVENTS) - 1
    assert [(part.reason, part.events) for part in profile.excluded] == [("damaged or cut short", 1)]


def test_impossible_times_are_left_out_and_counted() -> None:
    odd = [node("a", "Add", 5, -3), node("b", "Add", 2**60, 3)]
    profile = read_profile(lines([*EVENTS, *odd]))
    assert len(profile.timeline) == len(EVENTS)
    assert profile.excluded[0].events == 2


def test_a_name_that_looks_like_an_event_is_no_event() -> None:
    name = 'x{"cat" : "Node"}'
    events = [node(name, "Add", 1, 2), session("model_run", 0, 5)]
    cut = lines(events)[:-3]
    assert read_profile(cut).nodes[0].name == name


def test_fences_of_older_versions_are_not_kernels() -> None:
    fence = {**node("conv", "Conv", 1, 2), "name": "conv_fence_before"}
    profile = read_profile(lines([fence, *EVENTS]))
    assert len(profile.nodes) == 4
    assert profile.excluded[0].total_s == 2e-6


@pytest.mark.parametrize(
    "data",
    [b"", b"[]", b"{}", b"null", b"not json at all", b"\x00\x01\x02", b"[" * 100_000, b'[{"a": 1}]',
     b'[{"cat": "kernel", "name": "x", "ts": 1, "dur": 2}]', b'{"traceEvents": []}', "café".encode("latin-1")],
)  # fmt: skip
def test_what_is_no_profile(data: bytes) -> None:
    with pytest.raises(ReadError):
        read_profile(data)


@settings(max_examples=200)
@given(st.lists(st.tuples(st.integers(0, len(lines(EVENTS)) - 1), st.integers(0, 255)), max_size=20))
def test_damage_never_raises_anything_else(changes: list[tuple[int, int]]) -> None:
    data = bytearray(lines(EVENTS))
    for place, byte in changes:
        data[place] = byte
    try:
        profile = read_profile(bytes(data))
    except ReadError:
        return
    assert len(profile.timeline) <= len(EVENTS)


@pytest.mark.parametrize("shape", [[-1, 4], [], [2**62]])
def test_odd_shapes_are_kept_as_they_are(shape: list[int]) -> None:
    profile = read_profile(lines([node("a", "Add", 1, 2, output_type_shape=[{"float": shape}]), session("model_run", 0, 5)]))
    assert profile.nodes[0].outputs[0].shape == tuple(shape)
