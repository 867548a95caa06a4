"""Channels that a tensor of onnxruntime's blocked layout really has: in it they are padded to the block, which is no useful work.

The file says the real number only here and there: behind a reorder, before one, beside a bias that did not have to be padded, and where tensors are
joined, which onnxruntime does to whole blocks alone. This module decides how that is carried along operators that keep the channels, and where
it stays open; then operations are counted as executed, and it is said.
Source: onnxruntime/core/optimizer/nchwc_transformer.cc.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from .formula import Work
from .node import Node, Unknown
from .nodes import Placed

__all__ = ["channels_of", "useful"]

_DOMAIN = "com.microsoft.nchwc"
_KEEPING = frozenset({"MaxPool", "AveragePool", "GlobalMaxPool", "GlobalAveragePool", "Upsample"})
# Names of its own that the layout's transformer gives to what it pads.
_PADDED = "reorder"


class _Same:
    """Values that have the same channels, joined as they are met."""

    def __init__(self) -> None:
        self._next: dict[str, str] = {}

    def first(self, name: str) -> str:
        while name in self._next:
            name = self._next[name]
        return name

    def join(self, one: str, other: str) -> None:
        one, other = self.first(one), self.first(other)
        if one != other:
            self._next[one] = other


def channels_of(nodes: list[Placed]) -> dict[str, int]:
    """Value in the blocked layout → the channels that it really has, where that is known."""
    same, found, blocked = _Same(), dict[str, int](), set[str]()
    for part in nodes:
        node = part.node
        names = {value.name for value in node.inputs if value is not None}
        result = node.written[0].name if node.written else ""
        if node.domain == _DOMAIN and node.kind == "ReorderOutput":
            found.update(dict.fromkeys(names, node.integer("channels", 0)))
        elif node.domain == _DOMAIN:
            blocked.add(result)
            _layout_node(node, result, same, found)
        elif blocked & names:
            _between(node, blocked & names, result, same, found)
            blocked.add(result)
    known = {same.first(name): channels for name, channels in found.items() if channels > 0}
    return {name: known[same.first(name)] for name in {*blocked, *found} if same.first(name) in known}


def _between(node: Node, names: set[str], result: str, same: _Same, found: dict[str, int]) -> None:
    """A standard operator that works on the layout as it is: pointwise, or one that joins whole blocks."""
    for name in names:
        if node.kind == "Concat":
            _whole(node, name, found)
        else:
            same.join(name, result)
    if node.kind == "Concat":
        _whole(node, result, found)


def _layout_node(node: Node, result: str, same: _Same, found: dict[str, int]) -> None:
    first = node.optional(0)
    if first is None:
        return
    if node.kind == "ReorderInput" and first.shape and len(first.shape) == 4:
        channels = first.shape[3 if node.attributes.get("channels_last") else 1]
        found[result] = channels if isinstance(channels, int) else 0
    elif node.kind in _KEEPING:
        same.join(first.name, result)
    elif node.kind == "Conv":
        _conv(node, result, same, found)


def _conv(node: Node, result: str, same: _Same, found: dict[str, int]) -> None:
    bias, added = node.optional(2), node.optional(3)
    if bias is not None and not bias.name.startswith(_PADDED):
        _whole(node, result, found)
    if added is not None:
        same.join(added.name, result)
    if _depthwise(node):
        same.join(node.input(0).name, result)


def _whole(node: Node, name: str, found: dict[str, int]) -> None:
    """Whole blocks: nothing is padded."""
    for value in (*node.inputs, *node.outputs):
        if value is not None and value.name == name and value.shape and len(value.shape) == 4 and isinstance(value.shape[1], int):
            found[name] = value.shape[1]


def _depthwise(node: Node) -> bool:
    weight = node.optional(1)
    groups = node.attributes.get("group", 1)
    return weight is not None and weight.shape is not None and weight.shape[:2] == (groups, 1) and groups > 1


def useful(node: Node, work: Work, channels: Mapping[str, int]) -> Work:
    """The work of a convolution in the blocked layout without the operations on channels that only pad; of any other node, its work as it is."""
    if node.domain != _DOMAIN or node.kind != "Conv" or work.flop is None:
        return work
    try:
        weight, image, result = node.input(1).dims, node.input(0), node.output()
        executed_in, executed_out = weight[1] * node.integer("group", 1), result.dims[1]
    except (Unknown, IndexError):
        return work
    # An image of few channels is read as it is; only tensors in the layout are padded.
    real_in = image.dims[1] if image.dims[1] < executed_in else channels.get(image.name, executed_in)
    real_out = channels.get(result.name, executed_out)
    shares = (real_out / executed_out,) if _depthwise(node) else (real_out / executed_out, real_in / executed_in)
    known = result.name in channels and (image.name in channels or _depthwise(node) or _unpadded(node, executed_in))
    share = 1.0
    for each in shares:
        share *= each
    return msgspec.structs.replace(work, flop=round(work.flop * share), reason="" if known else "channels that pad the block are counted")


def _unpadded(node: Node, executed: int) -> bool:
    """Whether the image is read in the usual layout, as the first convolution of a network does: then its channels are no multiple of a block."""
    return executed % 8 != 0
