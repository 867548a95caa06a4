"""Convolutions and pooling: plain, in onnxruntime's blocked layout, transposed, and in eight bits, there also with channels last.

Stride is the size of the image by that of the result, padding what the result then lacks: other pairs with the same sizes do the same work.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ridgeline.core import UsageError, Workload

from .nodes import BLOCKED, MICROSOFT, Node, Operand, constant, operand, weights

__all__ = ["convolution", "pooling"]

#: Numbers that an activation needs.
_PARAMETERS = {"HardSigmoid": [0.2, 0.5], "LeakyRelu": [0.01], "Clip": [0.0, 6.0]}


def convolution(work: Workload) -> Node:
    """A node with the sizes n, c, h, w → k, p, q by filters r × s in groups."""
    name = work.variant.partition("+")[0]
    if name in ("ConvInteger", "QLinearConv"):
        return _whole(work, name)
    if name == "ConvTranspose":
        return _transposed(work)
    size = {"n": 1, "r": 1, "s": 1, "groups": 1, **work.sizes}
    image, result = (size["n"], size["c"], size["h"], size["w"]), (size["n"], size["k"], size["p"], size["q"])
    activation = next((part for part in work.variant.split("+")[1:] if part != "Sum"), "")
    added = "Sum" in work.variant.split("+")
    blocked = work.layout == "NCHWc"
    fused: dict[str, Any] = {"activation": activation} if activation else {}
    if activation in _PARAMETERS:
        fused["activation_params"] = _PARAMETERS[activation]
    operands = [operand(*image), weights(size["k"], size["c"] // size["groups"], size["r"], size["s"]), weights(size["k"])]
    kind = "Conv" if blocked or not (fused or added) else "FusedConv"
    domain = BLOCKED if blocked else MICROSOFT if kind == "FusedConv" else ""
    return Node(kind, (*operands, *((operand(*result),) if added else ())), ((result, "float32"),), domain, window(size) | fused)


def window(size: Mapping[str, int], *, dilated: bool = True) -> dict[str, Any]:
    """Attributes of a window that leads from (h, w) to (p, q)."""
    strides, before, behind = [], [], []
    for along, out, taps in (("h", "p", "r"), ("w", "q", "s")):
        stride = max(1, round(size[along] / size[out]))
        short = max(0, (size[out] - 1) * stride + size[taps] - size[along])
        if (size[along] + short - size[taps]) // stride + 1 != size[out]:
            raise UsageError(
                f"a window of {size[taps]} from {size[along]} to {size[out]}", found=f"none at stride {stride}", remedy="give sizes that go"
            )
        strides.append(stride)
        before.append(short // 2)
        behind.append(short - short // 2)
    found = {"kernel_shape": [size["r"], size["s"]], "strides": strides, "pads": [*before, *behind]}
    return found | ({"dilations": [1, 1], "group": size["groups"]} if dilated else {})


def _transposed(work: Workload) -> Node:
    """Whose sizes are those of the convolution that it is the gradient of: (n, k, p, q) is what comes in."""
    size = {"n": 1, "r": 1, "s": 1, "groups": 1, **work.sizes}
    strides = [max(1, round(size["h"] / size["p"])), max(1, round(size["w"] / size["q"]))]
    image, result = (size["n"], size["k"], size["p"], size["q"]), (size["n"], size["c"], size["h"], size["w"])
    filters = weights(size["k"], size["c"] // size["groups"], size["r"], size["s"])
    attributes = {"kernel_shape": [size["r"], size["s"]], "strides": strides, "group": size["groups"], "output_shape": [size["h"], size["w"]]}
    return Node("ConvTranspose", (operand(*image), filters, weights(size["c"])), ((result, "float32"),), "", attributes)


def _whole(work: Workload, name: str) -> Node:
    size = {"n": 1, "r": 1, "s": 1, "groups": 1, **work.sizes}
    image, result = (size["n"], size["c"], size["h"], size["w"]), (size["n"], size["k"], size["p"], size["q"])
    filters = (size["k"], size["c"] // size["groups"], size["r"], size["s"])
    attributes = window(size)
    if name == "ConvInteger":
        operands: tuple[Operand, ...] = (
            operand(*image, dtype="uint8"), weights(*filters, dtype="uint8"), constant(128, "uint8"), constant(128, "uint8"),
        )  # fmt: skip
        return Node(name, operands, ((result, "int32"),), "", attributes)
    scale = (constant(0.05), constant(0, "uint8"))
    per_filter = (constant(0.01), constant(0, "int8"))
    last = work.layout == "NHWC"
    image, result = (_last(image), _last(result)) if last else (image, result)
    operands = (operand(*image, dtype="uint8"), *scale, weights(*filters, dtype="int8"), *per_filter, *scale, weights(size["k"], dtype="int32"))
    return Node(name, operands, ((result, "uint8"),), MICROSOFT if last else "", attributes | ({"channels_last": 1} if last else {}))


def _last(shape: tuple[int, int, int, int]) -> tuple[int, int, int, int]:
    """A shape with its channels last."""
    return shape[0], shape[2], shape[3], shape[1]


def pooling(work: Workload) -> Node:
    """A node that takes windows r × s of an image."""
    size = {"n": 1, "r": 1, "s": 1, **work.sizes}
    image, result = (size["n"], size["c"], size["h"], size["w"]), (size["n"], size["c"], size["p"], size["q"])
    attributes = window(size, dilated=False)
    if work.layout == "NHWC":
        scales = (constant(0.05), constant(0, "uint8")) * 2 if work.variant == "QLinearAveragePool" else ()
        said = {"channels_last": 1} if scales else {}
        return Node(work.variant, (operand(*_last(image), dtype="uint8"), *scales), ((_last(result), "uint8"),), MICROSOFT, attributes | said)
    domain, dtype = BLOCKED if work.layout == "NCHWc" else "", "uint8" if work.precision == "int8" else "float32"
    return Node(work.variant, (operand(*image, dtype=dtype),), ((result, dtype),), domain, attributes)
