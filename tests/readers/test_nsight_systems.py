"""Nsight Systems' SQLite export: what each table says arrives, joined within its process, and nothing of a hostile database runs."""

from __future__ import annotations

import random
import sqlite3
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from readers import exports
from readers.exports import export_of, global_pid, global_tid
from ridgeline.core import DEVICE_WORK, EVENT_KINDS, LINK_KINDS, Profile, ReadError, Timeline
from ridgeline.readers import Limits, read_profile
from ridgeline.readers.joining import last_before, matches, next_after
from ridgeline.readers.nsight_systems import NsightSystems
from ridgeline.readers.testing import ProfileReaderConformance
from ridgeline.timeline.replay import what_if

STRINGS = (
    "void gemm<float>(float*)", "cudaLaunchKernel_v7000", "ncclDevKernel_AllReduce_Sum_f32_RING_LL", "cudaStreamSynchronize_v3020",
    "cudaMemcpyAsync_v3020", "cudaStreamWaitEvent_v3020", "cudaEventRecord_v3020", "read", "poll", "trainer",
)  # fmt: skip
GEMM, LAUNCH, REDUCE, SYNC, COPY, STREAM_WAIT, RECORD, READ, POLL, TRAINER = range(1, len(STRINGS) + 1)
Row = Mapping[str, object]


def kernel(start: int, end: int, correlation: int | None, *, process: int = 7, stream: int = 3, name: int = GEMM, **more: object) -> Row:
    place = {"deviceId": 0, "contextId": 1, "streamId": stream, "globalPid": global_pid(process)}
    return {"start": start, "end": end, "correlationId": correlation, "demangledName": name, **place, **more}


def call(start: int, end: int, correlation: int | None, name: int = LAUNCH, *, process: int = 7, thread: int = 70) -> Row:
    return {"start": start, "end": end, "correlationId": correlation, "nameId": name, "globalTid": global_tid(process, thread)}


def read(tmp_path: Path, tables: Mapping[str, Sequence[Row]], **more: str) -> Profile:
    path = tmp_path / "report.sqlite"
    path.write_bytes(export_of(tables, STRINGS, **more))
    return read_profile(path)


def timeline(profile: Profile) -> Timeline:
    assert profile.timeline is not None
    return profile.timeline


def events(profile: Profile) -> list[tuple[str, str, str, int, int]]:
    """(lane, kind, name, start, end) in the order of the timeline."""
    t = timeline(profile)
    assert t.kind is not None
    columns = (t.track.values, t.kind.values, t.name.values, t.start_tick.values, t.duration_tick.values)
    return [
        (t.tracks[track].name, EVENT_KINDS[kind], t.strings[name], start, start + length)
        for track, kind, name, start, length in zip(*(column.tolist() for column in columns), strict=True)
    ]


def links(profile: Profile) -> set[tuple[str, str, int, int]]:
    """(kind of link, kind of target, start of source, start of target)."""
    t = timeline(profile)
    if t.links is None:
        return set()
    assert t.links.kind is not None
    assert t.kind is not None
    start, kind = t.start_tick.values, t.kind.values
    pairs = zip(t.links.kind.values, t.links.source.values, t.links.target.values, strict=True)
    return {(LINK_KINDS[link], EVENT_KINDS[kind[target]], int(start[source]), int(start[target])) for link, source, target in pairs}


