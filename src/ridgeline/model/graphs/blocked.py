"""The blocked layout of onnxruntime on a CPU: which operators work in it, and the reorders at its borders.

This module decides for a graph of operators what onnxruntime's transformer decides: a convolution goes into the layout wherever its channels
allow, a pool where they fill the block, pointwise operators and joins where all that they read is in it already, and everything else reads what a
reorder brings back. Channels are padded to the block, so bytes are those of the padded tensors; operations stay the useful ones.
Source: onnxruntime/core/optimizer/nchwc_transformer.cc, release 1.32; the block is 16 with AVX-512 and 8 with AVX2.
"""

from __future__ import annotations

from collections.abc import Callable

from ridgeline.core import Op

from .rewriting import Net, Part, Shape
from .rules import ACTIVATIONS

__all__ = ["blocked_layout"]

_DOMAIN = "com.microsoft.nchwc:"
# A reorder works on groups of four channels.
_ALIGNED = 4
_POINTWISE = ACTIVATIONS | {"com.microsoft:QuickGelu", "com.microsoft:Gelu"}
_TO_LAST = "0,2,3,1"


def blocked_layout(net: Net, block: int) -> None:
    """Put what can be into the layout.

    Args:
        net: with activations joined to convolutions already.
        block: channels that stand together; a CPU without the layout has none, and then this must not be called.
    """
    layout = _Layout(net, block)
    for part in net.parts:
        change = _CHANGES.get(part.kind)
        if change is None or layout.image(part.result) is None or not change(layout, part):
            layout.bring_back(part)
    layout.end()


