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

from .building import Order, feeds, model
from .convolutions import convolution, pooling
from .elementwise import elementwise
from .movement import copy, gather
from .nodes import Node, operand
from .products import gemm, recurrent
from .rows import normalisation, reduction, softmax
from .writers import written

__all__ = ["Block", "Order", "Size", "block", "size_of"]


class Size(NamedTuple):
    """Bytes of one operator: weights of its own, inputs, results."""

    weights: int
    inputs: int
    results: int


class Block(NamedTuple):
    """Equal operators as a model, each behind operators that write its inputs.

    `model`: the ONNX file, to be run as it is: optimising would take nodes away. `writers`: the same without the operators, to be taken off; empty
    where nothing is written and nothing swept. `feeds`: a value for each input. `copies`: operators in the block; `idle`: further ones, which do
    nothing and are not in `writers`. `work`: the operator as it stands there, with what is touched between two executions and since its inputs were
    written.
    """

    model: bytes
    writers: bytes
    feeds: dict[str, NDArray[Any]]
    copies: int
    idle: int
    work: Workload


def block(work: Workload, copies: int, *, order: Order = "turn", swept_bytes: int = 0) -> Block:
    """So many of the operator, each with weights of its own, in an order of writing and freeing: what is touched between two of them follows from it.

    Args:
        swept_bytes: read before the first of them, by an operator that is in `writers` too: as much more is touched between two executions.

    Raises:
        UsageError: a workload that is no operator of onnxruntime, or sizes that do not go together.
    """
    node = _node(work)
    size = _size(node)
    ones = size.weights + size.inputs + size.results
    # What inputs are written from is the same for all; the next input is written where the last one was, unless more are there at once.
    inputs, results = (1 if order == "turn" else copies), (copies if order == "kept" else 1)
    around = copies * size.weights + (1 + inputs) * size.inputs + results * size.results + swept_bytes
    # Between the writing of an input and its use half of the other copies' are written, and half of the other operators run.
    age = ones + (copies - 1) / 2 * (size.inputs + ones) if order == "first" else ones
    # Memory is taken that was free again just before, unless none is within a call.
    free = around - swept_bytes if order == "kept" else ones + (size.inputs if order == "turn" else 0)
    placed = msgspec.structs.replace(work, reuse_bytes=float(max(1, around)), age_bytes=float(max(1, age)), result_age_bytes=float(max(1, free)))
    # Of each kind of result the last one's shape is asked in addition where all are kept.
    idle = (copies + (order == "kept")) * len(node.results)
    swept = swept_bytes > 0
    writers = model(node, copies, order=order, bare=True, swept=swept) if swept or written(node) else b""
    return Block(model(node, copies, order=order, swept=swept), writers, feeds(node, swept_bytes), copies, idle, placed)


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
    """The least that an operator can do, of whole numbers, so that nothing writes its input."""
    return Node("Abs", (operand(1, dtype="int64"),), (((1,), "int64"),))


_KINDS: Mapping[str, Callable[[Workload], Node]] = {
    "convolution": convolution, "pooling": pooling, "gemm": gemm, "recurrent": recurrent, "elementwise": elementwise, "copy": copy, "gather": gather,
    "softmax": softmax, "normalisation": normalisation, "reduction": reduction, "call": _call,
}  # fmt: skip
