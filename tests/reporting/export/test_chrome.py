"""Timelines as Chrome traces: what is written is JSON, exact to the tick, and read again gives the same events, kinds and launches."""

from __future__ import annotations

import io
import json
from collections import Counter
from decimal import Decimal
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ridgeline.core import EVENT_KINDS, LINK_KINDS, Column, CounterTrack, Marks, Timeline, Track
from ridgeline.flows.read import report_of
from ridgeline.readers.reading import read_profile
from ridgeline.reporting.export.chrome import write_chrome
from timeline.building import HOST, stream, timeline_of

_STEPS = (
    (HOST, "iteration", "ProfilerStep#1", 0, 1000),
    (HOST, "operator", "aten::mm", 10, 400),
    (HOST, "runtime", "cudaLaunchKernel", 20, 40),
    (HOST, "wait", "cudaStreamSynchronize", 500, 990),
    (stream(7), "compute", "gemm", 100, 900),
    (stream(7), "copy", "Memcpy HtoD", 900, 950),
    (stream(9), "communication", "ncclKernel_AllReduce", 300, 600),
    (stream(9), "fill", "Memset", 610, 615),
    (HOST, "python", "train.py(7): step", 5, 995),
)


def written(timeline: Timeline, report: Any = None) -> bytes:
    file = io.BytesIO()
    write_chrome(timeline, file, report)
    return file.getvalue()


def again(timeline: Timeline, folder: Path) -> Timeline:
    path = folder / "trace.json"
    path.write_bytes(written(timeline))
    found = read_profile(path)
    assert found.format == "chrome"
    assert found.timeline is not None
    return found.timeline


def events_of(timeline: Timeline) -> Counter[tuple[Any, ...]]:
    kinds = timeline.kind.values.tolist() if timeline.kind is not None else [0] * len(timeline)
    scale = Decimal(repr(timeline.tick_s)) * 10**9
    rows = zip(
        timeline.start_tick.values.tolist(),
        timeline.duration_tick.values.tolist(),
        timeline.name.values.tolist(),
        kinds,
        timeline.track.values.tolist(),
        strict=True,
    )
    return Counter(
        (start * scale, long * scale, timeline.strings[name], EVENT_KINDS[kind], timeline.tracks[track].device, timeline.tracks[track].thread)
        for start, long, name, kind, track in rows
    )


def launches_of(timeline: Timeline) -> Counter[tuple[str, str]]:
    links = timeline.links
    assert links is not None
    assert links.kind is not None
    names = [timeline.strings[index] for index in timeline.name.values.tolist()]
    pairs = zip(links.source.values.tolist(), links.target.values.tolist(), links.kind.values.tolist(), strict=True)
    return Counter((names[source], names[target]) for source, target, kind in pairs if LINK_KINDS[kind] == "launch")


def test_read_again_it_is_the_same(tmp_path: Path) -> None:
    timeline = timeline_of(_STEPS, [(2, 4, "launch"), (2, 6, "launch")])
    found = again(timeline, tmp_path)
    assert events_of(found) == events_of(timeline)
    assert launches_of(found) == Counter([("cudaLaunchKernel", "gemm"), ("cudaLaunchKernel", "ncclKernel_AllReduce")])


def links_of(timeline: Timeline) -> Counter[tuple[str, str, str]]:
    links = timeline.links
    assert links is not None
    assert links.kind is not None
    names = [timeline.strings[index] for index in timeline.name.values.tolist()]
    pairs = zip(links.source.values.tolist(), links.target.values.tolist(), links.kind.values.tolist(), strict=True)
    return Counter((LINK_KINDS[kind], names[source], names[target]) for source, target, kind in pairs)


def test_arrows_between_streams_and_what_was_waited_for_come_back(tmp_path: Path) -> None:
    # By its times alone the wait would have been for the all-reduce, which ended last.
    links = [(2, 4, "launch"), (2, 6, "launch"), (6, 7, "signal"), (7, 5, "flow"), (5, 3, "wait")]
    timeline = timeline_of(_STEPS, links)
    found = again(timeline, tmp_path)
    assert links_of(found) == links_of(timeline)


