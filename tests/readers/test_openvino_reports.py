"""Reports of OpenVINO's benchmark_app: counters and main report, as CSV and as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from ridgeline.core import Profile, ReadError
from ridgeline.readers import read_profile
from ridgeline.readers.openvino import OpenVino
from ridgeline.readers.testing import ProfileReaderConformance

_HEADER = "layerName;execStatus;layerType;execType;realTime (ms);cpuTime (ms)\n"
_NODES = (
    ("x", "NOT_RUN", "Parameter", "unknown_f32", 0.0, 0.0),
    ("conv1", "EXECUTED", "Convolution", "brgconv_avx512_bf16", 0.023, 0.046),
    ("relu1", "OPTIMIZED_OUT", "Relu", "undef", 0.0, 0.0),
    ("fc", "EXECUTED", "FullyConnected", "jit_gemm_f32", 0.149, 0.149),
)


def _counters(nodes: tuple[tuple[str, str, str, str, float, float], ...] = _NODES, total: float = 0.172) -> str:
    rows = [f"{name};Status.{status};{kind};{kernel};{real:.3f};{cpu:.3f}" for name, status, kind, kernel, real, cpu in nodes]
    return _HEADER + "\n".join([*rows, f"Total;;;;{total:.3f};{total:.3f}"]) + "\n\n"


COUNTERS = _counters()
DETAILED = json.dumps({
    "report_type": "detailed",
    "detailed_performance": [
        {"nodes": [
            {"name": name, "node_type": kind, "status": f"Status.{status}", "real_time": f"{real:.3f}", "cpu_time": f"{cpu:.3f}", "exec_type": kernel}
            for name, status, kind, kernel, real, cpu in _NODES
        ]}
    ] * 2,
})  # fmt: skip
_RESULTS = {
    "read model time (ms)": "4.60", "compile model time (ms)": "92.72", "first inference time (ms)": "14.29",
    "total execution time (ms)": "35.62",
    "total number of iterations": "50", "latency (ms)": "0.17",
    "avg latency": "0.70", "min latency": "0.12", "max latency": "6.10", "throughput": "1403.56",
}  # fmt: skip
REPORT = "Command line parameters\n-m;m.onnx\n\nConfiguration setup\ntarget device;CPU\n\nExecution results\n" + "".join(
    f"{name};{value}\n" for name, value in _RESULTS.items()
)
REPORT_JSON = json.dumps({"cmd_options": {"-m": "m.onnx"}, "configuration_setup": {"target device": "CPU"}, "execution_results": _RESULTS})


def _read(tmp_path: Path, text: str) -> Profile:
    path = tmp_path / "report"
    path.write_text(text)
    return read_profile(path)


class TestConformance(ProfileReaderConformance):
    def reader(self) -> OpenVino:
        return OpenVino()

    def examples(self) -> Mapping[str, bytes]:
        return {"counters": COUNTERS.encode(), "detailed": DETAILED.encode(), "report": REPORT.encode(), "report as JSON": REPORT_JSON.encode()}


def test_only_nodes_that_ran_are_rows(tmp_path: Path) -> None:
    profile = _read(tmp_path, COUNTERS)
    (table,) = profile.tables
    assert [(row.name, row.kind, row.device, row.precision) for row in table.rows] == [
        ("conv1", "Convolution", "CPU", "bf16"),
        ("fc", "FullyConnected", "CPU", "f32"),
    ]
    assert sum(row.total_s for row in table.rows) == pytest.approx(0.172e-3)
    assert table.rows[0].numbers["cpu_s"] == 46e-6
    assert {entry.reason: (entry.events, entry.first) for entry in profile.excluded} == {
        "nodes that did not run (NOT_RUN)": (1, "line 2"),
        "nodes that did not run (OPTIMIZED_OUT)": (1, "line 4"),
    }
    assert profile.partitions is None
    assert not profile.warnings


def test_a_total_that_is_not_the_sum_is_told(tmp_path: Path) -> None:
    assert [caution.code for caution in _read(tmp_path, _counters(total=0.5)).warnings] == ["total-differs"]


def test_a_table_a_request(tmp_path: Path) -> None:
    for text in (DETAILED, COUNTERS + COUNTERS):
        assert [(table.name, len(table.rows)) for table in _read(tmp_path, text).tables] == [("request 1", 2), ("request 2", 2)]


def test_kernels_of_two_plugins_are_partitions(tmp_path: Path) -> None:
    nodes = (*_NODES[1:2], ("conv2", "EXECUTED", "Convolution", "convolution_gpu_bfyx_os_iyx_osv16__f16", 0.1, 0.0), _NODES[3])
    profile = _read(tmp_path, _counters(nodes, 0.272))
    assert profile.partitions is not None
    assert [(each.provider, each.nodes) for each in profile.partitions.partitions] == [("CPU", (0,)), ("GPU", (1,)), ("CPU", (2,))]
    assert profile.partitions.partitions[1].total_s is not None
    assert profile.partitions.partitions[1].total_s.value == pytest.approx(1e-4)


@pytest.mark.parametrize("text", [REPORT, REPORT_JSON])
def test_the_main_report_as_csv_and_as_json(tmp_path: Path, text: str) -> None:
    profile = _read(tmp_path, text)
    inferences, start = profile.tables
    assert (inferences.wall_s, inferences.iterations, inferences.first_wall_s) == (pytest.approx(0.70e-3), 50, pytest.approx(14.29e-3))
    assert inferences.rows[0].median_s == pytest.approx(0.17e-3)
    assert inferences.rows[0].most_s == pytest.approx(6.10e-3)
    assert inferences.setup_s == pytest.approx(97.32e-3)
    assert {row.name: row.total_s for row in start.rows} == pytest.approx({"read model time": 4.60e-3, "compile model time": 92.72e-3})
    assert profile.facts["target device"] == "CPU"


def test_a_report_whose_nodes_did_not_run_says_so(tmp_path: Path) -> None:
    profile = _read(tmp_path, _counters(_NODES[:1], 0.0))
    assert profile.tables[0].rows == ()
    assert profile.warnings[0].code == "nothing-executed"


def test_counters_without_nodes_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ReadError, match="nodes that were executed"):
        _read(tmp_path, _HEADER)
