"""CSV of nsys stats: summaries and traces of old and new versions, whatever is printed around them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from ridgeline.core import EVENT_KINDS, LINK_KINDS, Profile, ReadError
from ridgeline.readers import read_profile
from ridgeline.readers.nsys_stats import NsysStats
from ridgeline.readers.testing import ProfileReaderConformance

SUMMARY = """Generating SQLite file report.sqlite from report.nsys-rep
Processing [report.sqlite] with [/opt/nsys/reports/cuda_gpu_kern_sum.py]...

 ** CUDA GPU Kernel Summary (cuda_gpu_kern_sum):

Time (%),Total Time (ns),Instances,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),Name
75.0,"5,850,000",50,117000.0,116000.0,100000,130000,4000.0,"void gemm<float, 4>(float*, int)"
25.0,1950000,10,195000.0,195000.0,190000,200000,1.0,relu

Processing [report.sqlite] with [/opt/nsys/reports/cuda_gpu_mem_time_sum.py]...
Time (%),Total Time (ns),Count,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),Operation
100.0,6000,4,1500.0,1500.0,1400,1600,1.0,[CUDA memcpy Host-to-Device]

Processing [report.sqlite] with [/opt/nsys/reports/nvtx_sum.py]...
Time (%),Total Time (ns),Instances,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),Style,Range
100.0,9000,3,3000.0,3000.0,3000,3000,0.0,PushPop,:step
"""
OLD = """Time(%),Total Time (ns),Instances,Average,Minimum,Maximum,Name
 100.0,1000,2,500.0,400,600,axpy
"""
API = """"Time (%)","Total Time (us)","Num Calls","Avg (us)","Name"
"66.7","1000","3","333.3","cudaLaunchKernel"
"""
TRACE = """Start (ns),Duration (ns),CorrId,GrdX,GrdY,GrdZ,BlkX,BlkY,BlkZ,Reg/Trd,StcSMem (MB),DymSMem (MB),Bytes (MB),Throughput (MB/s),SrcMemKd,DstMemKd,Device,Ctx,Strm,Name
9007199254740993,100,7,1,1,1,64,1,1,16,0.0,0.0,,,,,NVIDIA A100 (1),1,7,axpy
9007199254741193,50,8,,,,,,,,,,1.5,30000,Pinned,Device,NVIDIA A100 (1),1,7,[CUDA memcpy Host-to-Device]

Start (ns),Duration (ns),Name,Result,CorrID,Pid,Tid,T-Pri,Thread Name
9007199254740903,10,cudaLaunchKernel,0,7,55,56,20,python
9007199254740923,10,cudaDeviceSynchronize,0,9,55,56,20,python
"""  # noqa: E501
SECONDS = "Start (s),Duration (ms),CorrId,Device,Ctx,Strm,Name\n1.234567891,0.5,1,GPU (0),1,7,axpy\n"


class TestConformance(ProfileReaderConformance):
    def reader(self) -> NsysStats:
        return NsysStats()

    def examples(self) -> Mapping[str, bytes]:
        texts = {"summaries": SUMMARY, "of 2020": OLD, "calls": API, "traces": TRACE, "seconds": SECONDS}
        return {name: text.encode() for name, text in texts.items()}


def read(tmp_path: Path, text: str) -> Profile:
    path = tmp_path / "stats.csv"
    path.write_text(text)
    return read_profile(path)


def test_every_summary_is_a_table_in_seconds(tmp_path: Path) -> None:
    tables = read(tmp_path, SUMMARY).tables
    assert [(table.of, table.nested, table.name) for table in tables] == [
        ("kernels", False, "cuda_gpu_kern_sum"),
        ("copies", False, "cuda_gpu_mem_time_sum"),
        ("ranges", True, "nvtx_sum"),
    ]
    first = tables[0].rows[0]
    assert (first.name, first.total_s, first.calls, first.share) == ("void gemm<float, 4>(float*, int)", 5.85e-3, 50, 0.75)
    assert (first.median_s, first.least_s, first.most_s) == (116e-6, 100e-6, 130e-6)


@pytest.mark.parametrize(("text", "of", "total_s"), [(OLD, "kernels", 1e-6), (API, "runtime", 1e-3)])
def test_units_stand_in_the_header(tmp_path: Path, text: str, of: str, total_s: float) -> None:
    (table,) = read(tmp_path, text).tables
    assert (table.of, table.rows[0].total_s) == (of, pytest.approx(total_s, rel=1e-12))


def test_traces_keep_every_nanosecond_and_their_launches(tmp_path: Path) -> None:
    timeline = read(tmp_path, TRACE).timeline
    assert timeline is not None
    assert timeline.kind is not None
    assert timeline.links is not None
    assert timeline.links.kind is not None
    assert timeline.start_tick.values.tolist() == [9007199254740993, 9007199254741193, 9007199254740903, 9007199254740923], "beyond 2**53"
    assert [EVENT_KINDS[kind] for kind in timeline.kind.values] == ["compute", "copy", "runtime", "wait"]
    assert timeline.tracks[0].name == "GPU 1 stream 7"
    assert timeline.numbers["bytes"].values.tolist() == [-1, 1_500_000, -1, -1]
    links = zip(timeline.links.source.values, timeline.links.target.values, timeline.links.kind.values, strict=True)
    assert [(source, target, LINK_KINDS[kind]) for source, target, kind in links] == [(2, 0, "launch")]


def test_decimal_seconds_become_nanoseconds_exactly(tmp_path: Path) -> None:
    timeline = read(tmp_path, SECONDS).timeline
    assert timeline is not None
    assert (timeline.start_tick.values.tolist(), timeline.duration_tick.values.tolist()) == ([1_234_567_891], [500_000])


def test_rows_without_numbers_are_counted(tmp_path: Path) -> None:
    profile = read(tmp_path, OLD + "50.0,nan,1,1,1,1,bad\n50.0,-5,1,1,1,1,worse\n")
    assert [(entry.events, entry.first) for entry in profile.excluded] == [(2, "line 3")]
    with pytest.raises(ReadError, match=r"stats\.csv"):
        read(tmp_path, "Time(%),Total Time (ns),Instances,Average,Name\n")
