"""Eight-bit operators: the counts of their float twins, in precision int8. Scales, zero points and requantisation are not counted.

A packed weight is seen as what it unpacks to (see `packed`), so its bytes are those of the weight, whatever a kernel added to align it. Weights kept
in sixteen bits (`…_fp16`) are widened before the product, which then runs in fp32.
Source: torch's schemas of `quantized::`, `onednn::` and `aten::quantized_…`; FBGEMM's description of its fp16 product.
"""

from __future__ import annotations

import math

import msgspec

from ridgeline.core import Engine, Precision

from .. import traffic
from ..formula import Work, formula
from ..recorded import RecordedOp, TensorUse, base_name

__all__: list[str] = []

_HIDDEN = "the packed weight is not a tensor that can be seen"


def _weights(op: RecordedOp, rank: int) -> list[TensorUse]:
    """Constant tensors of at least `rank` dimensions among the inputs: weights, without their biases and scales."""
    return [use for use in op.inputs[1:] if use.constant and len(use.shape) >= rank]


def _work(op: RecordedOp, group: str, flop: float, *, engine: Engine = "fma", precision: Precision = "int8", reason: str = "") -> Work:
    return Work(group=group, flop=flop, engine=engine, precision=precision, reads=traffic.reads(op), writes=traffic.writes(op), reason=reason)


def _unseen(op: RecordedOp, group: str, flop: float | None) -> Work:
    return Work(group=group, flop=flop, engine="fma", precision="int8", reads=None, writes=traffic.writes(op), reason=_HIDDEN)


_LINEAR = """
quantized::linear quantized::linear_relu quantized::linear_dynamic quantized::linear_relu_dynamic quantized::linear_leaky_relu quantized::linear_tanh
quantized::linear_with_input_q_dq_qweight_dq_output_fp32 quantized::linear_with_input_q_dq_qweight_dq_relu_output_fp32
"""


@formula(_LINEAR)
def _linear(op: RecordedOp) -> Work:
    flop = 2.0 * op.outputs[0].numel * op.inputs[0].shape[-1]
    return _work(op, "matmul", flop) if _weights(op, 2) else _unseen(op, "matmul", flop)


@formula("quantized::linear_dynamic_fp16 quantized::linear_relu_dynamic_fp16")
def _linear_half(op: RecordedOp) -> Work:
    flop = 2.0 * op.outputs[0].numel * op.inputs[0].shape[-1]
    weights = _weights(op, 2)
    if not weights:
        return _unseen(op, "matmul", flop)
    # It unpacks to fp32, and is kept at half of that.
    kept = {weight.buffer: weight.numel * 2 for weight in weights}
    reads = tuple(msgspec.structs.replace(use, size_bytes=kept.get(use.buffer, use.size_bytes)) for use in traffic.reads(op))
    return Work(group="matmul", flop=flop, engine="fma", precision="fp32", reads=reads, writes=traffic.writes(op), reason="weights widened from fp16")


@formula("onednn::qlinear_pointwise")
def _linear_onednn(op: RecordedOp) -> Work:
    return _work(op, "matmul", 2.0 * op.outputs[0].numel * op.inputs[0].shape[-1])


@formula("quantized::matmul _wrapped_quantized_linear_prepacked")
def _product(op: RecordedOp) -> Work:
    return _work(op, "matmul", 2.0 * op.outputs[0].numel * op.inputs[0].shape[-1])


@formula("_dyn_quant_matmul_4bit")
def _product_four_bits(op: RecordedOp) -> Work:
    """The activations are quantised to eight bits on the way in; the weights are four bits, packed with their scales."""
    return _work(op, "matmul", 2.0 * op.outputs[0].numel * op.number("in_features"))


_CONV = " ".join(f"quantized::conv{rank}d quantized::conv{rank}d_relu quantized::conv{rank}d_dynamic" for rank in (1, 2, 3))


@formula(_CONV, "quantized::conv2d_add quantized::conv2d_add_relu")
def _convolution(op: RecordedOp) -> Work:
    """2 × elements of the result × Cin ÷ g × kernel; the weight is (Cout, Cin ÷ g, *kernel)."""
    weights = _weights(op, 3)
    if not weights:
        return _unseen(op, "convolution", None)
    return _work(op, "convolution", 2.0 * op.outputs[0].numel * math.prod(weights[0].shape[1:]))


_TRANSPOSED = " ".join(f"quantized::conv_transpose{rank}d quantized::conv_transpose{rank}d_dynamic" for rank in (1, 2, 3))


@formula(_TRANSPOSED)
def _transposed(op: RecordedOp) -> Work:
    """2 × elements of the input × Cout ÷ g × kernel; the weight is (Cin, Cout ÷ g, *kernel)."""
    weights = _weights(op, 3)
    if not weights:
        return _unseen(op, "convolution", None)
    return _work(op, "convolution", 2.0 * op.inputs[0].numel * math.prod(weights[0].shape[1:]))


