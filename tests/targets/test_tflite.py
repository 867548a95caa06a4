"""`model.tflite`: inputs by dtype and quantisation, other shapes, delegates, and files that are not one."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("ai_edge_litert", reason="TFLite models need ai-edge-litert")
pytest.importorskip("onnx", reason="the writer of the examples' models needs onnx")

from ridgeline.core import ReadError, RidgelineError, UsageError
from ridgeline.machine import Worker
from ridgeline.measurement.agent import PreparedReport
from ridgeline.targets import parse_target, prepare
from ridgeline.targets.tflite import TfliteFlavour
from support.tflite_models import MODELS, chain, lite, single, zeros


@pytest.fixture
def doubler(tmp_path):
    """y = x · W with an open batch: W is 2 on its diagonal."""
    made = lite()
    x = made.tensor("x", 1, 3, free=True)
    weights = made.tensor("w", 3, 3, data=(2 * np.eye(3)).astype(np.float32))
    y = made.operator("FULLY_CONNECTED", [x, weights], made.tensor("y", 1, 3, free=True), "FullyConnectedOptions")
    path = tmp_path / "doubler.tflite"
    path.write_bytes(made.finished(x, y))
    return path


def test_the_form_and_what_it_says(doubler) -> None:
    spec = parse_target(str(doubler), threads=1)
    assert spec.kind == "tflite"
    prepared = prepare(spec)
    assert prepared.info.kind == "tflite"
    assert prepared.info.threads == 1
    assert prepared.info.inputs == ("x: float32[1,3] (synthetic)",)
    assert prepared.info.providers == ("XNNPACK", "builtin")
    assert [warning.code for warning in prepared.warnings] == ["synthetic-input"]
    assert prepared.first_s is not None
    assert len(prepared.info.digest) == 64


def test_a_call_runs_the_model_on_the_data_it_was_given(doubler, tmp_path) -> None:
    np.save(tmp_path / "x.npy", np.array([[1.0, 2.0, 3.0]], np.float32))
    prepared = prepare(parse_target(str(doubler), input=str(tmp_path / "x.npy")))
    (result,) = prepared.call()
    assert result.tolist() == [[2.0, 4.0, 6.0]]
    assert not prepared.warnings


def test_another_batch(doubler) -> None:
    prepared = prepare(parse_target(str(doubler), shapes=["x=5x3"]))
    assert prepared.call()[0].shape == (5, 3)
    assert isinstance(prepared.flavour, TfliteFlavour)
    assert list(prepared.flavour.shapes.values()) == [(5, 3)]


def test_a_fixed_batch_can_change_as_well(tmp_path) -> None:
    path = tmp_path / "fixed.tflite"
    path.write_bytes(single("RELU", (1, 8), result=(1, 8)))
    assert prepare(parse_target(str(path), shapes=["x=4x8"])).call()[0].shape == (4, 8)
    with pytest.raises(UsageError, match="fits"):
        prepare(parse_target(str(path), shapes=["x=4x9"]))


def test_quantised_inputs_cover_their_range(tmp_path) -> None:
    made = lite()
    x, y = made.tensor("x", 1, 4096, kind="int8", scale=0.05), made.tensor("y", 1, 4096, kind="int8", scale=0.05)
    made.operator("RELU", [x], y)
    path = tmp_path / "quantised.tflite"
    path.write_bytes(made.finished(x, y))
    prepared = prepare(parse_target(str(path)))
    (values,) = prepared.flavour.feeds.values()
    assert values.dtype == np.int8
    # standard normal ÷ 0.05: a standard deviation of 20 around the zero point 0
    assert abs(float(values.mean())) < 2
    assert 18 < float(values.std()) < 22
    assert np.array_equal(prepare(parse_target(str(path))).flavour.feeds[x], values)


def test_without_the_delegate_the_results_are_the_same(tmp_path) -> None:
    path = tmp_path / "chain.tflite"
    path.write_bytes(chain("TANH", "RELU"))
    prepared = prepare(parse_target(str(path)))
    plain = prepared.flavour.make(1, False)
    for index, array in prepared.flavour.feeds.items():
        plain.set_tensor(index, array)
    plain.invoke()
    assert "DELEGATE" not in {entry["op_name"] for entry in plain._get_ops_details()}
    np.testing.assert_allclose(plain.get_tensor(plain.get_output_details()[0]["index"]), prepared.call()[0], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("content", [b"", b"\x00" * 64, b"no model at all", chain("RELU")[:-200]])
def test_what_is_no_model(tmp_path, content) -> None:
    path = tmp_path / "broken.tflite"
    path.write_bytes(content)
    with pytest.raises(ReadError) as caught:
        prepare(parse_target(str(path)))
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize(
    ("content", "found", "remedy"),
    [
        (b"\x08\x08\x12\x07pytorch:\x00", "an ONNX model", "rename it to .onnx"),
        (b"PK\x03\x04 and so on", "a zip archive", "unpack"),
        (b"model: none", "a text file", "the model itself"),
        (b"\xff\x00\xff\x00TFL\x00\xff\xfe", "TFL3", "again"),
    ],
)
def test_what_it_is_instead_is_said(tmp_path, content, found, remedy) -> None:
    path = tmp_path / "other.tflite"
    path.write_bytes(content)
    with pytest.raises(ReadError) as caught:
        prepare(parse_target(str(path)))
    assert found in caught.value.found
    assert remedy in caught.value.remedy


@pytest.mark.parametrize("cut", [9, 100, 0.5, 0.9])
def test_a_model_that_was_cut_short_is_said_in_our_words(tmp_path, cut) -> None:
    made = lite()
    x = made.tensor("x", 2, 2)
    content = bytes(made.finished(x, made.operator("RELU", [x], made.tensor("y", 2, 2))))
    path = tmp_path / "cut.tflite"
    path.write_bytes(content[: cut if isinstance(cut, int) else int(cut * len(content))])
    with pytest.raises(ReadError) as caught:
        prepare(parse_target(str(path)))
    assert "cut short or damaged" in caught.value.found


def test_an_operator_that_litert_does_not_have(tmp_path) -> None:
    made = lite()
    x = made.tensor("x", 2, 2)
    y = made.operator("CUSTOM", [x], made.tensor("y", 2, 2))
    made.model.operatorCodes[0].customCode = "Mine"
    path = tmp_path / "custom.tflite"
    path.write_bytes(made.finished(x, y))
    with pytest.raises(ReadError, match="Mine"):
        prepare(parse_target(str(path)))


def test_damage_that_reads_well_ends_the_child_and_not_us(tmp_path) -> None:
    # Weights whose shape and buffer disagree, and an operator with too few operands: whole files that no runtime can run.
    made = lite()
    x, w = made.tensor("x", 1, 8), made.tensor("w", 8, 8, data=zeros(2, 2))
    one = bytes(made.finished(x, made.operator("FULLY_CONNECTED", [x, w], made.tensor("y", 1, 8), "FullyConnectedOptions")))
    made = lite()
    x = made.tensor("x", 1, 8, 8, 1)
    two = bytes(made.finished(x, made.operator("CONV_2D", [x], made.tensor("y", 1, 8, 8, 1), "Conv2DOptions", strideW=0, strideH=0)))
    for number, content in enumerate((one, two)):
        path = tmp_path / f"odd{number}.tflite"
        path.write_bytes(content)
        with Worker() as worker, pytest.raises(RidgelineError) as caught:
            worker.call("ridgeline.measurement.agent:prepare", {"spec": parse_target(str(path))}, PreparedReport)
        assert len(str(caught.value).splitlines()) == 1


@pytest.mark.skipif(MODELS is None, reason="pymicro-wakeword, which brings the models, is not installed")
def test_a_model_that_keeps_state_runs_again_and_again() -> None:
    assert MODELS is not None
    prepared = prepare(parse_target(str(MODELS / "okay_nabu.tflite")))
    assert all(prepared.call()[0].shape == (1, 1) for _ in range(20))
    assert prepared.info.inputs[0].endswith("int8[1,3,40] (synthetic)")


def test_a_shape_that_the_model_cannot_run_with_is_the_persons_and_one_it_has_is_the_files(tmp_path) -> None:
    # y = x + c with c of batch 2: the file's own batch of 2 runs, three does not.
    path = tmp_path / "pair.tflite"
    path.write_bytes(single("ADD", (2, 4), zeros(2, 4), result=(2, 4), options="AddOptions"))
    assert prepare(parse_target(str(path))).call()[0].shape == (2, 4)
    with pytest.raises(UsageError, match="input shapes"):
        prepare(parse_target(str(path), shapes=["x=3x4"]))
    broken = tmp_path / "broken.tflite"
    broken.write_bytes(single("ADD", (2, 4), zeros(3, 4), result=(2, 4), options="AddOptions"))
    with pytest.raises(ReadError):
        prepare(parse_target(str(broken)))
