"""Operations and bytes of TFLite operators, worked out by hand beside each case."""

from __future__ import annotations

import pytest

pytest.importorskip("ai_edge_litert", reason="TFLite models need ai-edge-litert")
pytest.importorskip("onnx", reason="the writer of the examples' models needs onnx")

from ridgeline.work.tflite import graph, known_kinds, load
from support.tflite_models import single, zeros

SAME = {"padding": 0}
CONV = {"options": "Conv2DOptions", "strideW": 1, "strideH": 1, **SAME}

CASES = [
    # results 1·8·8·16, each 3·3·4 taps
    ("conv", single("CONV_2D", (1, 8, 8, 4), zeros(16, 3, 3, 4), zeros(16), result=(1, 8, 8, 16), **CONV), 2 * 8 * 8 * 16 * 36, "fma"),
    # groups: Cin ÷ g = 2 in the weights
    ("grouped conv", single("CONV_2D", (1, 8, 8, 4), zeros(16, 3, 3, 2), zeros(16), result=(1, 8, 8, 16), **CONV), 2 * 8 * 8 * 16 * 18, "fma"),
    # one filter of 3·3 a channel
    (
        "depthwise",
        single(
            "DEPTHWISE_CONV_2D", (1, 8, 8, 4), zeros(1, 3, 3, 8), zeros(8), result=(1, 8, 8, 8), options="DepthwiseConv2DOptions", depthMultiplier=2
        ),
        2 * 8 * 8 * 8 * 9,
        "fma",
    ),
    # FULLY_CONNECTED: 5 rows of 12, 7 units
    ("dense", single("FULLY_CONNECTED", (5, 12), zeros(7, 12), None, result=(5, 7), options="FullyConnectedOptions"), 2 * 5 * 12 * 7, "fma"),
    # keep_num_dims: 2·3 rows of 12, 7 units
    (
        "dense that keeps its dimensions",
        single("FULLY_CONNECTED", (2, 3, 12), zeros(7, 12), None, result=(2, 3, 7), options="FullyConnectedOptions", keepNumDims=True),
        2 * 6 * 12 * 7,
        "fma",
    ),
    (
        "batched product",
        single("BATCH_MATMUL", (2, 3, 4, 5), (2, 3, 5, 6), result=(2, 3, 4, 6), options="BatchMatMulOptions"),
        2 * 6 * 4 * 5 * 6,
        "fma",
    ),
    # x is (5, 4) taken as (4, 5)
    (
        "batched product, first operand transposed",
        single("BATCH_MATMUL", (1, 5, 4), (1, 5, 6), result=(1, 4, 6), options="BatchMatMulOptions", adjX=True),
        2 * 4 * 5 * 6,
        "fma",
    ),
    # 8·8·4 results of windows of 2·2
    (
        "pool",
        single("MAX_POOL_2D", (1, 16, 16, 4), result=(1, 8, 8, 4), options="Pool2DOptions", filterHeight=2, filterWidth=2, strideH=2, strideW=2),
        8 * 8 * 4 * 4,
        "reduce",
    ),
    ("add", single("ADD", (2, 3, 4), zeros(4), result=(2, 3, 4), options="AddOptions"), 24, "add"),
    ("float sigmoid", single("LOGISTIC", (2, 8), result=(2, 8)), 16, "exp"),
    ("eight-bit sigmoid is a table", single("LOGISTIC", (2, 8), result=(2, 8), dtype="int8"), 16, "gather"),
    ("softmax", single("SOFTMAX", (3, 10), result=(3, 10), options="SoftmaxOptions", beta=1.0), 30, "exp"),
    ("mean", single("MEAN", (1, 8, 8, 4), zeros(2, dtype="int32"), result=(1, 4), options="ReducerOptions"), 256, "reduce"),
    # one result a pixel, four neighbours, a multiply-add each
    (
        "resize",
        single("RESIZE_BILINEAR", (1, 4, 4, 3), zeros(2, dtype="int32"), result=(1, 8, 8, 3), options="ResizeBilinearOptions"),
        2 * 4 * 192,
        "fma",
    ),
    # 16 features of 10, memory of 6 steps each
    (
        "svdf",
        single("SVDF", (2, 10), zeros(16, 10), zeros(16, 6), None, (2, 96), result=(2, 16), options="SVDFOptions", rank=1),
        2 * 2 * (160 + 96),
        "fma",
    ),
]


