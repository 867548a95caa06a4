"""Indexed access: one look-up for each element that is picked, or a copy where whole rows are; only what is picked is read, not the table.

A row picked twice is counted twice, since which rows are picked is data; the count never exceeds the table.
Source: tensorflow/lite/kernels/gather.cc, gather_nd.cc, embedding_lookup.cc, scatter_nd.cc, one_hot.cc, where.cc.
"""

from __future__ import annotations

import math

from ridgeline.work.gathering import looked_up

from ..formula import Node, Work, bytes_read, formula

__all__: list[str] = []


def _pick(node: Node, table: int, row: int) -> Work:
    """`row`: elements that lie side by side behind each index."""
    source, elements = node.input(table), node.output().numel
    reads = list(bytes_read(node))
    reads[table] = min(source.size_bytes, math.ceil(elements * source.item_bytes))
    flop, engine, reason = looked_up(elements, row * source.item_bytes)
    return Work(group="gather", flop=flop, engine=engine, reads=tuple(reads), reason=reason)


@formula("GATHER")
def _rows(node: Node) -> Work:
    dims = node.input(0).dims
    return _pick(node, 0, math.prod(dims[node.integer("axis", 0) % max(1, len(dims)) + 1 :]))


@formula("GATHER_ND")
def _places(node: Node) -> Work:
    return _pick(node, 0, math.prod(node.input(0).dims[node.input(1).dims[-1] :]))


@formula("EMBEDDING_LOOKUP")
def _embedding(node: Node) -> Work:
    """Inputs are the indices, then the table."""
    return _pick(node, 1, math.prod(node.input(1).dims[1:]))


@formula("SCATTER_ND")
def _scatter(node: Node) -> Work:
    """Inputs are indices, updates and a shape; the result is filled first, and what meets in one place is added up."""
    updates = node.input(1)
    row = math.prod(node.output().dims[node.input(0).dims[-1] :])
    flop, engine, reason = looked_up(updates.numel, row * updates.item_bytes, adds=True)
    return Work(group="gather", flop=flop, engine=engine, reason=reason)


@formula("DYNAMIC_UPDATE_SLICE")
def _update(node: Node) -> Work:
    """Copies its operand and writes the update into it."""
    return Work(group="copy")


@formula("WHERE")
def _where(node: Node) -> Work:
    return Work(group="gather", flop=float(node.input(0).numel), engine="gather")
