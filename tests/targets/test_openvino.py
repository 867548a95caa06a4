"""Targets that OpenVINO runs: `model.onnx` with a runtime asked for, and `model.xml`; inputs, shapes, precision, and files that are not one."""

from __future__ import annotations

import os
import sys

import numpy as np
import pytest

pytest.importorskip("onnx", reason="the models of the tests are made with onnx")
pytest.importorskip("openvino", reason="targets of OpenVINO need openvino")

import onnx
import openvino
from onnx import helper

from ridgeline.core import BackendUnavailable, ReadError, UsageError
from ridgeline.machine import Worker
from ridgeline.measurement.agent import PreparedReport
from ridgeline.targets import parse_target, prepare
from ridgeline.targets.openvino import OpenvinoFlavour
from support.onnx_models import model, tensor


@pytest.fixture
def doubler(tmp_path):
    """y = x · 2I with an open number of rows."""
    made = model([helper.make_node("MatMul", ["x", "w"], ["y"])], [tensor("x", "rows", 3)], ["y"], {"w": 2 * np.eye(3, dtype=np.float32)})
    onnx.save(made, tmp_path / "doubler.onnx")
    return tmp_path / "doubler.onnx"


@pytest.fixture
def written(doubler):
    """The same as a model of OpenVINO."""
    openvino.save_model(openvino.Core().read_model(doubler), doubler.with_suffix(".xml"))
    return doubler.with_suffix(".xml")


def target(path, **options):
    return parse_target(str(path), runtime="openvino", threads=1, **options)


def test_the_runtime_decides_who_runs_a_model(doubler, tmp_path) -> None:
    assert parse_target(str(doubler)).kind == "onnx"
    assert parse_target(str(doubler), runtime="onnxruntime").kind == "onnx"
    assert parse_target(str(doubler), runtime="openvino").kind == "openvino"
    (tmp_path / "m.tflite").write_bytes(b"")
    (tmp_path / "m.xml").write_bytes(b"")
    assert parse_target(str(tmp_path / "m.xml")).kind == "openvino"
    for text, runtime in ((tmp_path / "m.tflite", "openvino"), (tmp_path / "m.xml", "onnxruntime"), ("package:function", "openvino")):
        with pytest.raises(UsageError, match="runtime"):
            parse_target(str(text), runtime=runtime)


def test_what_is_said_of_it(doubler) -> None:
    prepared = prepare(target(doubler, shapes=["rows=4"]))
    assert prepared.info.kind == "openvino"
    assert prepared.info.threads == 1
    assert prepared.info.inputs == ("x: float32[4,3] (synthetic)",)
    assert prepared.info.providers == ("OpenVINO CPU",)
    assert {"synthetic-input", "static-shapes"} <= {warning.code for warning in prepared.warnings}
    assert prepared.first_s is not None
    assert len(prepared.info.digest) == 64


@pytest.mark.parametrize("which", ["doubler", "written"])
def test_a_call_runs_the_model_on_the_data_it_was_given(which, request, tmp_path) -> None:
    np.save(tmp_path / "x.npy", np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], np.float32))
    prepared = prepare(target(request.getfixturevalue(which), input=str(tmp_path / "x.npy")))
    (result,) = prepared.call()
    assert result.tolist() == [[2.0, 4.0, 6.0], [8.0, 10.0, 12.0]]
    # The next call writes its result elsewhere.
    assert prepared.call()[0] is not result


def test_its_own_precision_is_not_taken_but_fp32(doubler) -> None:
    flavour = prepare(target(doubler)).flavour
    assert isinstance(flavour, OpenvinoFlavour)
    assert flavour.compile({}).get_property("INFERENCE_PRECISION_HINT").get_type_name() == "f32"
    assert flavour.compile({}).get_property("INFERENCE_NUM_THREADS") == 1
    assert flavour.compile({}).get_property("NUM_STREAMS") == 1
    assert flavour.compile({}).get_property("PERF_COUNT") == "NO"


def test_the_name_of_an_open_size_is_known(doubler) -> None:
    assert prepare(target(doubler, shapes=["rows=5"])).call()[0].shape == (5, 3)
    with pytest.raises(UsageError, match="fits"):
        prepare(target(doubler, shapes=["x=5x4"]))


