"""Operators of a graph as workloads: the sizes that a reader of the model would say, and the FLOPs that the graph says."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ridgeline.core import Graph, Op, Tensor, Workload
from ridgeline.model.families import demand
from ridgeline.model.graphs.workloads import Unknown, workload, workloads

onnx = pytest.importorskip("onnx", reason="onnx, which makes the models, is not installed")
from onnx import TensorProto, helper, numpy_helper  # noqa: E402

from ridgeline.work.onnx import graph  # noqa: E402


def one(kind: str, inputs: dict[str, tuple[int, ...]], weights: dict[str, tuple[int, ...]] | None = None, **attributes: Any) -> Workload | Unknown:
    """The workload of a model of one operator."""
    node = helper.make_node(kind, [*inputs, *(weights or {})], ["out"], **attributes)
    kept = [numpy_helper.from_array(np.ones(shape, np.float32), name) for name, shape in (weights or {}).items()]
    given = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in inputs.items()]
    body = helper.make_graph([node], "one", given, [helper.make_tensor_value_info("out", TensorProto.FLOAT, None)], kept)
    found: Graph = graph(helper.make_model(body, opset_imports=[helper.make_opsetid("", 17)]))
    (only,) = workloads(found)
    if isinstance(only, Workload) and only.kind in ("gemm", "convolution", "recurrent"):
        assert float(demand(only.kind, only.sizes).flop) == found.ops[0].flop
    return only


CASES: list[tuple[str, dict[str, tuple[int, ...]], dict[str, tuple[int, ...]], dict[str, Any], str, dict[str, int]]] = [
    ("MatMul", {"a": (7, 5)}, {"b": (5, 3)}, {}, "gemm", {"m": 7, "n": 3, "k": 5}),
    ("MatMul", {"a": (2, 7, 5)}, {"b": (5, 3)}, {}, "gemm", {"m": 14, "n": 3, "k": 5}),
    ("MatMul", {"a": (2, 4, 7, 5), "b": (2, 4, 5, 3)}, {}, {}, "gemm", {"m": 7, "n": 3, "k": 5, "batch": 8, "groups": 8}),
    ("MatMul", {"a": (7, 5)}, {"b": (5,)}, {}, "gemm", {"m": 7, "n": 1, "k": 5}),
    ("Gemm", {"a": (5, 7)}, {"b": (3, 5), "c": (3,)}, {"transA": 1, "transB": 1}, "gemm", {"m": 7, "n": 3, "k": 5}),
    ("Conv", {"x": (2, 8, 10, 12)}, {"w": (16, 8, 3, 3)}, {}, "convolution",
     {"n": 2, "c": 8, "h": 10, "w": 12, "k": 16, "p": 8, "q": 10, "r": 3, "s": 3}),
    ("Conv", {"x": (1, 8, 10, 12)}, {"w": (8, 1, 3, 3)}, {"group": 8, "strides": [2, 2]}, "convolution",
     {"c": 8, "h": 10, "w": 12, "k": 8, "p": 4, "q": 5, "r": 3, "s": 3, "groups": 8}),
    ("Conv", {"x": (1, 4, 100)}, {"w": (6, 4, 5)}, {}, "convolution", {"c": 4, "h": 1, "w": 100, "k": 6, "p": 1, "q": 96, "r": 1, "s": 5}),
    ("ConvTranspose", {"x": (1, 8, 5, 6)}, {"w": (8, 4, 2, 2)}, {"strides": [2, 2]}, "convolution",
     {"c": 4, "h": 10, "w": 12, "k": 8, "p": 5, "q": 6, "r": 2, "s": 2}),
    ("Add", {"a": (2, 3, 4), "b": (2, 3, 4)}, {}, {}, "elementwise", {"elements": 24, "inputs": 2}),
    ("Mul", {"a": (2, 3, 4)}, {"b": (4,)}, {}, "elementwise", {"elements": 24, "inputs": 1, "constants": 4, "span": 4}),
    ("Softmax", {"a": (2, 3, 4)}, {}, {"axis": -1}, "softmax", {"rows": 6, "columns": 4}),
    ("LayerNormalization", {"a": (2, 3, 4)}, {"s": (4,), "b": (4,)}, {}, "normalisation", {"rows": 6, "columns": 4, "weights": 2}),
    ("GlobalAveragePool", {"a": (1, 8, 5, 6)}, {}, {}, "reduction", {"rows": 8, "columns": 30}),
    ("MaxPool", {"a": (1, 8, 10, 12)}, {}, {"kernel_shape": [3, 3], "strides": [2, 2]}, "pooling",
     {"c": 8, "h": 10, "w": 12, "p": 4, "q": 5, "r": 3, "s": 3}),
    ("Transpose", {"a": (2, 3, 4, 5)}, {}, {"perm": [0, 2, 1, 3]}, "copy", {"elements": 120, "run": 5, "axes": 2, "rows": 3, "columns": 4}),
    ("Transpose", {"a": (2, 3, 4, 5)}, {}, {"perm": [3, 2, 1, 0]}, "copy", {"elements": 120, "run": 1, "axes": 4, "rows": 2, "columns": 5}),
    ("Concat", {"a": (1, 3, 4), "b": (1, 2, 4)}, {}, {"axis": 1}, "copy", {"elements": 20, "run": 12, "parts": 2}),
    ("LSTM", {"x": (6, 2, 5)}, {"w": (1, 16, 5), "r": (1, 16, 4)}, {"hidden_size": 4}, "recurrent",
     {"steps": 6, "batch": 2, "input": 5, "hidden": 4, "directions": 1, "gates": 4}),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "inputs", "weights", "attributes", "family", "sizes"), CASES)
def test_the_sizes_of_operators(
    kind: str, inputs: dict[str, tuple[int, ...]], weights: dict[str, tuple[int, ...]], attributes: dict[str, Any], family: str, sizes: dict[str, int]
) -> None:
    found = one(kind, inputs, weights, **attributes)
    assert isinstance(found, Workload)
    changing = kind == "MatMul" and len(inputs) == 2
    assert (found.kind, found.variant, found.precision) == (family, f"{kind}+changing" if changing else kind, "fp32")
    ones = {name: size for name, size in found.sizes.items() if name not in sizes}
    assert {name: found.sizes[name] for name in sizes} == sizes
    assert all(size == 1 for size in ones.values()), ones


def test_what_is_no_workload() -> None:
    view = one("Flatten", {"a": (2, 3, 4)})
    assert view == Unknown("moves no data", idle=True)
    other = one("NonZero", {"a": (2, 3)})
    assert isinstance(other, Unknown)
    assert not other.idle


@pytest.mark.parametrize(
    ("group", "shapes"),
    [("matmul", [()]), ("convolution", [(1, 2, 3, 4), (5,)]), ("gather", [(2, 3), (0,)]), ("normalisation", [()]), ("matmul", [(2, 0), (0, 3)])],
)
def test_operands_that_cannot_be(group: str, shapes: list[tuple[int, ...]]) -> None:
    tensors = {f"t{number}": Tensor(name=f"t{number}", shape=shape, dtype="float32") for number, shape in enumerate([*shapes, (2, 3)])}
    names = tuple(tensors)
    op = Op(name="o", kind="Odd", inputs=names[:-1], outputs=names[-1:], attributes={"group": group})
    assert isinstance(workload(op, tensors), Unknown)
    assert isinstance(workload(op, {}), Unknown)
    symbolic = {name: Tensor(name=name, shape=("batch", 3), dtype="float32") for name in names}
    assert workload(op, symbolic) == Unknown("the shapes of its operands are not known")


def of(kind: str, shapes: list[tuple[int, ...]], out: tuple[int, ...], group: str, **attributes: str) -> Workload | Unknown:
    """The workload of an operator that a runtime writes; an empty shape is a number."""
    names = [f"t{number}" for number in range(len(shapes))]
    tensors = {name: Tensor(name=name, shape=shape, dtype="float32") for name, shape in zip(names, shapes, strict=True)}
    tensors["out"] = Tensor(name="out", shape=out, dtype="float32")
    return workload(Op(name="o", kind=kind, inputs=tuple(names), outputs=("out",), attributes={"group": group, **attributes}), tensors)


MS = "com.microsoft:"
WRITTEN: list[tuple[str, list[tuple[int, ...]], tuple[int, ...], str, dict[str, str], str, dict[str, int]]] = [
    (MS + "FusedMatMul", [(2, 5, 7), (2, 5, 3)], (2, 7, 3), "matmul", {"transA": "1"}, "gemm", {"m": 7, "n": 3, "k": 5, "batch": 2, "groups": 2}),
    (MS + "FusedMatMul", [(7, 2, 5), (2, 5, 3)], (2, 7, 3), "matmul", {"transBatchA": "1"}, "gemm",
     {"m": 7, "n": 3, "k": 5, "batch": 2, "groups": 2}),
    (MS + "FusedMatMul", [(5, 2, 7), (5, 2, 3)], (2, 7, 3), "matmul", {"transA": "1", "transBatchA": "1", "transBatchB": "1"}, "gemm",
     {"m": 7, "n": 3, "k": 5, "batch": 2, "groups": 2}),
    ("QLinearMatMul", [(7, 5), (), (), (5, 3), (), (), (), ()], (7, 3), "matmul", {}, "gemm", {"m": 7, "n": 3, "k": 5}),
    (MS + "QGemm", [(7, 5), (), (), (3, 5), (), (), (3,), (), ()], (7, 3), "matmul", {"transB": "1"}, "gemm", {"m": 7, "n": 3, "k": 5}),
    (MS + "MatMulNBits", [(2, 7, 64), (3, 2, 16), (6,)], (2, 7, 3), "matmul", {"K": "64", "N": "3"}, "gemm", {"m": 14, "n": 3, "k": 64}),
    (MS + "DynamicQuantizeLSTM", [(6, 2, 5), (1, 5, 16), (1, 4, 16)], (6, 1, 2, 4), "matmul", {"hidden_size": "4"}, "recurrent",
     {"steps": 6, "batch": 2, "input": 5, "hidden": 4, "directions": 1, "gates": 4}),
    (MS + "QLinearConv", [(1, 10, 12, 8), (), (), (16, 8, 3, 3), (), (), (), ()], (1, 8, 10, 16), "convolution", {"channels_last": "1"},
     "convolution", {"c": 8, "h": 10, "w": 12, "k": 16, "p": 8, "q": 10, "r": 3, "s": 3}),
    (MS + "NhwcMaxPool", [(1, 10, 12, 8)], (1, 5, 6, 8), "reduction", {"kernel_shape": "2,2"}, "pooling",
     {"c": 8, "h": 10, "w": 12, "p": 5, "q": 6, "r": 2, "s": 2}),
    (MS + "QLinearConcat", [(), (), (1, 3, 4), (), (), (1, 2, 4), (), ()], (1, 5, 4), "movement", {"axis": "1"}, "copy",
     {"elements": 20, "run": 12, "parts": 2}),
    (MS + "QLinearGlobalAveragePool", [(1, 5, 6, 8), (), (), (), ()], (1, 1, 1, 8), "reduction", {"channels_last": "1"}, "reduction",
     {"rows": 8, "columns": 30, "inner": 8}),
    (MS + "MultiHeadAttention", [(2, 7, 32), (2, 9, 32), (2, 9, 32)], (2, 7, 32), "attention", {"num_heads": "4"}, "attention",
     {"batch": 2, "heads": 4, "queries": 7, "keys": 9, "head_size": 8, "kv_heads": 4}),
    (MS + "SkipLayerNormalization", [(2, 3, 4), (2, 3, 4)], (2, 3, 4), "normalisation", {}, "normalisation", {"rows": 6, "columns": 4}),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "shapes", "out", "group", "attributes", "family", "sizes"), WRITTEN)
def test_operators_that_a_runtime_writes(
    kind: str, shapes: list[tuple[int, ...]], out: tuple[int, ...], group: str, attributes: dict[str, str], family: str, sizes: dict[str, int]
) -> None:
    found = of(kind, shapes, out, group, **attributes)
    assert isinstance(found, Workload)
    assert found.kind == family
    assert {name: found.sizes[name] for name in sizes} == sizes
    assert all(size == 1 for name, size in found.sizes.items() if name not in sizes), found.sizes


def test_the_layout_and_what_is_done_in_the_same_pass_are_said() -> None:
    found = of("com.microsoft.nchwc:Conv", [(1, 16, 8, 8), (32, 16, 1, 1), (32,), (1, 32, 8, 8)], (1, 32, 8, 8), "convolution", activation="Relu")
    assert isinstance(found, Workload)
    assert (found.layout, found.variant) == ("NCHWc", "Conv+Sum+Relu")
    plain = of(MS + "FusedGemm", [(2, 3), (3, 4), (4,)], (2, 4), "matmul", activation="Tanh")
    assert isinstance(plain, Workload)
    assert (plain.layout, plain.variant) == ("", "Gemm+Tanh")
    image, filters = (1, 10, 12, 8), (16, 8, 3, 3)
    last = of(MS + "QLinearConv", [image, (), (), filters, (), (), (), ()], (1, 8, 10, 16), "convolution", channels_last="1")
    second = of("QLinearConv", [(1, 8, 10, 12), (), (), filters, (), (), (), ()], (1, 16, 8, 10), "convolution")
    assert isinstance(last, Workload)
    assert isinstance(second, Workload)
    assert (last.layout, second.layout) == ("NHWC", "")
    assert last.sizes == second.sizes
    packed = of(MS + "MatMulNBits", [(7, 64), (3, 2, 16), (6,)], (7, 3), "matmul", bits="4")
    assert isinstance(packed, Workload)
    assert packed.weight_precision == "int4"


def test_packed_attention_is_not_described() -> None:
    assert isinstance(of(MS + "MultiHeadAttention", [(2, 7, 4, 3, 8), (), ()], (2, 7, 32), "attention", num_heads="4"), Unknown)


def test_the_sizes_of_optimised_models_give_their_operations() -> None:
    from ridgeline.model.graphs.fusion import fused
    from support.optimised import MODELS

    for make, shapes in MODELS.values():
        found = fused(graph(make(), shapes)).graph
        for op, each in zip(found.ops, workloads(found), strict=True):
            if isinstance(each, Workload) and each.kind in ("gemm", "convolution", "recurrent"):
                flop = float(demand(each.kind, each.sizes).flop)
                # In the blocked layout the channels that only pad it are executed as well.
                assert flop >= (op.flop or 0) if each.layout else flop == op.flop, op
