"""`ridgeline predict` as a person calls it: pages, JSON, exit codes, one line for what is wrong."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper

from ridgeline.cli import main
from ridgeline.core import Device, OperatorList, PlannedOperator, PredictionReport, Workload
from ridgeline.core.documents import decode, encode
from support.onnx_models import model, tensor, two_products
from support.predicted import cpu

Call = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Call:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "160")

    def call(*arguments: str) -> tuple[int, str, str]:
        code = main(["predict", *arguments])
        captured = capfd.readouterr()
        return code, captured.out, captured.err

    return call


@pytest.fixture
def network(tmp_path: Path) -> str:
    """A product, a function and a product, with an open first axis."""
    onnx.save(two_products("N"), str(tmp_path / "net.onnx"))
    (tmp_path / "cpu.json").write_bytes(encode(cpu()))
    return "net.onnx"


def test_the_page_compares_devices_and_says_how_sure_it_is(run: Call, network: str) -> None:
    code, out, err = run(network, "--device", "cpu.json", "--device", "h100 sxm", "--quiet")
    assert (code, err) == (0, "")
    assert out.splitlines()[0].startswith("? fastest of 2 by item: net.onnx on ")
    for title in ("DEVICES", "WHERE THE TIME GOES", "OPERATORS ON MADE UP", "WARNINGS", "OUTSIDE WHAT IS KNOWN, ON NVIDIA H100 SXM 80GB"):
        assert title in out, title
    assert "no trained model was given" in out
    assert "is taken as 1 item" in out


def test_json_is_the_contract(run: Call, network: str) -> None:
    code, out, _ = run(network, "--device", "cpu.json", "--batch", "1", "--batch", "8", "--json")
    assert code == 0
    plain = json.loads(out)
    assert plain["schema"] == "ridgeline.predict/1"
    assert plain["model"] == "net.onnx"
    fields = (
        "device batch precision state latency_s compute_s memory_s overhead_s communication_s throughput_per_s achieved_flop_per_s peak_share "
        "achieved_byte_per_s bandwidth_share occupancy power_w energy_j peak_memory_bytes cost_per_million currency price_date data_version "
        "out_of_range bound operators"
    )
    for each in plain["predictions"]:
        assert set(fields.split()) <= set(each)
        assert len(each["out_of_range_codes"]) == len(each["out_of_range"])
    report = decode(out.encode(), PredictionReport)
    assert [each.batch for each in report.predictions] == [1, 8]
    assert next(op.name for op in report.predictions[0].operators if op.latency_s is not None) == "first"


def test_options_enter_the_question_and_the_json(run: Call, network: str) -> None:
    code, out, _ = run(
        network, "--device", "cpu.json", "--core-clock", "1.0 GHz", "--memory-contention", "25%", "--power-cap", "90W", "--temperature", "330K",
        "--threads", "1", "--neighbour", "db:0.5:2GB/s", "--neighbour", "web:0:1GB/s:256KiB",
        "--tile", "64x64x16", "--split", "2", "--vector-width", "8", "--unroll", "4",
        "--stages", "3",
        "--work-group", "128", "--price", "2USD/h", "--electricity", "0.3USD", "--dispatch", "2us", "--memory-clock", "1.2GHz",
        "--core-to-core", "150ns", "--json",
    )  # fmt: skip
    assert code == 0
    found = decode(out.encode(), PredictionReport).predictions[0]
    assert found.state is not None
    assert (found.state.core_clock_hz, found.state.memory_contention, found.state.power_cap_w) == (1e9, 0.25, 90.0)
    assert (found.state.temperature_k, found.state.threads, found.state.dispatch_s, found.state.memory_clock_hz) == (330.0, 1, 2e-6, 1.2e9)
    assert found.state.core_to_core_s == 1.5e-7
    assert [(each.cores, each.byte_per_s, each.cache_bytes) for each in found.state.neighbours] == [(0.5, 2e9, 0.0), (0.0, 1e9, 262144.0)]
    assert found.kernel is not None
    assert (found.kernel.tile, found.kernel.split, found.kernel.vector_width, found.kernel.work_group) == ((64, 64, 16), 2, 8, (128,))
    assert any("unroll" in reason for reason in found.out_of_range)
    assert found.cost_per_million is not None
    assert found.price_date == ""


@pytest.mark.parametrize(
    ("device", "published_ms"), [("hexagon 8 gen 3", (0.576, 0.687, 0.864)), ("hexagon x elite", (0.958, 0.962))]
)  # fmt: skip
def test_a_network_on_a_phone_s_accelerator_is_what_was_published(run: Call, device: str, published_ms: tuple[float, ...]) -> None:
    """ResNet-50 in eight bits, as Qualcomm AI Hub timed it in several runtimes (quic/ai-hub-models, w8a8), lies in the middle of the interval."""
    spec = find_spec("onnx")
    files = sorted(Path(next(iter(spec.submodule_search_locations or ()))).glob("backend/test/data/light/light_resnet50.onnx")) if spec else []
    if not files:
        pytest.skip("the installed onnx carries no ResNet-50")
    code, out, _ = run(str(files[0]), "--device", device, "--precision", "int8", "--json", "--quiet")
    assert code == 0
    latency = json.loads(out)["predictions"][0]["latency_s"]
    for measured in published_ms:
        assert latency["value"] / 2 < measured * 1e-3 < 2 * latency["value"]
        assert latency["low"] < measured * 1e-3 < latency["high"]


def test_explain_says_why(run: Call, network: str) -> None:
    code, out, _ = run(network, "--device", "t4", "--explain", "--quiet")
    assert code == 0
    assert "WHY, ON NVIDIA T4" in out
    assert "next ceiling" in out
    code, out, _ = run(network, "--device", "t4", "--explain", "--json")
    explanation = json.loads(out)["predictions"][0]["explanation"]
    assert {"dominant", "next_ceiling", "headroom", "sensitivities"} <= set(explanation)


def test_a_list_of_operators(run: Call, tmp_path: Path) -> None:
    attention = Workload(kind="attention", sizes={"heads": 32, "queries": 1, "keys": 4096, "head_size": 128, "kv_heads": 8}, precision="bf16")
    listed = OperatorList(name="decode", operators=(PlannedOperator(name="attention", workload=attention, repeats=32),), batch=1)
    (tmp_path / "operators.json").write_bytes(encode(listed))
    code, out, _ = run("operators.json", "--device", "h100 sxm", "--json")
    assert code == 0
    found = decode(out.encode(), PredictionReport).predictions[0]
    assert found.operators[0].bytes == pytest.approx(32 * (2 * 8 * 4096 * 128 + 2 * 32 * 128) * 2)
    assert run("operators.json", "--device", "t4", "--shape", "x=1")[0] == 2


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("net.onnx", "--device", "no such thing"), "a device of the catalogue"),
        (("net.onnx", "--device", "nvidia"), "the name of one device"),
        (("net.onnx", "--device", "t4", "--device", "T4"), "each device once"),
        (("net.onnx", "--device", "missing.json"), "a file that `ridgeline probe --json` wrote"),
        (("net.onnx",), "--device"),
        (("missing.onnx", "--device", "t4"), "a model file"),
        (("model.pt", "--device", "t4"), "model.onnx"),
        (("net.onnx", "--device", "t4", "--batch", "0"), "--batch"),
        (("net.onnx", "--device", "t4", "--batch", "-1"), "--batch"),
        (("net.onnx", "--device", "t4", "--core-clock", "-1GHz"), "core_clock_hz"),
        (("net.onnx", "--device", "t4", "--core-clock", "nan"), "a number in Hz"),
        (("net.onnx", "--device", "t4", "--core-clock", "10W"), "a quantity in Hz"),
        (("net.onnx", "--device", "t4", "--memory-contention", "1.5"), "a share"),
        (("net.onnx", "--device", "t4", "--power-cap", "1W"), "power cap"),
        (("net.onnx", "--device", "t4", "--neighbour", "db"), "NAME:CORES:GB/s"),
        (("net.onnx", "--device", "t4", "--tile", "axb"), "sizes of --tile"),
        (("net.onnx", "--device", "t4", "--shape", "Q=3"), "symbol of the model"),
        (("net.onnx", "--device", "t4", "--price", "-1USD/h"), "not negative"),
        (("net.onnx", "--device", "t4", "--model", "missing.json"), "a trained model"),
        (("net.onnx", "--device", "t4", "--model", "cpu.json"), "a trained model"),
        (("net.onnx", "--device", "t4", "--precision", "fp64"), "a peak in fp64"),
    ],
)
def test_what_is_wrong_is_one_line(run: Call, network: str, arguments: tuple[str, ...], said: str) -> None:
    code, out, err = run(*arguments, "--quiet")
    assert code == 2
    assert out == ""
    assert len(err.splitlines()) == 1
    assert said in err


def test_open_axes_must_be_given(run: Call, tmp_path: Path) -> None:
    made = model([helper.make_node("Relu", ["x"], ["y"])], [tensor("x", "N", "T", 8)], [tensor("y", "N", "T", 8)])
    onnx.save(made, str(tmp_path / "open.onnx"))
    code, _, err = run("open.onnx", "--device", "t4", "--quiet")
    assert code == 2
    assert "sizes for all open axes of the model; found: T" in err
    code, out, _ = run("open.onnx", "--device", "t4", "--shape", "T=16", "--json")
    assert code == 0
    assert json.loads(out)["predictions"][0]["operators"][0]["flop"] == 128
    code, out, _ = run("open.onnx", "--device", "t4", "--shape", "x=2x16x8", "--json")
    assert json.loads(out)["predictions"][0]["batch"] == 2


def test_a_graph_that_does_nothing_is_refused(run: Call, tmp_path: Path) -> None:
    made = model([helper.make_node("Identity", ["x"], ["y"])], [tensor("x", 1, 8)], [tensor("y", 1, 8)])
    onnx.save(made, str(tmp_path / "idle.onnx"))
    code, _, err = run("idle.onnx", "--device", "t4", "--quiet")
    assert code == 2
    assert "at least one operator" in err


@pytest.mark.parametrize(
    "data", [b"", b"{", b"[1]", b"\xff\xfe", b'{"schema": "ridgeline.device/9"}', b'{"schema": "ridgeline.device/1"}', b"[" * 100_000]
)
def test_a_device_file_that_is_none_is_one_line(run: Call, network: str, tmp_path: Path, data: bytes) -> None:
    (tmp_path / "device.json").write_bytes(data)
    code, out, err = run(network, "--device", "device.json", "--quiet")
    assert (code, out) == (2, "")
    assert len(err.splitlines()) == 1


@pytest.mark.parametrize(
    "data", [b"", b"{", b'{"schema": "ridgeline.gpu-model/9"}', b'{"schema": "ridgeline.gpu-model/1"}', b'{"schema": "other/1"}']
)
def test_a_trained_model_that_is_none_is_one_line(run: Call, network: str, tmp_path: Path, data: bytes) -> None:
    (tmp_path / "trained.json").write_bytes(data)
    code, out, err = run(network, "--device", "cpu.json", "--model", "trained.json", "--quiet")
    assert (code, out) == (2, "")
    assert len(err.splitlines()) == 1


def test_a_device_that_cannot_is_left_out_beside_one_that_can(run: Call, network: str) -> None:
    code, out, _ = run(network, "--device", "cpu.json", "--device", "hailo-8l", "--precision", "fp32", "--json")
    assert code == 0
    report = decode(out.encode(), PredictionReport)
    assert [each.device for each in report.predictions] == ["made up"]
    assert [each.code for each in report.warnings if "Hailo" in each.message] == ["left-out"]
    assert run(network, "--device", "hailo-8l", "--precision", "fp32")[0] == 2


def test_a_device_of_a_toml_file(run: Call, network: str, tmp_path: Path) -> None:
    from importlib import resources

    text = (resources.files("ridgeline.device") / "data" / "nvidia_t4.toml").read_text("utf-8")
    (tmp_path / "own.toml").write_text(text.replace('name = "NVIDIA T4"', 'name = "mine"'), "utf-8")
    code, out, _ = run(network, "--device", "own.toml", "--json")
    assert code == 0
    assert json.loads(out)["predictions"][0]["device"] == "mine"


def test_this_machine_is_the_probed_one(run: Call, network: str, monkeypatch: pytest.MonkeyPatch) -> None:
    import ridgeline.flows.probe as probing

    def kept(**options: object) -> Device:
        return cpu(name="this one")

    monkeypatch.setattr(probing, "probe", kept)
    code, out, _ = run(network, "--device", "host", "--json")
    assert code == 0
    assert json.loads(out)["predictions"][0]["device"] == "this one"


def test_numbers_are_finite_for_a_huge_batch(run: Call, network: str) -> None:
    code, out, _ = run(network, "--device", "cpu.json", "--batch", str(10**9), "--json")
    assert code == 0
    found = decode(out.encode(), PredictionReport).predictions[0]
    assert np.isfinite(found.latency_s.value)
    assert any("does not run there" in reason for reason in found.out_of_range)


def test_explain_alone(capfd: pytest.CaptureFixture[str], network: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["model", "explain", network, "--device", "cpu.json", "--quiet"]) == 0
    assert "next ceiling" in capfd.readouterr().out
    assert main(["model", "explain", network, "--device", "cpu.json", "--quiet", "--json"]) == 0
    plain = json.loads(capfd.readouterr().out)
    assert plain["schema"] == "ridgeline.explain/1"
    assert plain["cases"][0]["explanation"]["dominant"]


def test_a_function_of_pytorch_is_recorded(run: Call, network: str, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    (tmp_path / "own.py").write_text("import torch\nweight = torch.ones(64, 32)\ndef run():\n    return torch.ones(8, 64) @ weight\n")
    code, out, _ = run("own.py:run", "--device", "cpu.json", "--json")
    assert code == 0
    found = decode(out.encode(), PredictionReport).predictions[0]
    assert any(each.flop == 2 * 8 * 64 * 32 for each in found.operators)
    assert found.runtime == "torch"
    code, _, err = run("own.py:run", "--device", "cpu.json", "--runtime", "npu", "--quiet")
    assert code == 2
    assert "beside a function" in err
    assert run("own.py:missing", "--device", "cpu.json", "--quiet")[0] == 2


def test_a_model_of_tflite(run: Call, network: str, tmp_path: Path) -> None:
    pytest.importorskip("ai_edge_litert")
    from support.tflite_models import chain

    (tmp_path / "net.tflite").write_bytes(chain("RELU", "TANH"))
    code, out, _ = run("net.tflite", "--device", "cpu.json", "--device", "ethos-u55-128", "--json")
    assert code == 0
    assert [each.runtime for each in decode(out.encode(), PredictionReport).predictions] == ["tflite", "npu"]