def test_sizes_that_do_not_fit_each_other(tmp_path) -> None:
    made = model([helper.make_node("Add", ["a", "b"], ["y"])], [tensor("a", "n", 3), tensor("b", "m", 3)], ["y"])
    onnx.save(made, tmp_path / "m.onnx")
    with pytest.raises(UsageError, match="shapes"):
        prepare(target(tmp_path / "m.onnx", shapes=["n=2", "m=5"]))


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("empty.onnx", b"", "empty file"),
        ("text.onnx", b"hello, I am no model at all\n", "text file"),
        ("cut.onnx", None, "cut.onnx"),
        ("empty.xml", b"", "<net"),
        ("page.xml", b"<html><body>no model</body></html>", "<net"),
        ("broken.xml", b'<net name="x" version="11"><layers><layer', "broken.xml"),
        ("random.onnx", bytes(range(256)) * 8, "random.onnx"),
    ],
)
def test_what_is_no_model(name, content, says, doubler, tmp_path) -> None:
    (tmp_path / name).write_bytes(doubler.read_bytes()[:-20] if content is None else content)
    with pytest.raises(ReadError, match=says) as raised:
        prepare(target(tmp_path / name))
    assert "\n" not in str(raised.value)
    assert "src/" not in str(raised.value)


@pytest.mark.parametrize("kept", [None, 0, 8])
def test_weights_that_are_missing_or_cut_short(written, kept) -> None:
    beside = written.with_suffix(".bin")
    content = beside.read_bytes()
    beside.unlink()
    if kept is not None:
        beside.write_bytes(content[:kept])
    with pytest.raises(ReadError, match=r"doubler\.bin"):
        prepare(target(written))


def test_an_operator_that_it_does_not_have(tmp_path) -> None:
    made = model([helper.make_node("Unheard", ["x"], ["y"], domain="own")], [tensor("x", 3)], ["y"])
    made.opset_import.append(helper.make_opsetid("own", 1))
    onnx.save(made, tmp_path / "m.onnx")
    with pytest.raises(ReadError, match="Unheard"):
        prepare(target(tmp_path / "m.onnx"))


def test_a_package_that_is_not_there(doubler, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "openvino", None)
    with pytest.raises(BackendUnavailable, match=r"ridgeline\[openvino\]"):
        prepare(target(doubler))


def test_in_a_process_of_its_own(written) -> None:
    with Worker() as worker:
        found = worker.call("ridgeline.measurement.agent:prepare", {"spec": target(written)}, PreparedReport)
    assert found.info.kind == "openvino"
    assert found.info.marks == ()


def test_text_is_no_input_for_it(tmp_path) -> None:
    """OpenVINO 2026.4 ends the process when it frees text that it was given."""
    text = helper.make_tensor_value_info("x", onnx.TensorProto.STRING, [2])
    made = model([helper.make_node("Identity", ["x"], ["y"])], [text], [helper.make_tensor_value_info("y", onnx.TensorProto.STRING, [2])])
    onnx.save(made, tmp_path / "m.onnx")
    with pytest.raises(UsageError, match="text for x"):
        prepare(target(tmp_path / "m.onnx"))


def test_sizes_that_nobody_named_are_tried(tmp_path) -> None:
    """An open height and width: the first usual size on which the model runs, and the page says so."""
    made = model([helper.make_node("Conv", ["x", "w"], ["y"])], [tensor("x", "n", 3, "h", "v")], ["y"], {"w": np.ones((2, 3, 300, 300), np.float32)})
    onnx.save(made, tmp_path / "m.onnx")
    prepared = prepare(target(tmp_path / "m.onnx"))
    assert prepared.info.inputs == ("x: float32[1,3,320,320] (synthetic)",)
    assert prepared.call()[0].shape == (1, 2, 21, 21)


def test_the_threads_that_it_takes_and_not_those_asked_for(doubler) -> None:
    """OpenVINO starts no more threads than there are CPUs; a row must not be judged against more."""
    asked = len(os.sched_getaffinity(0)) + 2
    prepared = prepare(parse_target(str(doubler), runtime="openvino", threads=asked))
    assert isinstance(prepared.flavour, OpenvinoFlavour)
    assert prepared.info.threads == prepared.flavour.threads < asked
    assert "fewer-threads" in {warning.code for warning in prepared.warnings}
    assert "fewer-threads" not in {warning.code for warning in prepare(target(doubler)).warnings}


def test_where_its_own_choice_is_another_precision_the_page_says_so(doubler, monkeypatch) -> None:
    """A CPU with bf16: what OpenVINO would do by itself is not what was measured."""
    monkeypatch.setattr("ridgeline.targets.openvino._own_precision", lambda core: "bf16")
    (said,) = [warning for warning in prepare(target(doubler)).warnings if warning.code == "precision-hint"]
    assert "f32" in said.message
    assert "bf16" in said.message
    monkeypatch.setattr("ridgeline.targets.openvino._own_precision", lambda core: "f32")
    assert "precision-hint" not in {warning.code for warning in prepare(target(doubler)).warnings}
