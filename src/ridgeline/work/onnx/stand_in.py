"""Standard operators of the same shapes in the place of those that onnx's inference knows nothing of, so that it does not end there.

This module decides which: what onnxruntime writes into an optimised model (`com.microsoft`, `com.microsoft.nchwc`, `com.ms.internal.nhwc`, and the
operators that it adds to the standard domain). It works on the shadow of a model that only serves inference: a stand-in has the shapes and types of
what it stands for, not its values, and carries `MARK` so that nothing evaluates it. What has no stand-in stays, and its results stay unknown.

Tensors of the blocked layout keep their logical shape (N, C, H, W), with C padded to the block; which block, the weights say (`_padded`).
Source: ContribOperators.md of onnxruntime; onnxruntime/core/graph/contrib_ops (nchwc_schema_defs.cc) and core/optimizer/nchwc_transformer.cc.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import count
from typing import Any

from .model import Model, bodies

__all__ = ["MARK", "stand_in"]

#: `doc_string` of a stand-in.
MARK = "\0stand-in"

_MS, _BLOCKED, _CHANNELS_LAST = "com.microsoft", "com.microsoft.nchwc", "com.ms.internal.nhwc"
#: Domain of functions that are made here.
_OWN = "stand-in"
_FLOAT = 1
_EINSUM_SINCE = 12
_TO_LAST, _TO_SECOND = (0, 2, 3, 1), (0, 3, 1, 2)


class _Place:
    """Where the stand-ins of one graph are made: names and constants of their own."""

    def __init__(self, model: Model, graph: Any, numbers: Iterator[int]) -> None:
        main = model.graph
        self._model, self._main, self._graph, self._numbers = model, main, graph, numbers
        self.opset = max((int(opset.version) for opset in model.opset_import if opset.domain in ("", "ai.onnx")), default=1)
        self.dims = {tensor.name: tuple(tensor.dims) for tensor in graph.initializer}
        self.dims |= {value.name: _fixed(value) for value in main.input}

    def name(self) -> str:
        """A name that no value has."""
        return f"{MARK}/{next(self._numbers)}"

    def shaped(self, *dims: int) -> str:
        """A value of that shape and of no content."""
        value = self._main.input.add()
        value.name = self.name()
        value.type.tensor_type.elem_type = _FLOAT
        for dim in dims:
            value.type.tensor_type.shape.dim.add().dim_value = dim
        return str(value.name)

    def integers(self, numbers: Sequence[int]) -> str:
        """A constant vector."""
        import onnx.helper

        tensor = onnx.helper.make_tensor(self.name(), 7, [len(numbers)], list(numbers))
        self._graph.initializer.append(tensor)
        return str(tensor.name)

    def einsum(self, equation: str, inputs: Sequence[str], outputs: Sequence[str]) -> Any:
        """Where the model is older than the operator, as a function, which has an opset of its own."""
        import onnx.helper

        if self.opset >= _EINSUM_SINCE:
            return _made("Einsum", inputs, outputs, equation=equation)
        name = f"Einsum {equation}"
        if all(function.name != name for function in self._model.functions):
            body = [_made("Einsum", ("a", "b"), ("c",), equation=equation)]
            opset = onnx.helper.make_opsetid("", _EINSUM_SINCE)
            self._model.functions.append(onnx.helper.make_function(_OWN, name, ["a", "b"], ["c"], body, [opset]))
            self._model.opset_import.append(onnx.helper.make_opsetid(_OWN, 1))
        return _made(name, inputs, outputs, domain=_OWN)

    def readers(self, name: str) -> list[Any]:
        """Nodes of this graph that read a value."""
        return [node for node in self._graph.node if name in node.input]


def _fixed(value: Any) -> tuple[int, ...]:
    return tuple(int(dim.dim_value) for dim in value.type.tensor_type.shape.dim)


_Maker = Callable[[Any, _Place], "list[Any] | None"]
_MAKERS: dict[tuple[str, str], _Maker] = {}


def stand_in(shadow: Model) -> None:
    """Put stand-ins into the graph of a model and its bodies; in place."""
    _graph(shadow, shadow.graph, count())


def _graph(model: Model, graph: Any, numbers: Iterator[int]) -> None:
    place = _Place(model, graph, numbers)
    kept: list[Any] = []
    for node in graph.node:
        for _, body in bodies(node):
            _graph(model, body, numbers)
        maker = _MAKERS.get(("" if node.domain == "ai.onnx" else node.domain, node.op_type))
        made = maker(node, place) if maker is not None else None
        kept.extend(_marked(node, made) if made is not None else [_copy(node)])
    del graph.node[:]
    graph.node.extend(kept)


def _marked(node: Any, made: list[Any]) -> list[Any]:
    for number, each in enumerate(made):
        each.name, each.doc_string = f"{node.name}{MARK}{number}", MARK
    return made


def _copy(node: Any) -> Any:
    copy = type(node)()
    copy.CopyFrom(node)
    return copy


def _made(kind: str, inputs: Sequence[str], outputs: Sequence[str], **attributes: Any) -> Any:
    import onnx.helper

    return onnx.helper.make_node(kind, list(inputs), list(outputs), **attributes)


def _makes(domain: str, kinds: str) -> Callable[[_Maker], _Maker]:
    def register(maker: _Maker) -> _Maker:
        _MAKERS.update({(domain, kind): maker for kind in kinds.split()})
        return maker

    return register


def _integer(node: Any, name: str, default: int = 0) -> int:
    return next((int(attribute.i) for attribute in node.attribute if attribute.name == name), default)


def _integers(node: Any, name: str) -> tuple[int, ...]:
    return next((tuple(attribute.ints) for attribute in node.attribute if attribute.name == name), ())


def _as(node: Any, kind: str, inputs: Sequence[str], outputs: Sequence[str]) -> Any:
    """An operator of another kind with the same attributes."""
    made = _made(kind, inputs, outputs)
    made.attribute.extend(node.attribute)
    return made


# ── the shape of an operand ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

_NORMALISATIONS = "SimplifiedLayerNormalization GroupNormalization MeanVarianceNormalization"


@_makes("", _NORMALISATIONS)
@_makes(_MS, "Gelu QuickGelu BiasGelu FastGelu BiasAdd BiasSoftmax GroupNorm Trilu Inverse RotaryEmbedding GemmaRotaryEmbedding")
@_makes(_MS, "QLinearSigmoid QLinearLeakyRelu QLinearSoftmax BiasSplitGelu")
def _like_first(node: Any, place: _Place) -> list[Any] | None:
    if node.op_type == "BiasSplitGelu":
        return None  # half as wide
    return [_made("Identity", node.input[:1], node.output[:1])]


@_makes("", "LayerNormalization")
def _layer_norm(node: Any, place: _Place) -> list[Any] | None:
    """Standard from opset 17 on; onnxruntime writes it into older models as well."""
    return None if place.opset >= 17 else _like_first(node, place)


@_makes(_MS, "SkipLayerNormalization SkipSimplifiedLayerNormalization SkipGroupNorm")
def _skip(node: Any, place: _Place) -> list[Any]:
    """The result, and behind two statistics or none the sum, as the first operand."""
    sums = [node.output[0], *(node.output[1:2] if node.op_type == "SkipGroupNorm" else node.output[3:4])]
    return [_made("Identity", node.input[:1], [name]) for name in sums if name]


@_makes(_MS, "QLinearAdd QLinearMul")
def _broadcast(node: Any, place: _Place) -> list[Any]:
    return [_made("Add", (node.input[0], node.input[3]), node.output)]


@_makes(_MS, "QLinearWhere")
def _where(node: Any, place: _Place) -> list[Any]:
    return [_made("Where", (node.input[0], node.input[1], node.input[4]), node.output)]


@_makes(_MS, "QLinearConcat")
def _concat(node: Any, place: _Place) -> list[Any]:
    return [_made("Concat", node.input[2::3], node.output, axis=_integer(node, "axis"))]


@_makes(_MS, "QuantizeLinear DequantizeLinear")
def _same_kind(node: Any, place: _Place) -> list[Any] | None:
    return [_as(node, node.op_type, node.input, node.output)] if place.opset >= 10 else None


@_makes(_MS, "QLinearReduceMean")
def _mean(node: Any, place: _Place) -> list[Any]:
    axes, keep = _integers(node, "axes"), _integer(node, "keepdims", 1)
    if place.opset < 18 or not axes:
        return [_made("ReduceMean", node.input[:1], node.output, keepdims=keep, **({"axes": axes} if axes else {}))]
    return [_made("ReduceMean", (node.input[0], place.integers(axes)), node.output, keepdims=keep)]


@_makes(_MS, "EmbedLayerNormalization QEmbedLayerNormalization")
def _embedding(node: Any, place: _Place) -> list[Any]:
    """A row of the table of words for each of the ids, in floating point."""
    made = []
    for name in (node.output[0], *node.output[2:3]):
        if name and node.op_type.startswith("Q"):
            rows = place.name()
            made += [_made("Gather", (node.input[2], node.input[0]), (rows,)), _made("Cast", (rows,), (name,), to=_FLOAT)]
        elif name:
            made.append(_made("Gather", (node.input[2], node.input[0]), (name,)))
    return made


# ── products ────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────


@_makes(_MS, "FusedMatMul TransposeMatMul")
def _product(node: Any, place: _Place) -> list[Any] | None:
    sides = [(_integer(node, f"trans{side}"), _integer(node, f"transBatch{side}")) for side in "AB"]
    if not any(any(side) for side in sides):
        return [_made("MatMul", node.input[:2], node.output)]
    plain = [len(place.dims.get(name, ())) == 2 for name in node.input[:2]]
    left, right = (_term(letters, *side, matrix) for letters, side, matrix in zip(("ij", "jk"), sides, plain, strict=True))
    return [place.einsum(f"{left},{right}->{'' if all(plain) else '...'}ik", node.input[:2], node.output)]


def _term(letters: str, transposed: int, between: int, matrix: bool) -> str:
    """Dots stand for the batch, which `transBatch` puts between the two others; the inference wants none where there is none."""
    first, second = (letters[1], letters[0]) if transposed else (letters[0], letters[1])
    batch = "" if matrix else "..."
    return f"{first}{batch}{second}" if between else f"{batch}{first}{second}"


@_makes(_MS, "FusedGemm")
def _gemm(node: Any, place: _Place) -> list[Any]:
    return [_made("Gemm", node.input[:2], node.output, transA=_integer(node, "transA"), transB=_integer(node, "transB"))]


@_makes(_MS, "QGemm")
def _quantised_gemm(node: Any, place: _Place) -> list[Any]:
    """In eight bits where the result has a scale, else in floating point."""
    result = node.output[0] if len(node.input) > 7 and node.input[7] else place.name()
    made = [_made("Gemm", (node.input[0], node.input[3]), (result,), transA=_integer(node, "transA"), transB=_integer(node, "transB"))]
    return made if result == node.output[0] else [*made, _made("Cast", (result,), node.output, to=_FLOAT)]


@_makes(_MS, "DynamicQuantizeMatMul")
def _dynamic_product(node: Any, place: _Place) -> list[Any]:
    return [_made("MatMul", node.input[:2], node.output)]


@_makes(_MS, "MatMulIntegerToFloat")
def _product_to_float(node: Any, place: _Place) -> list[Any]:
    result = place.name()
    return [_made("MatMul", node.input[:2], (result,)), _made("Cast", (result,), node.output, to=_FLOAT)]


@_makes(_MS, "MatMulNBits MatMulBnb4 MatMulFpQ4")
def _packed_product(node: Any, place: _Place) -> list[Any] | None:
    inner, columns = _integer(node, "K"), _integer(node, "N")
    return [_made("MatMul", (node.input[0], place.shaped(inner, columns)), node.output)] if inner > 0 and columns > 0 else None


@_makes(_MS, "Attention QAttention")
def _attention(node: Any, place: _Place) -> list[Any] | None:
    """(B, S, I) times the weights' part that makes values; the keys that are kept for the next step stay unknown."""
    weights = place.dims.get(node.input[1], ()) if len(node.input) > 1 else ()
    sizes = _integers(node, "qkv_hidden_sizes") or (0, 0, weights[1] // 3 if len(weights) == 2 else 0)
    if len(weights) != 2 or len(sizes) != 3 or min(*weights, sizes[2]) <= 0:
        return None
    made, source = [], node.input[0]
    if node.op_type == "QAttention":  # of eight bits in, of floating point out
        source = place.name()
        made.append(_made("Cast", node.input[:1], (source,), to=_FLOAT))
    return [*made, _made("MatMul", (source, place.shaped(weights[0], sizes[2])), node.output[:1])]


@_makes(_MS, "MultiHeadAttention")
def _multi_head(node: Any, place: _Place) -> list[Any] | None:
    """(B, S, E), (B, L, E), (B, L, V) → (B, S, V); packed forms stay unknown."""
    if len(node.input) < 3 or not (node.input[1] and node.input[2]):
        return None
    keys, scores = place.name(), place.name()
    return [
        _made("Transpose", (node.input[1],), (keys,), perm=(0, 2, 1)), _made("MatMul", (node.input[0], keys), (scores,)),
        _made("MatMul", (scores, node.input[2]), node.output[:1]),
    ]  # fmt: skip


@_makes(_MS, "GroupQueryAttention")
def _grouped(node: Any, place: _Place) -> list[Any] | None:
    return _like_first(node, place) if len(node.input) > 1 and node.input[1] else None


@_makes(_MS, "DynamicQuantizeLSTM")
def _recurrent(node: Any, place: _Place) -> list[Any]:
    kept = [attribute for attribute in node.attribute if attribute.name in ("hidden_size", "direction")]
    made = _made("LSTM", node.input[:3], node.output)
    made.attribute.extend(kept)
    return [made]


# ── convolutions and pooling ────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

_WINDOW = ("auto_pad", "ceil_mode", "count_include_pad", "dilations", "group", "kernel_shape", "pads", "strides")


def _windowed(node: Any, kind: str, inputs: Sequence[str], outputs: Sequence[str]) -> Any:
    made = _made(kind, inputs, outputs)
    made.attribute.extend(attribute for attribute in node.attribute if attribute.name in _WINDOW)
    return made


@_makes(_MS, "FusedConv")
@_makes(_BLOCKED, "Conv")
def _conv(node: Any, place: _Place) -> list[Any]:
    return [_windowed(node, "Conv", node.input[:2], node.output)]


@_makes(_BLOCKED, "MaxPool AveragePool GlobalMaxPool GlobalAveragePool")
def _pool(node: Any, place: _Place) -> list[Any]:
    return [_windowed(node, node.op_type, node.input[:1], node.output)]


@_makes(_BLOCKED, "Upsample")
def _upsample(node: Any, place: _Place) -> list[Any] | None:
    scales = _integers(node, "scales")
    return [_made("Tile", (node.input[0], place.integers(scales)), node.output)] if len(scales) == 4 else None


@_makes(_BLOCKED, "ReorderInput")
def _reorder_input(node: Any, place: _Place) -> list[Any]:
    """Channels as the convolutions behind it have them; without one they fill the block, for onnxruntime pools nothing else in this layout."""
    made, source = [], node.input[0]
    if _integer(node, "channels_last"):
        source = place.name()
        made.append(_made("Transpose", node.input[:1], (source,), perm=_TO_SECOND))
    channels = _padded(node.output[0], place)
    # Of the weights the inference looks at the first dimension and the window alone.
    last = _made("Conv", (source, place.shaped(channels, 1, 1, 1)), node.output) if channels else _made("Identity", (source,), node.output)
    return [*made, last]


def _padded(name: str, place: _Place) -> int:
    for reader in place.readers(name):
        weights = place.dims.get(reader.input[1], ()) if len(reader.input) > 1 else ()
        if (reader.domain, reader.op_type, reader.input[0]) == (_BLOCKED, "Conv", name) and len(weights) == 4:
            return int(weights[1]) * _integer(reader, "group", 1)
    return 0


@_makes(_BLOCKED, "ReorderOutput")
def _reorder_output(node: Any, place: _Place) -> list[Any] | None:
    channels = _integer(node, "channels")
    if channels <= 0:
        return None
    weights = place.shaped(channels, 1, 1, 1)
    if not _integer(node, "channels_last"):
        return [_made("Conv", (node.input[0], weights), node.output)]
    cut = place.name()
    return [_made("Conv", (node.input[0], weights), (cut,)), _made("Transpose", (cut,), node.output, perm=_TO_LAST)]


def _channels_last(node: Any, place: _Place, kind: str, inputs: Sequence[str]) -> list[Any]:
    """An operator on images that have their channels last: the first operand and the result turned round."""
    source, result = place.name(), place.name()
    return [
        _made("Transpose", inputs[:1], (source,), perm=_TO_SECOND), _windowed(node, kind, (source, *inputs[1:]), (result,)),
        _made("Transpose", (result,), node.output[:1], perm=_TO_LAST),
    ]  # fmt: skip


@_makes(_MS, "NhwcMaxPool NhwcConv NhwcFusedConv")
@_makes(_CHANNELS_LAST, "Conv ConvTranspose MaxPool AveragePool GlobalMaxPool GlobalAveragePool QLinearConv")
def _last(node: Any, place: _Place) -> list[Any]:
    kind = node.op_type.removeprefix("Nhwc").removeprefix("Fused")
    operands = {"Conv": 2, "ConvTranspose": 2, "QLinearConv": 8}.get(kind, 1)
    return _channels_last(node, place, kind, node.input[:operands])


@_makes(_MS, "QLinearConv")
def _quantised_conv(node: Any, place: _Place) -> list[Any]:
    if _integer(node, "channels_last"):
        return _channels_last(node, place, "QLinearConv", node.input[:8])
    return [_windowed(node, "QLinearConv", node.input, node.output)]


@_makes(_MS, "QLinearAveragePool QLinearGlobalAveragePool")
def _quantised_pool(node: Any, place: _Place) -> list[Any]:
    kind = node.op_type.removeprefix("QLinear")
    if _integer(node, "channels_last"):
        return _channels_last(node, place, kind, node.input[:1])
    return [_windowed(node, kind, node.input[:1], node.output)]
