"""Tables of vendors' tools: Vela, VTune, Streamline, Ascend and QNN, in the style of their files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from ridgeline.core import EVENT_KINDS, Profile, ReadError
from ridgeline.readers import ProfileReader, read_profile
from ridgeline.readers.ascend import Ascend
from ridgeline.readers.qnn import Qnn
from ridgeline.readers.streamline import Streamline
from ridgeline.readers.testing import ProfileReaderConformance
from ridgeline.readers.vela import Vela
from ridgeline.readers.vtune import Vtune

_VELA_HEADER = (
    "Original Operator,NNG Operator,Target,Staging Usage,Peak% (Staging),Op Cycles,Network% (cycles),NPU,SRAM AC,DRAM AC,OnFlash AC,OffFlash AC,"
    "MAC Count,Network% (MAC),Util% (MAC),Name\n"
)
VELA_LAYERS = _VELA_HEADER + (
    "Conv2D,Conv2D,NPU,5808,100.0,46032,77.8,27192,3993,0,0,46032,45785,100.0,0.4,conv1\n"
    "Add,ElementWise,NPU,128,2.2,500,0.8,500,100,0,0,0,0,0.0,0.0,add1\n"
    "Softmax,Passthrough,CPU,0,NaN,0,100,0,0,0,0,0,0,100,100,softmax\n"
)
_SUMMARY = {
    "experiment": "default", "network": "tiny", "accelerator_configuration": "Ethos_U55_256", "core_clock": "500000000.0", "batch_size": "1",
    "inference_time": "0.000118306", "sram_total_bytes": "31948", "nn_macs": "45785", "cycles_npu": "27192", "cycles_sram_access": "3993",
    "cycles_total": "59153",
}  # fmt: skip
VELA_SUMMARY = ",".join(_SUMMARY) + "\n" + ",".join(_SUMMARY.values())
VTUNE_HOTSPOTS = (
    "war:Column filter is ON.\n"
    "Function;CPU Time;CPU Time:Effective Time;Hardware Event Count:INST_RETIRED.ANY (K);Retiring(%);Module;Source File\n"
    "compress;12.504;12.100;2000;61.5;app;compress.c\n"
    "lookup(int, char);3.210s;3.210;500;20.0;app;hash.c\n"
    "[Outside any known module];0.120;0.120;0;0.0;;\n"
)
VTUNE_TREE = (
    "Function Stack,CPU Time:Total,CPU Time:Self,Module\n"
    "Total,100.0%,0,\n"
    " main,98.5%,0.100,app\n"
    "  run,95.0%,0.500,app\n"
    "   compress,80.0%,12.000,app\n"
    "  shutdown,1.0%,0.050,app\n"
)
VTUNE_SUMMARY = (
    "Hierarchy Level,Metric Name,Metric Value\n"
    "0,Elapsed Time,149.771137\n"
    "1,Clockticks,4200000000\n"
    "1,CPI Rate,0.665470\n"
    "1,Bandwidth Utilization,\n"
    '1,"DRAM, GB/sec",118.000000,47.900000,8.352945,0.0\n'
    "0,Collection and Platform Info,\n"
    "1,Computer Name,hype5\n"
)
STREAMLINE = (
    "Function Name,Self,% Self,CPU Cycles,Instructions per Cycle,Image,Source File\n"
    "inner,75,75.0,3000000,1.2,libmodel.so,inner.c\n"
    "outer,25,25.0,1000000,0.8,app,outer.c\n"
)
ASCEND_TASKS = (
    "Device_id,Model ID,Task ID,Stream ID,Op Name,OP Type,OP State,Task Type,Task Start Time(us),Task Duration(us),Task Wait Time(us),Input Shapes\n"
    '0,100,1,47,cast,Cast,static,AI_VECTOR_CORE,"1790602788560636.620\t",36.480,0,"""1,2"""\n'
    '0,100,2,47,matmul,MatMulV2,static,AI_CORE,"1790602788561296.900\t",41.280,623.800,"""2,2"""\n'
    '0,100,3,48,hcom_allReduce__1,hcom_allReduce_,static,COMMUNICATION,"1790602788561300.001\t",10,0,N/A\n'
)
ASCEND_STATISTIC = (
    "Device_id,OP Type,Core Type,Count,Total Time(us),Min Time(us),Avg Time(us),Max Time(us),Ratio(%)\n"
    "0,Cast,AI_VECTOR_CORE,240,23077.4,1.18,96.155,2708.32,60.0\n"
    "0,MatMulV2,AI_CORE,332,17945.3,1.28,54.052,329.68,40.0\n"
)
QNN = (
    "Msg Timestamp,Message,Time,Unit of Measurement,Timing Source,Event Level,Event Identifier\n"
    '0,BACKEND,4,COUNT,HW,ROOT,"Number of HVX threads used"\n'
    '1,BACKEND,100000,CYCLES,HW,ROOT,"Accelerator (execute) time (cycles)"\n'
    '2,NODE,60000,CYCLES,HW,SUB-EVENT,"Conv_token_1_2:OpId_7 (cycles)"\n'
    '2,NODE,30000,CYCLES,HW,SUB-EVENT,"Softmax:OpId_8 (cycles)"\n'
    '3,BACKEND,100,US,HW,ROOT,"Accelerator (execute) time"\n'
    "4,EXECUTE,120,US,BACKEND,ROOT,NULL\n"
)


def _read(tmp_path: Path, text: str) -> Profile:
    path = tmp_path / "table.txt"
    path.write_text(text)
    return read_profile(path)


def _codes(profile: Profile) -> set[str]:
    return {caution.code for caution in profile.warnings}


class TestVela(ProfileReaderConformance):
    def reader(self) -> ProfileReader:
        return Vela()

    def examples(self) -> Mapping[str, bytes]:
        return {"layers": VELA_LAYERS.encode(), "summary": VELA_SUMMARY.encode()}


class TestVtune(ProfileReaderConformance):
    def reader(self) -> ProfileReader:
        return Vtune()

    def examples(self) -> Mapping[str, bytes]:
        return {"hotspots": VTUNE_HOTSPOTS.encode(), "tree": VTUNE_TREE.encode(), "summary": VTUNE_SUMMARY.encode()}


class TestStreamline(ProfileReaderConformance):
    def reader(self) -> ProfileReader:
        return Streamline()

    def examples(self) -> Mapping[str, bytes]:
        return {"functions": STREAMLINE.encode()}


class TestAscend(ProfileReaderConformance):
    def reader(self) -> ProfileReader:
        return Ascend()

    def examples(self) -> Mapping[str, bytes]:
        return {"tasks": ASCEND_TASKS.encode(), "statistic": ASCEND_STATISTIC.encode()}


class TestQnn(ProfileReaderConformance):
    def reader(self) -> ProfileReader:
        return Qnn()

    def examples(self) -> Mapping[str, bytes]:
        return {"events": QNN.encode()}


def test_layers_of_vela_have_cycles_and_targets_but_no_seconds(tmp_path: Path) -> None:
    profile = _read(tmp_path, VELA_LAYERS)
    assert profile.kernels is not None
    assert [(each.name, each.device, each.duration_s, each.raw.get("Op Cycles")) for each in profile.kernels.kernels] == [
        ("conv1", "NPU", None, 46032),
        ("add1", "NPU", None, 500),
        ("softmax", "CPU", None, None),
    ]
    assert profile.kernels.units["Op Cycles"] == "cycle"
    assert profile.partitions is not None
    assert [(each.provider, each.nodes) for each in profile.partitions.partitions] == [("NPU", (0, 1)), ("CPU", (2,))]
    assert [(entry.events, entry.first) for entry in profile.excluded] == [(1, "line 4")]
    assert _codes(profile) == {"estimated"}


def test_layers_of_vela_with_the_cpu_alone_say_nothing_of_the_rest(tmp_path: Path) -> None:
    profile = _read(tmp_path, _VELA_HEADER + VELA_LAYERS.splitlines()[-1] + "\n")
    assert profile.partitions is None
    assert _codes(profile) == {"estimated", "one-subgraph"}


def test_the_summary_of_vela_has_a_clock(tmp_path: Path) -> None:
    (table,) = _read(tmp_path, VELA_SUMMARY).tables
    assert (table.name, table.wall_s, table.nested) == ("tiny", 0.000118306, True)
    assert {row.name: row.total_s for row in table.rows} == {"NPU": pytest.approx(27192 / 5e8), "SRAM access": pytest.approx(3993 / 5e8)}
    assert table.rows[1].numbers["traffic_bytes"] == 31948


def test_functions_of_vtune(tmp_path: Path) -> None:
    profile = _read(tmp_path, VTUNE_HOTSPOTS)
    (table,) = profile.tables
    assert [(row.name, row.total_s, row.texts.get("module")) for row in table.rows] == [
        ("compress", 12.504, "app"),
        ("lookup(int, char)", 3.210, "app"),
        ("[Outside any known module]", 0.120, None),
    ]
    assert table.rows[0].numbers["Retiring(%)"] == pytest.approx(0.615)
    assert profile.counters is not None
    assert dict(zip(profile.counters.names, profile.counters.counts.values, strict=True)) == {"INST_RETIRED.ANY": 2_500_000}
    (stacks,) = profile.stacks
    assert (stacks.measure, stacks.unit, float(stacks.own.values.sum())) == ("cpu", "s", pytest.approx(15.834))
    assert "unverified" in _codes(profile)


def test_a_call_tree_of_vtune(tmp_path: Path) -> None:
    (stacks,) = _read(tmp_path, VTUNE_TREE).stacks
    names = [stacks.frames[frame].function for frame in stacks.frame.values]
    parents = [names[parent] if parent >= 0 else "" for parent in stacks.parent.values]
    found = {name: (parent, own) for name, parent, own in zip(names, parents, stacks.own.values.tolist(), strict=True)}
    assert found == {"main": ("", 0.1), "run": ("main", 0.5), "compress": ("run", 12.0), "shutdown": ("main", 0.05)}


def test_a_summary_of_vtune(tmp_path: Path) -> None:
    profile = _read(tmp_path, VTUNE_SUMMARY)
    assert profile.tables[0].wall_s == 149.771137
    assert profile.facts["Elapsed Time / CPI Rate"] == "0.665470"
    assert profile.counters is not None
    assert profile.counters.names == ("Clockticks",)
    assert [entry.events for entry in profile.excluded] == [1]


def test_functions_of_streamline(tmp_path: Path) -> None:
    profile = _read(tmp_path, STREAMLINE)
    (stacks,) = profile.stacks
    assert {stacks.frames[frame].function: own for frame, own in zip(stacks.frame.values, stacks.own.values, strict=True)} == {
        "inner": 75,
        "outer": 25,
    }
    assert profile.counters is not None
    assert dict(zip(profile.counters.names, profile.counters.counts.values, strict=True)) == {"CPU Cycles": 4_000_000}


def test_tasks_of_ascend_lose_no_nanosecond(tmp_path: Path) -> None:
    timeline = _read(tmp_path, ASCEND_TASKS).timeline
    assert timeline is not None
    assert timeline.kind is not None
    assert timeline.start_tick.values.tolist() == [1790602788560636620, 1790602788561296900, 1790602788561300001]
    assert timeline.duration_tick.values.tolist() == [36480, 41280, 10000]
    assert [EVENT_KINDS[kind] for kind in timeline.kind.values] == ["compute", "compute", "communication"]
    assert [timeline.tracks[track].name for track in timeline.track.values] == ["NPU 0 stream 47", "NPU 0 stream 47", "NPU 0 stream 48"]


def test_sums_of_ascend(tmp_path: Path) -> None:
    (table,) = _read(tmp_path, ASCEND_STATISTIC).tables
    assert [(row.name, row.calls, row.total_s, row.share) for row in table.rows] == [
        ("Cast", 240, pytest.approx(0.0230774), 0.6),
        ("MatMulV2", 332, pytest.approx(0.0179453), 0.4),
    ]


def test_cycles_of_qnn_become_seconds_by_the_accelerators_own_clock(tmp_path: Path) -> None:
    profile = _read(tmp_path, QNN)
    nodes, steps = profile.tables
    assert [(row.name, row.node, row.total_s) for row in nodes.rows] == [
        ("Conv_token_1_2", 7, pytest.approx(60e-6)),
        ("Softmax", 8, pytest.approx(30e-6)),
    ]
    assert {row.name: row.total_s for row in steps.rows}["EXECUTE"] == pytest.approx(120e-6)
    assert {"unverified", "cycles-scaled"} <= _codes(profile)


def test_cycles_of_qnn_without_a_clock_stay_cycles(tmp_path: Path) -> None:
    profile = _read(tmp_path, "".join(line + "\n" for line in QNN.splitlines() if "Accelerator" not in line))
    assert [table.name for table in profile.tables] == ["steps"]
    assert profile.kernels is not None
    assert [kernel.raw for kernel in profile.kernels.kernels] == [{"cycles": 60000}, {"cycles": 30000}]
    assert "no-clock" in _codes(profile)


@pytest.mark.parametrize("text", [VELA_LAYERS, VELA_SUMMARY, VTUNE_HOTSPOTS, VTUNE_TREE, STREAMLINE, ASCEND_TASKS, ASCEND_STATISTIC, QNN])
def test_a_header_alone_is_refused(tmp_path: Path, text: str) -> None:
    lines = text.splitlines(keepends=True)
    with pytest.raises(ReadError):
        _read(tmp_path, "".join(lines[: 2 if lines[0].startswith("war:") else 1]))


def test_samples_alone_are_enough_for_streamline(tmp_path: Path) -> None:
    (stacks,) = _read(tmp_path, "Function Name,Self,Image\ninner,75,libmodel.so\n").stacks
    assert stacks.own.values.tolist() == [75.0]


def test_counts_of_qnn_are_no_times_and_are_counted(tmp_path: Path) -> None:
    profile = _read(tmp_path, QNN + "5,EXECUTE,7,FURLONGS,BACKEND,ROOT,odd\n")
    assert [(entry.reason, entry.events, entry.first) for entry in profile.excluded] == [("events that are no times, such as counts", 2, "line 2")]
