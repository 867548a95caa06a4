"""Matrix products: 2 × results × inner dimension, in precision int8 where both operands are of eight bits or fewer.

A fully connected layer has weights of (units, depth); shuffled ones (4 × 16 blocks of int8) keep that shape, and `keepNumDims` only changes how the
result is looked at.
Source: tensorflow/lite/kernels/fully_connected.cc, batch_matmul.cc.
"""

from __future__ import annotations

from ..formula import Node, Unknown, Work, formula

__all__: list[str] = []


@formula("FULLY_CONNECTED")
def _dense(node: Node) -> Work:
    units, depth = node.input(1).dims
    rows, rest = divmod(node.input(0).numel, depth)
    if rest:
        raise Unknown(f"{node.input(0).numel} elements are no whole rows of {depth}")
    return Work(group="matmul", flop=2.0 * rows * units * depth, engine="fma")


@formula("BATCH_MATMUL")
def _batched(node: Node) -> Work:
    inner = node.input(0).dims[-2 if node.attributes.get("adjX") else -1]
    return Work(group="matmul", flop=2.0 * node.output().numel * inner, engine="fma")
