"""Readers of clocks, contention, networks by device and Qualcomm's chips: units, what is left out, and hostile files."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ridgeline.core import LatencyTable, ReadError
from ridgeline.device import find
from ridgeline.readers.latencies import Folder, LatencyReader, read_latencies, recognised
from ridgeline.readers.latencies.ai_hub import AiHub
from ridgeline.readers.latencies.arrays import array_names, read_arrays
from ridgeline.readers.latencies.dvfs import NvDvfs, with_counters
from ridgeline.readers.latencies.help import Help, cell_operators, connected, with_disconnected
from ridgeline.readers.latencies.pitot import Pitot, described
from ridgeline.readers.latencies.testing import LatencyReaderConformance, laid_out
from ridgeline.readers.source import Source

COUNTERS = "appName,coreF,memF,argNo,kernel,time/ms,blocks,flop_count_sp,flop_count_dp,dram_read_throughput,dram_write_throughput,ipc"
ACTIVITY = "DRAMA,FP16A,FP32A,FP64A,SMACT,SMOCC,TENSO,argNo,average_power,benchmark,core_frequency,kernel,memory_frequency,time"
BUSY = "0.6,0,0.4,0,0.9,0.8,0,i0"
CONNECTED = "|nor_conv_3x3~0|+|none~0|none~1|+|skip_connect~0|none~1|nor_conv_1x1~2|"
APART = "|none~0|+|none~0|nor_conv_3x3~1|+|none~0|none~1|nor_conv_1x1~2|"
HUB = (
    "model,precision,component,device,runtime,status,inference_ms,mem_min_mb,mem_max_mb,primary_unit,layers_total,layers_npu,layers_gpu,layers_cpu,"
    "llm_ctx"
)


def clocks() -> dict[str, bytes]:
    rows = [
        f"sum,{core},{memory},input0,add,{2000 / core:.4f},(512 1 1) (128 1 1),1000,0,100.5,50.5,1.25"
        for core in (500, 1000)
        for memory in (500, 1000)
    ]
    power = [f"{row},{40 + number}" for number, row in enumerate(rows)]
    return {
        "raw/gtx980-low-Performance-Power.csv": "\n".join([f",{COUNTERS},power/W", *(f"{n},{row}" for n, row in enumerate(power))]).encode(),
        "raw/gtx980-low-Performance.csv": "\n".join([COUNTERS, *rows]).encode(),
        "raw/gtx980-low-Power.csv": b"appName,coreF,memF,argNo,kernel,power/W\nsum,500,500,input0,add,40\n",
        "data/v100-profile.csv": f"{ACTIVITY}\n{BUSY},157.5,sum,1087,add,877,0.9\n{BUSY},150,sum,1087,add,877,-1\n".encode(),
        "data/train.csv": f"{ACTIVITY}\n0.6,0,0.4,0,0.9,0.8,0,i0,157.5,sum,1087,add,877,0.9\n".encode(),
        "data/ptx.csv": b"abs,add,benchmark\n1,2,sum\n",
    }


def archive(**arrays: Any) -> bytes:
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


def programs() -> dict[str, bytes]:
    platform, program = np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])
    named = {
        "n_platform": np.array(["wasm3:hc-1", "wamr:hc-2"]),
        "n_workload": np.array(["a/one", "a/two"]),
        "d_platform": np.eye(2),
        "d_workload": np.eye(2),
    }
    return {
        "data.npz": archive(t=np.array([1e6, 2e6, 3e6, 4e6]), i_platform=platform, i_workload=program, **named),
        "if2.npz": archive(t=np.array([1.5e6, 4.5e6]), i_platform=platform[:2], i_workload=program[:2], i_interference0=np.array([1, 0])),
        "if3.npz": archive(t=np.ones(3), i_platform=platform[:3], i_workload=program[:3], i_interference0=program[:3], i_interference1=program[:3]),
    }


def networks() -> dict[str, bytes]:
    return {
        "nasbench.csv": f"arch,1080ti_1,1080ti_32,essential_ph_1,titan_rtx_256\n{CONNECTED},1.5,2.5,9,3.5\n{APART},1,2,0.01,3\n".encode(),
        "ofa.csv": b'arch,2080ti_1,v100_64\n"{""ks"": [7, 5], ""r"": 204}",12.5,7.5\n',
    }


def chips() -> dict[str, bytes]:
    rows = []
    for model in range(24):
        for chip, factor in (("QCS8275 (Proxy)", 2.0), ("SA7255P ADP", 2.0), ("Galaxy S24", 1.0)):
            memory = 0 if chip.startswith("QCS") else 30
            rows.append(f"m{model},w8a8,part,{chip},tflite,Passed,{factor * (1 + model):.3f},0,{memory},NPU,100,98,,2,")
    rows.append("chat,w4,part,Galaxy S24,genie,Passed,,,,,,,,,4096")
    return {"flat.csv": "\n".join([HUB, *rows]).encode()}


class Edge(LatencyReaderConformance):
    __test__ = False
    made: Any
    files: Any

    def reader(self) -> LatencyReader:
        reader: LatencyReader = type(self).made()
        return reader

    def example(self) -> Mapping[str, bytes]:
        files: Mapping[str, bytes] = type(self).files()
        return files

    def test_nobody_else_takes_it(self) -> None:
        with laid_out(self.example()) as place:
            assert recognised(place) == self.reader().origin


class TestClocks(Edge):
    __test__ = True
    made, files = NvDvfs, staticmethod(clocks)


class TestPrograms(Edge):
    __test__ = True
    made, files = Pitot, staticmethod(programs)


class TestNetworks(Edge):
    __test__ = True
    made, files = Help, staticmethod(networks)


class TestChips(Edge):
    __test__ = True
    made, files = AiHub, staticmethod(chips)


def excluded(table: LatencyTable) -> dict[str, int]:
    return {entry.reason: entry.events for entry in table.excluded}


def test_clocks_power_and_traffic_are_in_si_units() -> None:
    with laid_out(clocks()) as place:
        table, counters = with_counters(place, ["ipc", "SMACT"])
    assert len(table) == 5
    at = table.texts("device").index("NVIDIA GeForce GTX 980")
    assert find("NVIDIA GeForce GTX 980")
    assert table.core_clock_hz is not None
    assert sorted(set(table.core_clock_hz.values.tolist())) == [5e8, 1e9, 1.087e9]
    assert table.optional("memory_clock_hz")[at] == 5e8
    assert table.latency_s.values[at] == pytest.approx(4e-3)
    assert table.optional("bytes")[at] == pytest.approx(151e9 * 4e-3)
    assert (table.optional("power_w")[at], table.optional("flop")[at]) == (40.0, 1000.0)
    assert (table.dimension("blocks")[at], table.dimension("threads")[at]) == (512, 128)
    assert table.texts("variant")[at] == "sum/add input0"
    assert counters["ipc"][at] == 1.25
    assert np.isnan(counters["SMACT"][at])
    assert excluded(table) == {
        "the same kernel and clocks again": 4, "a file whose name names no device that is known": 1, "a latency that cannot be": 1
    }  # fmt: skip


def test_programs_alone_and_beside_others() -> None:
    with laid_out(programs()) as place:
        table, known = Pitot().read(Folder(place)), described(place)
    assert known.platforms == ("hc-1/wasm3", "hc-2/wamr")
    rows = list(
        zip(table.texts("device"), table.texts("variant"), table.dimension("neighbours").tolist(), table.latency_s.values.tolist(), strict=True)
    )
    assert ("hc-1/wasm3", "a/one beside a/two", 1, 1.5e-3) in rows
    assert ("hc-2/wamr", "a/two", 0, 4e-3) in rows
    assert excluded(table) == {"more than one neighbour, which is not read": 3}


@pytest.mark.parametrize(
    "changed",
    [
        {"i_platform": np.array([0, 0, 1, 9])}, {"i_platform": np.array([0, 0, 1, -1])}, {"i_workload": np.array([0.0, 1, 0, 1])},
        {"i_workload": np.array([0, 1])}, {"d_platform": np.ones((5, 2))}, {"d_workload": np.full((2, 2), np.nan)}, {"t": np.array([None] * 4)},
        {"n_workload": np.array(["a", None], dtype=object)},
    ],
)  # fmt: skip
def test_arrays_that_do_not_fit_together_are_refused(changed: dict[str, Any]) -> None:
    named = {
        "n_platform": np.array(["wasm3:hc-1", "wamr:hc-2"]),
        "n_workload": np.array(["a", "b"]),
        "d_platform": np.eye(2),
        "d_workload": np.eye(2),
    }
    arrays = {"t": np.ones(4), "i_platform": np.array([0, 0, 1, 1]), "i_workload": np.array([0, 1, 0, 1]), **named, **changed}
    with laid_out({"data.npz": archive(**arrays)}) as place, pytest.raises(ReadError):
        Pitot().read(Folder(place))


def test_an_array_that_claims_more_than_it_holds_is_refused(tmp_path: Path) -> None:
    header = b"{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000,), }"
    header = header.ljust(118) + b"\n"
    path = tmp_path / "big.npz"
    with zipfile.ZipFile(path, "w") as packed:
        packed.writestr("t.npy", b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + b"\x00" * 64)
    assert array_names(Source(path)) == {"t"}
    with pytest.raises(ReadError, match="as it claims"):
        read_arrays(Source(path), ["t"])
    with pytest.raises(ReadError):
        read_arrays(Source(path), ["missing"])


def test_a_batch_is_told_from_the_name_of_a_phone() -> None:
    with laid_out(networks()) as place:
        table = read_latencies(place)
        everything = with_disconnected(place)
    rows = {(device, batch) for device, batch in zip(table.texts("device"), table.dimension("batch").tolist(), strict=True)}
    assert rows == {("1080ti", 1), ("1080ti", 32), ("essential_ph_1", 0), ("titan_rtx", 256), ("2080ti", 1), ("v100", 64)}
    assert excluded(table) == {"cells without a path from input to output": 4}
    assert (len(table), len(everything)) == (6, 10)
    assert table.latency_s.values.min() == pytest.approx(1.5e-3)


def test_edges_of_a_cell() -> None:
    assert connected(cell_operators(CONNECTED)) == (False, False, False, True, False, False)
    assert not any(connected(cell_operators(APART)))
    assert cell_operators("7 8 1") == ()
    assert cell_operators("|none~1|+|none~0|none~1|+|none~0|none~1|none~2|") == ()


def test_a_chip_that_copies_another_is_left_out() -> None:
    with laid_out(chips()) as place:
        table = read_latencies(place)
    assert set(table.texts("device")) == {"QCS8275 (Proxy)", "Galaxy S24"}
    assert excluded(table) == {"no latency of one inference": 1, "the same latencies as QCS8275 (Proxy)": 24}
    memory, device = table.optional("memory_bytes"), np.array(table.texts("device"))
    assert (memory[device == "Galaxy S24"] == 30e6).all(), "megabytes"
    assert (memory[device == "QCS8275 (Proxy)"] == 0).all(), "another definition is not known"
    assert table.texts("variant")[0] == "m0/part on tflite"
    assert table.dimension("layers_npu")[0] == 98
    assert table.dimension("layers_gpu")[0] == 0
