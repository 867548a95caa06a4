"""Indexed access: one look-up for each element that is picked, or a copy where whole rows are; only what is picked is read, not the table.

A row picked twice is counted twice, since which rows are picked is data and not shape; the count never exceeds the table. A scatter makes a copy
of its data first, so the whole of it is read and written.
Source: ONNX Operators.md.
"""

from __future__ import annotations

import math

from ridgeline.work.gathering import looked_up

from ..formula import Work, bytes_read, formula
from ..node import Node

__all__: list[str] = []


def _pick(node: Node, elements: int, row: int = 1) -> Work:
    """`row`: elements that lie side by side behind each index."""
    table = node.input(0)
    picked = min(table.size_bytes, math.ceil(elements * table.item_bytes))
    flop, engine, reason = looked_up(elements, row * table.item_bytes)
    return Work(group="gather", flop=flop, engine=engine, reads=(picked, *bytes_read(node)[1:]), reason=reason)


@formula("GatherElements ml:ArrayFeatureExtractor")
def _elements(node: Node) -> Work:
    return _pick(node, node.output().numel)


@formula("Gather Compress")
def _rows(node: Node) -> Work:
    """Without an axis Compress picks single elements."""
    dims = node.input(0).dims
    axis = node.integer("axis", 0 if node.kind == "Gather" else len(dims) - 1)
    return _pick(node, node.output().numel, math.prod(dims[axis % max(1, len(dims)) + 1 :]))


@formula("GatherND ms:GatherND")
def _places(node: Node) -> Work:
    return _pick(node, node.output().numel, math.prod(node.input(0).dims[node.integer("batch_dims", 0) + node.input(1).dims[-1] :]))


@formula("ms:GatherBlockQuantized")
def _quantised(node: Node) -> Work:
    """Packed rows: the picked share of the table by its first dimension."""
    table = node.input(0)
    rows = node.input(1).numel
    picked = min(table.size_bytes, math.ceil(table.size_bytes * rows / max(1, table.dims[0])))
    return Work(group="gather", flop=float(node.output().numel), engine="gather", reads=(picked, *bytes_read(node)[1:]))


@formula("ScatterElements Scatter MaxUnpool nhwc:MaxUnpool")
def _scatter(node: Node) -> Work:
    updates = node.optional(0 if node.kind == "MaxUnpool" else 2)
    return Work(group="gather", flop=float(updates.numel if updates is not None else node.output().numel), engine="gather")


@formula("ScatterND TensorScatter")
def _scattered_rows(node: Node) -> Work:
    data = node.input(0)
    if node.kind == "TensorScatter":
        updates, row = node.input(1), math.prod(data.dims[node.integer("axis", -2) % len(data.dims) + 1 :])
    else:
        updates, row = node.input(2), math.prod(data.dims[node.input(1).dims[-1] :])
    adds = node.text("reduction", "none") != "none"
    flop, engine, reason = looked_up(updates.numel, row * data.item_bytes, adds=adds)
    return Work(group="gather", flop=flop, engine=engine, reason=reason)


@formula("NonZero")
def _find(node: Node) -> Work:
    return Work(group="gather", flop=float(node.input(0).numel), engine="gather")


@formula("GridSample nhwc:GridSample ms:GridSample")
def _sample(node: Node) -> Work:
    """Each result looks at 1 (nearest), 2ᵈ (linear) or 4ᵈ (cubic) neighbours over d spatial dimensions."""
    spatial = len(node.input(0).dims) - 2
    mode = node.text("mode", "linear")
    taps = 1 if mode == "nearest" else (4 if "cubic" in mode else 2) ** spatial
    return _pick(node, node.output().numel * taps)
