"""Operators of a graph as workloads: the family and sizes of each, from its shapes and attributes.

This module decides which family an operator of ONNX or TFLite belongs to. What moves no data is no workload, and of an operator that no family
describes the answer is the reason. What a runtime joins or adds is decided in the modules of the runtimes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from ridgeline.core import Graph, Op, Precision, Tensor, Workload

__all__ = ["Unknown", "workload", "workloads"]

_PRECISION: Mapping[str, Precision] = {
    "float64": "fp64", "double": "fp64", "float32": "fp32", "float": "fp32", "float16": "fp16", "half": "fp16", "bfloat16": "bf16", "int8": "int8",
    "uint8": "int8", "int4": "int4", "uint4": "int4",
}  # fmt: skip
_SOFTMAX = frozenset(("Softmax", "LogSoftmax", "SOFTMAX", "LOG_SOFTMAX"))
_POOLING = frozenset(("MaxPool", "AveragePool", "LpPool", "MAX_POOL_2D", "AVERAGE_POOL_2D", "NhwcMaxPool", "QLinearAveragePool"))
_LAYER_NORMS = frozenset((
    "LayerNormalization", "RMSNormalization", "SimplifiedLayerNormalization", "SkipLayerNormalization", "SkipSimplifiedLayerNormalization",
    "EmbedLayerNormalization",
))  # fmt: skip
_BLOCKED = "com.microsoft.nchwc"
# Channels of these stand last.
_CHANNELS_LAST = "com.ms.internal.nhwc"
_GATES = {"LSTM": 4, "DynamicQuantizeLSTM": 4, "GRU": 3, "RNN": 1}
_TRANSPOSED = frozenset(("ConvTranspose", "TRANSPOSE_CONV"))
_NO_SIZES = "the shapes of its operands are not known"


class Unknown(NamedTuple):
    """Why an operator is no workload; `idle` if it moves and computes nothing."""

    reason: str
    idle: bool = False


class _Shapes(NamedTuple):
    """What is known of an operator's operands; shapes are whole numbers, an operand that is not there has an empty one."""

    op: Op
    inputs: tuple[tuple[int, ...], ...]
    outputs: tuple[tuple[int, ...], ...]
    constant: tuple[bool, ...]
    precision: Precision

    def attribute(self, name: str, default: int) -> int:
        text = self.op.attributes.get(name, "")
        return int(text) if text.lstrip("-").isdecimal() else default

    def numbers(self, name: str) -> tuple[int, ...]:
        text = self.op.attributes.get(name, "")
        parts = text.split(",") if text else []
        return tuple(int(part) for part in parts) if all(part.strip().lstrip("-").isdecimal() for part in parts) else ()


def workloads(graph: Graph) -> list[Workload | Unknown]:
    """A workload, or why there is none, for each operator of a graph, in its order."""
    tensors = {tensor.name: tensor for tensor in graph.tensors}
    return [workload(op, tensors) for op in graph.ops]


def workload(op: Op, tensors: Mapping[str, Tensor]) -> Workload | Unknown:
    """The family and sizes of one operator.

    Args:
        op: with the attribute `group` that `ridgeline.work` gives it.
        tensors: by name; without whole numbers for shapes nothing is known.
    """
    group = op.attributes.get("group", "")
    if group == "view" or (op.read_bytes == 0 and op.write_bytes == 0):
        return Unknown("moves no data", idle=True)
    shapes = _shapes(op, tensors)
    if shapes is None:
        return Unknown(_NO_SIZES)
    found = _family(group, _name(op))
    if found is None:
        return Unknown(f"no model knows operators such as {op.kind}")
    kind, sizes_of = found
    sizes = sizes_of(shapes)
    if sizes is None or any(size < 1 and name not in _MAY_BE_NONE for name, size in sizes.items()):
        return Unknown(f"the operands of this {op.kind} are not as its kind should have them")
    return Workload(
        kind=kind, sizes={name: size for name, size in sizes.items() if size > 0}, precision=shapes.precision, variant=_variant(op),
        weight_precision="int4" if _name(op) == "MatMulNBits" and shapes.attribute("bits", 4) == 4 else None,
        layout="NCHWc" if op.kind.startswith(_BLOCKED) else "",
    )  # fmt: skip


