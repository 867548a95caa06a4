"""A model of n equal nodes, from a description of one.

Weights are each node's own, so that they come from where the weights of a model come from; inputs are the same for all, as if just written, or
each node's own. Behind each result stands a `Shape` of it, so that its memory is free again as in a model, and taken for the next. Values do not
matter to the time but for two things: they must be finite, and no denormals. This module decides names, values and types; which nodes there are is
decided in the modules of the families.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["BLOCKED", "MICROSOFT", "Node", "Operand", "constant", "feeds", "model", "operand", "weights"]

BLOCKED, MICROSOFT = "com.microsoft.nchwc", "com.microsoft"
_OPSET = 17
_IR_VERSION = 8


class Operand(NamedTuple):
    """One operand: `kept` if it is in the file, `own` if each node has one of its own; `content` where the values decide what is done."""

    shape: tuple[int, ...]
    dtype: str
    kept: bool = False
    own: bool = False
    content: NDArray[Any] | None = None

    @property
    def nbytes(self) -> int:
        """Bytes of it."""
        return math.prod(self.shape) * np.dtype(self.dtype).itemsize


class Node(NamedTuple):
    """One operator: its operands in order (null where one is left out) and its results."""

    kind: str
    operands: tuple[Operand | None, ...]
    results: tuple[tuple[tuple[int, ...], str], ...]
    domain: str = ""
    attributes: Mapping[str, Any] = {}


def operand(*shape: int, dtype: str = "float32") -> Operand:
    """What changes from call to call."""
    return Operand(shape, dtype)


def weights(*shape: int, dtype: str = "float32") -> Operand:
    """What each node has in the file."""
    return Operand(shape, dtype, kept=True, own=True)


def constant(content: object, dtype: str = "float32") -> Operand:
    """A value in the file that tells the operator what to do."""
    array = np.asarray(content, dtype)
    return Operand(array.shape, dtype, kept=True, content=array)


def model(node: Node, copies: int, *, fresh: bool = False) -> bytes:
    """The ONNX file of so many of the node, with inputs of their own if `fresh`."""
    from onnx import helper, numpy_helper

    nodes, kept, inputs, last = [], [], {}, ""
    for number in range(copies):
        names = []
        for place, each in enumerate(node.operands):
            name = _name(place, each, number, fresh)
            names.append(name)
            if each is not None and each.kept and (each.own or number == 0):
                kept.append(numpy_helper.from_array(values(each), name))
            elif each is not None and not each.kept:
                inputs[name] = helper.make_tensor_value_info(name, _element(each.dtype), each.shape)
        outputs = [f"result{place}_{number}" for place in range(len(node.results))]
        nodes.append(helper.make_node(node.kind, names, outputs, domain=node.domain, name=f"node{number}", **node.attributes))
        last = f"shape{number}"
        nodes += [helper.make_node("Shape", [outputs[0]], [last]), *(helper.make_node("Shape", [name], [f"{name}_shape"]) for name in outputs[1:])]
    end = helper.make_tensor_value_info(last, helper.np_dtype_to_tensor_dtype(np.dtype(np.int64)), [len(node.results[0][0])])
    graph = helper.make_graph(nodes, "block", list(inputs.values()), [end], kept)
    domains = [helper.make_opsetid("", _OPSET), helper.make_opsetid(MICROSOFT, 1), helper.make_opsetid(BLOCKED, 1)]
    return bytes(helper.make_model(graph, opset_imports=domains, ir_version=_IR_VERSION).SerializeToString())


def _name(place: int, of: Operand | None, number: int, fresh: bool) -> str:
    if of is None:
        return ""
    return f"operand{place}_{number}" if of.own or (fresh and not of.kept) else f"operand{place}"


def feeds(node: Node, copies: int, *, fresh: bool = False) -> dict[str, NDArray[Any]]:
    """A value for each input of the model."""
    places = [(place, each) for place, each in enumerate(node.operands) if each is not None and not each.kept]
    return {_name(place, each, number, fresh): values(each) for number in range(copies if fresh else 1) for place, each in places}


def values(of: Operand) -> NDArray[Any]:
    """Its content, or values of no meaning: small positive numbers, whole ones from 0 to 1, so that they are indices of anything."""
    if of.content is not None:
        return of.content
    count, dtype = math.prod(of.shape), np.dtype(of.dtype)
    pattern = np.linspace(0.01, 1.0, 61) if dtype.kind == "f" else np.arange(61) % 2
    return np.resize(pattern.astype(dtype), count).reshape(of.shape)


def _element(dtype: str) -> int:
    from onnx import helper

    return int(helper.np_dtype_to_tensor_dtype(np.dtype(dtype)))
