"""Indexed access: one look-up for each element that is picked; only the picked rows are read, not the table.

A row picked twice is counted twice, since which rows are picked is data; the count never exceeds the table.
Source: tensorflow/lite/kernels/gather.cc, gather_nd.cc, embedding_lookup.cc, scatter_nd.cc, one_hot.cc, where.cc.
"""

from __future__ import annotations

import math

from ..formula import Node, Work, bytes_read, formula

__all__: list[str] = []


def _pick(node: Node, table: int) -> Work:
    source, elements = node.input(table), node.output().numel
    reads = list(bytes_read(node))
    reads[table] = min(source.size_bytes, math.ceil(elements * source.item_bytes))
    return Work(group="gather", flop=float(elements), engine="gather", reads=tuple(reads))


@formula("GATHER GATHER_ND")
def _lookup(node: Node) -> Work:
    return _pick(node, 0)


@formula("EMBEDDING_LOOKUP")
def _embedding(node: Node) -> Work:
    """Inputs are the indices, then the table."""
    return _pick(node, 1)


@formula("SCATTER_ND")
def _scatter(node: Node) -> Work:
    """Inputs are indices, updates and a shape; the result is filled first."""
    return Work(group="gather", flop=float(node.input(1).numel), engine="gather")


@formula("DYNAMIC_UPDATE_SLICE")
def _update(node: Node) -> Work:
    """Copies its operand and writes the update into it."""
    return Work(group="copy")


@formula("WHERE")
def _where(node: Node) -> Work:
    return Work(group="gather", flop=float(node.input(0).numel), engine="gather")
