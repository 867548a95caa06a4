"""Operators that move or make data without computing: views, layout conversions, joins, fills, interpolation, random numbers.

A view (Reshape, Squeeze, Unsqueeze, Flatten, Identity) costs nothing: onnxruntime lets the result share the buffer. It copies where it cannot,
such as at the edge of a subgraph, which the bytes do not show. A slice, a split or a crop reads only what it hands on.
Source: ONNX Operators.md; ContribOperators.md for the reorders of the NCHWc layout.
"""

from __future__ import annotations

import math

from ..formula import Bytes, Work, bytes_read, formula
from ..node import Node, Unknown

__all__: list[str] = []


def _moved(node: Node, group: str = "movement", *, reads: Bytes | None = None, reason: str = "") -> Work:
    return Work(group=group, reads=reads, reason=reason)


def _nothing(node: Node, group: str, reason: str, writes: Bytes | None = None) -> Work:
    return Work(group=group, reads=(0,) * len(node.inputs), writes=writes if writes is not None else (0,) * len(node.outputs), reason=reason)


@formula("Reshape Squeeze Unsqueeze Flatten Identity Optional OptionalGetElement BitCast")
def _view(node: Node) -> Work:
    return _nothing(node, "view", "view")


@formula("Shape Size SequenceLength OptionalHasElement")
def _about(node: Node) -> Work:
    """Reads the description of a tensor, not the tensor."""
    return Work(group="view", reads=(0,) * len(node.inputs), reason="reads a shape, touches no data")


@formula("Constant")
def _constant(node: Node) -> Work:
    return _nothing(node, "view", "a constant, there before the run")


@formula(
    """
    Transpose nchwc:ReorderInput nchwc:ReorderOutput Cast CastLike Pad Concat Tile Expand DepthToSpace SpaceToDepth ReverseSequence CenterCropPad
    Trilu Col2Im Crop nhwc:DepthToSpace nhwc:SpaceToDepth ms:Pad ms:QLinearConcat ms:Trilu ms:ExpandDims ms:Tokenizer ms:RemovePadding
    ms:RestorePadding ml:FeatureVectorizer
    """
)
def _movement(node: Node) -> Work:
    return _moved(node)


@formula("MemcpyToHost MemcpyFromHost")
def _transfer(node: Node) -> Work:
    return _moved(node, "copy")


@formula("Slice Split SplitToSequence SequenceAt")
def _part(node: Node) -> Work:
    """Reads of its source what it hands on; onnxruntime copies it."""
    rest = bytes_read(node)[1:]
    taken: int | None
    try:
        taken = sum(value.size_bytes for value in node.written)
    except Unknown:
        taken = None
    return _moved(node, "copy", reads=(taken, *rest))


@formula("SequenceConstruct SequenceInsert SequenceErase SequenceEmpty ConcatFromSequence")
def _sequence(node: Node) -> Work:
    """onnxruntime copies the tensors of a sequence that it builds; those inside one have no shapes of their own here."""
    return _moved(node, "copy")


@formula("Resize Upsample nhwc:Resize nchwc:Upsample")
def _resize(node: Node) -> Work:
    """Nearest neighbour only moves; linear takes 2 and cubic 4 taps along every resized dimension, one multiply-add a tap.

    With `antialias` the taps along a dimension grow as it shrinks: taps × before ÷ after, rounded up. Read is what the taps touch.
    """
    mode = node.text("mode", "nearest")
    support = {"nearest": 1, "linear": 2, "bilinear": 2, "cubic": 4}.get(mode)
    if support is None:
        raise Unknown(f"resize mode {mode!r}")
    source, result = node.input(0), node.output()
    taps, touched = 1, 1
    for before, after in zip(source.dims, result.dims, strict=True):
        shrunk = node.integer("antialias", 0) and before > after > 0
        along = 1 if before == after else math.ceil(support * before / after) if shrunk else support
        taps *= along
        touched *= min(before, along * after)
    reads = (math.ceil(touched * source.item_bytes), *bytes_read(node)[1:])
    if mode == "nearest":
        return _moved(node, reads=reads)
    return Work(group="movement", flop=2.0 * taps * result.numel, engine="fma", reads=reads)


@formula("ConstantOfShape EyeLike Range ms:Range OneHot HannWindow HammingWindow BlackmanWindow MelWeightMatrix")
def _fill(node: Node) -> Work:
    rest = tuple(0 if node.kind == "EyeLike" else size for size in bytes_read(node))
    return Work(group="allocation", reads=rest, reason="fills its result")


@formula(
    """
    RandomNormal RandomNormalLike RandomUniform RandomUniformLike Multinomial Bernoulli
    """
)
def _random(node: Node) -> Work:
    return Work(group="random", flop=None, reason="random numbers have no ceiling of their own")


@formula("AffineGrid")
def _grid(node: Node) -> Work:
    """(N, …, d) coordinates, each d + 1 multiply-adds, less the constant one."""
    dims = node.output().dims
    return Work(group="movement", flop=2.0 * math.prod(dims) * dims[-1], engine="fma")


@formula("StringNormalizer StringConcat StringSplit RegexFullMatch TfIdfVectorizer ml:LabelEncoder ml:CategoryMapper ml:OneHotEncoder")
def _text(node: Node) -> Work:
    return Work(group="other", flop=None, reason="how long texts are is data")
