"""Convolutions: 2 × batch × sites × elements of the weight, where the sites are those of the result (of the input, if transposed).

The weight is (Cout, Cin ÷ groups, *kernel), or (Cin, Cout ÷ groups, *kernel) if transposed, so one formula holds for grouped, depthwise, dilated and
strided convolutions. Multiplications with padding are counted, as in 2·Cin·Cout·Kh·Kw·Hout·Wout of the method. Bias is not counted.
"""

from __future__ import annotations

import math

from .. import traffic
from ..formula import Work, formula
from ..recorded import RecordedOp, TensorUse

__all__: list[str] = []


def _flop(batch: int, sites: tuple[int, ...], weight: TensorUse) -> float:
    return 2.0 * batch * math.prod(sites) * weight.numel


def _work(op: RecordedOp, flop: float) -> Work:
    return Work(group="convolution", flop=flop, engine="fma", reads=traffic.reads(op), writes=traffic.writes(op))


@formula(
    """
    convolution _convolution conv1d conv2d conv3d conv_transpose2d convolution_overrideable mkldnn_convolution _slow_conv2d_forward
    slow_conv3d_forward slow_conv_dilated2d slow_conv_dilated3d slow_conv_transpose2d slow_conv_transpose3d _conv_depthwise2d thnn_conv2d
    cudnn_convolution cudnn_convolution_transpose miopen_convolution
    """
)
def _forward(op: RecordedOp) -> Work:
    source, weight = op.inputs[0], op.inputs[1]
    rank = len(weight.shape) - 2
    transposed = op.flag("transposed") or "transpose" in op.kind
    over = source if transposed else op.outputs[0]
    batch = over.shape[0] if len(over.shape) == rank + 2 else 1
    return _work(op, _flop(batch, over.shape[-rank:], weight))


@formula("mkldnn::_convolution_pointwise mkldnn::_convolution_transpose_pointwise")
def _packed(op: RecordedOp) -> Work:
    """The packed weight has no shape to trust: elements of the result × (kernel and input channels of one result channel)."""
    source, weight, result = op.inputs[0], op.inputs[1], op.outputs[0]
    if "transpose" in op.kind:
        return _work(op, _flop(source.shape[0], source.shape[2:], weight))
    return _work(op, _flop(result.shape[0], result.shape[2:], weight))


@formula("convolution_backward mkldnn_convolution_backward _slow_conv2d_backward")
def _backward(op: RecordedOp) -> Work:
    """One forward's worth of FLOPs for the gradient of the input, and one for that of the weight, as far as each is asked for."""
    gradient = op.tensor("grad_output") or op.inputs[0]
    source = op.tensor("input") or op.tensor("self") or op.inputs[1]
    weight = op.tensor("weight") or op.inputs[2]
    over = source if op.flag("transposed") else gradient
    mask = op.arguments.get("output_mask")
    wanted = sum(bool(flag) for flag in mask[:2]) if isinstance(mask, tuple) else 2
    rank = len(weight.shape) - 2
    return _work(op, wanted * _flop(over.shape[0], over.shape[-rank:], weight))