@formula("onednn::qconv_pointwise onednn::qconv1d_pointwise onednn::qconv2d_pointwise onednn::qconv3d_pointwise")
def _convolution_onednn(op: RecordedOp) -> Work:
    """2 × batch × sites × elements of the weight, which are the same however it is grouped in its packed shape."""
    result, weight = op.outputs[0], op.tensor("qw") or op.inputs[1]
    return _work(op, "convolution", 2.0 * result.shape[0] * math.prod(result.shape[2:]) * weight.numel)


@formula("quantized_lstm quantized_gru")
def _recurrent(op: RecordedOp) -> Work:
    """Every weight matrix once a step and sequence; the data of packed sequences are (steps of all of them, I)."""
    weights = _weights(op, 2)
    matrices = [use for use in weights if len(use.shape) == 2]
    if not matrices:
        return _unseen(op, "matmul", None)
    flop = 2.0 * math.prod(op.inputs[0].shape[:-1]) * sum(use.numel for use in matrices)
    return _work(op, "matmul", flop, precision="int8" if matrices[0].dtype == "qint8" else "fp32")


@formula(
    """
    quantized::quantized_lstm_cell_dynamic quantized::quantized_gru_cell_dynamic quantized::quantized_rnn_relu_cell_dynamic
    quantized::quantized_rnn_tanh_cell_dynamic
    """
)
def _cell(op: RecordedOp) -> Work:
    matrices = [use for use in _weights(op, 2) if len(use.shape) == 2]
    batch = op.inputs[0].shape[0] if len(op.inputs[0].shape) > 1 else 1
    return _work(op, "matmul", 2.0 * batch * sum(use.numel for use in matrices)) if matrices else _unseen(op, "matmul", None)


_POINTWISE = "add add_relu mul mul_relu add_scalar add_scalar_relu mul_scalar mul_scalar_relu relu6 leaky_relu hardswish threshold clamp prelu"


@formula(*(f"quantized::{name}" for name in f"{_POINTWISE} batch_norm batch_norm_relu batch_norm1d batch_norm1d_relu".split()))
@formula(*(f"quantized::batch_norm{rank}d{tail}" for rank in (2, 3) for tail in ("", "_relu")))
def _pointwise(op: RecordedOp) -> Work:
    group = "normalisation" if "norm" in op.kind else "elementwise"
    return _work(op, group, float(op.outputs[0].numel), engine="add", reason="each element is widened, computed and rounded again")


@formula("quantized::sigmoid quantized::elu quantized::celu quantized::softmax")
def _exponential(op: RecordedOp) -> Work:
    group = "normalisation" if base_name(op.kind).endswith("softmax") else "elementwise"
    return _work(op, group, float(op.outputs[0].numel), engine="exp")


@formula("quantized::layer_norm quantized::group_norm quantized::instance_norm")
def _normalised(op: RecordedOp) -> Work:
    return _work(op, "normalisation", float(op.inputs[0].numel), engine="reduce")


@formula("quantized::max_pool1d quantized::max_pool2d quantized_max_pool2d quantized_max_pool1d quantized_max_pool3d")
def _pool(op: RecordedOp) -> Work:
    kernel = op.arguments.get("kernel_size")
    window = math.prod(kernel) if isinstance(kernel, tuple) else 1
    return _work(op, "reduction", float(op.outputs[0].numel * window), engine="reduce")


@formula("quantized::cat quantized::cat_relu quantized::dropout")
def _moved(op: RecordedOp) -> Work:
    return Work(group="movement", reads=traffic.reads(op), writes=traffic.writes(op))


_TABLES = "embedding_byte embedding_4bit embedding_bag_byte embedding_bag_4bit embedding_bag_2bit"


@formula(*(f"quantized::{name}" for name in _TABLES.split()))
@formula(*(f"quantized::{name}_rowwise_offsets" for name in _TABLES.split() if "bag" in name))
def _rows(op: RecordedOp) -> Work:
    """Each index picks a row, which is widened and summed into its bag; how wide a packed row is shows in the table where that is a tensor."""
    indices = op.tensor("indices")
    if indices is None:
        return _unseen(op, "gather", None)
    table = next((use for use in op.inputs if use is not indices and len(use.shape) == 2), None)
    picked = float(indices.numel * op.outputs[0].shape[-1])
    if table is None:
        return Work(group="gather", flop=picked, engine="gather", reads=None, writes=traffic.writes(op), reason=_HIDDEN)
    rows = min(table.touched_bytes, math.ceil(indices.numel * table.shape[-1] * table.item_bytes))
    reads = (traffic.use(table, rows), *traffic.merge(use for use in op.inputs if use is not table))
    return Work(group="gather", flop=picked, engine="gather", reads=reads, writes=traffic.writes(op))