def _name(op: Op) -> str:
    """The kind without its domain; of several joined into one, that of the one that leads them."""
    return op.attributes.get("lead", op.kind).rpartition(":")[2]


def _variant(op: Op) -> str:
    """The function, and what is done to its result in the same pass."""
    name = op.kind.rpartition(":")[2]
    if name not in ("Conv", "FusedConv", "FusedGemm"):
        return name
    added = "Sum" if name != "FusedGemm" and len(op.inputs) > 3 and op.inputs[3] else ""
    return "+".join(part for part in (name.removeprefix("Fused"), added, op.attributes.get("activation", "")) if part)


_MAY_BE_NONE = frozenset(("constants", "weights", "shared", "window", "causal"))


def _shapes(op: Op, tensors: Mapping[str, Tensor]) -> _Shapes | None:
    def shape(name: str) -> tuple[int, ...] | None:
        if not name:
            return ()
        found = tensors[name].shape if name in tensors else None
        return tuple(int(dim) for dim in found) if found is not None and all(isinstance(dim, int) for dim in found) else None

    inputs, outputs = [shape(name) for name in op.inputs], [shape(name) for name in op.outputs]
    known = [each for each in (*inputs, *outputs) if each is not None]
    if len(known) < len(inputs) + len(outputs) or not outputs:
        return None
    constant = tuple(not name or (name in tensors and tensors[name].constant) for name in op.inputs)
    precision = op.precision if op.precision != "any" else _precision(op, tensors)
    return _Shapes(op, tuple(known[: len(inputs)]), tuple(known[len(inputs) :]), constant, precision)


def _precision(op: Op, tensors: Mapping[str, Tensor]) -> Precision:
    for name in (*op.inputs, *op.outputs):
        if name in tensors and tensors[name].dtype in _PRECISION:
            return _PRECISION[tensors[name].dtype]
    return "any"


def _family(group: str, name: str) -> tuple[str, Callable[[_Shapes], dict[str, int] | None]] | None:
    if name in _SOFTMAX:
        return "softmax", _softmax
    if name in _POOLING:
        return "pooling", _pooling
    if name in _GATES:
        return "recurrent", _recurrent
    return _GROUPS.get(group)


