"""Normalisations: softmax by its exponentials, layer, group and instance norm by the reduction over their input, batch norm as scale and shift.

A sum that is fused in front (Skip…) and the scale behind are cheap beside the reduction and not counted. The embedding layer reads only the picked
rows of its tables.
Source: ONNX Operators.md; ContribOperators.md for the fused ones.
"""

from __future__ import annotations

import math

from ridgeline.core import Engine

from ..formula import Work, bytes_read, formula
from ..node import Node

__all__: list[str] = []


def _over_input(node: Node, engine: Engine) -> Work:
    return Work(group="normalisation", flop=float(node.input(0).numel), engine=engine)


@formula("Softmax LogSoftmax ms:QLinearSoftmax ms:BiasSoftmax")
def _softmax(node: Node) -> Work:
    return _over_input(node, "exp")


@formula("SoftmaxCrossEntropyLoss")
def _cross_entropy(node: Node) -> Work:
    return _over_input(node, "exp")


@formula(
    """
    LayerNormalization SimplifiedLayerNormalization RMSNormalization GroupNormalization InstanceNormalization
    LpNormalization nhwc:InstanceNormalization MeanVarianceNormalization ms:GroupNorm ms:SkipGroupNorm ms:SkipLayerNormalization
    ms:SkipSimplifiedLayerNormalization
    NegativeLogLikelihoodLoss
    """
)
def _reduced(node: Node) -> Work:
    return _over_input(node, "reduce")


@formula("BatchNormalization nhwc:BatchNormalization")
def _batch_norm(node: Node) -> Work:
    """With known statistics one multiply-add an element (on `add`: it streams), else a reduction first."""
    return _over_input(node, "reduce" if node.integer("training_mode", 0) else "add")


@formula("LRN nhwc:LRN")
def _local_response(node: Node) -> Work:
    """A window of `size` channels, and one power an element, which costs more than the window."""
    return _over_input(node, "exp")


@formula("ms:EmbedLayerNormalization ms:QEmbedLayerNormalization")
def _embedding(node: Node) -> Work:
    """Word, position and segment rows summed, then a layer norm; of the tables (inputs 2 to 4) only the picked rows are read."""
    tokens = math.prod(node.input(0).dims)
    reads = list(bytes_read(node))
    for index in (2, 3, 4):
        table = node.optional(index)
        if table is not None:
            picked = min(tokens, table.dims[0]) if table.dims else 0
            reads[index] = min(table.size_bytes, math.ceil(picked * table.dims[-1] * table.item_bytes))
    return Work(group="normalisation", flop=float(node.output().numel), engine="reduce", reads=tuple(reads))