WHOLE: dict[str, list[Row]] = {
    "CUPTI_ACTIVITY_KIND_KERNEL": [
        kernel(200, 300, 1, gridX=4, gridY=2, gridZ=1, blockX=128, blockY=1, blockZ=1),
        kernel(300, 350, 2, name=REDUCE, stream=4),
    ],
    "CUPTI_ACTIVITY_KIND_MEMCPY": [kernel(400, 500, 3, bytes=4096, copyKind=1, srcKind=1, dstKind=2)],
    "CUPTI_ACTIVITY_KIND_MEMSET": [kernel(500, 510, 4, bytes=64)],
    "CUPTI_ACTIVITY_KIND_RUNTIME": [call(100, 110, 1), call(120, 130, 2), call(140, 150, 3, COPY), call(600, 700, 5, SYNC)],
    "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION": [kernel(600, 700, 5, syncType=3, eventId=2**32 - 1, eventSyncId=0)],
    "NVTX_EVENTS": [
        {"start": 90, "end": 800, "eventType": 59, "text": "step 12", "globalTid": global_tid(7, 70), "domainId": 0},
        {"start": 95, "end": 160, "eventType": 59, "text": "aten::mm, seq = 5, op_id = 9, sizes = [[2, 3], [3, 4]]", "globalTid": global_tid(7, 70)},
        {"start": 96, "end": 150, "eventType": 60, "textId": TRAINER, "globalTid": global_tid(7, 70)},
        {"start": 97, "eventType": 34, "text": "here", "globalTid": global_tid(7, 70)},
        {"start": 98, "eventType": 59, "text": "never closed", "globalTid": global_tid(7, 70)},
    ],
    "OSRT_API": [
        {"start": 20, "end": 60, "globalTid": global_tid(7, 71), "nameId": READ},
        {"start": 60, "end": 80, "globalTid": global_tid(7, 71), "nameId": POLL},
    ],
    "PROFILER_OVERHEAD": [{"start": 105, "end": 106, "globalTid": global_tid(7, 70), "nameId": TRAINER, "overheadType": 3}],
    "ThreadNames": [{"globalTid": global_tid(7, 70), "nameId": TRAINER}],
    "META_DATA_EXPORT": [{"name": "EXPORT_PRODUCT_NAME", "value": "NVIDIA Nsight Systems"}, {"name": "EXPORT_PRODUCT_VERSION", "value": "2026.1.1"}],
}  # fmt: skip


class TestConformance(ProfileReaderConformance):
    def reader(self) -> NsightSystems:
        return NsightSystems()

    def examples(self) -> Mapping[str, bytes]:
        small = {"CUPTI_ACTIVITY_KIND_KERNEL": [kernel(1, 3, 1)]}
        return {"all tables": export_of(WHOLE, STRINGS), "kernels alone": export_of(small, STRINGS)}


def test_every_table_arrives_with_its_lane_kind_and_name(tmp_path: Path) -> None:
    profile = read(tmp_path, WHOLE)
    assert sorted(events(profile)) == sorted(
        [
            ("GPU 0 stream 3", "compute", "void gemm<float>(float*)", 200, 300),
            ("GPU 0 stream 4", "communication", "ncclDevKernel_AllReduce_Sum_f32_RING_LL", 300, 350),
            ("GPU 0 stream 3", "copy", "Memcpy HtoD (Pinned -> Device)", 400, 500),
            ("GPU 0 stream 3", "fill", "Memset", 500, 510),
            ("process 7 thread 70 (trainer)", "runtime", "cudaLaunchKernel", 100, 110),
            ("process 7 thread 70 (trainer)", "runtime", "cudaLaunchKernel", 120, 130),
            ("process 7 thread 70 (trainer)", "runtime", "cudaMemcpyAsync", 140, 150),
            ("process 7 thread 70 (trainer)", "wait", "cudaStreamSynchronize", 600, 700),
            ("process 7 thread 70 (trainer)", "iteration", "step 12", 90, 800),
            ("process 7 thread 70 (trainer)", "operator", "aten::mm", 95, 160),
            ("ranges of process 7 thread 70 (trainer)", "annotation", "trainer", 96, 150),
            ("process 7 thread 71", "input", "read", 20, 60),
            ("process 7 thread 71", "wait", "poll", 60, 80),
            ("overhead of process 7 thread 70 (trainer)", "profiler", "trainer", 105, 106),
        ]
    )
    assert links(profile) == {
        ("launch", "compute", 100, 200),
        ("launch", "communication", 120, 300),
        ("launch", "copy", 140, 400),
        ("wait", "wait", 500, 600),  # the fill was the last work put into stream 3 before the wait for it
    }
    t = timeline(profile)
    row = events(profile).index(("GPU 0 stream 3", "compute", "void gemm<float>(float*)", 200, 300))
    assert (t.numbers["blocks"].values[row], t.numbers["threads_per_block"].values[row]) == (8, 128)
    assert sorted(t.numbers["bytes"].values[t.numbers["bytes"].values >= 0]) == [64, 4096]
    row = next(place for place, event in enumerate(events(profile)) if event[2] == "aten::mm")
    assert t.strings[t.texts["shapes"].values[row]] == "[[2, 3], [3, 4]]"
    assert t.numbers["sequence"].values[row] == 5
    assert t.marks is not None
    assert t.marks.tick.values.tolist() == [97]
    assert profile.tool == "NVIDIA Nsight Systems 2026.1.1"
    assert {(entry.reason, entry.events) for entry in profile.excluded} == {("NVTX ranges that were never closed", 1)}
    assert any(warning.code == "missing-launch" and "1 of 2 copies" in warning.message for warning in profile.warnings)


