"""OpenVINO: what an operator of its graphs asks of the machine, by the ONNX operator that does the same.

This module decides which ONNX operator stands for which of OpenVINO's and how operands and attributes are carried over; the counting is that of
`work.onnx`, so that a model counts the same whoever runs it. An operator without a counterpart has no count: unknown, which is not zero.
Source: operation sets of the OpenVINO specification (opset 1 to 16). Needs no openvino package.
"""

from __future__ import annotations

import math
from typing import Any

import msgspec

from .onnx import Node, Value, Work, op_work

__all__ = ["OpenvinoOp", "dtype_of", "operator_work"]

_DTYPES = {
    "f64": "float64", "f32": "float32", "f16": "float16", "bf16": "bfloat16", "i64": "int64", "i32": "int32", "i16": "int16", "i8": "int8",
    "u64": "uint64", "u32": "uint32", "u16": "uint16", "u8": "uint8", "i4": "int4", "u4": "uint4", "boolean": "bool", "string": "string",
    "f8e4m3": "float8", "f8e5m2": "float8",
}  # fmt: skip
#: OpenVINO's operator → ONNX's, where only the name differs.
_RENAMED = {
    "AvgPool": "AveragePool", "BatchNormInference": "BatchNormalization", "Broadcast": "Expand", "Ceiling": "Ceil", "Clamp": "Clip",
    "Convert": "Cast", "ConvertLike": "CastLike", "Convolution": "Conv", "Divide": "Div", "FakeQuantize": "Clip", "FloorMod": "Mod",
    "GreaterEqual": "GreaterOrEqual", "HSigmoid": "HardSigmoid", "HSwish": "HardSwish", "Identity": "Cast", "Interpolate": "Resize",
    "LessEqual": "LessOrEqual", "LogicalAnd": "And", "LogicalNot": "Not", "LogicalOr": "Or", "LogicalXor": "Xor",
    "MVN": "MeanVarianceNormalization", "Maximum": "Max",
    "Minimum": "Min", "Multiply": "Mul", "Negative": "Neg", "NormalizeL2": "LpNormalization", "NotEqual": "Equal", "Power": "Pow", "PReLU": "PRelu",
    "RMS": "RMSNormalization", "ReduceLogicalAnd": "ReduceMin", "ReduceLogicalOr": "ReduceMax", "Reorder": "Transpose",
    "ScaledDotProductAttention": "Attention", "ScatterElementsUpdate": "ScatterElements", "ScatterNDUpdate": "ScatterND", "Select": "Where",
    "ShapeOf": "Shape", "SoftPlus": "Softplus", "SoftSign": "Softsign", "SquaredDifference": "Sub", "StridedSlice": "Slice", "Subtract": "Sub",
    "VariadicSplit": "Split",
}  # fmt: skip
#: Those of one name and one meaning in both.
_SAME = frozenset(
    ["Abs", "Acos", "Acosh", "Add", "Asin", "Asinh", "Atan", "Atanh", "BitwiseAnd", "BitwiseNot", "BitwiseOr", "BitwiseXor", "Concat", "Cos",
     "Cosh", "CumSum", "DepthToSpace", "Elu", "Equal", "Erf", "Exp", "Floor", "Gather", "GatherElements", "GatherND", "Gelu", "Greater",
     "GridSample", "GroupNormalization", "HardSigmoid", "IsInf", "IsNaN", "LRN", "Less", "Log", "LogSoftmax", "MatMul", "MaxPool", "Mish", "Mod",
     "NonZero",
     "Pad", "PRelu", "Range", "ReduceL1", "ReduceL2", "ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd", "ReduceSum", "Relu", "Reshape",
     "ReverseSequence", "Round", "Selu", "Sigmoid", "Sign", "Sin", "Sinh", "Slice", "Softmax", "SpaceToDepth", "Split", "Sqrt", "Squeeze", "Swish",
     "Tan", "Tanh", "Tile", "TopK", "Transpose", "Unsqueeze"]
)  # fmt: skip
#: Recurrent layers: kind → (ONNX's, positions of the weights W and R).
_RECURRENT = {
    "LSTMSequence": ("LSTM", 4, 5), "LSTMCell": ("LSTM", 3, 4), "GRUSequence": ("GRU", 3, 4), "GRUCell": ("GRU", 2, 3), "RNNSequence": ("RNN", 3, 4),
    "RNNCell": ("RNN", 2, 3),
}  # fmt: skip


class OpenvinoOp(msgspec.Struct, frozen=True, kw_only=True):
    """One operator of a graph of OpenVINO.

    Args:
        name: friendly name.
        kind: operator type, such as `Convolution`.
        inputs, outputs: tensors by position.
        attributes: numbers, texts and tuples of them.
    """

    name: str
    kind: str
    inputs: tuple[Value, ...] = ()
    outputs: tuple[Value, ...] = ()
    attributes: dict[str, Any] = {}


