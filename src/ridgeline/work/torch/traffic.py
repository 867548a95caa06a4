"""Compulsory traffic of one recorded op: each distinct byte it must read once, each byte it must write once.

This decides what an operator has to move at the least; what it really moves (write-allocate, reorders, spills) is for a measurement.
"""

from __future__ import annotations

from collections.abc import Iterable

from ridgeline.core import BufferUse

from .recorded import RecordedOp, TensorUse

__all__ = ["merge", "reads", "use", "writes"]

# In-place operators that overwrite their target without looking at it.
_OVERWRITE = frozenset(
    {
        "copy_",
        "fill_",
        "zero_",
        "normal_",
        "uniform_",
        "random_",
        "bernoulli_",
        "exponential_",
        "geometric_",
        "log_normal_",
        "cauchy_",
        "set_",
        "resize_",
    }
)


def use(tensor: TensorUse, size_bytes: int | None = None) -> BufferUse:
    """The buffer of a tensor with the bytes touched, all of the tensor's unless `size_bytes` says less."""
    return BufferUse(
        buffer=tensor.buffer,
        size_bytes=tensor.touched_bytes if size_bytes is None else size_bytes,
        constant=tensor.constant,
        fresh=tensor.fresh,
        persistent=tensor.persistent,
    )


def merge(tensors: Iterable[TensorUse]) -> tuple[BufferUse, ...]:
    """One use a buffer: the same view twice counts once, different views of a storage add up to no more than the storage."""
    seen: dict[int, dict[tuple[object, ...], TensorUse]] = {}
    for tensor in tensors:
        seen.setdefault(tensor.buffer, {}).setdefault((tensor.offset, tensor.shape, tensor.stride), tensor)
    merged = []
    for views in seen.values():
        first = next(iter(views.values()))
        total = sum(view.touched_bytes for view in views.values())
        merged.append(use(first, min(total, first.storage_bytes) if first.storage_bytes else total))
    return tuple(entry for entry in merged if entry.size_bytes > 0)


def reads(op: RecordedOp) -> tuple[BufferUse, ...]:
    """Buffers the op must read: its inputs, without targets that it overwrites unseen (`copy_`, `fill_`, …)."""
    skip: set[int] = set()
    if op.kind.removeprefix("aten::") in _OVERWRITE:
        skip = {id(tensor) for tensor in op.inputs[:1]}
    return merge(tensor for tensor in op.inputs if id(tensor) not in skip)


def writes(op: RecordedOp) -> tuple[BufferUse, ...]:
    """Buffers the op must write: mutated arguments and results with storage of their own."""
    return merge(op.written)
