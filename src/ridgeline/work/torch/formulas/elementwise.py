"""Pointwise operators: one operation an element of the result on the engine that limits it.

`add` stands for every cheap instruction, `divide` for division and square root, `exp` for exponentials, logarithms, powers and trigonometric
functions, `tanh` and `erf` for those. An operator that needs several cheap instructions and one expensive one counts the expensive one.
"""

from __future__ import annotations

from ridgeline.core import Engine

from .. import traffic
from ..formula import Work, formula
from ..recorded import RecordedOp, TensorUse, base_name

__all__: list[str] = []

_ADD = """
add sub rsub mul neg abs absolute relu relu6 clamp clamp_min clamp_max clip maximum minimum fmax fmin where eq ne lt le gt ge sign sgn signbit
logical_and logical_or logical_not logical_xor bitwise_and bitwise_or bitwise_not bitwise_xor bitwise_left_shift bitwise_right_shift
__and__ __or__ __xor__ __lshift__ __rshift__ __iand__ __ior__ __ixor__ floor ceil round trunc frac threshold hardtanh hardsigmoid hardswish
leaky_relu prelu _prelu_kernel rrelu_with_noise masked_fill addcmul lerp square heaviside isnan isinf isfinite isposinf isneginf nan_to_num copysign
hardshrink softshrink positive real imag conj_physical polar complex view_as_complex view_as_real mse_loss smooth_l1_loss huber_loss l1_loss
threshold_backward hardtanh_backward hardsigmoid_backward hardswish_backward leaky_relu_backward _prelu_kernel_backward mse_loss_backward
smooth_l1_loss_backward huber_loss_backward tanh_backward sigmoid_backward native_dropout_backward softplus_backward elu_backward
log_sigmoid_backward hardshrink_backward softshrink_backward masked_scale dequantize fake_quantize_per_tensor_affine_cachemask
fake_quantize_per_channel_affine_cachemask _conj_physical ldexp dist_backward gcd lcm
deg2rad rad2deg nextafter
"""
_DIVIDE = """
div divide true_divide reciprocal sqrt rsqrt addcdiv remainder fmod floor_divide quantize_per_tensor quantize_per_channel
quantize_per_tensor_dynamic
"""
_EXP = """
exp exp2 expm1 log log2 log10 log1p sigmoid silu softplus mish elu selu celu log_sigmoid_forward log_sigmoid logit xlogy special_xlogy logaddexp
logaddexp2 pow float_power sin cos tan asin acos atan atan2 sinh cosh asinh acosh atanh sinc lgamma digamma polygamma i0 special_entr special_i0e
special_i1 special_ndtri special_log_ndtr hypot binary_cross_entropy binary_cross_entropy_backward binary_cross_entropy_with_logits silu_backward
mish_backward glu glu_backward angle mvlgamma igamma special_zeta igammac special_i1e special_xlog1py special_log_softmax special_bessel_j0
special_bessel_j1
special_modified_bessel_i0 special_modified_bessel_k0 soft_margin_loss softmax_backward_data
"""
_ERF = "erf erfc erfinv special_erfcx special_ndtr"


def _kept(use: TensorUse) -> int:
    """Elements, of a sparse tensor those that it keeps."""
    return use.numel if use.stored is None or use.stored.values is None else use.stored.values


def pointwise(op: RecordedOp, engine: Engine, group: str = "elementwise") -> Work:
    """One operation for each element of what is written, or of the largest input where the result is smaller (`l1_loss` of a mean)."""
    written = op.written
    elements = max(sum(map(_kept, written)), max(map(_kept, op.inputs), default=0) if len(written) == 1 else 0)
    return Work(group=group, flop=float(elements), engine=engine, reads=traffic.reads(op), writes=traffic.writes(op))


@formula(_ADD)
def _add(op: RecordedOp) -> Work:
    return pointwise(op, "add")


@formula(_DIVIDE)
def _divide(op: RecordedOp) -> Work:
    # A division by a plain number is done as a multiplication by its reciprocal for floating dtypes.
    by_number = base_name(op.kind) == "div" and len(op.inputs) == 1 and "rounding_mode" not in op.arguments
    scalar = base_name(op.kind) == "div" and len(op.inputs) == 2 and op.inputs[1].numel == 1 and "rounding_mode" not in op.arguments
    return pointwise(op, "add" if by_number or scalar else "divide")


@formula(_EXP)
def _exp(op: RecordedOp) -> Work:
    if base_name(op.kind) == "pow" and op.overload.startswith("Tensor_Scalar"):
        exponent = op.number("exponent", 0.3)
        # torch's kernel has special cases: small whole powers multiply, ±0.5 takes a square root.
        if exponent in (1.0, 2.0, 3.0):
            return pointwise(op, "add")
        if exponent in (0.5, -0.5, -1.0, -2.0):
            return pointwise(op, "divide")
    return pointwise(op, "exp")


@formula("tanh")
def _tanh(op: RecordedOp) -> Work:
    return pointwise(op, "tanh")


@formula(_ERF)
def _erf(op: RecordedOp) -> Work:
    return pointwise(op, "erf")


@formula("gelu gelu_backward")
def _gelu(op: RecordedOp) -> Work:
    return pointwise(op, "tanh" if op.arguments.get("approximate") == "tanh" else "erf")


@formula("_fused_adam _fused_adamw _fused_adagrad _fused_sgd")
def _optimiser(op: RecordedOp) -> Work:
    """One update of every element of every parameter; Adam and Adagrad take a square root and a division each."""
    parameters = op.arguments.get("self")
    elements = sum(use.numel for use in parameters if isinstance(use, TensorUse)) if isinstance(parameters, tuple) else 0
    engine: Engine = "add" if "sgd" in op.kind else "divide"
    return Work(group="elementwise", flop=float(elements), engine=engine, reads=traffic.reads(op), writes=traffic.writes(op))
