"""`repeats`: which recorded operators do again what an earlier one of the same call has done. Pure.

An operator that draws random numbers, that belongs to another library, or that works on memory which cannot be seen never repeats. Contents are
followed by storage and by who wrote it (`ridgeline.work.numbering`): every write of torch passes its dispatcher; one past it, through an array of
numpy on the same memory, is not seen.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

from ridgeline.work.numbering import Numbering, View
from ridgeline.work.torch import RecordedOp, TensorUse

__all__ = ["repeats"]

#: Parts of the names of operators that draw random numbers, or reserve memory without writing it.
_NO_FUNCTIONS = (
    "rand", "bernoulli", "normal_", "normal.", "uniform", "dropout", "multinomial", "poisson", "exponential_", "cauchy", "geometric", "rrelu",
    "empty",
)  # fmt: skip


def repeats(ops: Sequence[RecordedOp]) -> list[bool | None]:
    """For each operator whether it repeats an earlier one; `None` where that cannot be told."""
    numbering = Numbering()
    found: list[bool | None] = []
    for op in ops:
        if op.is_view:
            found.append(None)
            continue
        told = _told(op)
        again = numbering.repeats(_operation(op) if told else None, map(_seen, op.inputs), map(_written, op.written))
        found.append(again if told else None)
    return found


def _told(op: RecordedOp) -> bool:
    name = f"{op.kind.removeprefix('aten::')}."
    if not op.kind.startswith("aten::") or any(part in name for part in _NO_FUNCTIONS) or op.number("dropout_p") > 0:
        return False
    return all(use.storage_bytes or not use.numel for use in (*op.inputs, *op.written))


def _operation(op: RecordedOp) -> Hashable:
    return (op.kind, op.overload, tuple((name, _argument(value)) for name, value in op.arguments.items()))


def _argument(value: Any) -> Hashable:
    if isinstance(value, TensorUse):
        return "tensor"
    if isinstance(value, tuple | list):
        return tuple(_argument(entry) for entry in value)
    # 1, 1.0 and True compare equal and are not the same argument.
    return (type(value).__name__, value)


def _seen(use: TensorUse) -> View:
    return View(use.buffer, (use.offset, use.shape, use.stride, use.dtype))


def _written(use: TensorUse) -> View:
    return View(use.buffer, None if use.touched_bytes == use.storage_bytes else (use.offset, use.shape, use.stride))
