"""Steps of an operator of torch through its operands, in bytes between elements that it visits one after the other.

Pointwise operators and reductions walk in the order of their first operand's steps (TensorIterator: the result if it was given, else the first
input), so that an operand in another order, or one with holes, jumps. Products hand both orders to their library, and only a matrix without a unit
step is copied first. What steps cost is decided elsewhere.
"""

from __future__ import annotations

from collections.abc import Sequence

from .recorded import RecordedOp, TensorUse

__all__ = ["steps"]

_WALKED = ("elementwise", "reduction")


def steps(op: RecordedOp, group: str) -> dict[int, int]:
    """Buffer → bytes between neighbours in the order of the walk, for operands whose neighbours do not lie side by side."""
    operands = [use for use in (*_targets(op), *op.inputs) if use.numel > 1 and len(use.stride) == len(use.shape)]
    if group == "matmul":
        found = {use.buffer: min(_last_two(use), default=1) * use.item_bytes for use in operands}
    elif group in _WALKED and operands:
        found = _walk(operands)
    else:
        found = {}
    items = {use.buffer: use.item_bytes for use in operands}
    return {buffer: int(step) for buffer, step in found.items() if step > items[buffer]}


def _targets(op: RecordedOp) -> list[TensorUse]:
    return [use for name in op.mutated if (use := op.tensor(name)) is not None]


def _last_two(use: TensorUse) -> list[int]:
    return [abs(step) for size, step in list(zip(use.shape, use.stride, strict=True))[-2:] if size > 1 and step]


def _walk(operands: Sequence[TensorUse]) -> dict[int, float]:
    leader = max(operands, key=lambda use: use.numel) if operands[0].numel == 1 else operands[0]
    moving = [dim for dim in leader.order if leader.stride[dim]]
    if not moving:
        return {}
    inner = moving[-1] - len(leader.shape)
    found: dict[int, float] = {}
    for use in operands:
        if len(use.shape) >= -inner and use.shape[inner] > 1:
            found[use.buffer] = max(found.get(use.buffer, 0), abs(use.stride[inner]) * use.item_bytes)
    return found
