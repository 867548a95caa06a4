"""Indexed access: one look-up for each element that is picked; only the picked rows are read, not the table.

A row picked twice is counted twice, since which rows are picked is data and not shape; the count never exceeds the table. A scatter makes a copy
of its data first, so the whole of it is read and written.
Source: ONNX Operators.md.
"""

from __future__ import annotations

import math

from ..formula import Work, bytes_read, formula
from ..node import Node

__all__: list[str] = []


def _pick(node: Node, elements: int) -> Work:
    table = node.input(0)
    picked = min(table.size_bytes, math.ceil(elements * table.item_bytes))
    return Work(group="gather", flop=float(elements), engine="gather", reads=(picked, *bytes_read(node)[1:]))


@formula("Gather GatherElements GatherND Compress ml:ArrayFeatureExtractor ms:GatherND")
def _lookup(node: Node) -> Work:
    return _pick(node, node.output().numel)


@formula("ms:GatherBlockQuantized")
def _quantised(node: Node) -> Work:
    """Packed rows: the picked share of the table by its first dimension."""
    table = node.input(0)
    rows = node.input(1).numel
    picked = min(table.size_bytes, math.ceil(table.size_bytes * rows / max(1, table.dims[0])))
    return Work(group="gather", flop=float(node.output().numel), engine="gather", reads=(picked, *bytes_read(node)[1:]))


@formula("ScatterElements ScatterND Scatter TensorScatter MaxUnpool nhwc:MaxUnpool")
def _scatter(node: Node) -> Work:
    updates = node.optional(2 if node.kind not in ("TensorScatter", "MaxUnpool") else (1 if node.kind == "TensorScatter" else 0))
    return Work(group="gather", flop=float(updates.numel if updates is not None else node.output().numel), engine="gather")


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
