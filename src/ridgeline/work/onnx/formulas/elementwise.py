"""Pointwise operators: one operation an element of the result on the engine that limits it.

`add` stands for every cheap instruction, `divide` for division and square root, `exp` for exponentials, logarithms, powers and trigonometric
functions, `tanh` and `erf` for those. An operator that needs several cheap instructions and one expensive one counts the expensive one.
Source: ONNX Operators.md and ContribOperators.md for which functions they are.
"""

from __future__ import annotations

from ridgeline.core import Engine

from ..formula import Work, formula
from ..node import Node

__all__ = ["pointwise"]

_ADD = """
Add Sub Mul Neg Abs Sign Relu LeakyRelu PRelu ThresholdedRelu HardSigmoid HardSwish Clip Equal Greater GreaterOrEqual Less LessOrEqual And Or Not
Xor BitwiseAnd BitwiseOr BitwiseNot BitwiseXor BitShift Floor Ceil Round Where IsNaN IsInf Shrink ms:BiasAdd
ms:MulInteger ms:BitmaskDropout ms:BitmaskBiasDropout Affine Scale ImageScaler
ml:Binarizer ml:Scaler ml:Imputer ms:BiasDropout
"""
_DIVIDE = "Div Sqrt Reciprocal Mod Softsign"
_EXP = """
Exp Log Sigmoid Softplus Elu Selu Celu Mish Swish SwiGLU Sin Cos Tan Asin Acos Atan Sinh Cosh Asinh Acosh Atanh ms:QuickGelu
ms:BiasSplitGelu ms:SwiGLU ms:ScaledSiLU ParametricSoftplus
"""


def pointwise(node: Node, engine: Engine, each: float = 1.0) -> Work:
    """`each` operations for every element of the first result."""
    return Work(group="elementwise", flop=node.output().numel * each, engine=engine)


@formula(_ADD)
def _add(node: Node) -> Work:
    return pointwise(node, "add")


@formula(_DIVIDE)
def _divide(node: Node) -> Work:
    return pointwise(node, "divide")


@formula(_EXP)
def _exp(node: Node) -> Work:
    return pointwise(node, "exp")


@formula("Tanh ScaledTanh ms:FastGelu")
def _tanh(node: Node) -> Work:
    return pointwise(node, "tanh")


@formula("Erf ms:BiasGelu")
def _erf(node: Node) -> Work:
    return pointwise(node, "erf")


@formula("Gelu ms:Gelu")
def _gelu(node: Node) -> Work:
    return pointwise(node, "tanh" if node.text("approximate") == "tanh" else "erf")


@formula("Pow")
def _pow(node: Node) -> Work:
    """A constant exponent of 2 or 3 multiplies, 0.5 takes a square root: onnxruntime's kernel has these cases of its own."""
    exponent = node.input(1).content
    if exponent is not None and len(exponent) == 1 and exponent[0] in (1.0, 2.0, 3.0):
        return pointwise(node, "add")
    if exponent is not None and len(exponent) == 1 and exponent[0] in (0.5, -0.5, -1.0):
        return pointwise(node, "divide")
    return pointwise(node, "exp")


@formula("Sum Mean Max Min")
def _several(node: Node) -> Work:
    """n operands take n − 1 operations an element; one operand is a copy."""
    operands = sum(value is not None for value in node.inputs)
    return pointwise(node, "add", max(0, operands - 1))


@formula("Dropout")
def _dropout(node: Node) -> Work:
    """In inference it hands its input on; onnxruntime removes it or lets it share the buffer."""
    training = node.optional(2)
    if training is not None and training.content not in (None, (0.0,)):
        return Work(group="random", flop=None, reason="dropout in training mode draws random numbers")
    return Work(group="view", reads=(0,) * len(node.inputs), writes=(0,) * len(node.outputs), reason="view")
