"""Products with a sparse operand: 2 FLOPs for every kept element and every column of the dense one.

What is kept (nnz, or the elements of kept blocks) is recorded with the tensor. Traffic is the kept values with their indices, and the dense operand
once in full, although rows that no kept element names are not looked at. The product of two sparse operands depends on which rows meet: unknown.
"""

from __future__ import annotations

from .. import traffic
from ..formula import Work, formula
from ..recorded import RecordedOp, TensorUse

__all__ = ["product"]


_MEETING = "which rows of two sparse operands meet is data"
_UNSEEN = "what a sparse operand keeps cannot be seen"


def product(op: RecordedOp, left: TensorUse, right: TensorUse) -> Work:
    """2·batch·M·K × N of `left` × `right`, or those of what is kept; unknown if both are sparse."""
    if any(use.stored is not None and use.stored.values is None for use in (left, right)):
        return Work(group="matmul", flop=None, engine="fma", reads=None, writes=None, reason=_UNSEEN)
    if left.stored is not None and right.stored is not None:
        return _work(op, None, _MEETING)
    if right.stored is not None:
        return _work(op, 2.0 * (left.numel // max(1, left.shape[-1])) * (right.stored.values or 0))
    kept = left.numel if left.stored is None else left.stored.values or 0
    return _work(op, 2.0 * kept * (right.shape[-1] if len(right.shape) > 1 else 1))


def _work(op: RecordedOp, flop: float | None, reason: str = "") -> Work:
    return Work(group="matmul", flop=flop, engine="fma", reads=traffic.reads(op), writes=traffic.writes(op), reason=reason)


@formula("_sparse_addmm sspaddmm hspmm")
def _with_sum(op: RecordedOp) -> Work:
    return product(op, op.tensor("mat1") or op.inputs[-2], op.tensor("mat2") or op.inputs[-1])


@formula("_sparse_sparse_matmul")
def _both(op: RecordedOp) -> Work:
    return _work(op, None, _MEETING)


@formula("_sparse_mm_reduce_impl")
def _reduced(op: RecordedOp) -> Work:
    return product(op, op.inputs[0], op.inputs[1])


@formula("sparse_sampled_addmm")
def _sampled(op: RecordedOp) -> Work:
    """Only the places that the pattern keeps are computed: 2·K each."""
    pattern, left = op.inputs[0], op.inputs[1]
    if pattern.stored is None or pattern.stored.values is None:
        return Work(group="matmul", flop=None, engine="fma", reads=None, writes=None, reason=_UNSEEN)
    return _work(op, 2.0 * pattern.stored.values * left.shape[-1])


_CONVERSIONS = "_to_sparse _to_sparse_csr _to_sparse_csc _to_sparse_bsr _to_sparse_bsc to_sparse to_dense _to_dense coalesce _coalesce sparse_mask"


@formula(*(name for name in _CONVERSIONS.split() if name != "_to_dense"))
def _converted(op: RecordedOp) -> Work:
    return Work(group="movement", reads=traffic.reads(op), writes=traffic.writes(op), reason="sorting of the indices not counted")
