"""Matrix products: 2·M·K·N FLOPs a product.

For numpy-style broadcasting the batch is the broadcast of the leading dimensions, so every product is read off as 2 × results × K. The scale,
the bias and a fused activation are not counted.
Source: ONNX Operators.md, MatMul, Gemm; ContribOperators.md, FusedMatMul, FusedGemm, MatMulNBits.
"""

from __future__ import annotations

import math

from ridgeline.core import Precision

from ..formula import Work, formula
from ..node import Node, Unknown

__all__ = ["inner_dimension", "product"]


def product(node: Node, inner: int, precision: Precision = "any", reason: str = "") -> Work:
    """2 × elements of the first output × inner dimension."""
    return Work(group="matmul", flop=2.0 * node.output().numel * inner, engine="fma", precision=precision, reason=reason)


def inner_dimension(node: Node, transposed: str = "") -> int:
    """K: the last dimension of the first operand, or the one before it if that operand is transposed."""
    dims = node.input(0).dims
    if not dims:
        raise Unknown(f"a scalar operand of {node.kind}")
    if transposed and len(dims) > 1 and node.integer(transposed, 0):
        # transBatch moves the batch dimensions between M and K: they sit before the last one either way.
        return dims[-2] if not node.integer("transBatchA", 0) else dims[0]
    return dims[-1]


@formula("MatMul")
def _matmul(node: Node) -> Work:
    return product(node, inner_dimension(node))


@formula("ms:FusedMatMul ms:TransposeMatMul ms:FusedMatMulActivation ms:GemmFastGelu")
def _fused(node: Node) -> Work:
    return product(node, inner_dimension(node, "transA"))


@formula("Gemm ms:FusedGemm")
def _gemm(node: Node) -> Work:
    return product(node, inner_dimension(node, "transA"))


@formula("ms:GemmFloat8")
def _gemm_narrow(node: Node) -> Work:
    """In the format of its operands: their scales are fp32 and would name it otherwise."""
    return product(node, inner_dimension(node, "transA"), "fp8" if node.input(0).dtype.startswith("float8") else "any")


@formula("ms:SparseToDenseMatMul")
def _sparse(node: Node) -> Work:
    raise Unknown("how many elements the sparse operand keeps")


@formula("ms:MatMulNBits ms:MatMulBnb4 ms:MatMulFpQ4")
def _narrow_weights(node: Node) -> Work:
    """The weight is packed, so K comes from the attribute. Arithmetic is in the activation's format unless accuracy_level asks for int8."""
    return product(node, node.required("K"), "int8" if node.integer("accuracy_level", 0) == 4 else "any", "unpacking of the weights not counted")


@formula("ms:MoE ms:QMoE")
def _experts(node: Node) -> Work:
    """Every token goes through k experts: two or three layers of the weights' size each."""
    tokens = math.prod(node.input(0).dims[:-1])
    weights = [value for value in (node.optional(2), node.optional(4), node.optional(6)) if value is not None and len(value.dims) == 3]
    if node.kind == "QMoE" or not weights:
        raise Unknown("packed weights of the experts")
    each = sum(math.prod(weight.dims[1:]) for weight in weights)
    return Work(group="matmul", flop=2.0 * tokens * node.integer("k", 1) * each, engine="fma", reason="router not counted")


@formula("Det")
def _determinant(node: Node) -> Work:
    """LU factorisation, 2·n³ ÷ 3 a matrix (Golub and Van Loan, Matrix Computations, §3.2)."""
    dims = node.input(0).dims
    return Work(group="matmul", flop=2.0 / 3.0 * math.prod(dims) * dims[-1], engine="fma")


@formula("ms:CDist")
def _distances(node: Node) -> Work:
    """Every pair of rows, a difference and a multiply-add an element."""
    return product(node, inner_dimension(node))


@formula("ms:Inverse")
def _inverse(node: Node) -> Work:
    """2·n³ a matrix (Golub and Van Loan, Matrix Computations, §3.2 and §3.4)."""
    dims = node.input(0).dims
    return Work(group="matmul", flop=2.0 * math.prod(dims) * dims[-1], engine="fma")