def test_correlation_numbers_count_within_a_process(tmp_path: Path) -> None:
    profile = read(
        tmp_path,
        {
            "CUPTI_ACTIVITY_KIND_KERNEL": [kernel(200, 300, 5, process=7), kernel(210, 310, 5, process=8), kernel(220, 320, 6, process=8)],
            "CUPTI_ACTIVITY_KIND_RUNTIME": [call(110, 120, 5, process=8), call(100, 105, 5, process=7), call(130, 140, 6, process=7)],
        },
    )
    assert links(profile) == {("launch", "compute", 100, 200), ("launch", "compute", 110, 210)}
    assert "1 of 3 kernels" in profile.warnings[0].message
    assert "1 share a number with a call of another process" in profile.warnings[0].message
    assert [track.name for track in timeline(profile).tracks[:2]] == [
        "GPU 0 stream 3 of process 7 context 1",
        "GPU 0 stream 3 of process 8 context 1",
    ]


@pytest.mark.parametrize("tied", [True, False], ids=["by the number that ties them", "by the event recorded last"])
def test_events_between_streams_order_them_where_their_records_are_there(tmp_path: Path, tied: bool) -> None:
    sync = 77 if tied else 0
    tables: dict[str, list[Row]] = {
        "CUPTI_ACTIVITY_KIND_KERNEL": [kernel(200, 300, 1, stream=3), kernel(310, 400, 6, stream=3), kernel(305, 500, 5, stream=4)],
        "CUPTI_ACTIVITY_KIND_RUNTIME": [
            call(100, 101, 1),
            call(102, 103, 2, RECORD),
            call(104, 105, 4, STREAM_WAIT),
            call(106, 107, 5),
            call(108, 109, 6),
        ],
        "CUPTI_ACTIVITY_KIND_CUDA_EVENT": [kernel(0, 0, 2, stream=3, eventId=9, eventSyncId=sync)],
        "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION": [kernel(104, 105, 4, stream=4, syncType=2, eventId=9, eventSyncId=sync)],
    }
    profile = read(tmp_path, tables)
    assert {link for link in links(profile) if link[0] != "launch"} == {("signal", "compute", 200, 305)}
    assert not profile.warnings
    del tables["CUPTI_ACTIVITY_KIND_CUDA_EVENT"]
    profile = read(tmp_path, tables)
    assert {link[0] for link in links(profile)} == {"launch"}
    assert [warning.code for warning in profile.warnings] == ["unknown-waits"]


def test_a_wait_for_a_context_ends_with_the_work_of_any_of_its_streams_that_ended_last(tmp_path: Path) -> None:
    tables: dict[str, list[Row]] = {
        "CUPTI_ACTIVITY_KIND_KERNEL": [kernel(200, 900, 1, stream=3), kernel(210, 300, 2, stream=4), kernel(950, 990, 9, stream=4)],
        "CUPTI_ACTIVITY_KIND_RUNTIME": [call(100, 101, 1), call(102, 103, 2), call(120, 905, 3, SYNC), call(910, 911, 9)],
        "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION": [kernel(120, 905, 3, stream=2**32 - 1, syncType=4, eventId=2**32 - 1)],
    }
    assert {link for link in links(read(tmp_path, tables)) if link[0] == "wait"} == {("wait", "wait", 200, 120)}


def test_a_copy_that_its_own_call_outlasts_was_waited_for(tmp_path: Path) -> None:
    copies = [kernel(200, 300, 1, copyKind=2, bytes=8), kernel(400, 500, 2, copyKind=1, bytes=8)]
    profile = read(
        tmp_path, {"CUPTI_ACTIVITY_KIND_MEMCPY": copies, "CUPTI_ACTIVITY_KIND_RUNTIME": [call(100, 310, 1, COPY), call(320, 330, 2, COPY)]}
    )
    assert [event[1] for event in events(profile)] == ["copy", "copy", "wait", "runtime"]
    assert {link for link in links(profile) if link[0] == "wait"} == {("wait", "wait", 200, 100)}


