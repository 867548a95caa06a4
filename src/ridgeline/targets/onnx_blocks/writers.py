"""What writes the inputs of an operator in a block: on all threads, as what stands before an operator in a model does.

A part of each input then lies in the caches of other processors. A pooling over windows of one element copies blocks of 16 channels in lines that
every thread takes its share of, however few; what does not fill such blocks is written by functions, which take further threads from some thousand
elements on. Below some hundred elements one thread writes, as in a model.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .nodes import BLOCKED, Node, Operand

__all__ = ["constants_of_writers", "freed", "input_shape", "kept", "write", "written", "written_name"]

_FUNCTIONS = {"float32": "LeakyRelu", "uint8": "Clip", "int32": "Relu", "bool": "Not"}
#: Elements from which a pooling writes, channels of its blocks, most lines: as many as threads may share.
_LEAST, _BLOCK, _MOST_LINES = 512, 16, 64


class _Writer(NamedTuple):
    """`kind`, `domain`, `attributes`: of the node; `shape`: of what it reads and writes, which is then seen as the operand's."""

    kind: str
    domain: str
    attributes: dict[str, Any]
    shape: tuple[int, ...]


def _writer(of: Operand) -> _Writer:
    count = math.prod(of.shape)
    if of.dtype != "float32" or count < _LEAST or count % (2 * _BLOCK):
        return _Writer(_FUNCTIONS[of.dtype], "", {}, of.shape)
    lines = math.gcd(count // _BLOCK, _MOST_LINES)
    return _Writer("MaxPool", BLOCKED, {"kernel_shape": [1, 1]}, (1, _BLOCK, lines, count // _BLOCK // lines))


def written(node: Node) -> tuple[int, ...]:
    """Places of the operands that are written: not what the file holds, nor types that a caller hands in, such as indices."""
    return tuple(place for place, each in enumerate(node.operands) if each is not None and not each.kept and each.dtype in _FUNCTIONS)


def written_name(place: int, number: int) -> str:
    """Of the operand at that place of a copy."""
    return f"written{place}_{number}"


def input_shape(node: Node, place: int) -> tuple[int, ...]:
    """Of what the caller hands in for an operand."""
    each = node.operands[place]
    assert each is not None
    return _writer(each).shape if place in written(node) else each.shape


def write(node: Node, number: int) -> list[Any]:
    """Nodes that write each input of a copy anew, from one that all copies share."""
    from onnx import helper

    made = []
    for place in written(node):
        each, name = node.operands[place], written_name(place, number)
        assert each is not None
        how = _writer(each)
        seen = how.shape != each.shape
        first = f"{name}_blocks" if seen else name
        made.append(helper.make_node(how.kind, [f"operand{place}"], [first], name=name, domain=how.domain, **how.attributes))
        if seen:
            made.append(helper.make_node("Reshape", [first, f"shape{place}"], [name], name=f"{name}_seen"))
    return made


def constants_of_writers(node: Node) -> Iterator[tuple[str, NDArray[np.int64]]]:
    """Names and values of the shapes that what was written is seen as."""
    for place in written(node):
        each = node.operands[place]
        if each is not None and _writer(each).shape != each.shape:
            yield f"shape{place}", np.array(each.shape, np.int64)


def freed(names: list[str]) -> list[Any]:
    """The last that is done with each; its memory is free again behind it."""
    from onnx import helper

    return [helper.make_node("Shape", [name], [f"{name}_shape"]) for name in names]


def kept(names: list[list[str]]) -> list[Any]:
    """The last that is done with those of all copies, a list each: each is seen as what it is, in the shape of the last copy's, which comes last."""
    from onnx import helper

    last = names[-1]
    shapes = [helper.make_node("Shape", [name], [f"{name}_shape"]) for name in last]
    seen = [
        helper.make_node("Reshape", [name, f"{alike}_shape"], [f"{name}_kept"])
        for each in names for name, alike in zip(each, last, strict=True)
    ]  # fmt: skip
    return [*shapes, *seen, helper.make_node("Shape", [seen[-1].output[0]], ["end"])]
