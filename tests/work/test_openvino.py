"""Work of OpenVINO's operators: by hand, and the same as that of their counterparts in ONNX."""

from __future__ import annotations

import pytest

from ridgeline.work.onnx import Node, Value, op_work
from ridgeline.work.openvino import OpenvinoOp, dtype_of, operator_work


def value(*shape: int, name: str = "v", dtype: str = "float32", constant: bool = False) -> Value:
    return Value(name=f"{name}{shape}", shape=shape, dtype=dtype, constant=constant)


def op(kind: str, inputs: list[Value], output: Value, **attributes: object) -> OpenvinoOp:
    return OpenvinoOp(name="n", kind=kind, inputs=tuple(inputs), outputs=(output,), attributes=attributes)


def test_a_convolution_counts_two_for_each_tap() -> None:
    # 8 results a pixel, 16 pixels, 3·3·3 taps each.
    work = operator_work(op("Convolution", [value(1, 3, 4, 4), value(8, 3, 3, 3)], value(1, 8, 4, 4)))
    assert (work.flop, work.engine, work.group) == (2 * 8 * 16 * 27, "fma", "convolution")


def test_groups_stand_before_the_channels() -> None:
    # Depthwise: 8 groups of one channel in and one out; each of the 8·16 results has 9 taps.
    work = operator_work(op("GroupConvolution", [value(1, 8, 4, 4), value(8, 1, 1, 3, 3)], value(1, 8, 4, 4)))
    assert work.flop == 2 * 8 * 16 * 9
    # Two groups of four channels in and two out: 4·16 results with 4·9 taps.
    work = operator_work(op("GroupConvolution", [value(1, 8, 4, 4), value(2, 2, 4, 3, 3)], value(1, 4, 4, 4)))
    assert work.flop == 2 * 4 * 16 * 36


def test_a_transposed_convolution_counts_taps_of_its_input() -> None:
    # 3·2·2 elements meet 1·2·2 taps: the 48 multiply-adds of ConvTranspose2d(3, 1, 2, stride 2).
    work = operator_work(op("ConvolutionBackpropData", [value(1, 3, 2, 2), value(3, 1, 2, 2)], value(1, 1, 4, 4)))
    assert work.flop == 2 * 48
    # Two groups of (2 in, 3 out): every one of the 4·4 elements meets 3 · 4 taps.
    work = operator_work(op("GroupConvolutionBackpropData", [value(1, 4, 2, 2), value(2, 2, 3, 2, 2)], value(1, 6, 4, 4)))
    assert work.flop == 2 * 16 * 12


@pytest.mark.parametrize(
    ("first", "second", "attributes"),
    [
        ((2, 5, 7), (2, 7, 3), {"transpose_a": False, "transpose_b": False}),
        ((2, 7, 5), (2, 7, 3), {"transpose_a": True, "transpose_b": False}),
        ((2, 5, 7), (2, 3, 7), {"transpose_a": False, "transpose_b": True}),
        ((2, 7, 5), (2, 7, 3), {}),  # as executed, where nothing says what is transposed
        ((2, 5, 7), (2, 3, 7), {}),
    ],
)
def test_a_product_is_2mnk_however_its_operands_lie(first, second, attributes) -> None:
    assert operator_work(op("MatMul", [value(*first), value(*second)], value(2, 5, 3), **attributes)).flop == 2 * 2 * 5 * 3 * 7


def test_a_fully_connected_layer_has_its_weight_transposed() -> None:
    work = operator_work(op("FullyConnected", [value(1, 6, 32), value(16, 32, constant=True)], value(1, 6, 16)))
    assert (work.flop, work.group) == (2 * 6 * 16 * 32, "matmul")


def test_recurrent_layers_have_their_weights_further_back() -> None:
    # One direction, 3 sequences of 5 steps, width 4, hidden 8: 2 · 15 · 4 gates · 8 · (4 + 8).
    lstm = [value(3, 5, 4), value(3, 1, 8), value(3, 1, 8), value(3), value(1, 32, 4), value(1, 32, 8), value(1, 32)]
    assert operator_work(op("LSTMSequence", lstm, value(3, 1, 5, 8), hidden_size=8, direction="forward")).flop == 2 * 15 * 4 * 8 * 12
    gru = [value(3, 4), value(3, 8), value(24, 4), value(24, 8), value(24)]
    assert operator_work(op("GRUCell", gru, value(3, 8), hidden_size=8)).flop == 2 * 3 * 3 * 8 * 12


@pytest.mark.parametrize(
    ("kind", "counterpart", "engine", "group"),
    [
        ("Sin", "Sin", "exp", "elementwise"),
        ("Multiply", "Mul", "add", "elementwise"),
        ("Divide", "Div", "divide", "elementwise"),
        ("Softmax", "Softmax", "exp", "normalisation"),
        ("MVN", "MeanVarianceNormalization", "reduce", "normalisation"),
        ("Reorder", "Transpose", None, "movement"),
        ("Convert", "Cast", None, "movement"),
    ],
)
def test_a_renamed_operator_counts_as_its_counterpart(kind, counterpart, engine, group) -> None:
    operands = [value(4, 6, name="a"), value(4, 6, name="b")]
    work = operator_work(op(kind, operands, value(4, 6, name="c")))
    same = op_work(Node(kind=counterpart, inputs=tuple(operands), outputs=(value(4, 6, name="c"),)))
    assert (work.flop, work.engine, work.group) == (same.flop, engine, group)


def test_pooling_counts_its_window() -> None:
    assert operator_work(op("MaxPool", [value(1, 2, 4, 4)], value(1, 2, 2, 2), kernel=(2, 2))).flop == 8 * 4


def test_what_has_no_counterpart_is_unknown_and_not_zero() -> None:
    work = operator_work(op("NonMaxSuppressionIEInternal", [value(3)], value(3)))
    assert work.flop is None
    assert "NonMaxSuppressionIEInternal" in work.reason
    # Nor does an operator without its operands, or with open sizes, raise.
    assert operator_work(OpenvinoOp(name="n", kind="MatMul")).flop is None
    assert operator_work(OpenvinoOp(name="n", kind="LSTMSequence")).flop is None
    assert operator_work(op("Convolution", [Value(name="x"), Value(name="w")], Value(name="y"))).flop is None
    assert operator_work(op("GroupConvolution", [Value(name="x"), Value(name="w")], Value(name="y"))).flop is None


def test_element_types() -> None:
    assert [dtype_of(name) for name in ("f32", "bf16", "boolean", "u4", "dynamic")] == ["float32", "bfloat16", "bool", "uint4", ""]