def test_ranges_stay_ranges(tmp_path: Path) -> None:
    beside = Track(name="GPU 0 stream 7 annotations", device="GPU 0", role="ranges", process="1", thread="7")
    host = Track(name="process 1, overhead", role="ranges", process="1", thread="2")
    timeline = timeline_of(
        [
            (stream(7), "compute", "gemm", 5, 9), (beside, "annotation", "ProfilerStep#1", 0, 10), (beside, "other", "odd", 1, 2),
            (HOST, "operator", "aten::mm", 0, 10), (host, "profiler", "Buffer Flush", 2, 4), (host, "wait", "Command Buffer Full", 4, 10),
        ],
        [(3, 0, "launch")],
    )  # fmt: skip
    found = again(timeline, tmp_path)
    assert events_of(found) == events_of(timeline)
    assert {(track.device, track.thread, track.role) for track in found.tracks} == {
        (track.device, track.thread, track.role) for track in timeline.tracks
    }


@pytest.mark.parametrize(("ranks", "expected"), [((3, 3), {3}), ((None, None), {None}), ((0, 1), {None})])
def test_the_rank_of_all_lanes_comes_back(tmp_path: Path, ranks: tuple[int | None, int | None], expected: set[int | None]) -> None:
    lanes = [msgspec.structs.replace(HOST, name=f"thread {number}", thread=str(number), rank=rank) for number, rank in enumerate(ranks)]
    timeline = timeline_of([(lane, "operator", "aten::mm", 0, 10) for lane in lanes])
    assert {track.rank for track in again(timeline, tmp_path).tracks} == expected


@pytest.mark.parametrize("kind", [kind for kind in EVENT_KINDS if kind not in ("compute", "operator", "runtime", "annotation")])
def test_a_kind_that_no_name_tells_comes_back(tmp_path: Path, kind: str) -> None:
    timeline = timeline_of(
        [(HOST, "operator", "aten::mm", 0, 10), (HOST, kind, "odd", 20, 30), (stream(7), "compute", "gemm", 0, 9), (stream(7), kind, "odd", 40, 50)]
    )
    assert events_of(again(timeline, tmp_path)) == events_of(timeline)


@pytest.mark.parametrize("name", ["NPU 3", "rank 1 GPU 0", "GPU of agent 7", "node 2, trace GPU 11"])
def test_devices_of_other_makers_and_ranks_keep_their_names(tmp_path: Path, name: str) -> None:
    npu = Track(name=f"{name} queue 1", device=name, role="queue", process="1", thread="1")
    timeline = timeline_of([(npu, "compute", "conv", 0, 10), (HOST, "operator", "aten::mm", 0, 10)])
    assert events_of(again(timeline, tmp_path)) == events_of(timeline)


_NAMES = st.text(min_size=1, max_size=20).filter(lambda text: text.isprintable() and text == text.strip())


@settings(deadline=None, max_examples=60)
@given(
    rows=st.lists(
        st.tuples(st.sampled_from(["operator", "python", "other"]), _NAMES, st.integers(1, 2**53), st.integers(1, 10**9)), min_size=1, max_size=8
    ),
)
def test_no_tick_and_no_name_is_lost(tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, str, int, int]]) -> None:
    timeline = timeline_of([(HOST, kind, name, start, start + long) for kind, name, start, long in rows])
    document = json.loads(written(timeline), parse_float=Decimal)
    spans = [
        (event["name"], int(Decimal(event["ts"]) * 1000), int(Decimal(event["dur"]) * 1000))
        for event in document["traceEvents"]
        if event["ph"] == "X"
    ]
    assert Counter(spans) == Counter((name, start, long) for _, name, start, long in rows)


@pytest.mark.parametrize(("tick_s", "digits"), [(1e-12, "0.000123"), (1e-9, "0.123"), (1e-6, "123"), (1e-7, "12.3"), (4e-8, "4.92")])
def test_ticks_are_decimals(tick_s: float, digits: str) -> None:
    text = written(timeline_of([(HOST, "operator", "x", 123, 123)], tick_s=tick_s)).decode()
    assert f'"ts":{digits},' in text


