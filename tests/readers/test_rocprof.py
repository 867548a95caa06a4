"""Files of AMD's profilers: dispatches of every generation, counters to figures, calls to what they launched."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from readers.exports import export_of
from ridgeline.core import EVENT_KINDS, LINK_KINDS, Profile, ReadError, Timeline
from ridgeline.readers import read_profile
from ridgeline.readers.rocprof import Rocpd, RocprofCsv, RocprofJson
from ridgeline.readers.rocprof.counters import figures
from ridgeline.readers.testing import ProfileReaderConformance

V1 = """Index,KernelName,gpu-id,queue-id,queue-index,pid,tid,grd,wgr,lds,scr,vgpr,sgpr,fbar,sig,obj,DispatchNs,BeginNs,EndNs,CompleteNs
0,"__amd_rocclr_fillBuffer.kd",0,0,0,9,9,512,256,0,0,8,32,6464,0x0,0x7f,100,150,200,210
1,"void axpy<float, 4>(float*) [clone .kd]",0,0,2,9,9,1000,256,64,0,24,24,12480,0x0,0x7f,120,200,300,310
"""
OMNIPERF = """Dispatch_ID,Kernel_Name,GPU_ID,queue-id,queue-index,pid,tid,Grid_Size,Workgroup_Size,LDS_Per_Workgroup,Scratch_Per_Workitem,Arch_VGPR,Accum_VGPR,SGPR,wave_size,sig,obj,DispatchNs,Start_Timestamp,End_Timestamp,CompleteNs
0,"vecCopy(double*) [clone .kd]",2,0,0,9,9,1024,256,0,0,8,8,16,64,0x0,0x7f,100,125,149,160
"""  # noqa: E501
V2 = """Dispatch_ID,GPU_ID,Queue_ID,PID,TID,Grid_Size,Workgroup_Size,LDS_Per_Workgroup,Scratch_Per_Workitem,Arch_VGPR,Accum_VGPR,SGPR,Wave_Size,Kernel_Name,Start_Timestamp,End_Timestamp,Correlation_ID
1,60633,1,9,9,1024,256,0,0,4,4,16,64,"vecCopy(double*) (.kd)",716479545398906,716479545415785,0
"""  # noqa: E501
COUNTED = """Index,KernelName,gpu-id,queue-id,queue-index,pid,tid,grd,wgr,lds,scr,vgpr,sgpr,fbar,sig,obj,TCC_HIT_sum,TCC_MISS_sum,SQ_WAVES,FetchSize,WriteSize,DispatchNs,BeginNs,EndNs,CompleteNs
0,"axpy.kd",0,0,0,9,9,1024,256,0,0,8,32,6464,0x0,0x7f,300,100,16,1000,1000,100,150,1150,2210
"""  # noqa: E501
TRACE = """"Kind","Agent_Id","Queue_Id","Stream_Id","Thread_Id","Dispatch_Id","Kernel_Id","Kernel_Name","Correlation_Id","Start_Timestamp","End_Timestamp","LDS_Block_Size","Scratch_Size","VGPR_Count","Accum_VGPR_Count","SGPR_Count","Workgroup_Size_X","Workgroup_Size_Y","Workgroup_Size_Z","Grid_Size_X","Grid_Size_Y","Grid_Size_Z"
"KERNEL_DISPATCH","Agent 2",1,3,70,1,33,"ncclDevKernel_Generic_1(ncclDevKernelArgs)",11,100,200,0,0,12,4,48,256,1,1,512,1,1
"""  # noqa: E501
COLLECTION = """"Correlation_Id","Dispatch_Id","Agent_Id","Queue_Id","Process_Id","Thread_Id","Grid_Size","Kernel_Id","Kernel_Name","Workgroup_Size","LDS_Block_Size","Scratch_Size","VGPR_Count","Accum_VGPR_Count","SGPR_Count","Counter_Name","Counter_Value","Start_Timestamp","End_Timestamp"
1,1,"Agent 1",2,9,9,1024,5,"init",256,0,0,12,4,32,"OccupancyPercent",13.5,100,200
1,1,"Agent 1",2,9,9,1024,5,"init",256,0,0,12,4,32,"TCC_HIT",60,100,200
1,1,"Agent 1",2,9,9,1024,5,"init",256,0,0,12,4,32,"TCC_HIT",15,100,200
1,1,"Agent 1",2,9,9,1024,5,"init",256,0,0,12,4,32,"TCC_MISS",25,100,200
2,2,"Agent 1",2,9,9,1024,5,"next",256,0,0,12,4,32,"TCC_HIT",1,300,400
"""  # noqa: E501
CALLS = """"Domain","Function","Process_Id","Thread_Id","Correlation_Id","Start_Timestamp","End_Timestamp"
"HIP_RUNTIME_API","hipLaunchKernel",9,9,1,100,110
"HIP_RUNTIME_API","hipDeviceSynchronize",9,9,2,110,300
"MARKER_CORE_API","step 3",9,9,3,90,310
"""
COPIES = """"Kind","Direction","Source_Agent_Id","Destination_Agent_Id","Correlation_Id","Start_Timestamp","End_Timestamp"
"MEMORY_COPY","HOST_TO_DEVICE","Agent 0","Agent 2",1,100,150
"MEMORY_COPY","DEVICE_TO_HOST","Agent 2","Agent 0",2,200,250
"""
SUMS = """"Name","Calls","TotalDurationNs","AverageNs","Percentage","MinNs","MaxNs","StdDev"
"gemm(double*)",24,10650240,443760.0,88.70,441120,449280,2048.5
"""


def tool(**more: object) -> dict[str, object]:
    handle = {"handle": 7}
    info = {"agent_id": handle, "queue_id": {"handle": 1}, "kernel_id": 5, "dispatch_id": 1, "group_segment_size": 64}
    shape = {"workgroup_size": {"x": 64, "y": 1, "z": 1}, "grid_size": {"x": 128, "y": 1, "z": 1}}
    dispatch = {"kind": 1, "operation": 0, "thread_id": 4, "correlation_id": {"internal": 3}, "start_timestamp": 200, "end_timestamp": 300}
    records: dict[str, object] = {
        "kernel_dispatch": [{**dispatch, "dispatch_info": {**info, **shape}, "stream_id": {"handle": 9}}],
        "memory_copy": [{**dispatch, "kind": 2, "start_timestamp": 400, "end_timestamp": 500, "bytes": 4096, "dst_agent_id": handle}],
        "hip_api": [{**dispatch, "kind": 0, "start_timestamp": 100, "end_timestamp": 120}],
        "marker_api": [{**dispatch, "kind": 3, "correlation_id": {"internal": 8}, "start_timestamp": 90, "end_timestamp": 600}],
    }
    return {
        "metadata": {"pid": 42, "command": ["python", "train.py"]},
        "agents": [{"id": {"handle": 6}, "type": 1}, {"id": handle, "type": 2, "logical_node_type_id": 0, "product_name": "AMD Instinct MI350X"}],
        "counters": [{"id": {"handle": 1}, "name": "SQ_WAVES"}],
        "strings": {
            "buffer_records": [
                {"kind": "HIP_API", "operations": ["hipLaunchKernel"]},
                {"kind": "KERNEL_DISPATCH", "operations": []},
                {"kind": "MEMORY_COPY", "operations": ["MEMORY_COPY_HOST_TO_DEVICE"]},
                {"kind": "MARKER", "operations": ["roctxThreadRangeA"]},
            ],
            "marker_api": [{"key": 8, "value": "step 4"}],
        },
        "kernel_symbols": [{"kernel_id": 5, "kernel_name": "_Z4axpyv.kd", "formatted_kernel_name": "axpy()", "arch_vgpr_count": 16}],
        "buffer_records": {**records, **more},
        "callback_records": {"counter_collection": []},
    }


def as_json(*tools: dict[str, object]) -> bytes:
    return json.dumps({"rocprofiler-sdk-tool": list(tools)}).encode()


_ID = "_0001"
DATABASE = {
    f"rocpd_string{_ID}": [{"id": 1, "string": "hipLaunchKernel"}, {"id": 2, "string": "MEMORY_COPY_HOST_TO_DEVICE"}, {"id": 3, "string": "HIP_API"}],
    f"rocpd_info_process{_ID}": [{"id": 1, "pid": 42}],
    f"rocpd_info_thread{_ID}": [{"id": 1, "tid": 43}],
    f"rocpd_info_agent{_ID}": [{"id": 1, "type": "CPU", "type_index": 0}, {"id": 2, "type": "GPU", "type_index": 0}],
    f"rocpd_info_kernel_symbol{_ID}": [{"id": 5, "kernel_name": "_Z4axpyv.kd", "display_name": "axpy()"}],
    f"rocpd_event{_ID}": [
        {"id": 1, "stack_id": 11, "category_id": 3},
        {"id": 2, "stack_id": 11, "category_id": 3},
        {"id": 3, "stack_id": 12, "category_id": 3},
    ],
    f"rocpd_region{_ID}": [{"start": 100, "end": 120, "name_id": 1, "pid": 1, "tid": 1, "event_id": 1}],
    f"rocpd_kernel_dispatch{_ID}": [
        {"start": 200, "end": 300, "agent_id": 2, "kernel_id": 5, "queue_id": 1, "stream_id": 4, "pid": 1, "event_id": 2}
    ],
    f"rocpd_memory_copy{_ID}": [
        {"start": 400, "end": 500, "name_id": 2, "dst_agent_id": 2, "src_agent_id": 1, "size": 64, "stream_id": 4, "pid": 1, "event_id": 3}
    ],
}
OLDER = {
    "rocpd_string": [
        {"id": 1, "string": "hipLaunchKernel"},
        {"id": 2, "string": "axpy()"},
        {"id": 3, "string": "KernelExecution"},
        {"id": 4, "string": ""},
        {"id": 5, "string": "CopyHostToDevice"},
    ],
    "rocpd_op": [
        {"id": 1, "gpuId": 0, "queueId": 0, "start": 200, "end": 300, "description_id": 2, "opType_id": 3},
        {"id": 2, "gpuId": 0, "queueId": 0, "start": 300, "end": 310, "description_id": 4, "opType_id": 5},
    ],
    "rocpd_api": [{"id": 7, "pid": 42, "tid": 43, "start": 100, "end": 120, "apiName_id": 1, "args_id": 4}],
    "rocpd_api_ops": [{"api_id": 7, "op_id": 1}],
}


class TestCsv(ProfileReaderConformance):
    def reader(self) -> RocprofCsv:
        return RocprofCsv()

    def examples(self) -> Mapping[str, bytes]:
        texts = {
            "v1": V1,
            "Omniperf": OMNIPERF,
            "v2": V2,
            "counted": COUNTED,
            "v3": TRACE,
            "collection": COLLECTION,
            "calls": CALLS,
            "copies": COPIES,
            "sums": SUMS,
        }
        return {name: text.encode() for name, text in texts.items()}


class TestJson(ProfileReaderConformance):
    def reader(self) -> RocprofJson:
        return RocprofJson()

    def examples(self) -> Mapping[str, bytes]:
        return {"one process": as_json(tool()), "two processes": as_json(tool(), tool())}


class TestDatabase(ProfileReaderConformance):
    def reader(self) -> Rocpd:
        return Rocpd()

    def examples(self) -> Mapping[str, bytes]:
        return {"of rocprofv3": export_of(DATABASE), "of rocmProfileData": export_of(OLDER)}


def read(tmp_path: Path, data: str | bytes) -> Profile:
    path = tmp_path / "results"
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return read_profile(path)


def timeline(profile: Profile) -> Timeline:
    assert profile.timeline is not None
    return profile.timeline


def events(profile: Profile) -> list[tuple[str, str, str, int, int]]:
    t = timeline(profile)
    assert t.kind is not None
    columns = (t.track.values, t.kind.values, t.name.values, t.start_tick.values, t.duration_tick.values)
    rows = zip(*(column.tolist() for column in columns), strict=True)
    return [(t.tracks[track].name, EVENT_KINDS[kind], t.strings[name], start, start + length) for track, kind, name, start, length in rows]


def links(profile: Profile) -> list[tuple[str, int, int]]:
    t = timeline(profile)
    if t.links is None or t.links.kind is None:
        return []
    start = t.start_tick.values
    rows = zip(t.links.kind.values, t.links.source.values, t.links.target.values, strict=True)
    return [(LINK_KINDS[kind], int(start[source]), int(start[target])) for kind, source, target in rows]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (V1, [("GPU 0 queue 0", "fill", "__amd_rocclr_fillBuffer", 150, 200), ("GPU 0 queue 0", "compute", "void axpy<float, 4>(float*)", 200, 300)]),
        (OMNIPERF, [("GPU 2 queue 0", "compute", "vecCopy(double*)", 125, 149)]),
        (V2, [("GPU 60633 queue 1", "compute", "vecCopy(double*)", 716479545398906, 716479545415785)]),
        (TRACE, [("GPU 2 stream 3", "communication", "ncclDevKernel_Generic_1(ncclDevKernelArgs)", 100, 200)]),
        (COPIES, [("GPU 2 copies", "copy", "HOST_TO_DEVICE", 100, 150), ("GPU 2 copies", "copy", "DEVICE_TO_HOST", 200, 250)]),
        (
            CALLS,
            [
                ("process 9 thread 9", "runtime", "hipLaunchKernel", 100, 110),
                ("process 9 thread 9", "wait", "hipDeviceSynchronize", 110, 300),
                ("process 9 thread 9", "iteration", "step 3", 90, 310),
            ],
        ),
    ],
    ids=["v1", "Omniperf", "v2", "v3", "copies", "calls"],
)
def test_rows_become_events(tmp_path: Path, text: str, expected: list[tuple[str, str, str, int, int]]) -> None:
    assert events(read(tmp_path, text)) == expected


def test_shapes_and_registers_stay_with_their_dispatch(tmp_path: Path) -> None:
    numbers = timeline(read(tmp_path, V1)).numbers
    assert numbers["blocks"].values.tolist() == [2, 4], "1000 threads in blocks of 256"
    assert numbers["registers_per_thread"].values.tolist() == [8, 24]
    assert timeline(read(tmp_path, OMNIPERF)).numbers["registers_per_thread"].values.tolist() == [16], "architectural and accumulation registers"


def test_counted_kernels_ran_alone_and_make_no_timeline(tmp_path: Path) -> None:
    profile = read(tmp_path, COUNTED)
    assert profile.timeline is None
    assert profile.kernels is not None
    (kernel,) = profile.kernels.kernels
    assert profile.kernels.replayed
    assert (kernel.name, kernel.duration_s, kernel.index) == ("axpy", 1e-6, 0)
    assert kernel.figures["l2_hit_rate"] == 0.75
    assert kernel.figures["dram_byte_per_s"] == pytest.approx(2000 * 1024 / 1e-6, rel=1e-12)
    assert kernel.raw["SQ_WAVES"] == 16


def test_counters_a_row_are_put_together_by_dispatch(tmp_path: Path) -> None:
    profile = read(tmp_path, COLLECTION)
    assert profile.kernels is not None
    first, second = profile.kernels.kernels
    assert first.figures["occupancy"] == 0.135
    assert first.raw == {"OccupancyPercent": 0.135, "TCC_HIT": 75, "TCC_MISS": 25}
    assert first.figures["l2_hit_rate"] == 0.75
    assert (second.name, second.raw) == ("next", {"TCC_HIT": 1})
    assert profile.kernels.units == {"OccupancyPercent": "1", "TCC_HIT": "count", "TCC_MISS": "count"}


def test_a_figure_without_all_its_counters_is_absent() -> None:
    assert figures({"TCC_HIT_sum": 5}, None) == {}
    assert figures({"TCC_HIT_sum": 0, "TCC_MISS_sum": 0}, None) == {}
    assert figures({"FetchSize": 1, "WriteSize": 1}, None) == {}
    misses = {"TCP_TCC_READ_REQ_sum": 10, "TCP_TCC_WRITE_REQ_sum": 5, "TCP_TCC_ATOMIC_WITH_RET_REQ_sum": 0, "TCP_TCC_ATOMIC_WITHOUT_RET_REQ_sum": 5}
    assert figures({"TCP_TOTAL_CACHE_ACCESSES_sum": 80, **misses}, None) == {"l1_hit_rate": 0.75}
    assert figures({"TCP_TOTAL_CACHE_ACCESSES_sum": 80, "TCP_TCC_READ_REQ_sum": 10}, None) == {}


def test_json_links_calls_to_what_they_put_into_queues(tmp_path: Path) -> None:
    profile = read(tmp_path, as_json(tool()))
    assert sorted(events(profile)) == [
        ("GPU 0 copies", "copy", "MEMORY_COPY_HOST_TO_DEVICE", 400, 500),
        ("GPU 0 stream 9", "compute", "axpy()", 200, 300),
        ("process 42 thread 4", "iteration", "step 4", 90, 600),
        ("process 42 thread 4", "runtime", "hipLaunchKernel", 100, 120),
    ]
    assert sorted(links(profile)) == [("launch", 100, 200), ("launch", 100, 400)]
    assert profile.facts == {"GPU 0": "AMD Instinct MI350X", "command": "python train.py"}
    assert not profile.warnings
    assert [warning.code for warning in read(tmp_path, as_json(tool(hip_api=[]))).warnings] == ["missing-launch"]


def test_json_of_several_processes_keeps_their_numbers_apart(tmp_path: Path) -> None:
    other = tool(hip_api=[])
    other["metadata"] = {"pid": 43}
    profile = read(tmp_path, as_json(tool(), other))
    assert len(timeline(profile)) == 7
    assert sorted(links(profile)) == [("launch", 100, 200), ("launch", 100, 400)], "a call of one process launches nothing of another"


def test_json_counters_make_a_table(tmp_path: Path) -> None:
    counted = tool()
    dispatch = counted["buffer_records"]["kernel_dispatch"][0]  # type: ignore[index]
    records = [{"counter_id": {"handle": 1}, "value": 4.0}, {"counter_id": {"handle": 1}, "value": 6.0}]
    counted["callback_records"] = {"counter_collection": [{"dispatch_data": dispatch, "records": records}]}
    profile = read(tmp_path, as_json(counted))
    assert profile.kernels is not None
    assert profile.kernels.kernels[0].raw == {"SQ_WAVES": 10}
    assert {event[1] for event in events(profile)} == {"copy", "runtime", "iteration"}, "the dispatches ran alone"


def test_damaged_json_is_refused_with_its_file(tmp_path: Path) -> None:
    for data in (as_json(tool())[:-20], b'{"rocprofiler-sdk-tool": 5}', b'{"rocprofiler-sdk-tool": []}'):
        with pytest.raises(ReadError, match="results"):
            read(tmp_path, data)


def test_databases_of_both_generations(tmp_path: Path) -> None:
    profile = read(tmp_path, export_of(DATABASE))
    assert sorted(events(profile)) == [
        ("GPU 0 queue 4", "compute", "axpy()", 200, 300),
        ("GPU 0 queue 4", "copy", "MEMORY_COPY_HOST_TO_DEVICE", 400, 500),
        ("process 42 thread 43", "runtime", "hipLaunchKernel", 100, 120),
    ]
    assert links(profile) == [("launch", 100, 200)]
    profile = read(tmp_path, export_of(OLDER))
    assert sorted(events(profile)) == [
        ("GPU 0 queue 0", "compute", "axpy()", 200, 300),
        ("GPU 0 queue 0", "copy", "CopyHostToDevice", 300, 310),
        ("process 42 thread 43", "runtime", "hipLaunchKernel", 100, 120),
    ]
    assert links(profile) == [("launch", 100, 200)]


def test_the_duration_that_stats_adds_is_no_counter(tmp_path: Path) -> None:
    header, *rows = V1.strip().split("\n")
    text = "\n".join([f"{header},DurationNs", *(f"{row},100" for row in rows)]) + "\n"
    assert events(read(tmp_path, text)) == events(read(tmp_path, V1))


def test_sums_with_numbers_below_zero_are_left_out(tmp_path: Path) -> None:
    text = '"Name","Calls","TotalDurationNs","AverageNs","MinNs"\n"k",2,300,150,-1\n"j",-1,100,100,100\n"i",1,-100,100,100\n'
    profile = read(tmp_path, text)
    assert [(row.name, row.calls, row.total_s, row.least_s) for row in profile.tables[0].rows] == [("k", 2.0, 3e-7, None)]
    assert [entry.events for entry in profile.excluded] == [2]


def test_a_row_that_says_to_be_longer_than_any_is_damage(tmp_path: Path) -> None:
    # A table of one page below the root of the schema, whose only row has 2^64 - 1 bytes.
    pages = bytearray(6 * 512)
    pages[:24] = b"SQLite format 3\x00" + bytes((2, 0, 1, 1, 0, 64, 32, 32))
    pages[100], pages[111] = 5, 6
    pages[2560], pages[2564], pages[2568], pages[2570], pages[2575] = 13, 5, 1, 1, 111
    pages[2671:2684] = b"\xff" * 11 + b"\x00p"
    with pytest.raises(ReadError, match="a whole SQLite database"):
        read_profile(_written(tmp_path, bytes(pages)), format="rocpd")


def _written(folder: Path, data: bytes) -> Path:
    path = folder / "profile.dat"
    path.write_bytes(data)
    return path


@pytest.mark.parametrize("table", ["kernel_dispatch", "memory_copy", "hip_api"])
@pytest.mark.parametrize("time", [None, 2**63, 10**400, -(2**63) - 1])
def test_json_records_without_a_possible_time_are_left_out_and_the_others_stay(tmp_path: Path, table: str, time: int | None) -> None:
    whole = tool()
    records = whole["buffer_records"]
    assert isinstance(records, dict)
    record = {key: value for key, value in records[table][0].items() if key != "end_timestamp"}
    records[table] = [*records[table], {**record, **({} if time is None else {"end_timestamp": time})}]
    profile = read(tmp_path, as_json(whole))
    assert events(profile) == events(read(tmp_path, as_json(tool())))
    assert [entry.events for entry in profile.excluded] == [1]


def test_json_numbers_beyond_any_are_not_there(tmp_path: Path) -> None:
    whole = tool()
    records = whole["buffer_records"]
    assert isinstance(records, dict)
    records["memory_copy"][0] |= {"bytes": 2**64}
    records["kernel_dispatch"][0]["dispatch_info"] |= {"group_segment_size": 2**70}
    numbers = timeline(read(tmp_path, as_json(whole))).numbers
    assert "bytes" not in numbers
    assert "shared_bytes_per_block" not in numbers
    assert max(numbers["blocks"].values.tolist()) == 2
