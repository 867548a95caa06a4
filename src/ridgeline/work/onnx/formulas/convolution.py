"""Convolutions: 2 FLOPs for every tap of every result.

Forward: 2 · (Cin ÷ g) · Πkernel · N · Cout · Πout, read off as 2 × results × elements of the weight ÷ Cout, which holds for any rank, grouping,
stride, dilation and padding, auto_pad included, because the output shape already carries them. Taps that fall on the padding are counted, as the
standard formula does; a kernel may skip them. Transposed: every input element meets every tap, 2 · N · Cin · Πin · (Cout ÷ g) · Πkernel, cropped
positions included. The bias, a sum that is fused in and a fused activation are not counted: one cheap operation a result.
The NCHWc kernels of onnxruntime pad channels up to the vector width; what is padded is not useful work and not counted.
Source: ONNX Operators.md, Conv, ConvTranspose, DeformConv; ContribOperators.md, FusedConv.
"""

from __future__ import annotations

import math

from ridgeline.core import Precision

from ..formula import Work, formula
from ..node import Node, Unknown, Value

__all__ = ["forward", "transposed"]


def forward(node: Node, weight: Value, precision: Precision = "any") -> Work:
    """2 × results × Cin ÷ g × kernel, with the weight as (Cout, Cin ÷ g, kernel)."""
    taps = math.prod(weight.dims[1:])
    return Work(group="convolution", flop=2.0 * node.output().numel * taps, engine="fma", precision=precision)


@formula("Conv ms:FusedConv nchwc:Conv nhwc:Conv ms:NhwcConv ms:NhwcFusedConv")
def _conv(node: Node) -> Work:
    return forward(node, node.input(1))


def transposed(node: Node, weight: Value, precision: Precision = "any") -> Work:
    """2 × elements of the input × Cout ÷ g × kernel, with the weight as (Cin, Cout ÷ g, kernel)."""
    taps = math.prod(weight.dims[1:])
    return Work(group="convolution", flop=2.0 * node.input(0).numel * taps, engine="fma", precision=precision)


@formula("ConvTranspose ms:ConvTransposeWithDynamicPads nhwc:ConvTranspose")
def _transposed(node: Node) -> Work:
    return transposed(node, node.input(1))


@formula("DeformConv")
def _deformable(node: Node) -> Work:
    """The products alone; each tap is sampled between four neighbours first, which is a gather and not counted."""
    work = forward(node, node.input(1))
    return Work(group=work.group, flop=work.flop, engine="fma", reason="sampling of the taps not counted")


@formula("CausalConvWithState ms:CausalConvWithState")
def _causal(node: Node) -> Work:
    """Depthwise over time: one tap a kernel position for each result."""
    weight = node.input(1)
    if len(weight.dims) < 2:
        raise Unknown("the weight of a causal convolution needs a kernel dimension")
    return forward(node, weight)
