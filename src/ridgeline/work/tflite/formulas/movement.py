"""Operators that move or make data without computing: copies, layout changes, joins, fills, interpolation.

A RESHAPE, SQUEEZE or EXPAND_DIMS only looks at the same numbers in another way; TFLite's own kernels copy them nevertheless, which is not compulsory
and not counted. A slice, a split or a crop reads only what it hands on. A read of a variable hands out a copy, an assignment makes one.
Source: tensorflow/lite/kernels, one file a kernel; resize_bilinear.cc for the four neighbours.
"""

from __future__ import annotations

from ..formula import Node, Unknown, Work, bytes_read, formula

__all__: list[str] = []


def _nothing(node: Node, group: str, reason: str) -> Work:
    return Work(group=group, reads=(0,) * len(node.inputs), writes=(0,) * len(node.outputs), reason=reason)


@formula("RESHAPE SQUEEZE EXPAND_DIMS BITCAST")
def _view(node: Node) -> Work:
    return _nothing(node, "view", "view")


@formula("SHAPE RANK")
def _about(node: Node) -> Work:
    return _nothing(node, "view", "reads a shape, touches no data")


@formula(
    """
    TRANSPOSE CAST PAD PADV2 MIRROR_PAD CONCATENATION PACK TILE BROADCAST_TO DEPTH_TO_SPACE SPACE_TO_DEPTH SPACE_TO_BATCH_ND BATCH_TO_SPACE_ND
    REVERSE_V2 REVERSE_SEQUENCE MATRIX_DIAG MATRIX_SET_DIAG DENSIFY SPARSE_TO_DENSE
    """
)
def _movement(node: Node) -> Work:
    return Work(group="movement")


@formula("SLICE STRIDED_SLICE SPLIT SPLIT_V UNPACK")
def _part(node: Node) -> Work:
    """Reads of its source what it hands on."""
    source = 1 if node.kind == "SPLIT" else 0  # its first input is the axis
    sizes = list(bytes_read(node))
    taken: int | None
    try:
        taken = sum(value.size_bytes for value in node.written)
    except Unknown:
        taken = None
    sizes[source] = taken
    return Work(group="copy", reads=tuple(sizes))


@formula("READ_VARIABLE")
def _read(node: Node) -> Work:
    return Work(group="copy", reads=(node.output().size_bytes,))


@formula("ASSIGN_VARIABLE")
def _assign(node: Node) -> Work:
    return Work(group="copy", reads=(0, node.input(1).size_bytes), writes=(), reason="writes the variable, which no operand shows")


@formula("FILL RANGE ONE_HOT")
def _fill(node: Node) -> Work:
    return Work(group="allocation", reason="fills its result")


@formula("RESIZE_NEAREST_NEIGHBOR")
def _nearest(node: Node) -> Work:
    return Work(group="movement")


@formula("RESIZE_BILINEAR")
def _bilinear(node: Node) -> Work:
    """Two taps along each of two dimensions, one multiply-add a tap."""
    return Work(group="movement", flop=2.0 * 4 * node.output().numel, engine="fma")
