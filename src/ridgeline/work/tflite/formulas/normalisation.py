"""Softmax by its exponentials, the others by the reduction over their input.

Source: tensorflow/lite/kernels/activations.cc, l2norm.cc, local_response_norm.cc.
"""

from __future__ import annotations

from ..formula import Node, Work, formula

__all__: list[str] = []


@formula("SOFTMAX LOG_SOFTMAX LOCAL_RESPONSE_NORMALIZATION")
def _exponentials(node: Node) -> Work:
    return Work(group="normalisation", flop=float(node.input(0).numel), engine="exp")


@formula("L2_NORMALIZATION")
def _reduced(node: Node) -> Work:
    return Work(group="normalisation", flop=float(node.input(0).numel), engine="reduce")
