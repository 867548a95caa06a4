"""Reductions, scans, pooling and sorting: one operation an element of the input, or of every window.

Source: tensorflow/lite/kernels/reduce.cc, pooling.cc, topk_v2.cc.
"""

from __future__ import annotations

from ridgeline.core import Engine

from ..formula import Node, Work, formula

__all__: list[str] = []


def _over_input(node: Node, engine: Engine = "reduce", group: str = "reduction") -> Work:
    return Work(group=group, flop=float(node.input(0).numel), engine=engine)


@formula("SUM MEAN REDUCE_MAX REDUCE_MIN REDUCE_PROD REDUCE_ANY REDUCE_ALL ARG_MAX ARG_MIN CUMSUM SEGMENT_SUM UNSORTED_SEGMENT_SUM")
@formula("UNSORTED_SEGMENT_MAX UNSORTED_SEGMENT_MIN UNSORTED_SEGMENT_PROD")
def _reduce(node: Node) -> Work:
    return _over_input(node)


@formula("AVERAGE_POOL_2D MAX_POOL_2D L2_POOL_2D")
def _pool(node: Node) -> Work:
    window = node.required("filterHeight") * node.required("filterWidth")
    return Work(group="reduction", flop=float(node.output().numel * window), engine="reduce")


@formula("TOPK_V2 UNIQUE")
def _sort(node: Node) -> Work:
    return _over_input(node, "sort", "sort")


@formula("NON_MAX_SUPPRESSION_V4 NON_MAX_SUPPRESSION_V5")
def _boxes(node: Node) -> Work:
    """Boxes are ordered by their score; how many pairs are compared after that is data."""
    return Work(group="sort", flop=float(node.input(1).numel), engine="sort", reason="comparison of boxes depends on the data, not counted")
