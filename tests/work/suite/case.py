"""`Case`: one operator with its FLOPs and bytes worked out by hand, and how to build it for each framework.

The numbers of a case are expressions over its shapes, so that a reader can follow them; nothing in them comes from ridgeline.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

F64, F32, F16, I64, I32, I8 = 8, 4, 2, 8, 4, 1


@dataclass(frozen=True)
class Case:
    """One operator.

    `flop` are operations on `engine`: multiply-adds × 2 on `fma`, else elements. `read` and `write` are the compulsory bytes of everything that is no
    view. Where a framework's operators are cut differently `torch_bytes` or `onnx_bytes` (read, write) stand in their place, or `torch_products` for
    the products alone where torch runs dozens of small operators around them; `why` says how they differ.
    A builder returns (function or module, its arguments), or an ONNX model; `jax` gets `jax` and returns (function, arguments).
    """

    name: str
    flop: float
    read: int
    write: int
    engine: str | None = "fma"
    precision: str = "fp32"
    torch: Callable[[], tuple[Any, tuple[Any, ...]]] | None = None
    onnx: Callable[[], Any] | None = None
    jax: Callable[[Any], tuple[Any, tuple[Any, ...]]] | None = None
    torch_bytes: tuple[int, int] | None = None
    onnx_bytes: tuple[int, int] | None = None
    torch_products: tuple[int, int] | None = None
    why: str = ""


@dataclass(frozen=True)
class Spec:
    """An operand of an ONNX model: its shape and dtype, and its numbers if it is a constant."""

    shape: tuple[int, ...]
    dtype: str = "FLOAT"
    content: Sequence[Any] | None = None


def f(*shape: int) -> Spec:
    """A float32 operand."""
    return Spec(shape)


def of(dtype: str, *shape: int) -> Spec:
    """An operand of another dtype, such as `INT8`."""
    return Spec(shape, dtype)


def const(dtype: str, *content: Any) -> Spec:
    """A one-dimensional constant."""
    return Spec((len(content),), dtype, content)


def single(kind: str, inputs: Sequence[Spec | None], outputs: Sequence[Spec | None], domain: str = "", opset: int = 22, **attributes: Any) -> Any:
    """A model of one node; operands are inputs of the model unless they have numbers."""
    from onnx import helper

    names = [f"i{index}" if spec is not None else "" for index, spec in enumerate(inputs)]
    results = [f"o{index}" if spec is not None else "" for index, spec in enumerate(outputs)]
    node = helper.make_node(kind, names, results, name="node", domain=domain, **attributes)
    given = [(name, spec) for name, spec in zip(names, inputs, strict=True) if spec is not None]
    ends = [(name, spec) for name, spec in zip(results, outputs, strict=True) if spec is not None]
    return build([node], given, ends, opset)


def build(nodes: Sequence[Any], inputs: Sequence[tuple[str, Spec]], outputs: Sequence[tuple[str, Spec]], opset: int = 22) -> Any:
    """A model of these nodes."""
    from onnx import TensorProto, helper

    def info(name: str, spec: Spec) -> Any:
        return helper.make_tensor_value_info(name, TensorProto.DataType.Value(spec.dtype), list(spec.shape))

    constants = [
        helper.make_tensor(name, TensorProto.DataType.Value(spec.dtype), list(spec.shape), list(spec.content))
        for name, spec in inputs
        if spec.content is not None
    ]
    graph = helper.make_graph(
        list(nodes),
        "case",
        [info(name, spec) for name, spec in inputs if spec.content is None],
        [info(name, spec) for name, spec in outputs],
        constants,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset), helper.make_opsetid("com.microsoft", 1)], ir_version=10)
