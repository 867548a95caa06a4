"""Reductions, scans, pooling and sorting.

A reduction or scan does one operation an element of its input on `reduce`; pooling one for every element under every window (results × window,
padding included); `sort` counts elements of its input on the `sort` engine, whose ceiling is in sorted elements per second.
Source: ONNX Operators.md.
"""

from __future__ import annotations

import math

from ridgeline.core import Engine

from ..formula import Work, formula
from ..node import Node

__all__: list[str] = []


def _over_input(node: Node, engine: Engine = "reduce", group: str = "reduction") -> Work:
    return Work(group=group, flop=float(node.input(0).numel), engine=engine)


@formula(
    """
    ReduceSum ReduceMean ReduceMax ReduceMin ReduceProd ReduceL1 ReduceL2 ReduceSumSquare ArgMax ArgMin CumSum CumProd GlobalAveragePool
    GlobalMaxPool GlobalLpPool nchwc:GlobalAveragePool nchwc:GlobalMaxPool ms:QLinearGlobalAveragePool ms:QLinearReduceMean ml:Normalizer Hardmax
    nhwc:GlobalAveragePool nhwc:GlobalMaxPool nhwc:GlobalLpPool ms:ReduceSumInteger
    """
)
def _reduce(node: Node) -> Work:
    return _over_input(node)


@formula("ReduceLogSumExp ReduceLogSum")
def _exponentials(node: Node) -> Work:
    return _over_input(node, "exp" if node.kind == "ReduceLogSumExp" else "reduce")


@formula(
    """
    MaxPool AveragePool LpPool nhwc:LpPool ms:MaxpoolWithMask nchwc:MaxPool nchwc:AveragePool ms:QLinearAveragePool ms:NhwcMaxPool
    nhwc:MaxPool nhwc:AveragePool
    nhwc:QLinearAveragePool
    """
)
def _pool(node: Node) -> Work:
    window = math.prod(node.integers("kernel_shape"))
    return Work(group="reduction", flop=float(node.output().numel * window), engine="reduce")


@formula("MaxRoiPool RoiAlign ms:CropAndResize")
def _regions(node: Node) -> Work:
    """RoiAlign takes sampling_ratio² points of four neighbours for each result; where the ratio is left to the data, one point is counted."""
    ratio = max(1, node.integer("sampling_ratio", 0)) if node.kind == "RoiAlign" else 1
    reads = (min(node.input(0).size_bytes, 4 * ratio**2 * node.output().size_bytes), *(value.size_bytes if value else 0 for value in node.inputs[1:]))
    return Work(group="gather", flop=4.0 * ratio**2 * node.output().numel, engine="gather", reads=reads, reason="which pixels are read is data")


@formula("TopK Unique ms:Unique NonMaxSuppression")
def _sort(node: Node) -> Work:
    if node.kind == "NonMaxSuppression":
        # Boxes of every class are ordered by their score; how many pairs are compared after that is data.
        return Work(group="sort", flop=float(node.input(1).numel), engine="sort", reason="comparison of boxes depends on the data, not counted")
    return _over_input(node, "sort", "sort")


@formula("ml:LinearRegressor ml:LinearClassifier")
def _linear(node: Node) -> Work:
    """2·N·features·targets; coefficients are attributes, so they are not among the inputs' bytes."""
    coefficients = node.attributes.get("coefficients", ())
    dims = node.input(0).dims
    rows = math.prod(dims[:-1]) if len(dims) > 1 else 1
    return Work(group="matmul", flop=2.0 * rows * len(coefficients), engine="fma", reason="coefficients are attributes: their bytes are not counted")
