"""Shapes of every value, for input shapes that a person gives.

This module decides how symbols are bound and how far shapes are followed: onnx's own inference, and between its rounds the evaluation of the small
integer arithmetic that computes shapes at run time (`fold`), so that a Reshape by a computed shape is known and an If on a rank is decided.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import Any

import numpy as np

from ridgeline.core import ReadError, UsageError
from ridgeline.core.graph import Dim

from .fold import Known, fold
from .model import DTYPES, SMALL, Model, bodies, checked
from .node import Value
from .stand_in import stand_in

__all__ = ["Bound", "bind", "bind_inputs"]

# A shape that is computed from a shape that is computed …: each link takes a round. Real models take under twenty.
_ROUNDS = 40
#: Elements of a vector that the inference may follow one by one.
_LONGEST_FOLLOWED = 65_536


class Bound:
    """What is known of every value after binding: types by unique name, and the branch of each If that is always taken."""

    def __init__(self, values: dict[str, Value], taken: dict[str, str], unbound: tuple[str, ...]) -> None:
        self._values = values
        self.taken = taken
        self.unbound = unbound

    def __call__(self, name: str) -> Value:
        """The value of that name; nothing but its name if nothing is known."""
        return self._values.get(name) or Value(name=name)


def bind(model: Model, shapes: Mapping[str, tuple[int, ...] | int], constants: Mapping[str, Value]) -> Bound:
    """Bind inputs and symbols, then infer.

    Args:
        model: from `model.load`; not changed.
        shapes: input name → shape, or symbol → number.
        constants: from `nodes.contents`.

    Raises:
        UsageError: a name that is neither, a rank or a fixed dimension that differs, a number below zero.
        ReadError: a dimension that no tensor can have.
    """
    shadow = type(model)()
    shadow.CopyFrom(model)
    bind_inputs(shadow.graph, shapes, constants)
    _hoist(shadow.graph)
    stand_in(shadow)
    _forget_recorded(shadow.graph)
    # Before version 4 every initialiser must be an input as well; those that folding adds are not.
    shadow.ir_version = max(shadow.ir_version, 8)
    known: Known = dict(_arrays(constants))
    taken: dict[str, str] = {}
    # To follow numbers, the inference makes an object for each element of every vector, which it takes for a shape: a long one would fill the memory.
    types = _types(_infer(shadow, followed=False).graph)
    followed = all(_length(shape) <= _LONGEST_FOLLOWED for shape, _ in types.values())
    for _ in range(_ROUNDS):
        _share(shadow.graph, known)
        # Each round infers from the start: what an earlier one left open is kept as a symbol and would stand in the way.
        types = _types(_infer(shadow, followed=followed).graph)
        if not fold(shadow.graph, types, known, taken):
            break
    values = {name: Value(name=name, shape=shape, dtype=dtype) for name, (shape, dtype) in types.items()}
    for name, array in known.items():
        values[name] = Value(name=name, shape=array.shape, dtype=array.dtype.name, content=_content(array))
    values.update(constants)
    return Bound(values, taken, _unbound(shadow.graph, constants))


def _arrays(constants: Mapping[str, Value]) -> list[tuple[str, Any]]:
    found = []
    for name, value in constants.items():
        if value.content is not None and value.shape is not None and value.dtype in ("int64", "int32", "bool", "float32", "float64"):
            found.append((name, np.array(value.content, dtype=value.dtype).reshape([int(dim) for dim in value.shape])))
    return found


def _content(array: Any) -> tuple[float, ...] | None:
    return tuple(array.ravel().tolist()) if array is not None and array.size <= SMALL else None


def bind_inputs(graph: Any, shapes: Mapping[str, tuple[int, ...] | int], constants: Container[str]) -> None:
    """Write the given numbers into the inputs of a main graph.

    Args:
        graph: `onnx.GraphProto`; changed.
        shapes: as for `bind`.
        constants: names of inputs that are none because an initialiser stands for them.

    Raises:
        UsageError: as for `bind`.
    """
    inputs = {value.name: value for value in graph.input if value.name not in constants}
    symbols = {dim.dim_param for value in inputs.values() for dim in value.type.tensor_type.shape.dim if dim.dim_param}
    numbers: dict[str, int] = {}
    for name, given in shapes.items():
        if isinstance(given, int):
            if name not in symbols:
                there = ", ".join(sorted(symbols)) or "it has none"
                raise UsageError(f"a symbol of the model: {there}", found=name, remedy="name a symbol or an input")
            numbers[name] = _size(given, name)
        elif name not in inputs:
            raise UsageError(f"an input of the model: {', '.join(inputs) or 'it has none'}", found=name, remedy="name an input and its shape")
        else:
            _bind_input(inputs[name], given, numbers)
    for value in graph.input:
        for dim in value.type.tensor_type.shape.dim:
            if dim.dim_param in numbers:
                dim.dim_value = numbers[dim.dim_param]


def _bind_input(value: Any, given: tuple[int, ...], numbers: dict[str, int]) -> None:
    shape = value.type.tensor_type.shape
    if value.type.tensor_type.HasField("shape") and len(shape.dim) != len(given):
        raise UsageError(f"{len(shape.dim)} dimensions for {value.name}", found=f"{len(given)}", remedy="give one number for each dimension")
    while len(shape.dim) < len(given):
        shape.dim.add()
    for dim, number in zip(shape.dim, given, strict=True):
        _size(number, value.name)
        if dim.HasField("dim_value") and dim.dim_value not in (number, 0, -1):
            raise UsageError(f"dimension {dim.dim_value} as the model fixes it for {value.name}", found=str(number), remedy="keep fixed dimensions")
        if dim.dim_param:
            numbers.setdefault(dim.dim_param, number)
        else:
            dim.dim_value = number
    # A symbol stays one number in the whole model; where the inputs disagree about it, each keeps its own.
    for dim, number in zip(shape.dim, given, strict=True):
        dim.dim_value = number


def _size(number: int, name: str) -> int:
    if not 0 <= number < 2**40:
        raise UsageError("a dimension from 0 to 2**40", found=f"{number} for {name}", remedy="give the size that the model is used with")
    return number


def _hoist(graph: Any) -> None:
    """Turn stripped initialisers into inputs of the main graph: their types are enough, and their missing numbers would upset the inference."""
    present = {value.name for value in graph.input}
    pending = [graph]
    while pending:
        part = pending.pop()
        large = [tensor for tensor in part.initializer if checked(tensor.dims, tensor.name) > SMALL or tensor.data_location == 1]
        for tensor in large:
            if tensor.name not in present:
                value = graph.input.add()
                value.name = tensor.name
                value.type.tensor_type.elem_type = tensor.data_type
                value.type.tensor_type.shape.SetInParent()
                for dim in tensor.dims:
                    value.type.tensor_type.shape.dim.add().dim_value = dim
            part.initializer.remove(tensor)
        pending.extend(body for node in part.node for _, body in bodies(node))


def _forget_recorded(graph: Any) -> None:
    """Drop the shapes that a file records for results of standard operators: they carry symbols that the inference would keep where it could now find
    the number, and some are wrong, which would stop it."""
    standard = {name for node in graph.node if node.domain in ("", "ai.onnx") for name in node.output}
    for value in (*graph.value_info, *graph.output):
        if value.name in standard and value.type.HasField("tensor_type"):
            value.type.tensor_type.ClearField("shape")
    for node in graph.node:
        for _, body in bodies(node):
            _forget_recorded(body)


def _share(graph: Any, known: Known) -> None:
    """Give every body its own copy of the known arrays that it reads: the inference does not look at the numbers of an outer graph."""
    import onnx.numpy_helper

    for node in graph.node:
        for _, body in bodies(node):
            present = {tensor.name for tensor in body.initializer}
            for name in {name for inner in body.node for name in inner.input if name in known and name not in present}:
                body.initializer.append(onnx.numpy_helper.from_array(np.array(known[name], order="C"), name))
            _share(body, known)


def _infer(shadow: Model, *, followed: bool) -> Model:
    """`followed`: whether the numbers of shape vectors are followed through the graph as well."""
    import onnx.shape_inference

    try:
        return onnx.shape_inference.infer_shapes(shadow, check_type=False, strict_mode=False, data_prop=followed)
    except Exception:  # its C++ side raises several kinds; what it cannot infer stays unknown and is listed so
        return shadow


def _length(shape: tuple[Dim, ...] | None) -> int:
    """Elements of a vector; 0 for anything else."""
    return shape[0] if shape is not None and len(shape) == 1 and isinstance(shape[0], int) else 0


def _types(graph: Any) -> dict[str, tuple[tuple[Dim, ...] | None, str]]:
    found: dict[str, tuple[tuple[Dim, ...] | None, str]] = {}
    pending = [graph]
    while pending:
        part = pending.pop()
        for value in (*part.input, *part.value_info, *part.output):
            found[value.name] = _type(value)
        for tensor in part.initializer:
            found[tensor.name] = (tuple(int(dim) for dim in tensor.dims), DTYPES.get(tensor.data_type, ""))
        pending.extend(body for node in part.node for _, body in bodies(node))
    return found


def _type(value: Any) -> tuple[tuple[Dim, ...] | None, str]:
    if not value.type.HasField("tensor_type"):
        return None, ""
    tensor = value.type.tensor_type
    dtype = DTYPES.get(tensor.elem_type, "")
    if not tensor.HasField("shape"):
        return None, dtype
    dims: list[Dim] = []
    for index, dim in enumerate(tensor.shape.dim):
        if dim.HasField("dim_value") and dim.dim_value >= 0:
            dims.append(int(dim.dim_value))
        elif dim.HasField("dim_value") and dim.dim_value < -1:
            raise ReadError("dimensions of zero or more", found=f"{dim.dim_value} for {value.name}", remedy="export the model again")
        else:
            dims.append(dim.dim_param or f"{value.name}.{index}")
    checked([dim for dim in dims if isinstance(dim, int)], value.name)
    return tuple(dims), dtype


def _unbound(graph: Any, constants: Mapping[str, Value]) -> tuple[str, ...]:
    """Symbols of the inputs that nobody bound."""
    symbols = []
    for value in graph.input:
        if value.name not in constants:
            shape, _ = _type(value)
            symbols += [dim for dim in shape or () if isinstance(dim, str)]
    return tuple(dict.fromkeys(symbols))
