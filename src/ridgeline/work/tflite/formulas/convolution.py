"""Convolutions: 2 FLOPs for every tap of every result; transposed ones: 2 for every tap of every input element.

Weights lie as (Cout, kh, kw, Cin ÷ groups), depthwise ones as (1, kh, kw, Cout), three-dimensional ones as (kd, kh, kw, Cin, Cout) and their
transposed as (kd, kh, kw, Cout, Cin). Taps that fall on the padding are counted, bias and a fused activation are not: one cheap operation a result.
Source: the kernels' shape checks, tensorflow/lite/kernels/conv.cc, depthwise_conv.cc, transpose_conv.cc, conv3d.cc, conv3d_transpose.cc.
"""

from __future__ import annotations

import math

from ..formula import Node, Work, formula

__all__: list[str] = []


def _work(flop: float) -> Work:
    return Work(group="convolution", flop=flop, engine="fma")


@formula("CONV_2D")
def _conv(node: Node) -> Work:
    return _work(2.0 * node.output().numel * math.prod(node.input(1).dims[1:]))


@formula("DEPTHWISE_CONV_2D")
def _depthwise(node: Node) -> Work:
    _, height, width, _ = node.input(1).dims
    return _work(2.0 * node.output().numel * height * width)


@formula("TRANSPOSE_CONV")
def _transposed(node: Node) -> Work:
    """Inputs are the shape of the result, the weights, and the data."""
    channels, height, width, _ = node.input(1).dims
    return _work(2.0 * node.input(2).numel * channels * height * width)


@formula("CONV_3D")
def _conv3d(node: Node) -> Work:
    *window, depth, _ = node.input(1).dims
    return _work(2.0 * node.output().numel * math.prod(window) * depth)


@formula("CONV_3D_TRANSPOSE")
def _transposed3d(node: Node) -> Work:
    *window, channels, _ = node.input(1).dims
    return _work(2.0 * node.input(2).numel * math.prod(window) * channels)
