"""Types of operators as they stand in models that a runtime has optimised, with the ranges in which their sizes lie.

Ranges are those of convolutional and transformer networks for one image, line or sentence, as public collections of models hold them. A form answers
with no workload where the sizes that it is given would take too long or too much memory to be measured.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import msgspec

from ridgeline.core import Workload

from ..families import demand
from .coordinates import Point

__all__ = ["FORMS", "Form", "form_of"]

#: Above it an operator takes so long that few are measured in a time in which many could be.
_MOST_FLOP = 2.5e9
_MOST_ELEMENTS = 8e6
_MOST_WEIGHTS = 1.1e8
#: Coordinates that a form may read.
DIMENSIONS = 20


class Form(NamedTuple):
    """A type of operator: its name, how many rows it gets against others, and a workload of it at a point of the cube, null if there is none."""

    name: str
    share: float
    at: Callable[[Sequence[float]], Workload | None]


class _ImpossibleError(Exception):
    """There is no operator at this point."""


def _form(name: str, share: float, make: Callable[[Point], Workload]) -> Form:
    def at(point: Sequence[float]) -> Workload | None:
        try:
            work = make(Point(point))
        except _ImpossibleError:
            return None
        return work if _measurable(work) else None

    return Form(name, share, at)


def _measurable(work: Workload) -> bool:
    needs = demand(work.kind, work.sizes)
    small = float(needs.inputs) < _MOST_ELEMENTS and float(needs.outputs) < _MOST_ELEMENTS
    return small and float(needs.flop) < _MOST_FLOP and float(needs.weights) < _MOST_WEIGHTS


#: Whose arithmetic is in eight bits.
_WHOLE = frozenset((
    "ConvInteger", "DynamicQuantizeLSTM", "DynamicQuantizeMatMul", "MatMulInteger", "MatMulIntegerToFloat", "QGemm", "QLinearConv",
    "QLinearMatMul", "QLinearSigmoid", "NhwcMaxPool",
))  # fmt: skip


def _work(kind: str, variant: str, layout: str = "", /, **sizes: int) -> Workload:
    optional = ("held", "span", "constants")
    given = {name: size for name, size in sizes.items() if size or name not in optional}
    return Workload(kind=kind, variant=variant, layout=layout, sizes=given, precision="int8" if variant in _WHOLE else "fp32")


def _in_bytes(work: Workload, bytes_: bool) -> Workload:
    return msgspec.structs.replace(work, precision="int8") if bytes_ else work


# ── convolutions and pooling ────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

_SQUARE = ((1, 1), (1, 1), (1, 1), (3, 3), (3, 3), (3, 3), (5, 5), (7, 7))
_OTHER = ((2, 2), (1, 3), (3, 1), (1, 5), (5, 1), (1, 7), (7, 1), (1, 9), (11, 11))


def _window(point: Point, taps: tuple[int, int], strides: Sequence[int]) -> dict[str, int]:
    """h, w, p, q, r, s of a window over an image, mostly square, with padding that keeps the size or without."""
    high, stride, padded = point.side(), point.pick(*strides), point.pick(True, True, True, False)
    wide = point.pick(high, high, high, point.size(4, 640))
    if taps[0] == 1 and taps[1] > 1 and point.pick(True, False):
        high, wide = 1, point.size(4, 4096)  # one dimension: sound, text
    vertical = 1 if high == 1 else stride
    if padded:
        rows, columns = -(-high // vertical), -(-wide // stride)
    else:
        rows, columns = (high - taps[0]) // vertical + 1, (wide - taps[1]) // stride + 1
    # Windows larger than the image are mostly padding: no model has them.
    if min(rows, columns) < 1 or taps[0] > high or taps[1] > wide:
        raise _ImpossibleError
    return {"h": high, "w": wide, "p": rows, "q": columns, "r": taps[0], "s": taps[1]}


def _blocked_convolution(point: Point) -> Workload:
    taps = point.pick(*_SQUARE, *_SQUARE, *_SQUARE, *_OTHER)
    window = _window(point, taps, (1, 1, 1, 2))
    variant = point.pick(
        "Conv+Relu", "Conv+Relu", "Conv+Relu", "Conv", "Conv", "Conv", "Conv+Sum+Relu", "Conv+Sum", "Conv+HardSigmoid", "Conv+Sigmoid"
    )
    channels, filters, first = point.blocked(16, 1536), point.blocked(16, 1536), point.number() < 0.06
    return _work("convolution", variant, "NCHWc", n=_batch(point), c=3 if first else channels, k=filters, groups=1, **window)


def _blocked_depthwise(point: Point) -> Workload:
    taps = point.pick((3, 3), (3, 3), (3, 3), (5, 5), (5, 5), (7, 7), (3, 1), (1, 3))
    window = _window(point, taps, (1, 1, 2))
    variant, channels = point.pick("Conv", "Conv+Relu"), point.blocked(16, 1536)
    return _work("convolution", variant, "NCHWc", n=_batch(point), c=channels, k=channels, groups=channels, **window)


def _grouped_convolution(point: Point) -> Workload:
    window = _window(point, point.pick((1, 1), (3, 3)), (1, 1, 2))
    variant, groups, layout = point.pick("Conv", "Conv+Relu"), point.pick(2, 3, 4, 8, 16, 32), point.pick("", "", "NCHWc")
    own, filters = (point.blocked(16, 256), point.blocked(16, 256)) if layout else (point.width(4, 256), point.width(4, 256))
    return _work("convolution", variant, layout, n=1, c=own * groups, k=filters * groups, groups=groups, **window)


def _plain_convolution(point: Point) -> Workload:
    # Windows over sound are as long as what they look for.
    taps = point.pick(*_SQUARE, *_SQUARE, *_OTHER, (1, 0), (1, 0))
    window = _window(point, taps if taps[1] else (1, point.size(10, 400)), (1, 1, 1, 2) if taps[1] else (1, 2, 8, 64))
    variant, alone = point.pick("Conv", "Conv", "Conv+Relu", "Conv+HardSigmoid", "Conv+Sigmoid"), point.number() < 0.25
    channels, filters = point.width(1, 1024), point.width(1, 1024)
    if alone:
        if window["r"] * window["s"] == 1:
            raise _ImpossibleError  # a factor for each channel is no convolution that a model has
        return _work("convolution", variant, n=1, c=channels, k=channels, groups=channels, **window)
    return _work("convolution", variant, n=_batch(point), c=channels, k=filters, groups=1, **window)


def _transposed_convolution(point: Point) -> Workload:
    taps, channels, filters = point.pick(2, 2, 3, 4), point.width(1, 256), point.width(8, 512)
    high, wide = point.size(2, 200), point.size(2, 200)
    size = {"p": high, "q": wide, "h": 2 * high, "w": 2 * wide, "r": taps, "s": taps}
    return _work("convolution", "ConvTranspose", n=1, c=channels, k=filters, groups=1, **size)


def _whole_convolution(name: str) -> Callable[[Point], Workload]:
    def made(point: Point) -> Workload:
        window = _window(point, point.pick(*_SQUARE, *_OTHER[:4]), (1, 1, 1, 2))
        alone, channels, filters = point.number() < 0.2, point.width(1, 1024), point.width(4, 1024)
        filters = channels if alone else filters
        # As it is optimised, a quantised one has its channels last.
        layout = point.pick("NHWC", "NHWC", "NHWC", "") if name == "QLinearConv" else ""
        return _work("convolution", name, layout, n=1, c=channels, k=filters, groups=channels if alone else 1, **window)

    return made


def _pooling(point: Point) -> Workload:
    taps = point.pick(2, 3, 3, 3, 5, 7)
    window = _window(point, (taps, taps), (1, 2, 2))
    variant, layout = point.pick("MaxPool", "MaxPool", "AveragePool"), point.pick("NCHWc", "NCHWc", "NCHWc", "", "NHWC")
    channels = point.blocked(16, 1536) if layout == "NCHWc" else point.width(1, 1024)
    if layout == "NHWC":
        variant = "NhwcMaxPool" if variant == "MaxPool" else "QLinearAveragePool"
    return _work("pooling", variant, layout, n=1, c=channels, **window)


def _batch(point: Point) -> int:
    return point.pick(*((1,) * 10), 2, 4, 8, 16)


# ── products and recurrent networks ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _rows(point: Point) -> int:
    few, many = point.usual(1, 64), point.usual(32, 1536)
    return point.pick(1, 1, 1, few, few, many, many)


def _matmul(point: Point) -> Workload:
    name = point.pick("MatMul", "MatMul", "MatMul", "FusedMatMul")
    return _work("gemm", name, m=_rows(point), n=point.width(1, 8192), k=point.width(4, 8192))


def _changing(point: Point) -> Workload:
    """As in attention: heads of a batch, each with matrices of its own."""
    name, batch = point.pick("MatMul+changing", "FusedMatMul+changing"), point.pick(1, 4, 8, 12, 16, point.size(1, 96))
    size = {"m": _rows(point), "n": point.width(1, 1024), "k": point.width(4, 1024)}
    return _work("gemm", name, batch=batch, groups=batch, **size)


def _gemm(point: Point) -> Workload:
    variant = point.pick("Gemm", "Gemm", "Gemm+Relu")
    return _work("gemm", variant, m=_rows(point), n=point.width(1, 8192), k=point.width(4, 32768))


def _quantised_gemm(*names: str) -> Callable[[Point], Workload]:
    def made(point: Point) -> Workload:
        return _work("gemm", point.pick(*names), m=_rows(point), n=point.width(8, 12_288), k=point.width(32, 4096))

    return made


def _four_bits(point: Point) -> Workload:
    size = {"m": _rows(point), "n": point.width(64, 8192), "k": max(1, point.size(2, 256)) * 32}
    return Workload(kind="gemm", variant="MatMulNBits", sizes=size, weight_precision="int4")


def _recurrent(point: Point) -> Workload:
    name, ways, steps = point.pick("LSTM", "LSTM", "GRU", "DynamicQuantizeLSTM"), point.pick(1, 2), point.size(1, 128)
    hidden, width = point.pick(32, 48, 64, 96, 128, 192, 256, 384, 512), point.width(8, 1024)
    gates = 3 if name == "GRU" else 4
    return _work("recurrent", name, steps=steps, batch=1, input=width, hidden=hidden, directions=ways, gates=gates)


# ── element by element, moved, by rows ──────────────────────────────────────────────────────────────────────────────────────────────────────────────

_UNARY = (
    "Relu", "Sigmoid", "Tanh", "Exp", "Sqrt", "Clip", "Erf", "HardSigmoid", "HardSwish", "LeakyRelu", "QuickGelu", "Gelu", "Floor", "Neg", "Abs",
    "Log", "Reciprocal", "FastGelu", "Softplus", "Round", "Elu", "Sin", "Cos",
)  # fmt: skip


def _elements(point: Point) -> int:
    return point.size(1, 4_000_000)


def _unary(point: Point) -> Workload:
    return _work("elementwise", point.pick(*_UNARY), elements=_elements(point))


def _binary(point: Point) -> Workload:
    name = point.pick("Add", "Mul", "Add", "Mul", "Sub", "Div", "Max", "Pow", "Sum", "Min", "Equal", "Where", "PRelu", "Greater", "BiasGelu")
    case, kept, extra = point.pick("same", "scalar", "held", "vector"), point.pick(True, False), name == "Where"
    if name == "BiasGelu":
        case, kept = "vector", True
    if name == "Pow":
        case = "scalar"
    span, outer = point.size(1, 20_000), point.size(1, 4096)
    if case in ("same", "scalar"):
        return _work("elementwise", name, elements=_elements(point), inputs=(2 if case == "same" else 1) + extra, held=int(case == "scalar"))
    small = outer if case == "held" else span
    if outer < 2 or span < 2:
        raise _ImpossibleError
    held = int(case == "held")
    return _work("elementwise", name, elements=span * outer, inputs=1 + extra, constants=small if kept else 0, span=span, held=held)


def _quantising(point: Point) -> Workload:
    name = point.pick("DynamicQuantizeLinear", "QuantizeLinear", "DequantizeLinear", "QLinearAdd", "QLinearMul", "QLinearSigmoid", "QLinearLeakyRelu")
    return _work("elementwise", name, elements=_elements(point), inputs=2 if name in ("QLinearAdd", "QLinearMul") else 1)


def _transpose(point: Point) -> Workload:
    axes, run = point.pick(2, 2, 2, 3), point.pick(1, 1, 1, point.usual(1, 512))
    rows, columns, outer = point.usual(2, 2048), point.usual(2, 2048), point.pick(1, point.usual(1, 64))
    if axes == 3 and outer < 2:
        raise _ImpossibleError
    work = _work("copy", "Transpose", elements=rows * columns * run * outer, run=run, axes=axes, rows=rows, columns=columns)
    return _in_bytes(work, point.number() < 0.2)


def _reorder(point: Point) -> Workload:
    name, pixels = point.pick("ReorderInput", "ReorderOutput"), point.pick(1, point.side() ** 2, point.size(1, 50_000))
    channels = point.blocked(16, 1536) if name == "ReorderInput" else point.width(4, 1536)
    return _work("copy", name, "NCHWc", elements=channels * pixels, run=1, axes=2, rows=channels, columns=pixels)


def _join(point: Point) -> Workload:
    name, parts, outer, run = (
        point.pick("Concat", "Concat", "Concat", "Split", "Split", "QLinearConcat"),
        point.pick(2, 2, 3, 4, 5, 8),
        point.pick(1, 1, point.size(1, 2000)),
        _elements(point),
    )
    run = max(1, min(run, 2_000_000 // (outer * parts)))
    return _work("copy", name, elements=outer * run * parts, run=run, parts=parts)


def _cut(point: Point) -> Workload:
    name, outer, run = point.pick("Slice", "Slice", "Pad", "Expand", "Cast"), point.pick(1, point.size(1, 4000)), point.size(1, 100_000)
    run = max(1, min(run, 4_000_000 // outer))
    if name == "Cast":
        return _work("copy", name, elements=outer * run, run=outer * run)
    return _work("copy", name, elements=outer * (run + 2 if name == "Pad" else run), run=run)


def _resize(point: Point) -> Workload:
    name, wide, rows = point.pick("Resize", "Resize", "Upsample", "SpaceToDepth"), 2 * point.size(1, 160), point.size(1, 2000)
    layout = "NCHWc" if name == "Upsample" else ""
    if name == "Upsample":
        return _work("copy", name, layout, elements=16 * max(1, rows // 64) * 4 * wide * wide, run=wide)
    if name == "Resize":
        return _work("copy", name, elements=4 * wide * wide * max(1, rows // wide), run=wide)
    return _work("copy", name, elements=wide * wide * max(1, rows // wide), run=wide)


def _gather(point: Point) -> Workload:
    return _work("gather", "Gather", rows=point.size(2, 50_000), width=point.width(1, 1024), indices=point.size(1, 4096))


def _grid(point: Point) -> tuple[int, int]:
    rows, columns = point.usual(1, 16_384), point.usual(2, 16_384)
    return (max(1, 3_000_000 // columns) if rows * columns > 3_000_000 else rows), columns


def _softmax(point: Point) -> Workload:
    rows, columns = _grid(point)
    return _work("softmax", point.pick("Softmax", "Softmax", "LogSoftmax"), rows=rows, columns=columns)


def _layer_norm(point: Point) -> Workload:
    rows, columns = _grid(point)
    name = point.pick(
        "LayerNormalization", "LayerNormalization", "SkipLayerNormalization", "SimplifiedLayerNormalization", "SkipSimplifiedLayerNormalization"
    )
    return _work("normalisation", name, rows=rows, columns=columns, weights=1 if "Simplified" in name else 2)


def _channel_norm(point: Point) -> Workload:
    rows, columns = _grid(point)
    return _work("normalisation", point.pick("BatchNormalization", "BatchNormalization", "LRN", "InstanceNormalization"), rows=rows, columns=columns)


def _reduction(point: Point) -> Workload:
    rows, columns = _grid(point)
    name = point.pick("ReduceMean", "ReduceMean", "ReduceMean", "ReduceSum", "ReduceMax", "ReduceL2", "ArgMax")
    return _work("reduction", name, rows=rows, columns=columns, inner=1)


def _strided_reduction(point: Point) -> Workload:
    """Over an axis that is not the last."""
    name, inner, outer = point.pick("ReduceMean", "ReduceMean", "ReduceSum", "ReduceMax"), point.usual(2, 512), point.usual(1, 1024)
    columns = min(point.usual(2, 4096), max(2, 3_000_000 // (inner * outer)))
    return _work("reduction", name, rows=outer * inner, columns=columns, inner=inner)


def _global_pool(point: Point) -> Workload:
    name, layout, side = (
        point.pick("GlobalAveragePool", "GlobalAveragePool", "GlobalMaxPool"),
        point.pick("", "", "NCHWc", "NCHWc", "NHWC"),
        point.side(),
    )
    channels = point.blocked(16, 1536) if layout == "NCHWc" else point.width(4, 1536)
    if layout == "NHWC":
        return _work("reduction", "QLinearGlobalAveragePool", layout, rows=channels, columns=side * side, inner=channels)
    return _work("reduction", name, layout, rows=channels, columns=side * side)


def _call(point: Point) -> Workload:
    return _work("call", "", nodes=point.size(1, 256))


FORMS: tuple[Form, ...] = (
    _form("blocked convolution", 8, _blocked_convolution), _form("blocked depthwise", 2.5, _blocked_depthwise),
    _form("grouped convolution", 1.5, _grouped_convolution), _form("plain convolution", 4, _plain_convolution),
    _form("transposed convolution", 1, _transposed_convolution), _form("integer convolution", 2.5, _whole_convolution("ConvInteger")),
    _form("quantised convolution", 2.5, _whole_convolution("QLinearConv")), _form("pooling", 2, _pooling), _form("product", 4, _matmul),
    _form("product of two results", 2.5, _changing), _form("fully connected", 3, _gemm),
    _form("integer product", 3, _quantised_gemm("MatMulInteger", "MatMulIntegerToFloat", "DynamicQuantizeMatMul")),
    _form("quantised product", 2, _quantised_gemm("QLinearMatMul", "QGemm")), _form("four-bit product", 1, _four_bits),
    _form("recurrent", 1.5, _recurrent), _form("one operand", 3, _unary), _form("two operands", 4, _binary), _form("quantising", 1.5, _quantising),
    _form("transposition", 2.5, _transpose), _form("change of layout", 1.5, _reorder), _form("join", 1.5, _join), _form("cut", 1.5, _cut),
    _form("resize", 1, _resize), _form("look-up", 1, _gather), _form("softmax", 1.5, _softmax), _form("layer norm", 1.5, _layer_norm),
    _form("channel norm", 1.5, _channel_norm), _form("reduction", 1.5, _reduction),
    _form("strided reduction", 1.5, _strided_reduction), _form("global pooling", 1, _global_pool), _form("call", 0.5, _call),
)  # fmt: skip


def form_of(name: str) -> Form:
    """The form of that name; KeyError if there is none."""
    return {form.name: form for form in FORMS}[name]
