"""Elementwise operations: one operation an element of the result, on the engine of the function.

exp, log and the trigonometric functions count elements on `exp`; tanh, erf and division have engines of their own; the rest are simple operations on
`add`. Complex arithmetic counts real operations: a sum is 2, a product 6 (4 multiplications, 2 additions).
"""

from __future__ import annotations

from ridgeline.core import Engine
from ridgeline.work.work import Work

from .call import Call, formula, moved

__all__ = ["elementwise"]

_EXP = """exp exp2 expm1 log log2 log10 log1p sin cos tan arcsin arccos arctan arctan2 sinh cosh arcsinh arccosh arctanh logaddexp logaddexp2
 float_power asin acos atan atan2 asinh acosh atanh sinc special.expit special.logit special.log_expit special.exprel special.log1p special.expm1
 special.xlogy special.xlog1py special.entr special.rel_entr special.kl_div special.exp10 special.exp2 special.cosm1 special.sindg special.cosdg"""
_DIVIDE = "divide true_divide floor_divide remainder fmod mod divmod sqrt reciprocal cbrt hypot special.cbrt"
_SIMPLE = """add subtract negative positive absolute abs fabs sign signbit maximum minimum fmax fmin less less_equal greater greater_equal equal
 not_equal logical_and logical_or logical_not logical_xor bitwise_and bitwise_or bitwise_xor bitwise_not bitwise_count invert left_shift right_shift
 floor ceil rint trunc fix isnan isinf isfinite isnat copysign nextafter spacing heaviside conjugate conj clip round around round_ nan_to_num
 real_if_close deg2rad rad2deg degrees radians frexp ldexp modf gcd lcm isclose iscomplex isreal isneginf isposinf special.relu"""
_BINARY_SIMPLE = "diff ediff1d cross gradient"


def elementwise(call: Call, engine: Engine | None = "add", *, reason: str = "", factor: float = 1.0) -> Work:
    """Elements of the result on `engine`, each distinct input byte read once, each result byte written once."""
    elements = max((array.size for array in call.outputs), default=call.elements)
    return moved(call, "elementwise", elements, engine, reason=reason, factor=factor)


@formula(_SIMPLE)
def _simple(call: Call) -> Work:
    return elementwise(call, factor=2.0 if call.complex and call.kind in ("numpy.add", "numpy.subtract") else 1.0)


@formula("multiply", "square")
def _product(call: Call) -> Work:
    return elementwise(call, factor=6.0 if call.complex else 1.0)


@formula(_EXP)
def _exponential(call: Call) -> Work:
    return elementwise(call, "exp")


@formula(_DIVIDE)
def _division(call: Call) -> Work:
    return elementwise(call, "divide")


@formula("tanh")
def _tanh(call: Call) -> Work:
    return elementwise(call, "tanh")


@formula("special.erf", "special.erfc", "special.ndtr")
def _erf(call: Call) -> Work:
    return elementwise(call, "erf")


@formula("power")
def _power(call: Call) -> Work:
    """numpy computes `x ** 2` as a square, `x ** 0.5` as a root and `x ** -1` as a reciprocal; the general power is an exp and a log."""
    exponent = call.option("x2", 1)
    floating = any(array.floating for array in call.inputs)
    if exponent == 2 or exponent == 1 or exponent == 0:
        return _product(call)
    if floating and exponent in (0.5, -1):
        return elementwise(call, "divide")
    if not floating and isinstance(exponent, int) and exponent > 0:
        return elementwise(call, "add", factor=2.0 * exponent.bit_length(), reason="integer power counted as products by squaring")
    return elementwise(call, "exp")


@formula("where", "select", "choose", "copysign2")
def _choice(call: Call) -> Work:
    if len(call.inputs) == 1 and call.outputs and all(out.dtype == "int64" and len(out.shape) == 1 for out in call.outputs):
        return moved(call, "gather", call.inputs[0].size, "reduce", reason="positions of true elements: every element is looked at once")
    return elementwise(call)


@formula(_BINARY_SIMPLE)
def _neighbours(call: Call) -> Work:
    return elementwise(call, reason="counted as one operation an element of the result")


@formula("outer", "kron", "multiply.outer", "add.outer", "subtract.outer", "maximum.outer", "minimum.outer")
def _outer(call: Call) -> Work:
    return elementwise(call)


@formula("polyval", "polynomial.polynomial.polyval")
def _polynomial(call: Call) -> Work:
    """Horner: a multiply-add an element and coefficient."""
    if len(call.inputs) < 2 or not call.outputs:
        return moved(call, "elementwise", None, None, reason="the number of coefficients is not known")
    return moved(call, "elementwise", 2.0 * call.inputs[0].size * call.outputs[0].size, "fma")