# ── families ────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _matmul(s: _Shapes) -> dict[str, int] | None:
    name = _name(s.op)
    place = 3 if name in ("QLinearMatMul", "QGemm") else 1  # between them a scale and a zero point
    left, right, out = s.inputs[0], s.inputs[place] if len(s.inputs) > place else (), s.outputs[0]
    if not left or not right or not out:
        return None
    k = right[-1] if name == "FULLY_CONNECTED" else _inner(s, left)  # TFLite has its weights as (n, k)
    n = out[-1] if len(right) > 1 else 1
    rows = math.prod(out) // n
    between = s.attribute("transBatchB", 0) and len(right) > 2
    several = name not in ("FULLY_CONNECTED", "MatMulNBits", "MatMulBnb4", "MatMulFpQ4")  # whose weights are packed
    groups = math.prod(right[1:-1] if between else right[:-2]) if several else 1
    # Products with one right operand are one product of all their rows, which is how runtimes do them.
    return {"m": rows // groups, "n": n, "k": k, "batch": groups, "groups": groups} if rows % groups == 0 else None


def _inner(s: _Shapes, left: tuple[int, ...]) -> int:
    """The dimension that is summed over; with `transBatchA` the batch stands between it and the rows."""
    if not s.attribute("transA", 0) or len(left) < 2:
        return left[-1]
    return left[0] if s.attribute("transBatchA", 0) else left[-2]


def _convolution(s: _Shapes) -> dict[str, int] | None:
    image, filters, out = _channels_second(s, s.inputs[0]), _filters(s), _channels_second(s, s.outputs[0])
    if s.op.kind.isupper():
        return _convolution_of_tflite(s)
    if len(image) < 3 or len(filters) != len(image) or len(out) != len(image):
        return None
    groups = s.attribute("groups", 1)
    if _name(s.op) in _TRANSPOSED:
        # The gradient of a convolution by its image: the same multiply-adds with image and result in each other's place.
        image, out = out, image
    taps = filters[2:]
    return {
        "n": image[0], "c": image[1], "h": math.prod(image[2:-1]), "w": image[-1], "k": out[1], "p": math.prod(out[2:-1]), "q": out[-1],
        "r": math.prod(taps[:-1]), "s": taps[-1], "groups": groups,
    }  # fmt: skip


def _channels_second(s: _Shapes, shape: tuple[int, ...]) -> tuple[int, ...]:
    """A shape as (n, c, …), also of operators that have their channels last."""
    name = _name(s.op)
    last = s.attribute("channels_last", 0) or name.startswith("Nhwc") or s.op.kind.startswith(_CHANNELS_LAST)
    return (shape[0], shape[-1], *shape[1:-1]) if last and len(shape) > 2 else shape


def _filters(s: _Shapes) -> tuple[int, ...]:
    """The first operand after the image that has as many dimensions: in between may stand scales and zero points."""
    return next((shape for shape in s.inputs[1:] if len(shape) == len(s.inputs[0])), ())


def _convolution_of_tflite(s: _Shapes) -> dict[str, int] | None:
    """Channels last; filters are (k, r, s, c), of depthwise ones (1, r, s, k), and a transposed one has its image third."""
    transposed = s.op.kind in _TRANSPOSED
    if len(s.inputs) < 2 + transposed or len(s.outputs[0]) != 4:
        return None
    image, filters, out = s.inputs[2 if transposed else 0], s.inputs[1], s.outputs[0]
    if len(image) != 4 or len(filters) != 4:
        return None
    if transposed:
        image, out = out, image
    groups = image[3] if s.op.kind == "DEPTHWISE_CONV_2D" else image[3] // filters[3] if not transposed and filters[3] else 1
    return {
        "n": image[0], "c": image[3], "h": image[1], "w": image[2], "k": out[3], "p": out[1], "q": out[2], "r": filters[1], "s": filters[2],
        "groups": groups,
    }  # fmt: skip


def _elementwise(s: _Shapes) -> dict[str, int] | None:
    elements = math.prod(s.outputs[0])
    changing = [math.prod(shape) for shape, constant in zip(s.inputs, s.constant, strict=True) if not constant]
    constants = sum(math.prod(shape) for shape, constant in zip(s.inputs, s.constant, strict=True) if constant and shape)
    return {"elements": elements, "inputs": max(1, sum(size == elements for size in changing)), "constants": constants}


def _softmax(s: _Shapes) -> dict[str, int] | None:
    return _by_axis(s.inputs[0], s.attribute("axis", -1)) if s.inputs else None


def _by_axis(shape: Sequence[int], axis: int) -> dict[str, int] | None:
    if not shape or not -len(shape) <= axis < len(shape):
        return None
    return {"rows": math.prod(shape) // max(1, shape[axis]), "columns": shape[axis]}


def _normalisation(s: _Shapes) -> dict[str, int] | None:
    if _name(s.op) in _LAYER_NORMS:
        shape = s.outputs[0]
        axis = s.attribute("axis", -1) % max(1, len(shape))
        weights = sum(len(each) == len(shape) - axis for each, constant in zip(s.inputs[1:], s.constant[1:], strict=True) if constant and each)
        return {"rows": math.prod(shape[:axis]), "columns": math.prod(shape[axis:]), "weights": weights}
    shape = s.inputs[0]
    # Of a batch, an instance or a group: a statistic for each channel of each image.
    return {"rows": math.prod(shape[:2]), "columns": math.prod(shape[2:]), "weights": 0} if len(shape) > 1 else None


def _reduction(s: _Shapes) -> dict[str, int] | None:
    rows = math.prod(s.outputs[0])
    # Of several joined into one, the largest operand is what is reduced.
    elements = max((math.prod(shape) for shape in s.inputs), default=0)
    return {"rows": rows, "columns": elements // rows} if rows and elements >= rows else None


def _pooling(s: _Shapes) -> dict[str, int] | None:
    image, out = _channels_second(s, s.inputs[0]), _channels_second(s, s.outputs[0])
    if len(image) < 3 or len(out) != len(image):
        return None
    if s.op.kind.isupper():
        height, width = s.attribute("filter_height", 1), s.attribute("filter_width", 1)
        return {"n": image[0], "c": image[3], "h": image[1], "w": image[2], "p": out[1], "q": out[2], "r": height, "s": width}
    window = s.numbers("kernel_shape")
    if len(window) != len(image) - 2:
        return None
    return {
        "n": image[0], "c": image[1], "h": math.prod(image[2:-1]), "w": image[-1], "p": math.prod(out[2:-1]), "q": out[-1],
        "r": math.prod(window[:-1]), "s": window[-1],
    }  # fmt: skip


def _copy(s: _Shapes) -> dict[str, int] | None:
    return {"elements": sum(math.prod(shape) for shape in s.outputs), "run": _run(s)}


def _run(s: _Shapes) -> int:
    """Elements that stand side by side before and after."""
    shape = s.inputs[0] if s.inputs else ()
    order = s.numbers("perm")
    if len(order) == len(shape):
        kept = len(shape)
        while kept > 0 and order[kept - 1] == kept - 1:
            kept -= 1
        return max(1, math.prod(shape[kept:]))
    axis = s.op.attributes.get("axis", "")
    if axis.lstrip("-").isdecimal() and shape and -len(shape) <= int(axis) < len(shape):
        return max(1, math.prod(shape[int(axis) % len(shape) :]))
    return max(1, math.prod(shape[-1:]))


def _gather(s: _Shapes) -> dict[str, int] | None:
    table, out = s.inputs[0], s.outputs[0]
    indices = math.prod(s.inputs[1]) if len(s.inputs) > 1 else 0
    if not table or not indices or math.prod(out) % indices:
        return None
    return {"rows": table[s.attribute("axis", 0) % len(table)], "width": math.prod(out) // indices, "indices": indices}


def _recurrent(s: _Shapes) -> dict[str, int] | None:
    if len(s.inputs) < 3 or len(s.inputs[0]) != 3 or len(s.inputs[2]) != 3:
        return None
    steps, batch, width = s.inputs[0]
    name = _name(s.op)
    # Quantised weights are stored the other way round.
    hidden = s.inputs[2][1 if name == "DynamicQuantizeLSTM" else 2]
    return {"steps": steps, "batch": batch, "input": width, "hidden": hidden, "directions": s.inputs[2][0], "gates": _GATES[name]}


def _attention(s: _Shapes) -> dict[str, int] | None:
    """Queries (n, q, heads · size), keys and values (n, k, heads · size); packed forms and past keys are not described."""
    heads = s.attribute("num_heads", 0)
    if _name(s.op) != "MultiHeadAttention" or len(s.inputs) < 3 or heads < 1 or any(len(shape) != 3 for shape in s.inputs[:3]) or any(s.inputs[6:]):
        return None
    (batch, queries, width), (_, keys, _), (_, _, values) = s.inputs[:3]
    if width != values or width % heads:
        return None
    return {
        "batch": batch, "heads": heads, "queries": queries, "keys": keys, "head_size": width // heads, "kv_heads": heads,
        "causal": s.attribute("unidirectional", 0),
    }  # fmt: skip


_GROUPS: Mapping[str, tuple[str, Callable[[_Shapes], dict[str, int] | None]]] = {
    "matmul": ("gemm", _matmul), "convolution": ("convolution", _convolution), "elementwise": ("elementwise", _elementwise),
    "normalisation": ("normalisation", _normalisation), "reduction": ("reduction", _reduction), "movement": ("copy", _copy), "copy": ("copy", _copy),
    "gather": ("gather", _gather), "attention": ("attention", _attention),
}  # fmt: skip