def test_a_call_that_waits_for_room_in_a_full_queue_waits_for_the_device(tmp_path: Path) -> None:
    def full(start: int, end: int, thread: int = 70, type: int = 8) -> Row:
        return {"start": start, "end": end, "globalTid": global_tid(7, thread), "nameId": TRAINER, "overheadType": type}

    calls = [call(100, 110, 1), call(120, 320, 2), call(330, 430, 3), call(440, 540, 4), call(550, 650, 5)]
    overhead = [full(125, 205), full(210, 300), full(335, 380), full(445, 535, thread=71), full(555, 645, type=3), full(640, 700)]
    profile = read(
        tmp_path,
        {
            "CUPTI_ACTIVITY_KIND_KERNEL": [kernel(200 + 100 * n, 300 + 100 * n, n) for n in range(1, 6)],
            "CUPTI_ACTIVITY_KIND_RUNTIME": calls,
            "PROFILER_OVERHEAD": overhead,
        },
    )
    # Two times together fill more than half of the second; of the others they are too short, of another thread, or something else.
    kinds = [(start, kind) for lane, kind, _, start, _ in events(profile) if lane.startswith("process")]
    assert kinds == [(100, "runtime"), (120, "wait"), (330, "runtime"), (440, "runtime"), (550, "runtime")]


def test_what_a_full_queue_held_up_comes_sooner_with_faster_work(tmp_path: Path) -> None:
    """One kernel fits into the queue; so each launch but the first waits until the kernel before it has ended."""
    starts = [1100 * n for n in range(5)]
    calls = [call(0, 20, 0), *(call(start + 30, start + 1070, n) for n, start in enumerate(starts, 1))]
    where = {"globalTid": global_tid(7, 70), "nameId": TRAINER, "overheadType": 8}
    full = [{"start": start + 40, "end": start + 1060, **where} for start in starts]
    found = read(
        tmp_path,
        {
            "CUPTI_ACTIVITY_KIND_KERNEL": [kernel(start + 50, start + 1050, n) for n, start in enumerate([*starts, 5500])],
            "CUPTI_ACTIVITY_KIND_RUNTIME": calls,
            "PROFILER_OVERHEAD": full,
        },
    )
    gone = what_if(timeline(found), "void gemm<float>(float*)")
    # What stays is what launching takes.
    assert gone.before_s == pytest.approx(6550e-9)
    assert gone.after_s < 0.15 * gone.before_s


def test_graphs_are_traced_by_nodes_or_whole_and_never_both(tmp_path: Path) -> None:
    nodes = [kernel(200, 300, 1, graphNodeId=(5 << 32) + 1), kernel(300, 400, 1, graphNodeId=(5 << 32) + 2)]
    whole = [kernel(200, 400, 1, graphId=5), kernel(600, 700, 2, graphId=5), kernel(0, 0, 3, graphId=5)]
    profile = read(
        tmp_path, {"CUPTI_ACTIVITY_KIND_KERNEL": nodes, "CUPTI_ACTIVITY_KIND_GRAPH_TRACE": whole, "CUPTI_ACTIVITY_KIND_RUNTIME": [call(100, 110, 1)]}
    )
    assert [event[1:] for event in events(profile)][:3] == [
        ("compute", "void gemm<float>(float*)", 200, 300),
        ("compute", "void gemm<float>(float*)", 300, 400),
        ("compute", "CUDA graph 5", 600, 700),
    ]
    assert timeline(profile).numbers["graph"].values.tolist()[:3] == [5, 5, 5]
    assert {link[3] for link in links(profile)} == {200, 300}, "one call launched both nodes"
    reasons = {entry.reason: (entry.events, entry.total_s) for entry in profile.excluded}
    assert reasons == {"whole graphs whose nodes are traced one by one": (1, 2e-7), "device work whose times could not be taken": (1, 0.0)}


def test_damaged_times_are_counted_and_in_no_figure(tmp_path: Path) -> None:
    good = [kernel(1000 + 10 * place, 1005 + 10 * place, place) for place in range(20)]
    bad = [
        kernel(500, 400, 91),
        {**kernel(0, 700, 92), "start": "soon"},
        {**kernel(0, 700, 93), "start": None},
        kernel(1100, 2**60, 94),
        kernel(2**58, 2**58 + 5, 95),
        kernel(-(2**63), 5, 96),
    ]
    profile = read(tmp_path, {"CUPTI_ACTIVITY_KIND_KERNEL": [*good[:10], *bad, *good[10:]]})
    assert len(timeline(profile)) == 20
    found = {entry.reason: (entry.events, entry.first) for entry in profile.excluded}
    assert found == {
        "times that are missing, or no times": (3, "table CUPTI_ACTIVITY_KIND_KERNEL row 12"),
        "ending before they begin": (1, "table CUPTI_ACTIVITY_KIND_KERNEL row 11"),
        "times more than 100 times as far off, or as long, as all the rest together": (2, "table CUPTI_ACTIVITY_KIND_KERNEL row 14"),
    }


