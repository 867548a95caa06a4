"""Which family makes a workload's nodes, and the block that comes of it.

This module decides which module asks; a workload of a precision or a kind that onnxruntime has no operator for is refused.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from ridgeline.core import UsageError, Workload

from .building import Node, feeds, model
from .convolutions import convolution, pooling
from .elementwise import elementwise
from .movement import copy, gather
from .products import gemm, recurrent
from .rows import normalisation, reduction, softmax

__all__ = ["Block", "Size", "block", "size_of"]


class Size(NamedTuple):
    """Bytes of one operator: weights of its own, inputs, results."""

    weights: int
    inputs: int
    results: int


class Block(NamedTuple):
    """Equal operators as a model.

    `model`: the ONNX file, to be run as it is: optimising would take nodes away. `feeds`: a value for each input. `copies`: operators in it;
    `idle`: further ones, which do nothing. `work`: the operator as it stands there, with what is touched between two executions and since its inputs
    were written.
    """

    model: bytes
    feeds: dict[str, NDArray[Any]]
    copies: int
    idle: int
    work: Workload


def block(work: Workload, copies: int, *, fresh: bool = False) -> Block:
    """So many of the operator, each with weights of its own, and with inputs of its own if `fresh`.

    Raises:
        UsageError: a workload that is no operator of onnxruntime, or sizes that do not go together.
    """
    node = _node(work)
    size = _size(node)
    ones = size.weights + size.inputs + size.results
    around = copies * size.weights + (copies if fresh else 1) * size.inputs + size.results
    placed = msgspec.structs.replace(work, reuse_bytes=float(max(1, around)), age_bytes=float(max(1, around if fresh else ones)))
    return Block(model(node, copies, fresh=fresh), feeds(node, copies, fresh=fresh), copies, copies * len(node.results), placed)


def size_of(work: Workload) -> Size:
    """What the operator touches, without making it.

    Raises:
        UsageError: as `block`.
    """
    return _size(_node(work))


def _size(node: Node) -> Size:
    operands = [each for each in node.operands if each is not None]
    results = sum(math.prod(shape) * np.dtype(dtype).itemsize for shape, dtype in node.results)
    return Size(sum(each.nbytes for each in operands if each.own), sum(each.nbytes for each in operands if not each.own), results)


def _node(work: Workload) -> Node:
    made = _KINDS.get(work.kind)
    if made is None or work.sparsity is not None:
        raise UsageError(f"a workload of {', '.join(_KINDS)}, dense", found=work.kind, remedy="leave it out")
    return made(work)


def _call(work: Workload) -> Node:
    """The least that an operator can do."""
    return elementwise(Workload(kind="elementwise", variant="Relu", sizes={"elements": 1}))


_KINDS: Mapping[str, Callable[[Workload], Node]] = {
    "convolution": convolution, "pooling": pooling, "gemm": gemm, "recurrent": recurrent, "elementwise": elementwise, "copy": copy, "gather": gather,
    "softmax": softmax, "normalisation": normalisation, "reduction": reduction, "call": _call,
}  # fmt: skip
