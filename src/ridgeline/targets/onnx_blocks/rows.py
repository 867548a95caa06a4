"""Operators that look at rows: softmax, normalisations, reductions."""

from __future__ import annotations

from ridgeline.core import UsageError, Workload

from .nodes import BLOCKED, MICROSOFT, Node, Operand, constant, operand, weights

__all__ = ["normalisation", "reduction", "softmax"]

_POOLS = ("GlobalAveragePool", "GlobalMaxPool")
_REDUCTIONS = ("ArgMax", "ReduceL2", "ReduceMax", "ReduceMean", "ReduceMin", "ReduceSum")


def softmax(work: Workload) -> Node:
    """Each row of its own."""
    rows, columns = work.sizes["rows"], work.sizes["columns"]
    return Node(work.variant, (operand(rows, columns),), (((rows, columns), "float32"),), "", {"axis": -1})


def normalisation(work: Workload) -> Node:
    """Of rows by their own statistics, or of channels by given ones."""
    rows, columns, name = work.sizes["rows"], work.sizes["columns"], work.variant
    result: tuple[tuple[tuple[int, ...], str], ...] = (((rows, columns), "float32"),)
    scale, shift, image = weights(columns), weights(columns), operand(rows, columns)
    if name == "LayerNormalization":
        return Node(name, (image, scale, shift), result, "", {"axis": -1})
    if name == "SimplifiedLayerNormalization":
        return Node(name, (image, scale), result, "", {"axis": -1})
    if name in ("SkipLayerNormalization", "SkipSimplifiedLayerNormalization"):
        own = (scale, shift) if name == "SkipLayerNormalization" else (scale,)
        three = (((1, rows, columns), "float32"),)
        return Node(name, (operand(1, rows, columns), operand(1, rows, columns), *own), three, MICROSOFT)
    channels: tuple[Operand, ...] = (operand(1, rows, 1, columns),)
    result = (((1, rows, 1, columns), "float32"),)
    if name == "LRN":
        return Node(name, channels, result, "", {"size": 5, "alpha": 1e-4, "beta": 0.75, "bias": 1.0})
    if name == "BatchNormalization":
        return Node(name, (*channels, *(weights(rows) for _ in range(4))), result)
    if name == "InstanceNormalization":
        return Node(name, (*channels, weights(rows), weights(rows)), result)
    raise UsageError("a normalisation that onnxruntime has", found=name, remedy="name one")


def reduction(work: Workload) -> Node:
    """`rows` results of `columns` elements that lie `inner` apart."""
    rows, columns, inner, name = work.sizes["rows"], work.sizes["columns"], work.sizes.get("inner", 1), work.variant
    if name == "QLinearGlobalAveragePool":
        scale = (constant(0.05), constant(0, "uint8"))
        return Node(
            name, (operand(1, 1, columns, rows, dtype="uint8"), *scale, *scale), (((1, 1, 1, rows), "uint8"),), MICROSOFT, {"channels_last": 1}
        )
    if name in _POOLS:
        domain = BLOCKED if work.layout == "NCHWc" else ""
        return Node(name, (operand(1, rows, 1, columns),), (((1, rows, 1, 1), "float32"),), domain)
    if name not in _REDUCTIONS or rows % inner:
        raise UsageError(
            f"a reduction: {', '.join((*_POOLS, 'QLinearGlobalAveragePool', *_REDUCTIONS))}",
            found=f"{name} of {rows} rows, {inner} apart",
            remedy="name one",
        )
    image = operand(rows // inner, columns, inner) if inner > 1 else operand(rows, columns)
    shape = (rows // inner, 1, inner) if inner > 1 else (rows, 1)
    if name == "ArgMax":
        return Node(name, (image,), ((shape, "int64"),), "", {"axis": 1})
    if name == "ReduceSum":
        return Node(name, (image, constant([1], "int64")), ((shape, "float32"),), "", {"keepdims": 1})
    return Node(name, (image,), ((shape, "float32"),), "", {"axes": [1], "keepdims": 1})
