"""Small ONNX models made on the spot."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

Shape = list[int | str | None]


def save(path: Path, nodes: list[Any], inputs: dict[str, tuple[int, Shape]], output: str, weights: dict[str, Any] | None = None) -> Path:
    """A model of `nodes` with inputs name → (element type, shape) and one float output of unknown shape."""
    values = [helper.make_tensor_value_info(name, kind, shape) for name, (kind, shape) in inputs.items()]
    initialisers = [numpy_helper.from_array(np.asarray(array), name) for name, array in (weights or {}).items()]
    graph = helper.make_graph(nodes, "graph", values, [helper.make_tensor_value_info(output, TensorProto.FLOAT, None)], initialisers)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


def matmul(path: Path, size: int = 100) -> Path:
    """y[N,size] = x[N,size] × w."""
    node = helper.make_node("MatMul", ["x", "w"], ["y"])
    return save(path, [node], {"x": (TensorProto.FLOAT, ["N", size])}, "y", {"w": np.eye(size, dtype=np.float32)})


def identities(path: Path, inputs: dict[str, tuple[int, Shape]]) -> Path:
    """A model that only takes its inputs: casts each to float, flattens and sums them."""
    nodes, parts = [], []
    for index, name in enumerate(inputs):
        nodes.append(helper.make_node("Cast", [name], [f"f{index}"], to=TensorProto.FLOAT))
        nodes.append(helper.make_node("ReduceSum", [f"f{index}"], [f"s{index}"], keepdims=0))
        parts.append(f"s{index}")
    nodes.append(helper.make_node("Sum", parts, ["y"]))
    return save(path, nodes, inputs, "y")
