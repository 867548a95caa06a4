"""Fourier transforms, by the nominal count: 5·N·log2 N FLOPs for a complex transform of length N, half of that for a real one.

It is what the transform is usually charged, not what an algorithm really does.
Source: Frigo and Johnson, "The Design and Implementation of FFTW3", Proc. IEEE 93(2), 2005, section on benchmarks; ONNX Operators.md, DFT, STFT.
"""

from __future__ import annotations

import math

from ..formula import Work, formula
from ..node import Node, Unknown

__all__: list[str] = []


def _nominal(transforms: float, length: int, real: bool) -> Work:
    flop = 5.0 * transforms * length * math.log2(max(2, length))
    return Work(group="other", flop=flop / 2 if real else flop, engine="fma", reason="nominal 5·N·log2 N")


@formula("DFT")
def _dft(node: Node) -> Work:
    """Input (…, N, 1 or 2); the last dimension tells real from complex."""
    source = node.input(0).dims
    axis_input = node.optional(2)
    axis = int(axis_input.content[0]) if axis_input is not None and axis_input.content else node.integer("axis", 1 if len(source) > 2 else -2)
    given = node.optional(1)
    if given is not None and given.content:
        length = int(given.content[0])
    else:
        length = max(source[axis], 0 if node.integer("onesided", 0) else node.output().dims[axis])
    return _nominal(math.prod(source[:-1]) / max(1, source[axis]), length, source[-1] == 1)


@formula("STFT")
def _stft(node: Node) -> Work:
    """Output (B, frames, bins, 2); the window or frame_length gives N."""
    result = node.output().dims
    window, frame = node.optional(2), node.optional(3)
    if frame is not None and frame.content:
        length = int(frame.content[0])
    elif window is not None:
        length = window.numel
    else:
        raise Unknown("the frame length of STFT is not known")
    return _nominal(float(result[0] * result[1]), length, node.input(0).dims[-1] == 1 or len(node.input(0).dims) == 2)
