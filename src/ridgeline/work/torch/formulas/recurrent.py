"""Recurrent layers as one operator: 2·T·B·G·H·(I + H) FLOPs a direction, for T steps, batch B, input width I, hidden width H and G gates.

G is 4 for LSTM, 3 for GRU, 1 for a plain cell. The pointwise part of a cell is not counted. Weights are compulsory once, although a kernel reads
them every step where they do not stay in a cache.
"""

from __future__ import annotations

import math

from .. import traffic
from ..formula import Work, formula
from ..recorded import RecordedOp, TensorUse

__all__: list[str] = []


def _work(op: RecordedOp, flop: float) -> Work:
    return Work(group="matmul", flop=flop, engine="fma", reads=traffic.reads(op), writes=traffic.writes(op))


def _layer(source: TensorUse, weights: tuple[TensorUse, TensorUse]) -> float:
    """2 × steps × batch × elements of both weights, which are (G·H, I) and (G·H, H)."""
    return 2.0 * math.prod(source.shape[:-1]) * sum(weight.numel for weight in weights)


@formula("mkldnn_rnn_layer")
def _mkldnn(op: RecordedOp) -> Work:
    return _work(op, _layer(op.inputs[0], (op.inputs[1], op.inputs[2])))


@formula("mkldnn_rnn_layer_backward")
def _mkldnn_backward(op: RecordedOp) -> Work:
    """Gradients of the input and of the weights: two products for each one of the forward pass."""
    return _work(op, 2.0 * _layer(op.inputs[0], (op.inputs[1], op.inputs[2])))


@formula("lstm gru rnn_tanh rnn_relu")
def _whole(op: RecordedOp) -> Work:
    """Every weight matrix once a step and batch entry, all layers and directions together."""
    parameters = op.arguments.get("params")
    matrices = [use for use in parameters if isinstance(use, TensorUse) and len(use.shape) == 2] if isinstance(parameters, tuple) else []
    if not matrices:
        return Work(group="matmul", flop=None, engine="fma", reads=traffic.reads(op), writes=traffic.writes(op), reason="the weights are not visible")
    return _work(op, 2.0 * math.prod(op.inputs[0].shape[:-1]) * sum(use.numel for use in matrices))
