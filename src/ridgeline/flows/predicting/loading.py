"""A model file as a graph with whole numbers for shapes, read in a process of its own; lists of operators from JSON.

This module decides which axis counts as the batch (the first of the inputs, 1 where it is open) and that every other open axis must be given: a guess
would be a plausible number for another question.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from ridgeline.core import Caution, Graph, OperatorList, ReadError, UsageError
from ridgeline.machine import Limits, Worker, read_machine
from ridgeline.model.graphs.tasks import Plan
from ridgeline.targets.spec import TargetSpec

from ..modelling.documents import read_document

__all__ = ["FORMATS", "Loaded", "load_model", "plan_here", "read_graph_here", "read_operators", "record_call"]

_LONGEST_S = 300.0
_SHARE_OF_MEMORY = 0.5
#: What a model file's name ends in.
FORMATS = {".onnx": "onnx", ".tflite": "tflite"}


class Loaded(msgspec.Struct, frozen=True, kw_only=True):
    """A graph with its shapes bound.

    Args:
        format: `onnx` or `tflite`.
        batch: items that the shapes are for; null where no axis says it.
        shapes: input → shape, or symbol → size, that were bound.
    """

    graph: Graph
    format: str
    batch: int | None
    shapes: dict[str, list[int] | int] = {}
    cautions: tuple[Caution, ...] = ()


def load_model(path: str, shapes: Mapping[str, tuple[int, ...]] | None = None) -> Loaded:
    """The graph of a model file.

    Args:
        path: of an ONNX or TFLite model.
        shapes: input name → shape, or name of an open axis → (size,).

    Raises:
        ReadError: no such model, or one that cannot be right. UsageError: another kind of file, shapes that do not fit, or open axes without a size.
        TargetFailed: reading it took too long or too much memory. BackendUnavailable: the package that reads it is missing.
    """
    kind = FORMATS.get(Path(path).suffix.lower())
    if kind is None:
        remedy = "name a file of one of these kinds, or the function that runs a model of PyTorch"
        raise UsageError("model.onnx, model.tflite, operators.json, or file.py:function", found=repr(path), remedy=remedy)
    if not os.path.isfile(path):
        raise ReadError("a model file", found=f"{path}: {'not a file' if os.path.exists(path) else 'no such file'}", remedy="check the path")
    allowed = Limits(wall_s=_LONGEST_S, memory_bytes=int(_SHARE_OF_MEMORY * read_machine().memory_bytes))
    with Worker(limits=allowed, environment={"OMP_NUM_THREADS": "1"}) as worker:
        given = {name: list(sizes) for name, sizes in (shapes or {}).items()}
        return worker.call("ridgeline.flows.predicting.loading:read_graph_here", {"path": path, "format": kind, "shapes": given}, Loaded)


def read_graph_here(path: str, format: str, shapes: dict[str, list[int]]) -> Loaded:
    """As `load_model`, in this process; counts are counts of items."""
    return _onnx(path, shapes) if format == "onnx" else _tflite(path, shapes)


def _onnx(path: str, shapes: dict[str, list[int]]) -> Loaded:
    from ridgeline.work.onnx import graph
    from ridgeline.work.onnx.model import load

    model = load(path)
    constants = {tensor.name for tensor in model.graph.initializer}
    inputs = {value.name: _dims(value) for value in model.graph.input if value.name not in constants}
    bound: dict[str, tuple[int, ...] | int] = {}
    for name, sizes in shapes.items():
        bound[name] = tuple(sizes) if name in inputs and len(sizes) == len(inputs[name]) else _one(name, sizes)
    cautions = _open_axes(inputs, bound)
    found = graph(model, bound)
    plain = {name: list(size) if isinstance(size, tuple) else size for name, size in bound.items()}
    return Loaded(graph=found, format="onnx", batch=_batch(found), shapes=plain, cautions=cautions)


def _one(name: str, sizes: Sequence[int]) -> int | tuple[int, ...]:
    return sizes[0] if len(sizes) == 1 else tuple(sizes)


def _dims(value: Any) -> list[int | str]:
    return [dim.dim_value if dim.HasField("dim_value") else dim.dim_param or "" for dim in value.type.tensor_type.shape.dim]


def _open_axes(inputs: Mapping[str, Sequence[int | str]], bound: dict[str, tuple[int, ...] | int]) -> tuple[Caution, ...]:
    """Bind the first axis to 1 where it is open; `bound` grows by it.

    Raises:
        UsageError: any other axis that is open.
    """
    whole = {name for name in inputs if isinstance(bound.get(name), tuple)}
    known = {*bound, *(dim for name in whole for dim in inputs[name])}
    left = [(name, axis, dim) for name, dims in inputs.items() if name not in whole for axis, dim in enumerate(dims)]
    left = [(name, axis, dim) for name, axis, dim in left if isinstance(dim, str) and dim not in known]
    firsts = list(dict.fromkeys(str(dim) for _, axis, dim in left if axis == 0 and dim))
    still = list(dict.fromkeys(str(dim) or f"{name} (its axis {axis} has no name)" for name, axis, dim in left if dim not in firsts))
    if still:
        example = f"--shape {still[0].split(' ')[0]}=…"
        raise UsageError("sizes for all open axes of the model", found=", ".join(still), remedy=f"give each, such as {example}")
    bound.update(dict.fromkeys(firsts, 1))
    if not firsts:
        return ()
    return (Caution(code="open-axis", message=f"the first axis is open: {', '.join(firsts)} is taken as 1 item, which --batch multiplies"),)


def _batch(graph: Graph) -> int | None:
    """The first axis of the inputs, if those with at least two axes agree on it."""
    tensors = {tensor.name: tensor for tensor in graph.tensors}
    firsts = {tensors[name].shape[0] for name in graph.inputs if name in tensors and len(tensors[name].shape or ()) > 1}  # type: ignore[index]
    only = firsts.pop() if len(firsts) == 1 else None
    return only if isinstance(only, int) and only > 0 else None


def _tflite(path: str, shapes: dict[str, list[int]]) -> Loaded:
    from ridgeline.work.tflite import graph

    found = graph(path, {name: tuple(sizes) for name, sizes in shapes.items()})
    return Loaded(graph=found, format="tflite", batch=_batch(found), shapes={name: list(sizes) for name, sizes in shapes.items()})


def record_call(target: str) -> Plan:
    """The plan of a function that computes with PyTorch: it is run in a process of its own, once to start and once to be recorded.

    Raises:
        UsageError, ReadError: no such function. BackendUnavailable: PyTorch is not installed. TargetFailed: the function failed or took too long.
        OutOfRange: it does nothing with PyTorch.
    """
    from ridgeline.targets import parse_target

    spec = parse_target(target)
    if spec.kind != "python":
        raise UsageError("a function that runs a model of PyTorch", found=f"{target}, which is of kind {spec.kind}", remedy="give file.py:function")
    allowed = Limits(wall_s=_LONGEST_S, memory_bytes=int(_SHARE_OF_MEMORY * read_machine().memory_bytes))
    with Worker(limits=allowed) as worker:
        return worker.call("ridgeline.flows.predicting.loading:plan_here", {"spec": spec}, Plan)


def plan_here(spec: TargetSpec) -> Plan:
    """As `record_call`, in this process; a plan counts in SI units."""
    from ridgeline.model.graphs.recorded import plan_of_record
    from ridgeline.targets import prepare
    from ridgeline.work.torch import record

    prepared = prepare(spec)
    return plan_of_record(record(prepared.call), spec.name)


def read_operators(path: str) -> OperatorList:
    """Operators that were written down as `ridgeline.operators/1`.

    Raises:
        ReadError: no such file, or not such a document.
    """
    return read_document(path, OperatorList)