class _Layout:
    """Which values stand in the layout, and under which name."""

    def __init__(self, net: Net, block: int) -> None:
        self.net, self.block = net, block
        self.names: dict[str, str] = {}
        self._waiting: dict[str, Part] = {}

    def image(self, name: str) -> Shape | None:
        """The shape of four dimensions of a value in fp32."""
        shape = self.net.shape(name)
        return shape if shape is not None and len(shape) == 4 and self.net.tensors[name].dtype == "float32" else None

    def whole(self, name: str) -> bool:
        """Whether its channels fill blocks."""
        shape = self.image(name)
        return shape is not None and shape[1] % self.block == 0

    def padded(self, channels: int) -> int:
        return -(-channels // self.block) * self.block

    def named(self, name: str) -> str:
        """The name of a value in the layout; from here on it has one."""
        if name not in self.names:
            shape = self.image(name) or ()
            within = (shape[0], self.padded(shape[1]), *shape[2:])
            self.names[name] = self.net.tensor(name, f"{name}/blocked", within, f"NCHWc{self.block}")
        return self.names[name]

    def bring_in(self, name: str, reader: Part) -> str:
        """A value as an operator of the layout reads it, behind a reorder where it is not there yet."""
        if name in self.names:
            return self.names[name]
        inside = self.named(name)
        self.net.insert(_reorder("ReorderInput", name, inside), reader, after=False)
        return inside

    def bring_back(self, reader: Part) -> None:
        """A reorder in front of an operator that is not in the layout, for each value that is; one for all that read it."""
        for name in dict.fromkeys(reader.inputs):
            self._back(name, reader)

    def _back(self, name: str, reader: Part | None) -> None:
        maker = self._waiting.pop(name, None)
        if maker is not None:
            reorder = _reorder("ReorderOutput", self.names[name], name)
            shape = self.image(name)
            reorder.attributes["channels"] = str(shape[1]) if shape is not None else ""
            self.net.insert(reorder, reader or maker, after=reader is None)

    def end(self) -> None:
        """Results of the graph leave the layout."""
        for name in [name for name in self._waiting if self.net.is_end(name)]:
            self._back(name, None)

    def put(self, part: Part, kind: str, inputs: list[str]) -> None:
        """An operator of the layout, whose result is then in it."""
        result = part.result
        part.kind = kind
        self.net.absorb(part, [], inputs, [self.named(result)])
        self.wait(result, part)

    def within(self, name: str) -> bool:
        """Whether a value is in the layout."""
        return name in self.names

    def forget(self, name: str) -> None:
        """A value that is no more: what made it makes another."""
        self._waiting.pop(name, None)
        self.names.pop(name, None)

    def wait(self, name: str, maker: Part) -> None:
        """A value that is in the layout alone, until somebody else wants it."""
        self._waiting[name] = maker


def _reorder(kind: str, source: str, result: str) -> Part:
    group = {"group": "movement"}
    part = Part(Op(name=f"{result}/{kind}", kind=_DOMAIN + kind, inputs=(source,), outputs=(result,), flop=0.0, attributes=group))
    part.members = []
    return part


def _conv(layout: _Layout, part: Part) -> bool:
    net, image = layout.net, layout.image(part.inputs[0])
    weight = net.shape(part.inputs[1])
    if image is None or weight is None or len(weight) != 4 or len(part.inputs) > 3:
        return False
    if not all(net.constant(name) for name in part.inputs[1:] if name):
        return False
    groups = int(part.attributes.get("groups", "1") or 1)
    direct = groups == 1 and image[1] < layout.block
    if not direct and not _channels_fit(layout, image[1], weight, groups):
        return False
    if direct:
        layout.bring_back(part)
    source = part.inputs[0] if direct else layout.bring_in(part.inputs[0], part)
    filters = (layout.padded(weight[0]), weight[1] if direct or weight[1] == 1 else layout.padded(weight[1]), *weight[2:])
    kept = part.inputs[1] if filters == weight else net.tensor(part.inputs[1], f"{part.inputs[1]}/blocked", filters)
    layout.put(part, _DOMAIN + "Conv", [source, kept, *part.inputs[2:]])
    return True


def _channels_fit(layout: _Layout, channels: int, weight: Shape, groups: int) -> bool:
    if groups > 1 and not (weight[1] == 1 and weight[0] == groups):
        return weight[1] % layout.block == 0 and weight[0] // groups % layout.block == 0
    return channels % _ALIGNED == 0


def _pool(layout: _Layout, part: Part) -> bool:
    if not layout.whole(part.inputs[0]) or len([name for name in part.outputs if name]) != 1:
        return False
    if part.kind.startswith("Global") and not layout.within(part.inputs[0]):
        return False
    layout.put(part, _DOMAIN + part.kind, [layout.bring_in(part.inputs[0], part)])
    return True


def _scaled(layout: _Layout, part: Part) -> bool:
    """A normalisation or a factor for each channel is a convolution of one tap."""
    if part.kind == "BatchNormalization":
        source, constants = part.inputs[0], part.inputs[1:3]
    else:
        source, constants = (part.inputs[0], part.inputs[1:]) if layout.net.constant(part.inputs[1]) else (part.inputs[1], part.inputs[:1])
    shape = layout.image(source)
    if shape is None or not layout.within(source) or not layout.whole(source) or not all(map(layout.net.constant, constants)):
        return False
    if part.kind == "Mul" and layout.net.shape(constants[0]) not in ((shape[1], 1, 1), (1, shape[1], 1, 1)):
        return False
    part.attributes, part.work = {"group": "convolution", "groups": str(shape[1])}, ("convolution", "fma", 2.0)
    filters = layout.net.tensor(constants[0], f"{constants[0]}/blocked", (shape[1], 1, 1, 1))
    layout.put(part, _DOMAIN + "Conv", [layout.named(source), filters, *constants[1:]])
    return True


def _binary(layout: _Layout, part: Part) -> bool:
    """A sum goes into the convolution that made one of its operands, if that made it for nobody else."""
    if len(part.inputs) != 2 or not all(map(layout.within, part.inputs)):
        return part.kind == "Mul" and len(part.inputs) == 2 and any(map(layout.net.constant, part.inputs)) and _scaled(layout, part)
    if layout.image(part.inputs[0]) != layout.image(part.inputs[1]):
        return False
    net = layout.net
    for position in (0, 1) if part.kind != "Mul" else ():
        conv = net.maker(layout.names[part.inputs[position]])
        if conv is None or conv.kind != _DOMAIN + "Conv" or "activation" in conv.attributes or len(conv.inputs) > 3:
            continue
        if net.is_end(part.inputs[position]) or _read(layout, part.inputs[position]) != 1:
            continue
        other = layout.names[part.inputs[1 - position]]
        result = part.result
        layout.forget(part.inputs[position])
        net.absorb(conv, [part], [*conv.inputs, *([""] if len(conv.inputs) < 3 else []), other], [layout.named(result)])
        layout.wait(result, conv)
        return True
    layout.put(part, part.kind, [layout.names[name] for name in part.inputs])
    return True


def _read(layout: _Layout, name: str) -> int:
    """How often a value is read, in the layout and out of it."""
    return len(layout.net.readers(name)) + len(layout.net.readers(layout.names[name]))


def _pointwise(layout: _Layout, part: Part) -> bool:
    source = part.inputs[0]
    if not layout.within(source):
        return False
    conv = layout.net.maker(layout.names[source])
    fits = conv is not None and conv.kind == _DOMAIN + "Conv" and "activation" not in conv.attributes and part.kind in ACTIVATIONS
    if conv is None or not fits or layout.net.is_end(source) or _read(layout, source) != 1:
        layout.put(part, part.kind, [layout.names[source], *part.inputs[1:]])
        return True
    result = part.result
    conv.attributes["activation"] = part.kind
    layout.forget(source)
    layout.net.absorb(conv, [part], conv.inputs, [layout.named(result)])
    layout.wait(result, conv)
    return True


def _concat(layout: _Layout, part: Part) -> bool:
    if part.attributes.get("axis") not in ("1", "-3") or not all(layout.within(name) and layout.whole(name) for name in part.inputs):
        return False
    layout.put(part, part.kind, [layout.names[name] for name in part.inputs])
    return True


def _upsample(layout: _Layout, part: Part) -> bool:
    before, after = layout.image(part.inputs[0]), layout.image(part.result)
    if before is None or after is None or not layout.within(part.inputs[0]) or not layout.whole(part.inputs[0]):
        return False
    given, plain = part.attributes, {"mode": "nearest", "coordinate_transformation_mode": "asymmetric"}
    if (
        any(given.get(name, text) != text for name, text in plain.items())
        or before[1] != after[1]
        or any(large % small for small, large in zip(before[2:], after[2:], strict=True))
    ):
        return False
    layout.put(part, _DOMAIN + "Upsample", [layout.names[part.inputs[0]]])
    return True


def _transpose(layout: _Layout, part: Part) -> bool:
    """Channels last straight out of the layout."""
    if part.attributes.get("perm") != _TO_LAST or not layout.within(part.inputs[0]):
        return False
    part.kind = _DOMAIN + "ReorderOutput"
    part.attributes["channels_last"] = "1"
    layout.net.absorb(part, [], [layout.names[part.inputs[0]]], part.outputs)
    return True


_CHANGES: dict[str, Callable[[_Layout, Part], bool]] = {
    "Conv": _conv, "com.microsoft:FusedConv": _conv, "MaxPool": _pool, "AveragePool": _pool, "GlobalMaxPool": _pool, "GlobalAveragePool": _pool,
    "BatchNormalization": _scaled, "Add": _binary, "Sum": _binary, "Mul": _binary, "Concat": _concat, "Resize": _upsample, "Upsample": _upsample,
    "Transpose": _transpose, **dict.fromkeys(_POINTWISE, _pointwise),
}  # fmt: skip
