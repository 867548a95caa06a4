"""Small ONNX models for the tests, made by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from ridgeline.work.onnx import Node, Value

ELEMENTS = {"float32": TensorProto.FLOAT, "int64": TensorProto.INT64, "int32": TensorProto.INT32, "bool": TensorProto.BOOL, "int8": TensorProto.INT8,
            "uint8": TensorProto.UINT8, "float16": TensorProto.FLOAT16}  # fmt: skip


def tensor(name: str, *shape: int | str, dtype: str = "float32") -> Any:
    return helper.make_tensor_value_info(name, ELEMENTS[dtype], list(shape))


def model(
    nodes: Sequence[Any],
    inputs: Sequence[Any],
    outputs: Sequence[Any] | Sequence[str],
    constants: Mapping[str, np.ndarray[Any, Any]] | None = None,
    opset: int = 17,
    **extra: Any,
) -> onnx.ModelProto:
    ends = [helper.make_tensor_value_info(end, TensorProto.FLOAT, None) if isinstance(end, str) else end for end in outputs]
    weights = [numpy_helper.from_array(array, name) for name, array in (constants or {}).items()]
    graph = helper.make_graph(list(nodes), "test", list(inputs), ends, weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8, **extra)


def zeros(*shape: int) -> np.ndarray[Any, Any]:
    return np.zeros(shape, dtype=np.float32)


def value(name: str, *shape: int, dtype: str = "float32", constant: bool = False, content: tuple[float, ...] | None = None) -> Value:
    return Value(name=name, shape=shape, dtype=dtype, constant=constant, content=content)


def node(kind: str, inputs: Sequence[Value | None], outputs: Sequence[Value], domain: str = "", **attributes: Any) -> Node:
    return Node(kind=kind, domain=domain, inputs=tuple(inputs), outputs=tuple(outputs), attributes=attributes)


def two_products(rows: int | str) -> onnx.ModelProto:
    """A product, a function and a product of (rows, 64), 64 × 128 and 128 × 32."""
    nodes = [
        helper.make_node("MatMul", ["x", "w1"], ["a"], name="first"),
        helper.make_node("Relu", ["a"], ["b"], name="function"),
        helper.make_node("MatMul", ["b", "w2"], ["y"], name="second"),
    ]
    return model(nodes, [tensor("x", rows, 64)], [tensor("y", rows, 32)], {"w1": zeros(64, 128), "w2": zeros(128, 32)})
