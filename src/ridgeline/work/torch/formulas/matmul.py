"""Matrix products: 2·M·N·K FLOPs, one multiply-add being two. The bias of `addmm` and its kin rides along and is not counted.

Source: the definition of the product; torch's schemas for which argument is which.
"""

from __future__ import annotations

import math

import msgspec

from .. import traffic
from ..formula import Work, formula
from ..recorded import RecordedOp
from .sparse import product

__all__: list[str] = []


def _matmul(op: RecordedOp, flop: float) -> Work:
    return Work(group="matmul", flop=flop, engine="fma", reads=traffic.reads(op), writes=traffic.writes(op))


@formula("mm bmm matmul _int_mm mv dot vdot inner_product")
def _plain(op: RecordedOp) -> Work:
    return product(op, op.inputs[0], op.inputs[1])


@formula("_scaled_mm _scaled_mm_v2")
def _scaled(op: RecordedOp) -> Work:
    """In the format of its operands: their scales are fp32 and would name it otherwise."""
    work = product(op, op.inputs[0], op.inputs[1])
    return msgspec.structs.replace(work, precision="fp8") if op.inputs[0].dtype.startswith("float8") else work


@formula("_grouped_mm _scaled_grouped_mm")
def _grouped(op: RecordedOp) -> Work:
    """Rows (or K) split between groups: 2 × rows × K × N together, as read off the first operand. With K split, each group has K of its own."""
    left, right = op.inputs[0], op.inputs[1]
    work = _matmul(op, 2.0 * left.numel * right.shape[-1])
    return msgspec.structs.replace(work, precision="fp8") if left.dtype.startswith("float8") else work


@formula("addmm baddbmm addbmm _addmm_activation")
def _with_bias(op: RecordedOp) -> Work:
    left = op.tensor("mat1") or op.tensor("batch1") or op.inputs[1]
    right = op.tensor("mat2") or op.tensor("batch2") or op.inputs[2]
    return product(op, left, right)


@formula("addmv")
def _vector_with_bias(op: RecordedOp) -> Work:
    return _matmul(op, 2.0 * (op.tensor("mat") or op.inputs[1]).numel)


@formula("addr ger outer")
def _outer(op: RecordedOp) -> Work:
    return _matmul(op, (2.0 if op.kind.startswith("aten::addr") else 1.0) * math.prod(op.outputs[0].shape))


@formula("linear mkldnn_linear _mkldnn_linear mkldnn::_linear_pointwise mkl::_mkl_linear")
def _linear(op: RecordedOp) -> Work:
    """2 × elements of the result × features of the input, whatever layout the weight was packed to."""
    return _matmul(op, 2.0 * math.prod(op.outputs[0].shape) * op.inputs[0].shape[-1])


@formula("_weight_int8pack_mm _weight_int4pack_mm _weight_int4pack_mm_for_cpu")
def _packed(op: RecordedOp) -> Work:
    return _matmul(op, 2.0 * math.prod(op.outputs[0].shape) * op.inputs[0].shape[-1])


@formula("_trilinear")
def _trilinear(op: RecordedOp) -> Work:
    """Σ over i, j of x1·W·x2 for each output feature (bilinear): 2 × elements of the expanded product."""
    sizes: dict[int, int] = {}
    expands = [op.arguments.get(name) or () for name in ("expand1", "expand2", "expand3")]
    rank = len(op.inputs[0].shape) + len(expands[0])
    for use, expand in zip(op.inputs, expands, strict=False):
        kept = [dim for dim in range(rank) if dim not in expand]
        for dim, size in zip(kept, use.shape, strict=False):
            sizes[dim] = max(size, sizes.get(dim, 1))
    return _matmul(op, 2.0 * math.prod(sizes.values()))


@formula("_cdist_forward _euclidean_dist")
def _distance(op: RecordedOp) -> Work:
    """One subtract, one square and one add for each pair and feature, counted as one multiply-add (2)."""
    return _matmul(op, 2.0 * math.prod(op.outputs[0].shape) * op.inputs[0].shape[-1])
