"""Operators between DequantizeLinear and QuantizeLinear, which onnxruntime runs on the integers.

This module decides which have a kernel of their own for integers and which move them as they are. The transposes with which onnxruntime brings a
convolution's image to channels last are not added.
Source: onnxruntime/core/optimizer/qdq_transformer/selectors_actions/qdq_selector_action_transformer.cc, release 1.32.
"""

from __future__ import annotations

from .rewriting import Net

__all__ = ["quantised"]

_MS = "com.microsoft:"
_INTEGER = {
    "Conv": "QLinearConv", "MatMul": "QLinearMatMul", "Gemm": _MS + "QGemm", "Add": _MS + "QLinearAdd", "Mul": _MS + "QLinearMul",
    "Concat": _MS + "QLinearConcat", "AveragePool": _MS + "QLinearAveragePool", "GlobalAveragePool": _MS + "QLinearGlobalAveragePool",
    "Sigmoid": _MS + "QLinearSigmoid", "LeakyRelu": _MS + "QLinearLeakyRelu", "Softmax": _MS + "QLinearSoftmax", "Where": _MS + "QLinearWhere",
    "ReduceMean": _MS + "QLinearReduceMean",
}  # fmt: skip
_MOVING = frozenset(("MaxPool", "Reshape", "Flatten", "Transpose", "Squeeze", "Unsqueeze", "Resize", "Gather", "Slice", "Expand"))


def quantised(net: Net) -> None:
    """Run on integers what stands between integers."""
    for part in net.parts:
        if part.kind not in _INTEGER and part.kind not in _MOVING:
            continue
        read = [name for name in part.inputs if name and (part.kind not in _MOVING or name == part.inputs[0])]
        sources = {name: maker for name in read if (maker := net.maker(name)) is not None and maker.kind == "DequantizeLinear"}
        behind = net.only_reader(part)
        if len(sources) < len(set(read)) or behind is None or behind.kind != "QuantizeLinear":
            continue
        if part.kind in _INTEGER:
            inputs = [inner for name in part.inputs if name for inner in sources[name].inputs] + behind.inputs[1:]
            part.kind = _INTEGER[part.kind]
        else:
            inputs = [sources[name].inputs[0] if name in sources else name for name in part.inputs]
        gone = [maker for maker in dict.fromkeys(sources.values()) if net.only_reader(maker) is part]
        net.absorb(part, [*gone, behind], inputs, behind.outputs)
    _unread(net)


def _unread(net: Net) -> None:
    """What only operators read that now read the integers themselves is gone."""
    for part in list(net.parts):
        if part.kind == "DequantizeLinear" and not net.readers(part.result) and not net.is_end(part.result):
            net.drop(part)