def test_devices_are_called_by_their_number_in_the_machine(tmp_path: Path) -> None:
    tables: dict[str, list[Row]] = {
        "CUPTI_ACTIVITY_KIND_KERNEL": [kernel(1, 2, 1, process=7), kernel(1, 2, 1, process=8)],
        "TARGET_INFO_CUDA_DEVICE": [{"gpuId": 2, "cudaId": 0, "pid": 7}, {"gpuId": 5, "cudaId": 0, "pid": 8}],
    }
    assert {track.device for track in timeline(read(tmp_path, tables)).tracks} == {"GPU 2", "GPU 5"}


def test_an_index_that_covers_a_column_does_not_part_rows_from_their_texts(tmp_path: Path) -> None:
    rows = [
        {"start": 100 - place, "end": 200 - place, "eventType": 59, "text": f"range {place}", "globalTid": global_tid(1, 1)} for place in range(9)
    ]
    profile = read(
        tmp_path,
        {"NVTX_EVENTS": rows},
        script="CREATE INDEX a ON NVTX_EVENTS (text); CREATE INDEX b ON NVTX_EVENTS (start, end, eventType, globalTid, textId);",
    )
    assert {(name, start) for _, _, name, start, _ in events(profile)} == {(f"range {place}", 100 - place) for place in range(9)}


def test_old_schemas_lack_columns_and_spell_names_out(tmp_path: Path) -> None:
    tables: dict[str, list[Row]] = {
        "CUPTI_ACTIVITY_KIND_KERNEL": [{"start": 20, "end": 30, "deviceId": 0, "streamId": 7, "correlationId": 1, "name": "axpy"}],
        "CUPTI_ACTIVITY_KIND_RUNTIME": [{"start": 10, "end": 12, "globalTid": global_tid(1, 1), "correlationId": 1, "name": "cudaLaunch"}],
    }
    path = tmp_path / "old.sqlite"
    for name, rows in tables.items():
        tables[name] = [dict(row) for row in rows]
    known = {name: exports.COLUMNS.pop(name) for name in tables}
    try:
        path.write_bytes(export_of(tables))
    finally:
        exports.COLUMNS.update(known)
    profile = read_profile(path)
    assert [event[1:3] for event in events(profile)] == [("compute", "axpy"), ("runtime", "cudaLaunch")]
    assert links(profile) == {("launch", "compute", 10, 20)}


HOSTILE = {
    "a view in place of a table": "DROP TABLE NVTX_EVENTS; CREATE VIEW NVTX_EVENTS AS"
    " WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i AS start, i AS end FROM n;",
    "a view of strings": "DROP TABLE StringIds; CREATE VIEW StringIds AS SELECT 1 AS id, hex(zeroblob(1000000000)) AS value;",
    "a trigger": "CREATE TRIGGER t AFTER INSERT ON StringIds BEGIN DELETE FROM StringIds; END;",
    "blobs as numbers": "UPDATE CUPTI_ACTIVITY_KIND_RUNTIME SET start = zeroblob(100), nameId = 1e300;",
    "huge numbers": "UPDATE CUPTI_ACTIVITY_KIND_RUNTIME SET start = -9223372036854775808, end = 9223372036854775807,"
    " correlationId = 9223372036854775807;",
    "a name with a quote": 'CREATE TABLE "odd"" name" (x); INSERT INTO "odd"" name" VALUES (1);',
    "a generated column": "CREATE TABLE OPENMP_X (a, b AS (hex(zeroblob(100000000))) VIRTUAL); INSERT INTO OPENMP_X (a) VALUES (1);",
}  # fmt: skip


@pytest.mark.parametrize("what", HOSTILE)
def test_nothing_of_a_hostile_database_runs(tmp_path: Path, what: str) -> None:
    profile = read(tmp_path, WHOLE, script=HOSTILE[what])
    kinds = {event[1] for event in events(profile)}
    assert {"compute", "copy", "fill"} <= kinds, "the sound tables are read"
    assert ("communication" in kinds) == (what != "a view of strings"), "without names nothing is told by a name"