def test_marks_counters_and_further_columns_are_there() -> None:
    timeline = timeline_of(
        _STEPS[:2],
        marks=Marks(tick=Column([3], "count", "int64"), name=Column([1], "count", "int32"), track=Column([0], "count", "int32")),
        counters=(CounterTrack(name="memory", tick=Column([0, 5], "count", "int64"), value=Column([1.5, 2.0], "B"), process="1"),),
        numbers={"bytes": Column([-1, 4096], "B", "int64"), "occupancy": Column([-1.0, 0.5], "1")},
        texts={"site": Column([0, -1], "count", "int32"), "shapes": Column([-1, 0], "count", "int32")},
    )
    events = json.loads(written(timeline))["traceEvents"]
    assert [event["args"]["value"] for event in events if event["ph"] == "C"] == [1.5, 2.0]
    assert [event["name"] for event in events if event["ph"] == "i"] == ["aten::mm"]
    first, second = (event["args"] for event in events if event["ph"] == "X")
    assert first["site"] == "ProfilerStep#1"
    assert (second["bytes"], second["est. achieved occupancy %"], second["Input Dims"]) == (4096, 50.0, "ProfilerStep#1")


def test_findings_gaps_and_the_path_are_lanes_of_their_own(tmp_path: Path) -> None:
    from ridgeline.core import Profile

    timeline = timeline_of([*_STEPS, (stream(7), "compute", "late", 5000, 5100)], [(2, 4, "launch")])
    report = report_of(Profile(format="chrome", files=("x",), timeline=timeline))
    document = json.loads(written(timeline, report))
    ours = [event for event in document["traceEvents"] if event.get("cat", "").startswith("ridgeline.") and event["pid"] == 2**31 - 1]
    (gap,) = [event for event in ours if event["cat"] == "ridgeline.gaps" and event["dur"] > 1]
    assert (gap["ts"], gap["dur"]) == (0.95, 4.05)
    path = sorted((event["ts"], event["dur"]) for event in ours if event["cat"] == "ridgeline.path")
    assert path[0][0] == 0
    assert sum(dur for _, dur in path) == pytest.approx(5.1)
    file = tmp_path / "with.json"
    file.write_bytes(written(timeline, report))
    found = report_of(read_profile(file))
    # Read again, what ridgeline drew is neither work nor events of the program.
    assert [lane.events for lane in found.lanes] == [lane.events for lane in report.lanes]
    assert [(one.reason, one.events) for one in found.excluded] == [("findings, gaps and the path that ridgeline wrote", len(ours))]
    assert [(one.name, one.busy_s, one.idle_s) for one in found.devices] == [(one.name, one.busy_s, one.idle_s) for one in report.devices]


def test_a_hostile_name_stays_a_name() -> None:
    timeline = timeline_of([(HOST, "operator", '"},{"ph":"X","name":"\\ %s %d %', 0, 1)])
    events = json.loads(written(timeline))["traceEvents"]
    assert [event["name"] for event in events if event["ph"] == "X"] == ['"},{"ph":"X","name":"\\ %s %d %']


def test_many_events_are_written_in_pieces() -> None:
    count = 120_001
    timeline = msgspec.structs.replace(
        timeline_of([(HOST, "operator", "x", 0, 1)]),
        start_tick=Column(np.arange(count), "count"),
        duration_tick=Column(np.ones(count, dtype=np.int64), "count"),
        name=Column(np.zeros(count, dtype=np.int32), "count"),
        track=Column(np.zeros(count, dtype=np.int32), "count"),
        kind=Column(np.ones(count, dtype=np.uint8), "count"),
        links=None,
    )
    assert len([event for event in json.loads(written(timeline))["traceEvents"] if event["ph"] == "X"]) == count


@pytest.mark.parametrize(("name", "label"), [("shapes", "Input Dims"), ("types", "Input type"), ("concrete", "Concrete Inputs")])
def test_what_an_operator_was_given_stands_as_pytorch_writes_it(name: str, label: str) -> None:
    timeline = timeline_of([(HOST, "operator", "aten::mm", 0, 10)])
    timeline = msgspec.structs.replace(timeline, strings=(*timeline.strings, '[["a", 1]]'), texts={name: Column([1], "count", "int32")})
    (event,) = [event for event in json.loads(written(timeline))["traceEvents"] if event["ph"] == "X"]
    assert event["args"][label] == [["a", 1]]
