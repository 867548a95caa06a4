"""The small integer arithmetic with which a model computes shapes: evaluated where its inputs are known, so that inference can go on.

This module decides which operators that is (those that exporters write between a Shape and a Reshape, Expand, Slice or If) and never makes an array
of more than `SMALL` elements, whatever a file asks for. It works on the shadow of a model that only serves inference.
Source: ONNX Operators.md for the semantics.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ridgeline.core.graph import Dim

from .model import SMALL, bodies
from .stand_in import MARK

__all__ = ["Known", "fold"]

Known = dict[str, Any]  # unique name → numpy array
TypeTable = Mapping[str, tuple[tuple[Dim, ...] | None, str]]

_DTYPES = {1: "float32", 6: "int32", 7: "int64", 9: "bool", 11: "float64"}


def fold(graph: Any, types: TypeTable, known: Known, taken: dict[str, str]) -> bool:
    """Evaluate what can be, write it into the graph as initialisers, and put the branch of a decided If in its place.

    Args:
        graph: of the shadow; changed.
        types: shape and dtype by name.
        known: arrays by name; grows.
        taken: If node (unique name) → branch attribute; grows.

    Returns:
        Whether anything new was learnt.
    """
    return _fold(graph, types, known, taken, "")


def _fold(graph: Any, types: TypeTable, known: Known, taken: dict[str, str], prefix: str) -> bool:
    learnt = False
    kept: list[Any] = []
    for node in graph.node:
        result = _evaluate(node, types, known)
        if result is not None and all(name not in known for name in node.output):
            known[node.output[0]] = result
            _initialise(graph, node.output[0], result)
            learnt = True
            continue
        if node.op_type == "If" and not node.domain and (branch := _branch(node, known)) is not None:
            # A node that was already inlined carries its own path in its name, see below.
            taken[_path(prefix, node.name)] = branch
            kept.extend(_inline(graph, node, branch, _path(prefix, node.name)))
            learnt = True
            continue
        for attribute, body in bodies(node):
            learnt |= _fold(body, types, known, taken, f"{_path(prefix, node.name)}/{attribute}/")
        kept.append(node)
    copies = [_copy(node) for node in kept]
    del graph.node[:]
    graph.node.extend(copies)
    return learnt


_ABSOLUTE = "\0"


def _path(prefix: str, name: str) -> str:
    """The unique name of a node; one that was inlined from a branch has it already."""
    return name[1:] if name.startswith(_ABSOLUTE) else prefix + name


def _branch(node: Any, known: Known) -> str | None:
    condition = known.get(node.input[0]) if node.input else None
    if condition is None or condition.size != 1:
        return None
    return "then_branch" if bool(condition.ravel()[0]) else "else_branch"


def _inline(graph: Any, node: Any, branch: str, path: str) -> list[Any]:
    """The nodes of the branch, and an Identity for each output, which keeps the names that the rest of the graph reads."""
    body = next(body for name, body in bodies(node) if name == branch)
    graph.initializer.extend(body.initializer)
    graph.value_info.extend(body.value_info)
    nodes = [_copy(inner) for inner in body.node]
    for inner in nodes:
        inner.name = _ABSOLUTE + f"{path}/{branch}/{inner.name}"
    for inside, outside in zip(body.output, node.output, strict=False):
        if outside:
            identity = type(node)()
            identity.op_type, identity.name = "Identity", _ABSOLUTE + f"{path}/{outside}"
            identity.input.append(inside.name)
            identity.output.append(outside)
            nodes.append(identity)
    _forget(graph, set(node.output))
    return nodes


def _forget(graph: Any, names: set[str]) -> None:
    """Drop what was inferred for values whose maker has changed: the merged type of both branches says less than the one that is taken."""
    kept = [value for value in graph.value_info if value.name not in names]
    del graph.value_info[:]
    graph.value_info.extend(kept)


def _copy(node: Any) -> Any:
    copy = type(node)()
    copy.CopyFrom(node)
    return copy


def _initialise(graph: Any, name: str, array: Any) -> None:
    import onnx.numpy_helper

    graph.initializer.append(onnx.numpy_helper.from_array(np.array(array, order="C"), name))


def _evaluate(node: Any, types: TypeTable, known: Known) -> Any:
    """The result of a node of one output, or `None`."""
    if node.domain not in ("", "ai.onnx") or len(node.output) != 1 or node.doc_string == MARK:
        return None
    if node.op_type in ("Shape", "Size"):
        return _about(node, types)
    function = _FUNCTIONS.get(node.op_type)
    if function is None or not node.input or any(name and name not in known for name in node.input):
        return None
    arrays = [known[name] if name else None for name in node.input]
    try:
        with np.errstate(all="ignore"):
            result = function(node, arrays)
    except (ValueError, IndexError, TypeError, KeyError, OverflowError, ZeroDivisionError, MemoryError):
        return None
    return result if result is not None and result.size <= SMALL else None


def _about(node: Any, types: TypeTable) -> Any:
    shape, _ = types.get(node.input[0] if node.input else "", (None, ""))
    if shape is None or not all(isinstance(dim, int) for dim in shape):
        return None
    if node.op_type == "Size":
        size = math.prod(dim for dim in shape if isinstance(dim, int))
        return np.array(size, dtype=np.int64) if size < 2**63 else None
    start, end = _integer(node, "start", 0), _integer(node, "end", len(shape))
    return np.array(shape[start:end], dtype=np.int64)


def _attribute(node: Any, name: str) -> Any:
    return next((attribute for attribute in node.attribute if attribute.name == name), None)


def _integer(node: Any, name: str, default: int) -> int:
    found = _attribute(node, name)
    return default if found is None else int(found.i)


def _axes(node: Any, arrays: list[Any]) -> tuple[int, ...] | None:
    """From the second input (opset 13 on) or the attribute."""
    if len(arrays) > 1 and arrays[1] is not None:
        return tuple(int(axis) for axis in arrays[1].ravel())
    found = _attribute(node, "axes")
    return None if found is None else tuple(found.ints)


def _cast(node: Any, arrays: list[Any]) -> Any:
    return arrays[0].astype(_DTYPES[_integer(node, "to", 0)])


def _squeeze(node: Any, arrays: list[Any]) -> Any:
    return np.squeeze(arrays[0], _axes(node, arrays))


def _unsqueeze(node: Any, arrays: list[Any]) -> Any:
    return np.expand_dims(arrays[0], _axes(node, arrays) or ())


def _slice(node: Any, arrays: list[Any]) -> Any:
    if len(arrays) < 3:
        return None
    data, starts, ends = arrays[0], arrays[1].ravel(), arrays[2].ravel()
    axes = arrays[3].ravel() if len(arrays) > 3 and arrays[3] is not None else range(len(starts))
    steps = arrays[4].ravel() if len(arrays) > 4 and arrays[4] is not None else [1] * len(starts)
    index = [slice(None)] * data.ndim
    for axis, start, end, step in zip(axes, starts, ends, steps, strict=True):
        # A negative step to "before the first element" is written as a very small end.
        stop = None if int(step) < 0 and int(end) < -data.shape[axis] else int(end)
        index[int(axis)] = slice(int(start), stop, int(step))
    return data[tuple(index)]


def _filled(node: Any, arrays: list[Any]) -> Any:
    import onnx.numpy_helper

    shape = [int(dim) for dim in arrays[0].ravel()]
    if math.prod(shape) > SMALL:
        return None
    found = _attribute(node, "value")
    value = onnx.numpy_helper.to_array(found.t).ravel() if found is not None else np.zeros(1, np.float32)
    return np.full(shape, value[0], dtype=value.dtype)


def _range(node: Any, arrays: list[Any]) -> Any:
    start, limit, step = (array.item() for array in arrays)
    return np.arange(start, limit, step, dtype=arrays[0].dtype) if step and 0 <= (limit - start) / step <= SMALL else None


def _expand(node: Any, arrays: list[Any]) -> Any:
    shape = np.broadcast_shapes(arrays[0].shape, tuple(int(dim) for dim in arrays[1].ravel()))
    return np.broadcast_to(arrays[0], shape) if math.prod(shape) <= SMALL else None


def _reshape(node: Any, arrays: list[Any]) -> Any:
    wanted = [int(dim) for dim in arrays[1].ravel()]
    return arrays[0].reshape([arrays[0].shape[i] if dim == 0 and not _integer(node, "allowzero", 0) else dim for i, dim in enumerate(wanted)])


def _divide(node: Any, arrays: list[Any]) -> Any:
    if arrays[0].dtype.kind == "f":
        return arrays[0] / arrays[1]
    # Whole numbers are divided towards zero, as in C.
    return (np.sign(arrays[0]) * np.sign(arrays[1]) * (np.abs(arrays[0]) // np.abs(arrays[1]))).astype(arrays[0].dtype)


def _modulo(node: Any, arrays: list[Any]) -> Any:
    """The sign of the divisor, or with `fmod` that of the dividend."""
    return np.fmod(*arrays) if _integer(node, "fmod", 0) else np.mod(*arrays)


def _reduced(function: Callable[..., Any]) -> Callable[[Any, list[Any]], Any]:
    def evaluate(node: Any, arrays: list[Any]) -> Any:
        keep = bool(_integer(node, "keepdims", 1))
        return np.asarray(function(arrays[0], axis=_axes(node, arrays), keepdims=keep), dtype=arrays[0].dtype)

    return evaluate


def _pointwise(function: Callable[..., Any]) -> Callable[[Any, list[Any]], Any]:
    def evaluate(node: Any, arrays: list[Any]) -> Any:
        if math.prod(np.broadcast_shapes(*(array.shape for array in arrays))) > SMALL:
            return None
        return np.asarray(function(*arrays))

    return evaluate


_FUNCTIONS: dict[str, Callable[[Any, list[Any]], Any]] = {
    "Add": _pointwise(np.add), "Sub": _pointwise(np.subtract), "Mul": _pointwise(np.multiply), "Div": _divide, "Mod": _modulo,
    "Neg": _pointwise(np.negative),
    "Equal": _pointwise(np.equal), "Less": _pointwise(np.less), "Greater": _pointwise(np.greater), "LessOrEqual": _pointwise(np.less_equal),
    "GreaterOrEqual": _pointwise(np.greater_equal), "Not": _pointwise(np.logical_not), "And": _pointwise(np.logical_and),
    "Or": _pointwise(np.logical_or), "Where": _pointwise(np.where), "Floor": _pointwise(np.floor), "Ceil": _pointwise(np.ceil),
    "Sqrt": _pointwise(np.sqrt), "Abs": _pointwise(np.abs),
    "Max": lambda node, arrays: np.maximum.reduce(np.broadcast_arrays(*arrays)),
    "Min": lambda node, arrays: np.minimum.reduce(np.broadcast_arrays(*arrays)),
    "ReduceProd": _reduced(np.prod), "ReduceSum": _reduced(np.sum), "ReduceMax": _reduced(np.max), "ReduceMin": _reduced(np.min),
    "Identity": lambda node, arrays: arrays[0], "Cast": _cast, "Squeeze": _squeeze, "Unsqueeze": _unsqueeze, "Slice": _slice, "Range": _range,
    "Expand": _expand, "Reshape": _reshape, "ConstantOfShape": _filled,
    "Concat": lambda node, arrays: np.concatenate(arrays, axis=_integer(node, "axis", 0)),
    "Gather": lambda node, arrays: np.take(arrays[0], arrays[1], axis=_integer(node, "axis", 0)),
    "Transpose": lambda node, arrays: np.transpose(arrays[0], tuple(found.ints) if (found := _attribute(node, "perm")) is not None else None),
}  # fmt: skip
