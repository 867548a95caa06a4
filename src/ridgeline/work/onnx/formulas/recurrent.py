"""Recurrent layers: 2·D·steps·G·H·(I + H) FLOPs for D directions, G gates, input width I and hidden width H.

G is 4 for LSTM, 3 for GRU, 1 for RNN. The steps are Σ of the sequence lengths where those are constants, else T·B for T steps of B sequences: then
steps after a shorter sequence's end are counted, since lengths are data. The pointwise part of a cell is not counted. Weights are compulsory once,
although a kernel reads them every step where they do not stay in a cache.
Source: ONNX Operators.md, LSTM, GRU, RNN (W is (D, G·H, I), R is (D, G·H, H)); ContribOperators.md, DynamicQuantizeLSTM (W and R transposed).
"""

from __future__ import annotations

from ridgeline.core import Precision

from ..formula import Work, formula
from ..node import Node

__all__: list[str] = []

_GATES = {"LSTM": 4, "GRU": 3, "RNN": 1, "DynamicQuantizeLSTM": 4}


@formula("LSTM GRU RNN ms:DynamicQuantizeLSTM")
def _recurrent(node: Node) -> Work:
    quantised = node.kind == "DynamicQuantizeLSTM"
    source = node.input(0).dims
    hidden = node.integer("hidden_size", 0) or node.input(2).dims[1 if quantised else -1]
    directions = 2 if node.text("direction") == "bidirectional" else 1
    precision: Precision = "int8" if quantised else "any"
    steps, reason = _steps(node, source)
    flop = 2.0 * directions * steps * _GATES[node.kind] * hidden * (source[2] + hidden)
    return Work(group="matmul", flop=flop, engine="fma", precision=precision, reason=reason)


def _steps(node: Node, source: tuple[int, ...]) -> tuple[float, str]:
    """Steps of all sequences together, and what is said of them. `layout=1` swaps steps and batch; their product is the same."""
    lengths = node.optional(4)
    if lengths is None:
        return float(source[0] * source[1]), ""
    if lengths.content is not None:
        longest = source[1 if node.integer("layout", 0) else 0]
        return float(sum(min(max(0, int(length)), longest) for length in lengths.content)), "steps of each sequence's own length"
    return float(source[0] * source[1]), "lengths of the sequences are data: every step counted"
