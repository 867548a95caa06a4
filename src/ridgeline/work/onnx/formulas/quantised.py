"""Eight-bit operators: the counts of their float twins, in precision int8. Zero points, scales and requantisation are not counted.

Source: ONNX Operators.md, QLinearConv, ConvInteger, MatMulInteger, QLinearMatMul; ContribOperators.md for onnxruntime's own.
"""

from __future__ import annotations

from ..formula import Work, formula
from ..node import Node
from .convolution import forward, transposed
from .elementwise import pointwise
from .matmul import inner_dimension, product

__all__: list[str] = []


@formula("ConvInteger")
def _conv_integer(node: Node) -> Work:
    return forward(node, node.input(1), "int8")


@formula("QLinearConv ms:QLinearConv nhwc:QLinearConv")
def _conv(node: Node) -> Work:
    return forward(node, node.input(3), "int8")


@formula("nhwc:QLinearConvTranspose")
def _conv_transposed(node: Node) -> Work:
    return transposed(node, node.input(3), "int8")


@formula("MatMulInteger ms:MatMulIntegerToFloat ms:DynamicQuantizeMatMul QLinearMatMul ms:QGemm")
def _product(node: Node) -> Work:
    return product(node, inner_dimension(node, "transA"), "int8")


@formula("ms:MatMulInteger16")
def _sixteen_bit(node: Node) -> Work:
    work = product(node, inner_dimension(node))
    return Work(group=work.group, flop=work.flop, engine="fma", reason="sixteen-bit integers: no ceiling of their own")


@formula("QuantizeLinear ms:QuantizeLinear DynamicQuantizeLinear")
def _quantise(node: Node) -> Work:
    return pointwise(node, "divide")


@formula("DequantizeLinear ms:DequantizeLinear ms:DequantizeBFP ms:QuantizeBFP ms:QLinearAdd ms:QLinearMul ms:QLinearLeakyRelu ms:QLinearWhere")
def _cheap(node: Node) -> Work:
    return pointwise(node, "add")


@formula("ms:QLinearSigmoid")
def _table(node: Node) -> Work:
    """Eight bits have 256 values: the kernel looks the result up in a table."""
    work = pointwise(node, "gather")
    return Work(group=work.group, flop=work.flop, engine=work.engine, precision="int8")


@formula("ms:QOrderedMatMul ms:QOrderedGelu ms:QOrderedLayerNormalization ms:QOrderedAttention ms:QOrderedLongformerAttention")
def _ordered(node: Node) -> Work:
    return Work(group="other", flop=None, precision="int8", reason=f"{node.kind} runs on GPUs only")
