"""The reader as a whole: its contract, all phases, and what PyTorch, TensorFlow and JAX write."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from readers.chrome.files import call, codes, document, excluded, links, read, rows, span, work
from ridgeline.core import Profile
from ridgeline.readers import read_profile
from ridgeline.readers.chrome import Chrome
from ridgeline.readers.testing import ProfileReaderConformance

KINETO = document(
    {"ph": "M", "name": "process_name", "pid": 10, "tid": 0, "ts": 0, "args": {"name": "python"}},
    {"ph": "M", "name": "process_labels", "pid": 0, "tid": 0, "ts": 0, "args": {"labels": "GPU 0"}},
    span("aten::mm", 1, 20, 10, 11, "cpu_op", **{"External id": 5, "Input Dims": [[2, 3], [3, 4]], "Input type": ["float", "float"]}),
    call("cudaLaunchKernel", 5, 5, 1),
    work("gemm", 30, 10.5, 1, **{"est. achieved occupancy %": 50}),
    work("Memcpy DtoH (Device -> Pageable)", 41, 4, 2, cat="gpu_memcpy", bytes=4096),
    call("cudaMemcpyAsync", 22, 4, 2),
    call("cudaStreamSynchronize", 27, 20, 3),
    {"ph": "s", "id": 1, "pid": 10, "tid": 11, "ts": 5, "cat": "ac2g", "name": "ac2g"},
    {"ph": "f", "id": 1, "pid": 0, "tid": 7, "ts": 30, "cat": "ac2g", "name": "ac2g", "bp": "e"},
    {"ph": "i", "name": "Record Window End", "pid": "", "tid": "", "ts": 60, "s": "g"},
    distributedInfo={"backend": "nccl", "rank": 3, "world_size": 8},
    deviceProperties=[{"id": 0, "name": "NVIDIA H100"}],
    baseTimeNanoseconds=1751410836000000000,
)


class TestConformance(ProfileReaderConformance):
    def reader(self) -> Chrome:
        return Chrome()

    def examples(self) -> Mapping[str, bytes]:
        begins = '[\n{"ph":"B","name":"a","pid":1,"tid":1,"ts":1.5},\n{"ph":"E","pid":1,"tid":1,"ts":2.25}'
        return {"kineto": KINETO, "array without an end": begins.encode()}


def test_what_pytorch_says_of_a_launch(tmp_path: Path) -> None:
    profile = read(tmp_path, KINETO)
    assert {row[0]: row[3] for row in rows(profile)} == {
        "aten::mm": "operator", "cudaLaunchKernel": "runtime", "gemm": "compute", "Memcpy DtoH (Device -> Pageable)": "copy",
        "cudaMemcpyAsync": "runtime", "cudaStreamSynchronize": "wait",
    }  # fmt: skip
    assert links(profile) == {
        ("launch", "cudaLaunchKernel", "gemm"),
        ("launch", "cudaMemcpyAsync", "Memcpy DtoH (Device -> Pageable)"),
        ("wait", "Memcpy DtoH (Device -> Pageable)", "cudaStreamSynchronize"),
    }
    timeline = profile.timeline
    assert timeline is not None
    assert timeline.numbers["bytes"].values.tolist() == [-1, -1, -1, 4096, -1, -1]
    assert timeline.numbers["occupancy"].values.tolist() == [-1, -1, 0.5, -1, -1, -1]
    assert timeline.strings[timeline.texts["shapes"].values[0]] == "[[2, 3], [3, 4]]"
    assert {(track.name, track.device, track.role, track.thread, track.rank) for track in timeline.tracks} == {
        ("python 10, thread 11", "", "thread", "11", 3), ("GPU 0 stream 7", "GPU 0", "queue", "7", 3), ("whole recording", "", "thread", "", 3),
    }  # fmt: skip
    assert profile.rank == 3
    assert profile.facts["device 0"] == "NVIDIA H100"
    assert profile.facts["baseTimeNanoseconds"] == "1751410836000000000"
    assert profile.resolution_s == 1e-9
    assert timeline.marks is not None
    assert timeline.marks.tick.values.tolist() == [60000]
    assert not profile.excluded
    assert not profile.warnings


@pytest.mark.parametrize(
    ("cat", "name", "kind"),
    [
        ("Operator", "aten::add", "operator"), ("Operator", "ProfilerStep#12", "iteration"),
        ("Operator", "enumerate(DataLoader)#_Iter.__next__", "input"),
        ("Runtime", "cudaLaunchKernel", "runtime"), ("cuda_driver", "cuLaunchKernelEx", "runtime"), ("cuda_runtime", "cudaMemcpy", "wait"),
        ("cuda_runtime", "cudaMemcpyAsync", "runtime"), ("cuda_runtime", "cudaDeviceSynchronize", "wait"),
        ("cuda_runtime", "hipEventSynchronize", "wait"),
        ("cuda_runtime", "cudaEventQuery", "runtime"), ("xpu_runtime", "urEventWait", "wait"), ("mtia_runtime", "synchronizeStream", "wait"),
        ("python_function", "train.py(7): step", "python"), ("user_annotation", "forward", "annotation"),
        ("user_annotation", "ProfilerStep#1", "iteration"),
        ("overhead", "Activity Buffer Request", "profiler"), ("Trace", "PyTorch Profiler (0)", "annotation"), ("cat nobody knows", "x", "other"),
    ],
)  # fmt: skip
def test_kinds_on_the_host(tmp_path: Path, cat: str, name: str, kind: str) -> None:
    assert rows(read(tmp_path, document(span(name, cat=cat))))[0][3] == kind


@pytest.mark.parametrize(
    ("cat", "name", "kind", "role"),
    [
        ("kernel", "sgemm", "compute", "queue"), ("Kernel", "sgemm", "compute", "queue"),
        ("kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL", "communication", "queue"),
        ("kernel", "ncclKernel_SendRecv", "communication", "queue"), ("gpu_memcpy", "Memcpy HtoD", "copy", "queue"),
        ("Memset", "Memset (Device)", "fill", "queue"),
        ("gpu_user_annotation", "forward", "annotation", "ranges"), ("gpu_user_annotation", "ProfilerStep#1", "annotation", "ranges"),
        ("cuda_sync", "Context Sync", "sync", "ranges"), ("mtia_ccp_events", "dma_request", "copy", "queue"),
        ("mtia_ccp_events", "event_wait", "sync", "queue"),
    ],
)  # fmt: skip
def test_kinds_on_a_device(tmp_path: Path, cat: str, name: str, kind: str, role: str) -> None:
    profile = read(tmp_path, document(work(name, 0, 1, 1, cat=cat)))
    assert profile.timeline is not None
    assert rows(profile)[0][3] == kind
    assert profile.timeline.tracks[0].role == role
    assert profile.timeline.tracks[0].device.endswith(" 0")


def test_many_kernels_of_one_launch_are_all_linked_to_it(tmp_path: Path) -> None:
    kernels = [work(f"k{n}", 20 + n, 1, 9, **{"graph id": 4}) for n in range(3)]
    profile = read(tmp_path, document(call("cudaGraphLaunch", 0, 5, 9), *kernels))
    assert links(profile) == {("launch", "cudaGraphLaunch", f"k{n}") for n in range(3)}
    assert profile.timeline is not None
    assert profile.timeline.numbers["graph"].values.tolist() == [-1, 4, 4, 4]


def test_identifiers_beyond_64_bits_are_kept_apart(tmp_path: Path) -> None:
    large = 2**64 - 1
    events = [call("a", 0, 1, large), call("b", 1, 1, large - 1), call("c", 2, 1, "x"), call("d", 3, 1, 2**80), call("e", 4, 1, "17")]
    kernels = [work("kb", 10, 1, large - 1), work("ka", 11, 1, large), work("kd", 12, 1, 2**80), work("kc", 13, 1, "x"), work("ke", 14, 1, 17.0)]
    assert links(read(tmp_path, document(*events, *kernels))) == {("launch", name, f"k{name}") for name in "abcde"}


def test_without_recorded_calls_the_operator_launches(tmp_path: Path) -> None:
    operator = span("aten::mm", 0, 5, 10, 11, "cpu_op", **{"External id": 5})
    profile = read(tmp_path, document(operator, work("k", 9, 1, 3, **{"External id": 5}), work("lost", 12, 1, 4)))
    assert links(profile) == {("launch", "aten::mm", "k")}
    assert codes(profile) == {"unlinked-work"}


def test_two_processes_with_one_correlation(tmp_path: Path) -> None:
    """Merged ranks: each kernel belongs to the last call before it."""
    events = [call("first", 0, 2, 1), work("k0", 5, 2, 1), {**call("second", 10, 2, 1), "pid": 20}, work("k1", 15, 2, 1, device=1)]
    assert links(read(tmp_path, document(*events))) == {("launch", "first", "k0"), ("launch", "second", "k1")}


def test_processes_with_the_same_correlations_keep_their_own_devices(tmp_path: Path) -> None:
    """Two ranks of one program count alike: what one call alone can have launched says whose device it is."""

    def of(pid: int, name: str, ts: int, correlation: int) -> dict[str, object]:
        return {**call(name, ts, 1, correlation), "pid": pid}

    both = [of(10, "a1", 0, 1), of(20, "b1", 1, 1), work("k1", 5, 1, 1), work("m1", 5, 1, 1, device=1)]
    assert links(read(tmp_path, document(*both))) == set()
    alone = [of(10, "a2", 2, 2), work("k2", 8, 1, 2), of(20, "b3", 3, 3), work("m3", 8, 1, 3, device=1)]
    expected = {("launch", "a1", "k1"), ("launch", "a2", "k2"), ("launch", "b1", "m1"), ("launch", "b3", "m3")}
    assert links(read(tmp_path, document(*both, *alone))) == expected
    assert links(read(tmp_path, document(*both, *alone[:2]))) == {link for link in expected if link[2] != "m3"}


def test_device_work_as_begin_and_end_lies_on_its_device(tmp_path: Path) -> None:
    begin = {**work("k", 1, 0, 1), "ph": "B"}
    end = {"ph": "E", "ts": 4, "pid": begin["pid"], "tid": begin["tid"]}
    assert rows(read(tmp_path, document(begin, end))) == [("k", 1000, 3000, "compute", "GPU 0 stream 7")]


def test_counters_of_one_name_are_told_apart_by_their_identifiers(tmp_path: Path) -> None:
    events = [{"ph": "C", "name": "held", "id": number, "ts": 1, "pid": 1, "args": {"bytes": 5 + number}} for number in (1, 2)]
    timeline = read(tmp_path, document(*events)).timeline
    assert timeline is not None
    assert {(track.name, *track.value.values.tolist()) for track in timeline.counters} == {("held 1 bytes", 6.0), ("held 2 bytes", 7.0)}


def test_what_an_operator_was_given_is_kept(tmp_path: Path) -> None:
    """A convolution says its strides among its concrete inputs: from them its FLOPs follow."""
    shapes, concrete = [[1, 3, 8, 8], [4, 3, 3, 3], []], ["", "", "", "[1, 1]", "[0, 0]", "[1, 1]", "False", "[0, 0]", "1"]
    more = {"Input Dims": shapes, "Input type": ["float", "float", ""], "Concrete Inputs": concrete}
    timeline = read(tmp_path, document(span("aten::convolution", 0, 5, cat="cpu_op", **more))).timeline
    assert timeline is not None
    assert json.loads(timeline.strings[timeline.texts["concrete"].values[0]]) == concrete


def test_amounts_that_cannot_be_are_not_there(tmp_path: Path) -> None:
    sizes = [12, 1e300, 10**30, -5, "x"]
    timeline = read(tmp_path, document(*[work("m", n, 1, n, cat="gpu_memcpy", bytes=size) for n, size in enumerate(sizes)])).timeline
    assert timeline is not None
    assert timeline.numbers["bytes"].values.tolist() == [12, -1, -1, -1, -1]


def test_what_a_call_waited_for_must_have_ended_while_it_waited(tmp_path: Path) -> None:
    early = [call("launch", 0, 1, 1), work("k", 2, 3, 1), call("cudaDeviceSynchronize", 6, 2, 2)]
    assert ("wait", "k", "cudaDeviceSynchronize") not in links(read(tmp_path, document(*early)))
    later_launch = [*early[:2], call("cudaDeviceSynchronize", 3, 8, 2), {**call("other thread", 4, 1, 3), "tid": 12}, work("late", 6, 3, 3, stream=8)]
    assert {link for link in links(read(tmp_path, document(*later_launch))) if link[0] == "wait"} == {("wait", "k", "cudaDeviceSynchronize")}


@pytest.mark.parametrize(
    ("name", "until", "waits"),
    [
        ("Memcpy DtoH (Device -> Pageable)", 60, True),
        ("CopyDeviceToHost", 60, True),
        ("Memcpy DtoH (Device -> Pageable)", 40, False),
        ("Memcpy DtoH (Device -> Pinned)", 60, False),
        ("Memcpy HtoD (Pageable -> Device)", 60, False),
    ],
)
def test_a_copy_to_pageable_memory_is_waited_for_by_its_own_call(tmp_path: Path, name: str, until: int, waits: bool) -> None:
    events = [
        call("cudaLaunchKernel", 0, 1, 1), work("k", 2, 30, 1), call("cudaMemcpyAsync", 3, until - 3, 2), work(name, 33, 12, 2, cat="gpu_memcpy"),
    ]  # fmt: skip
    found = read(tmp_path, document(*events))
    assert (("wait", name, "cudaMemcpyAsync") in links(found)) == waits
    assert {row[0]: row[3] for row in rows(found)}["cudaMemcpyAsync"] == ("wait" if waits else "runtime")


def test_a_stream_that_is_waited_on_is_told_by_its_record(tmp_path: Path) -> None:
    events = [
        call("a", 0, 1, 1), call("b", 1, 1, 2), work("ka", 5, 5, 1, stream=7), work("kb", 5, 8, 2, stream=8), call("cudaStreamSynchronize", 3, 12, 3),
        work("Stream Sync", 3, 12, 3, stream=7, cat="cuda_sync", cuda_sync_kind="Stream Sync"),
    ]  # fmt: skip
    assert {link for link in links(read(tmp_path, document(*events))) if link[0] == "wait"} == {("wait", "ka", "cudaStreamSynchronize")}


def test_an_event_orders_two_streams(tmp_path: Path) -> None:
    events = [
        call("a", 0, 1, 1), call("cudaEventRecord", 2, 1, 2), call("after", 4, 1, 3), call("cudaStreamWaitEvent", 6, 1, 4), call("b", 8, 1, 5),
        work("ka", 10, 5, 1, stream=7), work("k after", 15, 5, 3, stream=7), work("kb", 15, 5, 5, stream=8),
        work("Stream Wait Event", 6, 1, 4, stream=8, cat="cuda_sync", cuda_sync_kind="Stream Wait Event", wait_on_stream=7,
             wait_on_cuda_event_record_corr_id=2, wait_on_cuda_event_id=1),
    ]  # fmt: skip
    assert {link for link in links(read(tmp_path, document(*events))) if link[0] == "signal"} == {("signal", "ka", "kb")}
    contradicting = [*events[:7], work("kb", 12, 5, 5, stream=8), events[8]]
    assert {link for link in links(read(tmp_path, document(*contradicting))) if link[0] == "signal"} == set()


def test_a_queue_of_an_mtia_waits_for_the_event_of_its_number_in_the_queue_that_it_names(tmp_path: Path) -> None:
    def piece(name: str, ts: float, dur: float, stream: int, **more: Any) -> dict[str, Any]:
        return work(name, ts, dur, None, stream=stream, cat="mtia_ccp_events", **more)

    events = [
        piece("first", 0, 4, 102), piece("event_record", 4, 1, 102, seq_num=6), piece("second", 5, 5, 102), piece("other", 0, 10, 103),
        piece("event_record", 10.5, 1, 103, seq_num=7), piece("event_record", 10.5, 1, 102, seq_num=7), piece("late", 12, 9, 102),
        piece("event_wait", 2, 9, 111, wait_on_stream=102, seq_num=7), piece("merge", 12, 5, 111),
    ]  # fmt: skip
    assert links(read(tmp_path, document(*events))) == {("wait", "second", "event_wait")}
    # An event that was never recorded, and one that was recorded after the wait for it had ended behind work that was not done.
    for unknown in ([*events[:5], *events[6:]], [*events[:2], piece("second", 5, 7, 102), piece("event_record", 12, 1, 102, seq_num=7), *events[6:]]):
        assert links(read(tmp_path, document(*unknown))) == set()


def test_kernels_before_their_launch_are_a_skew_and_no_delay(tmp_path: Path) -> None:
    profile = read(tmp_path, document(call("l", 30, 5, 1), work("k", 20, 10, 1), call("l", 50, 5, 2), work("k", 41, 10, 2)))
    said = next(warning for warning in profile.warnings if warning.code == "clock-skew")
    assert said.message.startswith("2 of 2 ")
    assert "10.0 µs" in said.effect


def test_all_phases(tmp_path: Path) -> None:
    where: dict[str, Any] = {"pid": 1, "tid": 2}
    events = [
        {"ph": "B", "name": "outer", "ts": 0, **where}, {"ph": "B", "name": "inner", "ts": 1, **where}, {"ph": "E", "ts": 3, **where},
        {"ph": "E", "ts": 9, **where}, {"ph": "E", "ts": 10, **where}, {"ph": "B", "name": "open", "ts": 11, **where},
        {"ph": "b", "cat": "net", "name": "request", "id": "0x1", "ts": 0, **where}, {"ph": "b", "cat": "net", "name": "dns", "id": "0x1",
        "ts": 1, **where},
        {"ph": "n", "cat": "net", "name": "sent", "id": "0x1", "ts": 2, **where}, {"ph": "b", "cat": "net", "name": "other", "id": "0x2",
        "ts": 2, **where},
        {"ph": "e", "cat": "net", "name": "dns", "id": "0x1", "ts": 4, **where},
        {"ph": "e", "cat": "net", "name": "request", "id": "0x1", "ts": 8, **where},
        {"ph": "e", "cat": "net", "name": "other", "id": "0x2", "ts": 6, **where},
        {"ph": "S", "cat": "old", "name": "async", "id": 5, "ts": 0, **where}, {"ph": "T", "cat": "old", "name": "step", "id": 5, "ts": 1, **where},
        {"ph": "F", "cat": "old", "name": "async", "id": 5, "ts": 7, **where},
        {"ph": "b", "cat": "l", "name": "mine", "id2": {"local": 1}, "ts": 0, "pid": 1, "tid": 2},
        {"ph": "b", "cat": "l", "name": "yours", "id2": {"local": 1}, "ts": 1, "pid": 2, "tid": 2},
        {"ph": "e", "cat": "l", "name": "mine", "id2": {"local": 1}, "ts": 3, "pid": 1, "tid": 2},
        {"ph": "e", "cat": "l", "name": "yours", "id2": {"local": 1}, "ts": 5, "pid": 2, "tid": 2},
        {"ph": "C", "name": "memory", "ts": 2, "args": {"used": 5, "free": 7}, **where},
        {"ph": "C", "name": "memory", "ts": 1, "args": {"used": 4}, **where},
        {"ph": "I", "name": "mark", "ts": 4, **where}, {"ph": "R", "name": "navigationStart", "ts": 5, **where},
        {"ph": "N", "name": "object", "id": 1, "ts": 0, **where}, {"ph": "O", "name": "object", "id": 1, "ts": 1, **where},
        {"ph": "D", "name": "object", "id": 1, "ts": 2, **where},
        {"ph": "P", "name": "sample", "ts": 2, **where},
    ]  # fmt: skip
    profile = read(tmp_path, json.dumps(events).encode())
    assert {row[:3] for row in rows(profile)} == {
        ("outer", 0, 9000), ("inner", 1000, 2000), ("request", 0, 8000), ("dns", 1000, 3000), ("other", 2000, 4000), ("async", 0, 7000),
        ("mine", 0, 3000), ("yours", 1000, 4000),
    }  # fmt: skip
    assert excluded(profile) == {"objects": 3, "samples": 1, "a begin without an end": 1, "an end without a begin": 1}
    timeline = profile.timeline
    assert timeline is not None
    assert timeline.marks is not None
    assert [timeline.strings[name] for name in timeline.marks.name.values] == ["sent", "step", "mark", "navigationStart"]
    counters = {counter.name: (counter.tick.values.tolist(), counter.value.values.tolist()) for counter in timeline.counters}
    assert counters == {"memory used": ([1000, 2000], [4.0, 5.0]), "memory free": ([2000], [7.0])}
    assert {track.role for track in timeline.tracks} == {"thread", "ranges"}


def test_arrows_bind_to_what_encloses_them_or_comes_next(tmp_path: Path) -> None:
    flow: dict[str, Any] = {"cat": "c", "name": "n", "id": 1}
    events = [
        span("outer", 0, 10, 1, 1), span("inner", 2, 3, 1, 1), span("step", 3, 8, 1, 2), span("before", 0, 1, 1, 3), span("next", 12, 2, 1, 3),
        span("late", 20, 2, 1, 3),
        {"ph": "s", "pid": 1, "tid": 1, "ts": 3, **flow}, {"ph": "t", "pid": 1, "tid": 2, "ts": 6, **flow},
        {"ph": "f", "pid": 1, "tid": 3, "ts": 11, **flow},
    ]  # fmt: skip
    assert links(read(tmp_path, json.dumps(events).encode())) == {("flow", "inner", "step"), ("flow", "step", "next")}
    bound = [*events[:-1], {"ph": "f", "bp": "e", "pid": 1, "tid": 3, "ts": 21, **flow}]
    assert links(read(tmp_path, json.dumps(bound).encode())) == {("flow", "inner", "step"), ("flow", "step", "late")}
    loose = [*events[:-1], {"ph": "f", "bp": "e", "pid": 1, "tid": 3, "ts": 30, **flow}]
    assert "loose-arrows" in codes(read(tmp_path, json.dumps(loose).encode()))


def test_forward_and_backward_operators_follow_each_other(tmp_path: Path) -> None:
    flow: dict[str, Any] = {"cat": "fwdbwd", "name": "fwdbwd", "id": 1}
    events = [
        span("aten::mm", 0, 5, 1, 1, "cpu_op"), span("MmBackward0", 20, 5, 1, 2, "cpu_op"),
        {"ph": "s", "pid": 1, "tid": 1, "ts": 0, **flow}, {"ph": "f", "pid": 1, "tid": 2, "ts": 20, "bp": "e", **flow},
    ]  # fmt: skip
    assert links(read(tmp_path, document(*events))) == {("signal", "aten::mm", "MmBackward0")}


def names_of(process: int, name: str, *threads: str) -> list[dict[str, Any]]:
    """Metadata of a process with threads 1, 2, …, at the end of the file as some recorders write it."""
    found: list[dict[str, Any]] = [{"ph": "M", "name": "process_name", "pid": process, "args": {"name": name}}]
    return found + [
        {"ph": "M", "name": "thread_name", "pid": process, "tid": number, "args": {"name": thread}} for number, thread in enumerate(threads, 1)
    ]


def test_lanes_of_tensorflow_and_jax(tmp_path: Path) -> None:
    events = [
        span("fusion.1", 10, 5, 1, 1, correlation_id=7), span("MemcpyD2H", 16, 2, 1, 1), span("fusion.1", 10, 5, 1, 2), span("step 4", 0, 30, 1, 3),
        span("cuLaunchKernel", 2, 1, 9, 1, correlation_id="7"), span("$train.py:3 main", 0, 30, 9, 1), span("dot.3", 0, 9, 5, 1),
        span("0", 0, 9, 5, 2),
        *names_of(1, "/device:GPU:0", "Stream #14(Compute,MemcpyD2H)", "XLA Ops", "Steps"), *names_of(9, "/host:CPU", "python"),
    ]  # fmt: skip
    profile = read(tmp_path, json.dumps({"displayTimeUnit": "ns", "traceEvents": events}).encode())
    assert {(row[0], row[3], row[4]) for row in rows(profile)} >= {
        ("fusion.1", "compute", "/device:GPU:0 1, Stream #14(Compute,MemcpyD2H)"),
        ("MemcpyD2H", "copy", "/device:GPU:0 1, Stream #14(Compute,MemcpyD2H)"),
        ("fusion.1", "annotation", "/device:GPU:0 1, XLA Ops"), ("step 4", "iteration", "/device:GPU:0 1, Steps"),
        ("$train.py:3 main", "python", "/host:CPU 9, python"),
    }  # fmt: skip
    assert links(profile) == {("launch", "cuLaunchKernel", "fusion.1")}
    assert profile.tool == "TensorFlow or JAX"
    tpu = [span("dot.3", 0, 9, 5, 1), span("jit_f", 0, 9, 5, 2), *names_of(5, "/device:TPU:0", "XLA Ops", "XLA Modules")]
    assert [row[3] for row in rows(read(tmp_path, json.dumps(tpu).encode()))] == ["compute", "annotation"]


SPANS = st.lists(
    st.tuples(
        st.text(st.characters(exclude_categories=("Cs",)), max_size=12),
        st.integers(0, 2**61),
        st.integers(0, 10**9),
        st.integers(-3, 3),
        st.integers(0, 3),
    ),
    max_size=30,
)


@settings(deadline=None)
@given(SPANS, st.booleans(), st.booleans())
def test_what_is_written_is_read_back(
    tmp_path_factory: pytest.TempPathFactory, spans: list[tuple[str, int, int, int, int]], array: bool, texts: bool
) -> None:
    def time(tick: int) -> str:
        return f'"{tick // 1000}.{tick % 1000:03d}"' if texts else f"{tick // 1000}.{tick % 1000:03d}"

    events = ",".join(
        f'{{"ph":"X","name":{json.dumps(name)},"pid":{pid},"tid":{tid},"ts":{time(start)},"dur":{time(length)}}}'
        for name, start, length, pid, tid in spans
    )
    path = tmp_path_factory.mktemp("round") / "trace.json"
    path.write_text(f"[{events}]" if array else f'{{"traceEvents":[{events}]}}', encoding="utf-8")
    profile = read_profile(path, format="chrome")
    kept = [row for row in spans if row[1] > 0 or not excluded(profile)]
    found = [row[:3] for row in rows(profile)]
    assert found == [row[:3] for row in kept]
    assert excluded(profile).get("a start of 0, far from all others", 0) == len(spans) - len(kept)
    assert lanes(profile) == [(pid, tid) for _, _, _, pid, tid in kept]


def lanes(profile: Profile) -> list[tuple[int, int]]:
    assert profile.timeline is not None
    tracks = [profile.timeline.tracks[track] for track in np.asarray(profile.timeline.track.values)]
    return [(int(track.process), int(track.thread)) for track in tracks]


def test_the_reader_is_surer_of_an_object_than_of_an_array_of_events(tmp_path: Path) -> None:
    from ridgeline.readers.source import Source

    for data, sure in ((KINETO, 80), (b'[{"pid": 1, "ph": "X"}]', 50), (b'{"schemaVersion": 1, "deviceProperties": [', 40), (b'[{"name": "x"}]', 0)):
        path = tmp_path / "trace"
        path.write_bytes(data)
        assert Chrome().recognises(Source(path)) == sure


@pytest.mark.parametrize(("overflow", "told"), [(True, ["lost-events"]), (False, []), ("yes", [])])
def test_viztracer_says_when_it_lost_the_earliest_calls(tmp_path: Path, overflow: object, told: list[str]) -> None:
    call = {"ph": "X", "cat": "fee", "name": "main", "pid": 1, "tid": 1, "ts": 0, "dur": 5}
    path = tmp_path / "viz.json"
    path.write_text(json.dumps({"traceEvents": [call], "viztracer_metadata": {"overflow": overflow, "version": "1.1.1"}}), encoding="utf-8")
    profile = read_profile(path)
    assert profile.tool == "viztracer"
    assert [warning.code for warning in profile.warnings] == told
