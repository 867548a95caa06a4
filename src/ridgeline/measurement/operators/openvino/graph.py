"""Graphs of OpenVINO as plain nouns: the model as it was read, and the graph that was executed.

This module decides what of both is kept. Nothing here judges; everything behind it works on what this module returns, so that it is tested without
the runtime. Source: runtime information of the execution graph (openvino/runtime/exec_model_info.hpp).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from ridgeline.work.onnx import Value
from ridgeline.work.openvino import OpenvinoOp, dtype_of

__all__ = ["ExecutedNode", "ModelOp", "executed_graph", "executed_precision", "model_graph"]

#: Constants of so many elements are read: axes and shapes, never weights.
_SMALL = 64


class ModelOp(msgspec.Struct, frozen=True, kw_only=True):
    """One operator of the model as it was read, and the positions of the operators that make its inputs."""

    op: OpenvinoOp
    after: tuple[int, ...] = ()
    constant: bool = False


class ExecutedNode(msgspec.Struct, frozen=True, kw_only=True):
    """One node of the executed graph.

    Args:
        name: unique.
        kind: such as `Convolution`; `Reorder` for a change of layout or precision that OpenVINO inserted.
        originals: names of the model's operators that it stands for; none where it was inserted.
        kernel: implementation, such as `brgconv_avx512_f32`.
        precision: that it ran in, such as `f32`.
        layouts: of its results, such as `acdb`.
        outputs: tensors that it makes.
        inputs: (position of the node, number of its result) of each input.
        ran: whether it had a time; the others were folded, fused or only renamed.
    """

    name: str
    kind: str
    originals: tuple[str, ...] = ()
    kernel: str = ""
    precision: str = ""
    layouts: tuple[str, ...] = ()
    outputs: tuple[Value, ...] = ()
    inputs: tuple[tuple[int, int], ...] = ()
    ran: bool = True


def model_graph(model: Any) -> tuple[ModelOp, ...]:
    """The operators of an `openvino.Model` in their order; what depends on constants and shapes alone is marked constant."""
    ops = list(model.get_ordered_ops())
    positions = {op.get_friendly_name(): position for position, op in enumerate(ops)}
    found: list[ModelOp] = []
    for op in ops:
        after = tuple(positions[entry.get_source_output().get_node().get_friendly_name()] for entry in op.inputs())
        kind = str(op.get_type_name())
        static = kind == "ShapeOf" and not op.input(0).get_partial_shape().is_dynamic
        constant = kind == "Constant" or static or (bool(after) and all(found[position].constant for position in after))
        inputs = tuple(_value(entry.get_source_output(), found[position].constant) for position, entry in zip(after, op.inputs(), strict=True))
        outputs = tuple(_value(entry, constant) for entry in op.outputs())
        named = OpenvinoOp(name=op.get_friendly_name(), kind=kind, inputs=inputs, outputs=outputs, attributes=_attributes(op))
        found.append(ModelOp(op=named, after=after, constant=constant))
    return tuple(found)


def executed_graph(runtime_model: Any, profile: Sequence[Any]) -> tuple[ExecutedNode, ...]:
    """The executed graph in its order.

    Args:
        runtime_model: `CompiledModel.get_runtime_model()`.
        profile: `InferRequest.profiling_info` of a request that has run.
    """
    kinds = {entry.node_name: str(entry.node_type) for entry in profile}
    ran = {entry.node_name for entry in profile if entry.status.name == "EXECUTED"}
    ops = list(runtime_model.get_ordered_ops())
    names = _unique([op.get_friendly_name() for op in ops])
    positions = {op.get_friendly_name(): position for position, op in enumerate(ops)}
    return tuple(
        _node(op, name, kinds.get(op.get_friendly_name(), ""), positions, ran=op.get_friendly_name() in ran)
        for op, name in zip(ops, names, strict=True)
    )


def executed_precision(kernel: str, narrowest: str) -> str:
    """Element type that a node ran in.

    Args:
        kernel: implementation, which ends in the type of its first operand; `I8` where that is unsigned.
        narrowest: what OpenVINO calls the precision of the node: the narrowest operand, so that weights stored in half precision, which are widened
            when the model is compiled, would pass for a computation in it.
    """
    last = kernel.rpartition("_")[2]
    return "u8" if last == "I8" else last if dtype_of(last) else narrowest


def _node(op: Any, name: str, kind: str, positions: dict[str, int], *, ran: bool) -> ExecutedNode:
    said = {key: str(value.astype(str)) for key, value in op.get_rt_info().items()}
    precisions = said.get("outputPrecisions", "").split(",")
    outputs = tuple(
        Value(name=f"{name}:{number}", shape=_shape(entry), dtype=dtype_of(precisions[min(number, len(precisions) - 1)]))
        for number, entry in enumerate(op.outputs())
    )
    sources = [entry.get_source_output() for entry in op.inputs()]
    layer = said.get("layerType", "")
    return ExecutedNode(
        name=name,
        kind=layer if layer in ("Const", "Input", "Output") else kind or layer,
        originals=tuple(part for part in said.get("originalLayersNames", "").split(",") if part),
        kernel=said.get("primitiveType", ""),
        precision=executed_precision(said.get("primitiveType", ""), said.get("runtimePrecision", "")),
        layouts=tuple(said.get("outputLayouts", "").split(",")),
        outputs=outputs,
        inputs=tuple((positions[source.get_node().get_friendly_name()], int(source.get_index())) for source in sources),
        ran=ran,
    )


def _unique(names: Sequence[str]) -> list[str]:
    seen: dict[str, int] = {}
    found = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        found.append(name if seen[name] == 1 else f"{name}#{seen[name]}")
    return found


def _value(entry: Any, constant: bool) -> Value:
    node = entry.get_node()
    content: tuple[float, ...] | None = None
    shape = _shape(entry)
    if node.get_type_name() == "Constant" and shape is not None and _elements(shape) <= _SMALL:
        content = tuple(node.get_data().ravel().tolist()) if dtype_of(entry.get_element_type().get_type_name()) != "string" else None
    name = f"{node.get_friendly_name()}:{entry.get_index()}"
    return Value(name=name, shape=shape, dtype=dtype_of(entry.get_element_type().get_type_name()), constant=constant, content=content)


def _shape(entry: Any) -> tuple[int, ...] | None:
    partial = entry.get_partial_shape()
    return None if partial.is_dynamic else tuple(int(size) for size in partial.get_shape())


def _elements(shape: Sequence[int]) -> int:
    total = 1
    for size in shape:
        total *= size
    return total


def _attributes(op: Any) -> dict[str, Any]:
    """Numbers, texts and tuples of numbers; an operator with bodies may refuse to tell."""
    try:
        given = dict(op.get_attributes())
    except Exception:  # an attribute that the binding has no type for
        return {}
    plain: dict[str, Any] = {}
    for name, value in given.items():
        if isinstance(value, bool | int | float | str):
            plain[str(name)] = value
        elif isinstance(value, list | tuple) and all(isinstance(part, int) for part in value):
            plain[str(name)] = tuple(value)
    return plain
