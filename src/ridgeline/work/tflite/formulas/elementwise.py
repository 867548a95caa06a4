"""Pointwise operators: one operation an element of the result on the engine that limits it (see `work.onnx.formulas.elementwise` for the engines).

Eight-bit sigmoid, tanh, exp and the like look their 256 values up in a table: `gather`.
Source: the TFLite operator set (schema.fbs) for which functions they are, tensorflow/lite/kernels/activations.cc for the tables.
"""

from __future__ import annotations

from ridgeline.core import Engine

from ..formula import Node, Work, formula

__all__: list[str] = []

_EIGHT_BITS = ("int8", "uint8")


def _pointwise(node: Node, engine: Engine, each: float = 1.0) -> Work:
    return Work(group="elementwise", flop=node.output().numel * each, engine=engine)


@formula(
    """
    ADD SUB MUL NEG ABS SIGN RELU RELU_N1_TO_1 RELU_0_TO_1 RELU6 LEAKY_RELU PRELU HARD_SWISH MAXIMUM MINIMUM EQUAL NOT_EQUAL GREATER GREATER_EQUAL
    LESS LESS_EQUAL LOGICAL_AND LOGICAL_OR LOGICAL_NOT BITWISE_XOR RIGHT_SHIFT FLOOR CEIL ROUND SELECT SELECT_V2 SQUARE SQUARED_DIFFERENCE
    FAKE_QUANT DEQUANTIZE ZEROS_LIKE IMAG REAL
    """
)
def _add(node: Node) -> Work:
    return _pointwise(node, "add")


@formula("DIV SQRT RSQRT FLOOR_DIV FLOOR_MOD QUANTIZE COMPLEX_ABS")
def _divide(node: Node) -> Work:
    return _pointwise(node, "divide")


@formula("EXP LOG LOGISTIC ELU SIN COS ATAN2")
def _exp(node: Node) -> Work:
    return _table(node) or _pointwise(node, "exp")


@formula("TANH")
def _tanh(node: Node) -> Work:
    return _table(node) or _pointwise(node, "tanh")


@formula("GELU")
def _gelu(node: Node) -> Work:
    return _table(node) or _pointwise(node, "tanh" if node.attributes.get("approximate") else "erf")


def _table(node: Node) -> Work | None:
    return _pointwise(node, "gather") if node.input(0).dtype in _EIGHT_BITS else None


@formula("POW")
def _pow(node: Node) -> Work:
    """A constant exponent of 2 multiplies."""
    exponent = node.input(1).content
    return _pointwise(node, "add" if exponent in ((2.0,), (1.0,)) else "exp")


@formula("ADD_N")
def _several(node: Node) -> Work:
    """n operands take n − 1 operations an element."""
    return _pointwise(node, "add", max(0, len(node.inputs) - 1))


@formula("RANDOM_UNIFORM RANDOM_STANDARD_NORMAL MULTINOMIAL")
def _random(node: Node) -> Work:
    return Work(group="random", flop=None, reason="random numbers have no ceiling of their own")