@pytest.mark.parametrize(("content", "flop", "engine"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_operations(content: bytes, flop: float, engine: str) -> None:
    (op,) = graph(load(content)).ops
    assert op.flop == flop
    assert op.engine == engine


def test_transposed_convolution_counts_taps_of_the_input() -> None:
    shape = zeros(4, dtype="int32")
    # The data are the third operand here: ConvTranspose2d(3, 1, 2, stride 2) on (1, 2, 2, 3) is 12 elements × 4 taps = 48 multiply-adds.
    from support.tflite_models import lite

    made = lite()
    x = made.tensor("x", 1, 2, 2, 3)
    operands = [made.tensor("shape", 4, data=shape), made.tensor("w", 1, 2, 2, 3, data=zeros(1, 2, 2, 3)), x]
    y = made.operator("TRANSPOSE_CONV", operands, made.tensor("y", 1, 4, 4, 1), "TransposeConvOptions", strideW=2, strideH=2)
    (op,) = graph(load(made.finished(x, y))).ops
    assert op.flop == 2 * 48


def test_sequence_lstm_by_its_weights() -> None:
    units, width, steps, batch = 8, 5, 7, 2
    gates = [zeros(units, width)] * 4 + [zeros(units, units)] * 4
    rest = [None] * 3 + [zeros(units)] * 4 + [None, None, (batch, units), (batch, units)]
    content = single(
        "UNIDIRECTIONAL_SEQUENCE_LSTM",
        (steps, batch, width),
        *gates,
        *rest,
        result=(steps, batch, units),
        options="UnidirectionalSequenceLSTMOptions",
    )
    (op,) = graph(load(content)).ops
    # 4 gates, each (units × width + units × units), a step and sequence
    assert op.flop == 2 * steps * batch * 4 * (units * width + units * units)


@pytest.mark.parametrize(
    ("content", "read", "written"),
    [
        # 64 inputs and 16·36 weights of 4 bytes, bias 16; 1024 results
        (single("CONV_2D", (1, 8, 8, 4), zeros(16, 3, 3, 4), zeros(16), result=(1, 8, 8, 16), **CONV), 4 * (256 + 576 + 16), 4096),
        (single("RESHAPE", (2, 8), zeros(2, dtype="int32"), result=(4, 4), options="ReshapeOptions"), 0, 0),
        # of the source only what is handed on, and three small operands of two int32
        (
            single("STRIDED_SLICE", (8, 8), *[zeros(2, dtype="int32")] * 3, result=(2, 8), options="StridedSliceOptions"),
            2 * 8 * 4 + 3 * 8,
            64,
        ),
        # three rows of a table of a thousand, and three indices
        (single("GATHER", (1000, 16), zeros(3, dtype="int32"), result=(3, 16), options="GatherOptions"), 3 * 16 * 4 + 12, 192),
        (single("LOGISTIC", (2, 8), result=(2, 8), dtype="int8"), 16, 16),
    ],
    ids=["conv", "view", "slice", "gather", "int8"],
)
def test_bytes(content: bytes, read: int, written: int) -> None:
    (op,) = graph(load(content)).ops
    assert (op.read_bytes, op.write_bytes) == (read, written)


def test_a_custom_operator_is_unknown_and_not_zero() -> None:
    from support.tflite_models import lite

    made = lite()
    x = made.tensor("x", 2, 2)
    y = made.operator("CUSTOM", [x], made.tensor("y", 2, 2))
    made.model.operatorCodes[0].customCode = "Mine"
    found = graph(load(made.finished(x, y)))
    assert found.ops[0].kind == "custom:Mine"
    assert found.ops[0].flop is None
    assert found.unknown == ("custom:Mine:0",)
    assert "no formula" in found.ops[0].reason


def test_precision_is_that_of_the_operands() -> None:
    (op,) = graph(load(single("LOGISTIC", (2, 8), result=(2, 8), dtype="int8"))).ops
    assert op.precision == "int8"


def test_every_kind_with_a_formula_is_one_of_the_schema() -> None:
    from ai_edge_litert import schema_py_generated as schema

    assert known_kinds() <= set(vars(schema.BuiltinOperator))
    assert len(known_kinds()) > 100
