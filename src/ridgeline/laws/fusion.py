"""Traffic of a chain of elementwise operations, each materialised, against the same chain in one pass.

Decides nothing about whether a chain may be fused; that belongs to `diagnosis` and `planning`. It counts compulsory bytes: one read of each
input and one write of each result, tensors larger than every cache. Formula: each unary operation on N bytes moves 2N, k of them 2kN, the
fused chain 2N; an operation that reads further tensors adds N for each.
"""

from __future__ import annotations

from ..core.errors import UsageError
from ._checks import counting, positive

__all__ = ["chain_traffic", "fused_traffic", "fusion_saving", "fusion_speedup"]


def _extra(extra_reads: int) -> None:
    if not (isinstance(extra_reads, int) and extra_reads >= 0):
        raise UsageError("extra_reads to be a whole number ≥ 0", found=repr(extra_reads), remedy="count the second operands of the chain")


def chain_traffic(*, operations: int, tensor_bytes: float, extra_reads: int = 0) -> float:
    """2kN + mN in B: the chain as it runs, each result written to memory and read back.

    Args:
        operations: k ≥ 1.
        tensor_bytes: N in B, > 0.
        extra_reads: m ≥ 0, reads of a full-size second operand over the chain (an `add` of two tensors has one).

    Raises:
        UsageError: a number out of its range.

    >>> chain_traffic(operations=4, tensor_bytes=1e6)
    8000000.0
    """
    counting(operations=operations)
    positive(tensor_bytes=tensor_bytes)
    _extra(extra_reads)
    return (2.0 * operations + extra_reads) * tensor_bytes


def fused_traffic(*, tensor_bytes: float, extra_reads: int = 0, distinct_extra: int | None = None) -> float:
    """2N + dN in B: the chain in one pass.

    Args:
        tensor_bytes: N in B, > 0.
        extra_reads: m, as in `chain_traffic`.
        distinct_extra: d ≤ m, different tensors among the extra reads that are not made by the chain itself; m if not given. A residual
            that adds the chain's own input has d = 0, since one pass reads it once.

    Raises:
        UsageError: a number out of its range.

    >>> fused_traffic(tensor_bytes=1e6, extra_reads=1)
    3000000.0
    """
    positive(tensor_bytes=tensor_bytes)
    _extra(extra_reads)
    distinct = extra_reads if distinct_extra is None else distinct_extra
    _extra(distinct)
    if distinct > extra_reads:
        raise UsageError("distinct_extra ≤ extra_reads", found=f"{distinct} > {extra_reads}", remedy="count each tensor once")
    return (2.0 + distinct) * tensor_bytes


def fusion_saving(*, operations: int, tensor_bytes: float, extra_reads: int = 0, distinct_extra: int | None = None) -> float:
    """2(k − 1)N + (m − d)N in B: bytes that one pass does not move.

    Args: as `chain_traffic` and `fused_traffic`.

    Raises:
        UsageError: a number out of its range.

    >>> fusion_saving(operations=4, tensor_bytes=1e6)
    6000000.0
    """
    return chain_traffic(operations=operations, tensor_bytes=tensor_bytes, extra_reads=extra_reads) - fused_traffic(
        tensor_bytes=tensor_bytes, extra_reads=extra_reads, distinct_extra=distinct_extra
    )


def fusion_speedup(*, operations: int, extra_reads: int = 0, distinct_extra: int | None = None) -> float:
    """(2k + m) ÷ (2 + d): gain of the chain itself while both versions stream at the same bandwidth.

    An upper bound: it holds until the fused pass meets its arithmetic ceiling (`roofline.ideal_time`).

    >>> fusion_speedup(operations=4)
    4.0
    """
    return chain_traffic(operations=operations, tensor_bytes=1.0, extra_reads=extra_reads) / fused_traffic(
        tensor_bytes=1.0, extra_reads=extra_reads, distinct_extra=distinct_extra
    )
