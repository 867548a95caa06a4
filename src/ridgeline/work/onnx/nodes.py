"""The operators of a model as a flat list in execution order, each body behind the node that holds it.

This module decides how `onnx` protobufs become `Node`s, which values are constant, which share a buffer, and how often a body runs: exactly where
the condition, the trip count or the scanned length is a constant, else assumed (one trip of a loop, each branch of an If half the time).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec

from ridgeline.core import TripCount

from .model import DTYPES, SMALL, Model, bodies
from .node import Node, Value

__all__ = ["Placed", "Types", "contents", "folded_away", "placed", "view_sources"]

#: What is known of a value by its unique name.
Types = Callable[[str], Value]

_VIEWS = frozenset({"Reshape", "Squeeze", "Unsqueeze", "Flatten", "Identity", "Dropout"})
_RANDOM = frozenset({"RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike", "Multinomial", "Bernoulli"})
# A runtime keeps these in the graph although their inputs are constant: they are how a quantised weight is stored.
_KEPT = frozenset({"QuantizeLinear", "DequantizeLinear", "DynamicQuantizeLinear"})


class Placed(msgspec.Struct, frozen=True, kw_only=True):
    """A node in its place.

    Args:
        node: with types as far as they are known.
        name: unique: the path of the nodes around it, then its own name.
        own_name: as in the file.
        path: names of the nodes around it, outermost first.
        trips: how often it runs for one run of the model.
        note: what was assumed for that.
    """

    node: Node
    name: str
    own_name: str
    path: tuple[str, ...] = ()
    trips: TripCount = TripCount(count=1, known="exact")
    note: str = ""


def placed(model: Model, types: Types, taken: Mapping[str, str] | None = None) -> list[Placed]:
    """All nodes of a model from `model.load`.

    Args:
        model: with unique names.
        types: what is known of a value.
        taken: If node (unique name) → the branch that is always taken; other branches are left out.
    """
    return list(_of_graph(model.graph, types, taken or {}, "", (), TripCount(count=1, known="exact"), ""))


def _of_graph(
    graph: Any, types: Types, taken: Mapping[str, str], prefix: str, path: tuple[str, ...], trips: TripCount, note: str
) -> Iterator[Placed]:
    for proto in graph.node:
        node = to_node(proto, types)
        name = prefix + proto.name
        yield Placed(node=node, name=name, own_name=proto.name, path=path, trips=trips, note=note)
        for attribute, body in bodies(proto):
            if taken.get(name, attribute) != attribute:
                continue
            own, assumed = _trips(node, body, types, name in taken)
            inner = TripCount(count=trips.count * own.count, known="assumed" if "assumed" in (own.known, trips.known) else "exact")
            yield from _of_graph(body, types, taken, f"{name}/{attribute}/", (*path, proto.name), inner, note or assumed)


def _trips(node: Node, body: Any, types: Types, decided: bool) -> tuple[TripCount, str]:
    """Runs of one body for one run of its node, and what was assumed."""
    if node.kind == "If":
        if decided:
            return TripCount(count=1, known="exact"), ""
        return TripCount(count=0.5, known="assumed"), "a branch of If, assumed to run half the time"
    count = _loop_count(node, body, types) if node.kind == "Loop" else _scan_count(node)
    if count is None:
        limit = _limit(node) if node.kind == "Loop" else None
        most = f" (at most {limit} times)" if limit is not None else ""
        return TripCount(count=1, known="assumed"), f"a body of {node.kind}, assumed to run once{most}"
    return TripCount(count=count, known="exact"), ""


def _limit(node: Node) -> int | None:
    """The most turns of a Loop, where that is a constant."""
    limit = node.optional(0)
    return max(0, int(limit.content[0])) if limit is not None and limit.content is not None and len(limit.content) == 1 else None


def _loop_count(node: Node, body: Any, types: Types) -> int | None:
    """The trip count of a Loop, `None` where that is data.

    Without a condition the body's own is ignored and the limit counts. With one that is true from the start it is the limit if the body hands it on
    as it is, one if the body always ends it; with one that is false from the start it is none.
    """
    limit, condition = _limit(node), node.optional(1)
    first = True if condition is None else _truth(condition)
    if limit == 0 or first is False:
        return 0
    if condition is None or first is None:
        return limit if condition is None else None
    if _keeps_on(body, types):
        return limit
    return 1 if body.output and _truth(types(body.output[0].name)) is False else None


def _truth(value: Value) -> bool | None:
    """A condition, where it is a constant."""
    return bool(value.content[0]) if value.content is not None and len(value.content) == 1 else None


def _keeps_on(body: Any, types: Types) -> bool:
    if len(body.input) < 2 or not body.output:
        return False
    before = {inner.output[0]: inner.input[0] for inner in body.node if inner.op_type in ("Identity", "Cast") and inner.input and inner.output}
    name = body.output[0].name
    while name in before:
        name = before[name]
    return name == body.input[1].name or _truth(types(name)) is True


def _scan_count(node: Node) -> int | None:
    """The length of what a Scan or SequenceMap scans: axis 0 of the last input unless it says otherwise."""
    last = node.inputs[-1] if node.inputs else None
    axes = node.attributes.get("scan_input_axes", ())
    axis = axes[-1] if isinstance(axes, tuple) and axes and isinstance(axes[-1], int) else 0
    if node.kind != "Scan" or last is None or not last.shape or not -len(last.shape) <= axis < len(last.shape):
        return None
    length = last.shape[axis]
    return length if isinstance(length, int) else None


def to_node(proto: Any, types: Types) -> Node:
    """A `Node` from a NodeProto with unique names."""
    return Node(
        kind=proto.op_type,
        domain="" if proto.domain == "ai.onnx" else proto.domain,
        name=proto.name,
        inputs=tuple(types(name) if name else None for name in proto.input),
        outputs=tuple(types(name) if name else None for name in proto.output),
        attributes={attribute.name: value for attribute in proto.attribute if (value := _attribute(attribute)) is not None},
    )


def _attribute(attribute: Any) -> Any:
    """Number, text or a tuple of them; `None` for tensors, graphs and types."""
    if attribute.type == attribute.FLOAT:
        return float(attribute.f)
    if attribute.type == attribute.INT:
        return int(attribute.i)
    if attribute.type == attribute.STRING:
        return attribute.s.decode("utf-8", "replace")
    if attribute.type == attribute.FLOATS:
        return tuple(attribute.floats)
    if attribute.type == attribute.INTS:
        return tuple(attribute.ints)
    if attribute.type == attribute.STRINGS:
        return tuple(text.decode("utf-8", "replace") for text in attribute.strings)
    return None


def contents(model: Model) -> dict[str, Value]:
    """Every constant of the model by unique name: initialisers and Constant nodes, small ones with their numbers."""
    found: dict[str, Value] = {}
    pending = [model.graph]
    while pending:
        graph = pending.pop()
        for tensor in graph.initializer:
            found[tensor.name] = constant(tensor.name, tensor)
        for sparse in graph.sparse_initializer:
            found[sparse.values.name] = Value(name=sparse.values.name, shape=tuple(sparse.dims), dtype="", constant=True)
        for node in graph.node:
            if node.op_type == "Constant" and node.output and node.output[0]:
                found[node.output[0]] = _constant_node(node)
            pending.extend(body for _, body in bodies(node))
    return found


def _constant_node(node: Any) -> Value:
    name = node.output[0]
    for attribute in node.attribute:
        if attribute.name == "value":
            return constant(name, attribute.t)
        if attribute.name in ("value_float", "value_int"):
            number = attribute.f if attribute.name == "value_float" else attribute.i
            return Value(name=name, shape=(), dtype="float32" if attribute.name == "value_float" else "int64", constant=True, content=(number,))
        if attribute.name in ("value_floats", "value_ints"):
            numbers = tuple(attribute.floats or attribute.ints)
            dtype = "float32" if attribute.name == "value_floats" else "int64"
            return Value(name=name, shape=(len(numbers),), dtype=dtype, constant=True, content=numbers if len(numbers) <= SMALL else None)
    return Value(name=name, constant=True)


def constant(name: str, tensor: Any) -> Value:
    """A constant from a TensorProto; its numbers only if it is small, numeric and complete."""
    dims = tuple(int(dim) for dim in tensor.dims)
    content: tuple[float, ...] | None = None
    if math.prod(dims) <= SMALL and tensor.data_location != 1 and tensor.data_type in DTYPES and tensor.data_type not in (8, 14, 15):
        import onnx.numpy_helper

        try:
            # Whole numbers stay whole: an end of 2**63 − 1 in a Slice would not survive as a float.
            content = tuple(onnx.numpy_helper.to_array(tensor).ravel().tolist())
        except Exception:  # a tensor whose data do not fit its shape: its numbers stay unknown
            content = None
    return Value(name=name, shape=dims, dtype=DTYPES.get(tensor.data_type, ""), constant=True, content=content)


def folded_away(nodes: list[Placed]) -> set[str]:
    """Names of values that depend on constants alone, so that a runtime computes them before the first run."""
    found = {value.name for part in nodes for value in part.node.inputs if value is not None and value.constant}
    for part in nodes:
        node = part.node
        if node.kind in _RANDOM or node.kind in _KEPT or (not node.inputs and node.kind != "Constant"):
            continue
        if all(value is None or value.name in found for value in node.inputs) and node.kind not in ("If", "Loop", "Scan", "SequenceMap"):
            found.update(value.name for value in node.written)
    return found


def view_sources(nodes: list[Placed]) -> dict[str, str]:
    """Value → the value whose buffer it shares, followed to its end."""
    source: dict[str, str] = {}
    for part in nodes:
        first = part.node.optional(0)
        if part.node.kind in _VIEWS and not part.node.domain and first is not None and part.node.written:
            source[part.node.written[0].name] = source.get(first.name, first.name)
    return source
