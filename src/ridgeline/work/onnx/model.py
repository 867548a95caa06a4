"""From a file to a model without weights whose every name is unique: what shape inference and the list of operators start from.

This module decides what is refused (a file that is no model, nesting deeper than `DEEPEST`, an order that is not topological, dimensions below zero
or beyond `LARGEST`) and what is dropped (weights of more than `SMALL` elements, of which only the type stays). Model-local functions are inlined.
A name inside a body gets the path of the nodes around it in front, so that a name means one value in the whole model.
Source: ONNX IR.md (scoping, single assignment, functions).
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ridgeline.core import BackendUnavailable, ReadError

from .node import LARGEST

__all__ = ["DTYPES", "SMALL", "Model", "bodies", "load", "unique"]

#: Constants up to this many elements keep their numbers: shapes, axes, exponents.
SMALL = 1024
#: Bodies inside bodies; real models have three or four, and protobuf itself gives up at about thirty.
DEEPEST = 24
# Inlining a function may multiply the nodes; beyond this a file is hostile.
_MOST_NODES = 1_000_000

#: TensorProto.DataType → name in `core.DTYPE_BYTES`.
DTYPES = {
    1: "float32", 2: "uint8", 3: "int8", 4: "uint16", 5: "int16", 6: "int32", 7: "int64", 8: "string", 9: "bool", 10: "float16", 11: "float64",
    12: "uint32", 13: "uint64", 14: "complex64", 15: "complex128", 16: "bfloat16", 17: "float8", 18: "float8", 19: "float8", 20: "float8",
    21: "uint4", 22: "int4",
}  # fmt: skip

Model = Any  # onnx.ModelProto; onnx is optional and loads late


def load(source: Model | str | os.PathLike[str]) -> Model:
    """A private copy of the model, without external data and without large weights, functions inlined, names unique.

    Raises:
        ReadError: see the module.
        BackendUnavailable: the onnx package is missing.
    """
    try:
        import onnx
    except ImportError as error:
        raise BackendUnavailable("the onnx package, to read the model", found="not installed", remedy="pip install 'ridgeline[onnx]'") from error
    model = onnx.ModelProto()
    if isinstance(source, onnx.ModelProto):
        model.CopyFrom(source)
        where = "the model"
    else:
        where = str(source)
        model = _parse(Path(source))
    if not model.HasField("graph") or not (model.graph.node or model.graph.output):
        raise ReadError("an ONNX model with a graph", found=f"{where} without one", remedy="export the model again")
    _strip(model.graph, 0, where)
    _check_texts(model, where)
    return unique(_inlined(model), where)


def _parse(path: Path) -> Model:
    import onnx

    try:
        return onnx.load_model(path, load_external_data=False)
    except OSError as error:
        raise ReadError("a readable ONNX file", found=f"{path}: {error.strerror or error}", remedy="check the path") from error
    except Exception as error:  # protobuf raises several kinds, and which ones depends on its implementation
        raise ReadError(
            "an ONNX model", found=f"{path} does not parse: {str(error)[:120]}", remedy="export or download the file again; it may be cut short"
        ) from error


def bodies(node: Any) -> Iterator[tuple[str, Any]]:
    """(attribute name, GraphProto) of the bodies of a node."""
    for attribute in node.attribute:
        if attribute.HasField("g"):
            yield attribute.name, attribute.g
        for index, graph in enumerate(attribute.graphs):
            yield f"{attribute.name}{index}", graph


def _strip(graph: Any, depth: int, where: str) -> None:
    """Drop the numbers of large initialisers, keep their types; check dimensions and depth on the way."""
    if depth > DEEPEST:
        raise ReadError(f"bodies nested at most {DEEPEST} deep", found=f"more in {where}", remedy="simplify the model")
    for tensor in graph.initializer:
        if checked(tensor.dims, tensor.name) > SMALL:
            for field in ("raw_data", "float_data", "int32_data", "int64_data", "double_data", "uint64_data", "string_data", "external_data"):
                tensor.ClearField(field)
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.HasField("t") and checked(attribute.t.dims, node.name or node.op_type) > SMALL:
                attribute.t.ClearField("raw_data")
        for _, body in bodies(node):
            _strip(body, depth + 1, where)


def _check_texts(message: Any, where: str) -> None:
    """Refuse text that is not UTF-8: protobuf hands it out as bytes, or not at all, wherever it is next looked at."""
    try:
        for field, content in message.ListFields():
            parts = [content] if isinstance(content, str | bytes) or hasattr(content, "ListFields") else content
            if field.type == field.TYPE_MESSAGE:
                for part in parts:
                    _check_texts(part, where)
            elif field.type == field.TYPE_STRING and not all(isinstance(part, str) for part in parts):
                raise ReadError("names in UTF-8", found=f"other bytes in {field.name} in {where}", remedy="export the model again")
    except UnicodeDecodeError as error:
        raise ReadError("names in UTF-8", found=f"{error.object[:40]!r} in {where}", remedy="export the model again") from error


def checked(dims: Any, name: str) -> int:
    """Elements of a shape; `ReadError` for a negative dimension or more elements than any memory holds."""
    numbers = [int(dim) for dim in dims]
    elements = math.prod(numbers)
    if any(dim < 0 for dim in numbers) or elements > LARGEST:
        raise ReadError("dimensions that a tensor can have", found=f"{numbers} for {name}", remedy="export the model again")
    return elements


def _inlined(model: Model) -> Model:
    """Model-local functions put in the place of their calls."""
    if not model.functions:
        return model
    import onnx.inliner

    try:
        model = onnx.inliner.inline_local_functions(model)
    except Exception as error:  # whatever its C++ side raises
        raise ReadError("model-local functions that can be inlined", found=str(error)[:200], remedy="export the model without functions") from error
    if len(model.graph.node) > _MOST_NODES:
        raise ReadError(f"at most {_MOST_NODES} nodes", found=str(len(model.graph.node)), remedy="simplify the model")
    return model


def unique(model: Model, where: str = "the model") -> Model:
    """Give every node a name and every value inside a body the path of the nodes around it; in place.

    Raises:
        ReadError: a node reads a value that is not there yet (a cycle, or a wrong order), or a value is made twice.
    """
    _qualify(model.graph, {}, "", where)
    return model


def _qualify(graph: Any, outer: Mapping[str, str], prefix: str, where: str) -> None:
    known: dict[str, str] = dict(outer)
    for thing in (*graph.input, *graph.initializer, *(sparse.values for sparse in graph.sparse_initializer)):
        known[thing.name] = thing.name = prefix + thing.name
    names: set[str] = set()
    made: set[str] = set()
    for index, node in enumerate(graph.node):
        node.name = _free(node.name or f"{node.op_type}_{index}", names)
        _rename_inputs(node, known, where)
        for attribute, body in bodies(node):
            _qualify(body, known, f"{prefix}{node.name}/{attribute}/", where)
        _rename_outputs(node, known, made, prefix, where)
    for value in (*graph.output, *graph.value_info):
        value.name = known.get(value.name, prefix + value.name)


def _rename_inputs(node: Any, known: Mapping[str, str], where: str) -> None:
    for position, name in enumerate(node.input):
        if name and name not in known:
            found = f"{node.name} of {where} reads {name!r} before it is made"
            raise ReadError("nodes in an order in which every input exists", found=found, remedy="export the model again")
        node.input[position] = known.get(name, "")


def _rename_outputs(node: Any, known: dict[str, str], made: set[str], prefix: str, where: str) -> None:
    for position, name in enumerate(node.output):
        if name in made:
            raise ReadError("values that are made once", found=f"{name!r} twice in {where}", remedy="export the model again")
        if name:
            made.add(name)
            known[name] = node.output[position] = prefix + name


def _free(name: str, taken: set[str]) -> str:
    """The name, with a number behind it if it is taken."""
    found, number = name, 1
    while found in taken:
        number += 1
        found = f"{name}_{number}"
    taken.add(found)
    return found
