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
        kind=kind, sizes={name: size for name, size in sizes.items() if size > 0}, precision=shapes.precision, variant=_variant(op, shapes.constant),
        weight_precision="int4" if _name(op) == "MatMulNBits" and shapes.attribute("bits", 4) == 4 else None,
        layout="NCHWc" if op.kind.startswith(_BLOCKED) else "NHWC" if _channels_last(shapes) else "",
    )  # fmt: skip


def _name(op: Op) -> str:
    """The kind without its domain; of several joined into one, that of the one that leads them."""
    return op.attributes.get("lead", op.kind).rpartition(":")[2]


def _variant(op: Op, constants: Sequence[bool]) -> str:
    """The function, what is done to its result in the same pass, and whether a product has no weights, which are packed beforehand."""
    name = op.kind.rpartition(":")[2]
    if name in ("MatMul", "FusedMatMul") and not any(constant and each for each, constant in zip(op.inputs, constants, strict=True)):
        return f"{name}+changing"
    if name not in ("Conv", "FusedConv", "FusedGemm"):
        return name
    added = "Sum" if name != "FusedGemm" and len(op.inputs) > 3 and op.inputs[3] else ""
    return "+".join(part for part in (name.removeprefix("Fused"), added, op.attributes.get("activation", "")) if part)


_MAY_BE_NONE = frozenset(("constants", "weights", "shared", "window", "causal", "span", "held"))
#: What stands beside the operand of these is read once, not element by element.
_ONE_OPERAND = frozenset(("Clip", "DynamicQuantizeLinear", "QuantizeLinear", "DequantizeLinear"))
#: What takes the elements of a row one by one.
_ELEMENT_BY_ELEMENT = frozenset(("Resize", "Upsample", "SpaceToDepth", "DepthToSpace", "RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR"))
_JOINS = frozenset(("Concat", "QLinearConcat"))
_REORDERS = frozenset(("ReorderInput", "ReorderOutput"))


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
    return (shape[0], shape[-1], *shape[1:-1]) if _channels_last(s) and len(shape) > 2 else shape


def _channels_last(s: _Shapes) -> bool:
    """Whether an operator of ONNX has its channels last, which it says by an attribute or by its name."""
    return bool(s.attribute("channels_last", 0)) or _name(s.op).startswith("Nhwc") or s.op.kind.startswith(_CHANNELS_LAST)


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
    span, held = _broadcast(s)
    return {
        "elements": elements, "inputs": max(1, sum(size == elements for size in changing)), "constants": constants, "span": span, "held": held,
    }  # fmt: skip


def _broadcast(s: _Shapes) -> tuple[int, int]:
    """(Elements of the result until the smaller of two operands moves on or starts over, 0 where it never does; whether it stays meanwhile)."""
    name, out = _name(s.op), s.outputs[0]
    sides = s.inputs[1:3] if name == "Where" else s.inputs[:2]
    operands = [shape for shape in sides if math.prod(shape) < math.prod(out)]
    if not operands or len(sides) < 2 or name in _ONE_OPERAND or name.startswith("QLinear"):
        return 0, 0
    small = min(operands, key=math.prod)
    if math.prod(small) == 1:
        return 0, 1
    small = (1,) * (len(out) - len(small)) + small
    axes = [axis for axis in range(len(out) - 1, -1, -1) if out[axis] > 1]
    held = small[axes[0]] == 1
    span = 1
    for axis in axes:
        if (small[axis] == 1) != held:
            return span, int(held)
        span *= out[axis]
    return 0, int(held)


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
    shape = max(s.inputs, key=math.prod, default=())
    elements = math.prod(shape)
    return {"rows": rows, "columns": elements // rows, "inner": _inner_of_reduction(s, shape)} if rows and elements >= rows else None


def _inner_of_reduction(s: _Shapes, shape: tuple[int, ...]) -> int:
    """Elements behind the last axis that is summed over; 1 where the result does not show it."""
    out = s.outputs[0]
    if len(out) != len(shape):
        return 1
    kept = len(shape)
    while kept > 0 and out[kept - 1] == shape[kept - 1]:
        kept -= 1
    return math.prod(shape[kept:])


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
    elements = sum(math.prod(shape) for shape in s.outputs)
    name = _name(s.op)
    if name in _REORDERS:
        image = s.inputs[0] if name == "ReorderInput" else s.outputs[0]
        rows, columns = (math.prod(image[:2]), math.prod(image[2:])) if len(image) > 2 else (1, elements)
        return {"elements": elements, "run": 1, "axes": 2, "rows": rows, "columns": columns}
    if s.op.kind in ("Transpose", "TRANSPOSE"):
        return {"elements": elements, **_transposed(s)}
    # What stands beside the operands of a join in the file are none.
    parts = sum(1 for shape in s.inputs if shape) if name in _JOINS else len(s.outputs)
    return {"elements": elements, "run": _run(s), "parts": max(1, parts)}


def _transposed(s: _Shapes) -> dict[str, int]:
    """Of the axes in which the operand's and the result's order differ, each group that stays together as one."""
    shape, order = s.inputs[0] if s.inputs else (), s.numbers("perm")
    order = order if len(order) == len(shape) else tuple(range(len(shape)))[::-1]
    groups: list[list[int]] = []
    for axis in (axis for axis in order if shape[axis] > 1):
        before = groups[-1][-1] if groups else axis
        together = bool(groups) and axis > before and all(shape[between] == 1 for between in range(before + 1, axis))
        if together:
            groups[-1].append(axis)
        else:
            groups.append([axis])
    sizes = [math.prod(shape[axis] for axis in group) for group in groups]
    last = max((group[-1] for group in groups), default=0)
    run = sizes.pop() if groups and groups[-1][-1] == last else 1
    groups = groups[: len(sizes)]
    if len(sizes) < 2:
        return {"run": run}
    # What leads in both orders is only done more often.
    axes = len(sizes) - (groups[0][0] == min(group[0] for group in groups))
    return {"run": run, "axes": axes, "rows": sizes[-1], "columns": sizes[max(range(len(groups)), key=groups.__getitem__)]}


def _run(s: _Shapes) -> int:
    """Elements that stand side by side before and after."""
    # A join in eight bits has the scale and the zero point of its result first.
    first = 2 if _name(s.op) == "QLinearConcat" else 0
    shape, out = s.inputs[first] if len(s.inputs) > first else (), s.outputs[0]
    if len(shape) != len(out) or _name(s.op) in _ELEMENT_BY_ELEMENT:
        return max(1, math.prod(shape[-1:]))
    axis = next((axis for axis in range(len(out) - 1, -1, -1) if shape[axis] != out[axis]), None)
    return max(1, math.prod(out) if axis is None else min(shape[axis], out[axis]) * math.prod(out[axis + 1 :]))


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
