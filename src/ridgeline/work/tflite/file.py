"""From a `.tflite` file to subgraphs of operators with types, and no weights.

This module decides what is refused (a file that is no model, indices that point nowhere, dimensions below zero or beyond `LARGEST`) and what is kept:
types, quantisation as far as it shows in the dtype, the numbers of small constants. The layout of the file is the schema's business, which comes with
ai-edge-litert (extra `tflite`).
Source: schema.fbs of TensorFlow Lite, version 3.
"""

from __future__ import annotations

import math
import os
import struct
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from ridgeline.core import BackendUnavailable, ReadError

from ..onnx.node import LARGEST, Value
from .buffer import Budget, Damaged, integers, tables, text

__all__ = ["LARGEST_BYTES", "SMALL", "Model", "Operator", "Subgraph", "load"]

#: Offsets of a flatbuffer are 32 bits, signed where it is written.
LARGEST_BYTES = 2**31 - 1
#: Constants up to this many elements keep their numbers: shapes, axes, paddings.
SMALL = 1024
_IDENTIFIER = b"TFL3"
_DTYPES = {
    "FLOAT32": "float32", "FLOAT16": "float16", "INT32": "int32", "UINT8": "uint8", "INT64": "int64", "STRING": "string", "BOOL": "bool",
    "INT16": "int16", "COMPLEX64": "complex64", "INT8": "int8", "FLOAT64": "float64", "COMPLEX128": "complex128", "UINT64": "uint64",
    "UINT32": "uint32", "UINT16": "uint16", "INT4": "int4", "UINT4": "uint4", "BFLOAT16": "bfloat16", "FLOAT8_E4M3FN": "float8",
    "FLOAT8_E5M2": "float8",
}  # fmt: skip
_NUMPY = {"int32", "int64", "uint8", "int8", "float32", "bool", "int16", "uint32", "float64", "uint16"}
#: What reading a damaged flatbuffer ends in: the generated classes trust their file.
_DAMAGE = (struct.error, ValueError, IndexError, TypeError, OverflowError, AttributeError, KeyError, MemoryError)


class Operator(msgspec.Struct, frozen=True, kw_only=True):
    """An operator of a subgraph.

    Args:
        kind: builtin name such as `CONV_2D`, or `custom:NAME`.
        inputs, outputs: tensor indices of its subgraph, −1 for an absent optional input.
        attributes: its options that are numbers, texts or lists of numbers, by the schema's names (`strideW`, `keepNumDims`).
        subgraphs: option name → index of a subgraph that it runs.
    """

    kind: str
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    attributes: dict[str, Any] = {}
    subgraphs: dict[str, int] = {}


