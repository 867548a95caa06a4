"""Products with a sparse operand: 2 FLOPs for every kept element and every column of the dense one.

What is kept (nnz, or the elements of kept blocks) is recorded with the tensor. Traffic is the kept values with their indices, and the dense operand
once in full, although rows that no kept element names are not looked at. The product of two sparse operands depends on which rows meet: unknown.
"""

from __future__ import annotations

from .. import traffic
from ..formula import Work, formula
from ..recorded import RecordedOp, TensorUse

__all__ = ["product"]


def product(left: TensorUse, right: TensorUse) -> float | None:
    """FLOPs of `left` × `right`: batch·M·K × N, or those of what is kept; `None` if both are sparse."""
    columns = right.shape[-1] if len(right.shape) > 1 else 1
    if left.stored is None and right.stored is None:
        return 2.0 * left.numel * columns
    if left.stored is not None and right.stored is not None:
        return None
    if left.stored is not None:
        return 2.0 * left.stored.values * columns
    rows = left.numel // max(1, left.shape[-1])
    return 2.0 * rows * (right.stored.values if right.stored is not None else 0)


def _work(op: RecordedOp, flop: float | None, reason: str = "") -> Work:
    return Work(group="matmul", flop=flop, engine="fma", reads=traffic.reads(op), writes=traffic.writes(op), reason=reason)


@formula("_sparse_addmm sspaddmm hspmm")
def _with_sum(op: RecordedOp) -> Work:
    left, right = op.tensor("mat1") or op.inputs[-2], op.tensor("mat2") or op.inputs[-1]
    flop = product(left, right)
    return _work(op, flop, "" if flop is not None else _MEETING)


_MEETING = "which rows of two sparse operands meet is data"


@formula("_sparse_sparse_matmul")
def _both(op: RecordedOp) -> Work:
    return _work(op, None, _MEETING)


@formula("_sparse_mm_reduce_impl")
def _reduced(op: RecordedOp) -> Work:
    return _work(op, product(op.inputs[0], op.inputs[1]))


@formula("sparse_sampled_addmm")
def _sampled(op: RecordedOp) -> Work:
    """Only the places that the pattern keeps are computed: 2·K each."""
    pattern, left = op.inputs[0], op.inputs[1]
    if pattern.stored is None:
        return _work(op, None, "what the pattern keeps cannot be seen")
    return _work(op, 2.0 * pattern.stored.values * left.shape[-1])


_CONVERSIONS = "_to_sparse _to_sparse_csr _to_sparse_csc _to_sparse_bsr _to_sparse_bsc to_sparse to_dense _to_dense coalesce _coalesce sparse_mask"


@formula(*(name for name in _CONVERSIONS.split() if name != "_to_dense"))
def _converted(op: RecordedOp) -> Work:
    return Work(group="movement", reads=traffic.reads(op), writes=traffic.writes(op), reason="sorting of the indices not counted")