def test_long_names_are_refused_until_the_limit_is_raised(tmp_path: Path) -> None:
    path = tmp_path / "long.sqlite"
    path.write_bytes(export_of({"CUPTI_ACTIVITY_KIND_KERNEL": [kernel(1, 2, 1)] * 9}, ["k" * 70_000]))
    with pytest.raises(ReadError, match=r"long\.sqlite: one that starts with .kkk.*limit on names"):
        read_profile(path)
    assert [event[2] for event in events(read_profile(path, limits=Limits(name_characters=10**5)))] == ["k" * 70_000] * 9
    with pytest.raises(ReadError, match="limit on events"):
        read_profile(path, limits=Limits(name_characters=10**5, events=5))


def test_an_export_that_is_cut_short_is_known_and_refused(tmp_path: Path) -> None:
    path = tmp_path / "cut.sqlite"
    data = export_of(WHOLE, STRINGS)
    path.write_bytes(data[: len(data) * 2 // 3])
    with pytest.raises(ReadError, match=r"a whole SQLite database; found: .*cut\.sqlite: table sqlite_master"):
        read_profile(path)


def test_other_databases_are_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "other.sqlite"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE notes (text)")
    connection.commit()
    connection.close()
    with pytest.raises(ReadError, match=r"other\.sqlite"):
        read_profile(path)


def test_an_export_without_events_says_how_to_record_some(tmp_path: Path) -> None:
    with pytest.raises(ReadError, match="--trace=cuda"):
        read(tmp_path, {"NVTX_EVENTS": []})


ROWS = st.lists(st.tuples(st.integers(-2, 3), st.integers(-(2**63), 2**63 - 1) | st.integers(0, 6)), max_size=30)


@given(ROWS, ROWS)
def test_joins_agree_with_looking_at_every_pair(rows: list[tuple[int, int]], wanted: list[tuple[int, int]]) -> None:
    columns = [np.array([row[side] for row in table], np.int64) for table in (rows, wanted) for side in (0, 1)]
    first = [next((place for place, row in enumerate(rows) if row == each), -1) for each in wanted]
    assert matches(*columns).tolist() == first
    for found, each in zip(last_before(*columns).tolist(), wanted, strict=True):
        below = [number for group, number in rows if group == each[0] and number < each[1]]
        assert (rows[found] if found >= 0 else None) == ((each[0], max(below)) if below else None), "the largest below"
    for found, each in zip(next_after(*columns).tolist(), wanted, strict=True):
        above = [number for group, number in rows if group == each[0] and number > each[1]]
        assert (rows[found] if found >= 0 else None) == ((each[0], min(above)) if above else None), "the smallest above"


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_all_work_and_all_launches_of_random_runs_are_found(seed: int) -> None:
    """What was written is what is read: sums and links, in whatever order the rows stand."""
    chance = random.Random(seed)
    kernels, calls, expected = [], [], set()
    for process in (7, 8):
        for correlation in range(chance.randrange(1, 12)):
            at = chance.randrange(1000) * 10 + process - 7
            if chance.random() < 0.8:
                calls.append(call(at, at + 3, correlation, process=process))
            for node in range(chance.randrange(3)):
                begun = at + 10_000 + 100_000 * node + correlation * 1_000_000
                kernels.append(kernel(begun, begun + chance.randrange(50), correlation, process=process))
                if calls and calls[-1]["correlationId"] == correlation and calls[-1]["globalTid"] == global_tid(process, 70):
                    expected.add(("launch", "compute", at, begun))
    chance.shuffle(kernels)
    chance.shuffle(calls)
    tables = {"CUPTI_ACTIVITY_KIND_KERNEL": kernels, "CUPTI_ACTIVITY_KIND_RUNTIME": calls}
    if not kernels and not calls:
        return
    with tempfile.TemporaryDirectory() as folder:
        profile = read(Path(folder), tables)
    t = timeline(profile)
    assert t.kind is not None
    work = np.isin(t.kind.values, [EVENT_KINDS.index(kind) for kind in DEVICE_WORK])
    assert int(t.duration_tick.values[work].sum()) == sum(int(str(row["end"])) - int(str(row["start"])) for row in kernels)
    assert links(profile) == expected
