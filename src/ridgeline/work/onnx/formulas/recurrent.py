"""Recurrent layers: 2·D·T·B·G·H·(I + H) FLOPs for D directions, T steps, batch B, G gates, input width I and hidden width H.

G is 4 for LSTM, 3 for GRU, 1 for RNN. Steps after a shorter sequence's end are counted, since lengths are data. The pointwise part of a cell is
not counted. Weights are compulsory once, although a kernel reads them every step where they do not stay in a cache.
Source: ONNX Operators.md, LSTM, GRU, RNN (W is (D, G·H, I), R is (D, G·H, H)).
"""

from __future__ import annotations

from ridgeline.core import Precision

from ..formula import Work, formula
from ..node import Node, Value

__all__: list[str] = []

_GATES = {"LSTM": 4, "GRU": 3, "RNN": 1, "DynamicQuantizeLSTM": 4}


@formula("LSTM GRU RNN ms:DynamicQuantizeLSTM")
def _recurrent(node: Node) -> Work:
    source = node.input(0).dims
    hidden = node.integer("hidden_size", 0) or _hidden(node.input(2))
    directions = 2 if node.text("direction") == "bidirectional" else 1
    gates = _GATES[node.kind]
    precision: Precision = "int8" if node.kind == "DynamicQuantizeLSTM" else "any"
    # layout=1 swaps steps and batch; their product is the same.
    flop = 2.0 * directions * source[0] * source[1] * gates * hidden * (source[2] + hidden)
    return Work(group="matmul", flop=flop, engine="fma", precision=precision)


def _hidden(recurrence: Value) -> int:
    return recurrence.dims[-1]
