"""Files to graphs: control flow, other shapes, real models."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("ai_edge_litert", reason="TFLite models need ai-edge-litert")
pytest.importorskip("onnx", reason="the writer of the examples' models needs onnx")

from ridgeline.core import ReadError, UsageError
from ridgeline.work.tflite import graph, load
from support.tflite_models import MODELS, chain, lite, single, writer, zeros


def with_subgraphs(kind: str, options: str, **fields: int) -> bytes:
    """A main graph whose one operator runs subgraph 1 (and 2), which hold one RELU each."""
    made = lite(kind)
    x = made.tensor("x", 1, 4)
    y = made.operator(kind, [x], made.tensor("y", 1, 4), options, **fields)
    relu = made.schema.OperatorCodeT()
    relu.builtinCode = relu.deprecatedBuiltinCode = made.schema.BuiltinOperator.RELU
    made.model.operatorCodes.append(relu)
    for number in (1, 2):
        inner = made.schema.SubGraphT()
        inner.name, inner.inputs, inner.outputs = f"body{number}", [0], [1]
        inner.tensors = []
        for name in ("a", "b"):
            tensor = made.schema.TensorT()
            tensor.name, tensor.shape, tensor.type, tensor.buffer = name, [1, 4], made.schema.TensorType.FLOAT32, 0
            inner.tensors.append(tensor)
        operator = made.schema.OperatorT()
        operator.opcodeIndex, operator.inputs, operator.outputs = 1, [0], [1]
        inner.operators = [operator]
        made.model.subgraphs.append(inner)
    return bytes(made.finished(x, y))


def test_a_branch_runs_half_the_time_and_says_so() -> None:
    found = graph(load(with_subgraphs("IF", "IfOptions", thenSubgraphIndex=1, elseSubgraphIndex=2)))
    assert [op.name for op in found.ops] == ["IF:0", "IF:0/then/RELU:0", "IF:0/else/RELU:0"]
    assert [(op.trips.count, op.trips.known) for op in found.ops[1:]] == [(0.5, "assumed")] * 2


def test_a_loop_is_assumed_and_an_initialiser_runs_in_the_first_call_only() -> None:
    loop = graph(load(with_subgraphs("WHILE", "WhileOptions", condSubgraphIndex=1, bodySubgraphIndex=2)))
    assert [(op.trips.count, op.trips.known) for op in loop.ops[1:]] == [(2, "assumed"), (1, "assumed")]
    once = graph(load(with_subgraphs("CALL_ONCE", "CallOnceOptions", initSubgraphIndex=1)))
    assert (once.ops[1].trips.count, once.ops[1].trips.known) == (0, "exact")


def test_a_subgraph_that_calls_itself_is_refused() -> None:
    with pytest.raises(ReadError, match="call themselves"):
        graph(load(with_subgraphs("IF", "IfOptions", thenSubgraphIndex=0, elseSubgraphIndex=1)))


def test_batch_scales_the_work(tmp_path) -> None:
    made = lite()
    x = made.tensor("x", 1, 12, free=True)
    weights = made.tensor("w", 7, 12, data=zeros(7, 12))
    y = made.operator("FULLY_CONNECTED", [x, weights], made.tensor("y", 1, 7, free=True), "FullyConnectedOptions")
    path = tmp_path / "model.tflite"
    path.write_bytes(made.finished(x, y))
    assert graph(path, {"x": (5, 12)}).flop == 5 * graph(path).flop == 5 * 2 * 12 * 7


@pytest.mark.parametrize(
    ("shapes", "words"), [({"z": (1, 8)}, "input of the model: x"), ({"x": (1, 9)}, "fits"), ({"x": (8,)}, "fits"), ({"x": (0, 8)}, "fits")]
)
def test_shapes_that_do_not_fit(tmp_path, shapes, words) -> None:
    path = tmp_path / "model.tflite"
    path.write_bytes(single("RELU", (1, 8), result=(1, 8)))
    with pytest.raises(UsageError, match=words):
        graph(path, shapes)


def test_small_constants_keep_their_numbers_and_large_ones_do_not() -> None:
    content = single("FULLY_CONNECTED", (1, 64), np.ones((64, 64), np.float32), np.arange(64, dtype=np.float32), result=(1, 64))
    weights, bias = load(content).subgraphs[0].tensors[1:3]
    assert weights.constant
    assert weights.content is None
    assert bias.content == tuple(range(64))


def test_the_planted_models_agree_with_the_hand() -> None:
    scenes = graph(load(writer().scenes()))
    # twelve times 28·28 results of 256 channels, 256 taps each
    assert scenes.flop == 12 * 2 * 28 * 28 * 256 * 256
    assert not scenes.unknown


def test_views_share_a_storage() -> None:
    found = graph(load(single("RESHAPE", (2, 8), zeros(2, dtype="int32"), result=(4, 4), options="ReshapeOptions")))
    assert found.tensor("y").storage == "x"
    assert graph(load(chain("RELU"))).tensor("t0").storage == "t0"


@pytest.mark.skipif(MODELS is None, reason="pymicro-wakeword, which brings the models, is not installed")
@pytest.mark.parametrize("name", ["alexa", "hey_jarvis", "hey_mycroft", "okay_nabu"])
def test_streaming_models_of_int8(name: str) -> None:
    assert MODELS is not None
    found = graph(MODELS / f"{name}.tflite")
    assert not found.unknown
    assert {op.precision for op in found.ops if op.engine == "fma"} == {"int8"}
    # Every convolution by an independent path: results times taps, from the tensors alone.
    shapes = {tensor.name: tensor.shape for tensor in found.tensors}
    for op in found.ops:
        if op.kind == "CONV_2D":
            weights, result = shapes[op.inputs[1]], shapes[op.outputs[0]]
            assert op.flop == 2 * np.prod(result) * np.prod(weights[1:])