class Subgraph(msgspec.Struct, frozen=True, kw_only=True):
    """Operators in execution order and their tensors by index.

    Args:
        open_sizes: tensor index → shape with −1 where the model leaves a size open; only tensors that have one.
        sparse: indices of tensors with sparse storage.
    """

    name: str
    tensors: tuple[Value, ...]
    operators: tuple[Operator, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    open_sizes: dict[int, tuple[int, ...]] = {}
    sparse: frozenset[int] = frozenset()


class Model(msgspec.Struct, frozen=True, kw_only=True):
    """A model; its first subgraph is the one that runs."""

    name: str
    subgraphs: tuple[Subgraph, ...]


def load(source: str | os.PathLike[str] | bytes) -> Model:
    """Read a model.

    Args:
        source: path, or the bytes of a file.

    Raises:
        ReadError: see the module.
        BackendUnavailable: ai-edge-litert is missing.
    """
    where = "the model" if isinstance(source, bytes) else os.path.basename(os.fspath(source))
    data = source if isinstance(source, bytes) else _bytes(Path(source))
    if len(data) < 8 or data[4:8] != _IDENTIFIER:
        found = "an empty file" if not data else f"{len(data)} bytes that do not say TFL3 at byte 4"
        raise ReadError(f"a TensorFlow Lite model in {where}", found=found, remedy="copy or export the model again")
    schema = _schema()
    try:
        return _model(schema, data, Budget(len(data), where), where)
    except _DAMAGE as error:
        why = str(error)[:120] if isinstance(error, Damaged) else "cut short or damaged"
        found = f"{len(data)} bytes that are no whole model: {why}"
        raise ReadError(f"a TensorFlow Lite model in {where}", found=found, remedy="copy or export the model again") from error


def _bytes(path: Path) -> bytes:
    try:
        size = path.stat().st_size
        if size > LARGEST_BYTES:
            remedy = "split the model, or keep its weights outside"
            raise ReadError("a model file of at most 2 GiB, the limit of flatbuffers", found=f"{size} bytes in {path.name}", remedy=remedy)
        return path.read_bytes()
    except OSError as error:
        raise ReadError("a readable TensorFlow Lite file", found=f"{path}: {error.strerror or error}", remedy="check the path") from error


def _schema() -> Any:
    try:
        from ai_edge_litert import schema_py_generated
    except ImportError as error:
        remedy = "pip install 'ridgeline[tflite]'"
        raise BackendUnavailable("ai-edge-litert, to read the model", found="not installed", remedy=remedy) from error
    return schema_py_generated


def _model(schema: Any, data: bytes, budget: Budget, where: str) -> Model:
    root = schema.Model.GetRootAs(data, 0)
    codes = tuple(_kind(schema, code) for code in tables(root, "OperatorCodes", budget))
    buffers = tuple(_buffer(part, budget) for part in tables(root, "Buffers", budget))
    graphs = tuple(_subgraph(schema, part, codes, buffers, budget) for part in tables(root, "Subgraphs", budget))
    if not graphs or not (graphs[0].operators or graphs[0].outputs):
        raise ReadError("a TensorFlow Lite model with a graph", found=f"{where} without one", remedy="export the model again")
    for graph in graphs:
        for operator in graph.operators:
            for option, index in operator.subgraphs.items():
                _within(index, len(graphs), f"{option} of {operator.kind}")
    return Model(name=text(root.Description()) or where, subgraphs=graphs)


def _kind(schema: Any, code: Any) -> str:
    # Old files write the deprecated byte only, new ones both; the larger is the operator (schema.fbs, OperatorCode).
    number = max(int(code.DeprecatedBuiltinCode()), int(code.BuiltinCode()))
    name = _names(schema.BuiltinOperator).get(number, f"builtin {number}")
    return f"custom:{text(code.CustomCode())}" if name == "CUSTOM" else name


@cache
def _names(enumeration: type) -> dict[int, str]:
    return {value: name for name, value in vars(enumeration).items() if isinstance(value, int) and not name.startswith("_")}


def _buffer(part: Any, budget: Budget) -> Any:
    """The numbers of a buffer where they are few, `True` for many or for data outside of the table, `None` for an empty one."""
    count = int(part.DataLength())
    if count <= 0:
        return True if part.Offset() > 1 else None
    budget.take(0, 1)
    return bytes(part.DataAsNumpy()) if count <= SMALL * 8 else True


def _subgraph(schema: Any, part: Any, codes: tuple[str, ...], buffers: tuple[Any, ...], budget: Budget) -> Subgraph:
    values: list[Value] = []
    open_sizes: dict[int, tuple[int, ...]] = {}
    sparse: set[int] = set()
    names: set[str] = set()
    for index, tensor in enumerate(tables(part, "Tensors", budget)):
        values.append(_tensor(schema, tensor, index, buffers, names, budget))
        signature = integers(tensor, "ShapeSignature", budget)
        if any(size < 0 for size in signature):
            open_sizes[index] = signature
        if tensor.Sparsity() is not None:
            sparse.add(index)
    operators = tuple(_operator(schema, op, codes, len(values), budget) for op in tables(part, "Operators", budget))
    ends = [integers(part, field, budget) for field in ("Inputs", "Outputs")]
    for index in (*ends[0], *ends[1]):
        _within(index, len(values), "an input or output of the graph")
    return Subgraph(
        name=text(part.Name()), tensors=tuple(values), operators=operators, inputs=ends[0], outputs=ends[1], open_sizes=open_sizes,
        sparse=frozenset(sparse),
    )  # fmt: skip


def _tensor(schema: Any, tensor: Any, index: int, buffers: tuple[Any, ...], names: set[str], budget: Budget) -> Value:
    shape = integers(tensor, "Shape", budget)
    if any(size < 0 for size in shape) or math.prod(shape) > LARGEST:
        raise Damaged(f"tensor {index} has the shape {list(shape)[:8]}")
    dtype = _DTYPES.get(_names(schema.TensorType).get(int(tensor.Type()), ""), "")
    number = int(tensor.Buffer())
    held = buffers[_within(number, len(buffers), f"the buffer of tensor {index}")] if buffers else None
    name = text(tensor.Name()) or f"tensor {index}"
    if name in names:
        name = f"{name}#{index}"
    names.add(name)
    constant = held is not None and not tensor.IsVariable()
    # Without a shape and without rank information a tensor that is no constant may have any rank.
    known = bool(shape) or constant or bool(tensor.HasRank())
    content = _content(held, dtype, shape) if constant and isinstance(held, bytes) else None
    return Value(name=name, shape=shape if known else (), dtype=dtype, constant=constant, content=content)


def _content(held: bytes, dtype: str, shape: tuple[int, ...]) -> tuple[float, ...] | None:
    if dtype not in _NUMPY or math.prod(shape) > SMALL or len(held) != math.prod(shape) * np.dtype(dtype).itemsize:
        return None
    return tuple(np.frombuffer(held, dtype).tolist())


def _operator(schema: Any, part: Any, codes: tuple[str, ...], tensors: int, budget: Budget) -> Operator:
    kind = codes[_within(int(part.OpcodeIndex()), len(codes), "the code of an operator")]
    inputs, outputs = integers(part, "Inputs", budget), integers(part, "Outputs", budget)
    for index in inputs:
        if index != -1:  # an absent optional input
            _within(index, tensors, f"an input of {kind}")
    for index in outputs:
        _within(index, tensors, f"an output of {kind}")
    attributes = _options(schema, part, budget)
    runs = {name: int(value) for name, value in attributes.items() if name.lower().endswith("subgraphindex") and isinstance(value, int)}
    return Operator(kind=kind, inputs=inputs, outputs=outputs, attributes=attributes, subgraphs=runs)


def _options(schema: Any, part: Any, budget: Budget) -> dict[str, Any]:
    """The builtin options as plain values: whatever fields the schema's class of them has."""
    name = _names(schema.BuiltinOptions).get(int(part.BuiltinOptionsType()), "NONE")
    table = part.BuiltinOptions()
    if name == "NONE" or table is None:
        return {}
    options = getattr(schema, name)()
    options.Init(table.Bytes, table.Pos)
    found: dict[str, Any] = {}
    for field in _fields(schema, name):
        method = field[0].upper() + field[1:]
        if hasattr(options, f"{method}AsNumpy"):
            found[field] = integers(options, method, budget)
        elif not hasattr(options, f"{method}Length"):
            value = getattr(options, method)()
            if isinstance(value, bool | int | float | bytes):
                found[field] = text(value) if isinstance(value, bytes) else value
    return found


@cache
def _fields(schema: Any, options: str) -> tuple[str, ...]:
    return tuple(vars(getattr(schema, f"{options}T")()))


def _within(index: int, count: int, what: str) -> int:
    if not 0 <= index < count:
        raise Damaged(f"{what} is number {index} of {count}")
    return index
