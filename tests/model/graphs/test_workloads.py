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
    ("Mul", {"a": (2, 3, 4)}, {"b": (4,)}, {}, "elementwise", {"elements": 24, "inputs": 1, "constants": 4}),
    ("Softmax", {"a": (2, 3, 4)}, {}, {"axis": -1}, "softmax", {"rows": 6, "columns": 4}),
    ("LayerNormalization", {"a": (2, 3, 4)}, {"s": (4,), "b": (4,)}, {}, "normalisation", {"rows": 6, "columns": 4, "weights": 2}),
    ("GlobalAveragePool", {"a": (1, 8, 5, 6)}, {}, {}, "reduction", {"rows": 8, "columns": 30}),
    ("MaxPool", {"a": (1, 8, 10, 12)}, {}, {"kernel_shape": [3, 3], "strides": [2, 2]}, "pooling",
     {"c": 8, "h": 10, "w": 12, "p": 4, "q": 5, "r": 3, "s": 3}),
    ("Transpose", {"a": (2, 3, 4, 5)}, {}, {"perm": [0, 2, 1, 3]}, "copy", {"elements": 120, "run": 5}),
    ("Transpose", {"a": (2, 3, 4, 5)}, {}, {"perm": [3, 2, 1, 0]}, "copy", {"elements": 120, "run": 1}),
    ("Concat", {"a": (1, 3, 4), "b": (1, 2, 4)}, {}, {"axis": 1}, "copy", {"elements": 20, "run": 12}),
    ("LSTM", {"x": (6, 2, 5)}, {"w": (1, 16, 5), "r": (1, 16, 4)}, {"hidden_size": 4}, "recurrent",
     {"steps": 6, "batch": 2, "input": 5, "hidden": 4, "directions": 1, "gates": 4}),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "inputs", "weights", "attributes", "family", "sizes"), CASES)
def test_the_sizes_of_operators(
    kind: str, inputs: dict[str, tuple[int, ...]], weights: dict[str, tuple[int, ...]], attributes: dict[str, Any], family: str, sizes: dict[str, int]
) -> None:
    found = one(kind, inputs, weights, **attributes)
    assert isinstance(found, Workload)
    assert (found.kind, found.variant, found.precision) == (family, kind, "fp32")
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