def dtype_of(name: str) -> str:
    """OpenVINO's element type as a key of `DTYPE_BYTES`, empty for another.

    >>> dtype_of("bf16")
    'bfloat16'
    """
    return _DTYPES.get(name, "")


def operator_work(op: OpenvinoOp) -> Work:
    """The work of one execution; never raises, what cannot be counted is `None` with a reason."""
    found = _counterpart(op)
    if found is None:
        return op_work(Node(kind=op.kind, domain="openvino", name=op.name, inputs=op.inputs, outputs=op.outputs))
    return op_work(found)


def _counterpart(op: OpenvinoOp) -> Node | None:
    if op.kind in ("MatMul", "FullyConnected"):
        return _product(op)
    if op.kind in ("GroupConvolution", "ConvolutionBackpropData", "GroupConvolutionBackpropData"):
        return _convolution(op)
    if op.kind in _RECURRENT:
        return _recurrent(op)
    if op.kind in _RENAMED or op.kind in _SAME:
        return _node(op, _RENAMED.get(op.kind, op.kind), op.inputs, _attributes(op))
    return None


def _node(op: OpenvinoOp, kind: str, inputs: tuple[Value, ...], attributes: dict[str, Any] | None = None) -> Node:
    return Node(kind=kind, name=op.name, inputs=inputs, outputs=op.outputs, attributes=attributes or {})


def _attributes(op: OpenvinoOp) -> dict[str, Any]:
    """The attributes that a formula reads, under ONNX's names."""
    found: dict[str, Any] = {}
    kernel = op.attributes.get("kernel")
    if isinstance(kernel, tuple):
        found["kernel_shape"] = kernel
    if op.kind == "Gelu" and str(op.attributes.get("approximation_mode", "")).lower() == "tanh":
        found["approximate"] = "tanh"
    if op.kind == "Interpolate":
        found["mode"] = {"nearest": "nearest", "cubic": "cubic"}.get(str(op.attributes.get("mode", "")).lower(), "linear")
    if op.kind == "ScaledDotProductAttention":
        found["is_causal"] = int(bool(op.attributes.get("causal", False)))
    return found


def _product(op: OpenvinoOp) -> Node:
    """A matrix product, its operands turned so that the inner dimension is last in the first.

    The executed graph does not say which operand is transposed: rows of the result then tell the inner dimension of the first.
    """
    if len(op.inputs) < 2 or not op.outputs:
        return _node(op, "MatMul", op.inputs)
    first, result = op.inputs[0], op.outputs[0]
    if op.kind == "FullyConnected":
        return _node(op, "MatMul", op.inputs)
    if "transpose_a" in op.attributes:
        turned = bool(op.attributes["transpose_a"])
    else:
        turned = _whole(first) and _whole(result) and len(first.dims) > 1 and len(result.dims) > 1 and first.dims[-2] != result.dims[-2]
    if turned and first.shape is not None and len(first.shape) > 1:
        first = msgspec.structs.replace(first, shape=(*first.shape[:-2], first.shape[-1], first.shape[-2]))
    return _node(op, "MatMul", (first, *op.inputs[1:]))


def _whole(value: Value) -> bool:
    return value.shape is not None and all(isinstance(size, int) for size in value.shape)


def _convolution(op: OpenvinoOp) -> Node:
    """A grouped convolution has the group as a first dimension of its weight; ONNX's form has it inside the channels."""
    kind = "ConvTranspose" if op.kind.endswith("BackpropData") else "Conv"
    if not op.kind.startswith("Group") or len(op.inputs) < 2:
        return _node(op, kind, op.inputs)
    weight = op.inputs[1]
    if _whole(weight) and len(weight.dims) >= 3:
        weight = msgspec.structs.replace(weight, shape=(math.prod(weight.dims[:2]), *weight.dims[2:]))
    return _node(op, kind, (op.inputs[0], weight, *op.inputs[2:]))


def _recurrent(op: OpenvinoOp) -> Node:
    """X is (batch, steps, width), for a cell (batch, width); only the product of batch and steps counts."""
    kind, at, recurrent_at = _RECURRENT[op.kind]
    if len(op.inputs) <= recurrent_at:
        return _node(op, kind, ())
    source, width, hidden = op.inputs[0], op.inputs[at], op.inputs[recurrent_at]
    if op.kind.endswith("Cell") and source.shape is not None:
        source = msgspec.structs.replace(source, shape=(1, *source.shape))
    sizes = {name: value for name, value in op.attributes.items() if name == "hidden_size" and isinstance(value, int)}
    return _node(op, kind, (source, width, hidden), {**sizes, "direction": str(op.attributes.get("direction", "forward")).lower()})
