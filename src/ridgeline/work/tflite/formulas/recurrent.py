"""Recurrent layers: every weight matrix multiplies one vector a step and sequence, 2 FLOPs a weight; so 2 · T · B · Σ weights.

The gates' pointwise part is not counted. SVDF: 2·B·F·I for its features and 2·B·F·M for the filter over M steps of memory.
Source: tensorflow/lite/kernels/lstm_shared.h (order of the operands), unidirectional_sequence_lstm.cc, basic_rnn.cc, svdf.cc.
"""

from __future__ import annotations

import math

from ..formula import Node, Unknown, Work, formula

__all__: list[str] = []

#: Positions of the weight matrices of the full LSTM: input to gates, recurrence to gates, projection; the input gate may be absent.
_LSTM = (1, 2, 3, 4, 5, 6, 7, 8, 16)
_BASIC_LSTM_INPUTS = 5


def _steps(node: Node) -> int:
    """Steps × sequences, in either order: all dimensions of the input but the last."""
    return math.prod(node.input(0).dims[:-1])


def _weights(node: Node, positions: tuple[int, ...]) -> int:
    present = [value for position in positions if (value := node.optional(position)) is not None]
    if not present:
        raise Unknown(f"{node.kind} without weights")
    return sum(value.numel for value in present)


def _product(flop: float) -> Work:
    return Work(group="matmul", flop=flop, engine="fma")


@formula("LSTM UNIDIRECTIONAL_SEQUENCE_LSTM")
def _lstm(node: Node) -> Work:
    if len(node.inputs) == _BASIC_LSTM_INPUTS:
        return _product(2.0 * _steps(node) * node.input(2).numel)  # one matrix (4 units, input + units)
    return _product(2.0 * _steps(node) * _weights(node, _LSTM))


@formula("RNN UNIDIRECTIONAL_SEQUENCE_RNN")
def _rnn(node: Node) -> Work:
    return _product(2.0 * _steps(node) * _weights(node, (1, 2)))


@formula("SVDF")
def _svdf(node: Node) -> Work:
    batch = _steps(node)
    return _product(2.0 * batch * (node.input(1).numel + node.input(2).numel))
