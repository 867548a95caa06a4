"""`ArrayFacts`: an array as one operation saw it.

Nothing here holds an array or reads one: a formula is tested from a few numbers. Which bytes are compulsory is decided here (distinct elements
once); what each operation must compute is decided in the formulas.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import msgspec

from ridgeline.core import BufferUse, Precision

__all__ = ["ArrayFacts", "merge", "precision_of"]

_PRECISION: dict[str, Precision] = {
    "float64": "fp64", "complex128": "fp64", "float32": "fp32", "complex64": "fp32", "float16": "fp16", "int8": "int8", "uint8": "int8",
}  # fmt: skip


class ArrayFacts(msgspec.Struct, frozen=True, kw_only=True):
    """An array as one operation saw it.

    Args:
        shape: elements along each dimension.
        dtype: numpy's name, such as `float64`.
        item_bytes: bytes of one element.
        strides: bytes between neighbours along each dimension; empty is taken as C order.
        buffer: number of the memory block it lives in.
        buffer_bytes: size of that block, 0 if not known.
        offset: bytes from the start of the block to the first element.
        fresh: this operation allocated the block.
        persistent: the block was there before the call of the target, which never writes it.
    """

    shape: tuple[int, ...]
    dtype: str = "float64"
    item_bytes: int = 8
    strides: tuple[int, ...] = ()
    buffer: int = 0
    buffer_bytes: int = 0
    offset: int = 0
    fresh: bool = False
    persistent: bool = False

    @property
    def size(self) -> int:
        """Elements, a broadcast dimension as often as it is long."""
        return math.prod(self.shape)

    @property
    def touched_bytes(self) -> int:
        """Distinct bytes behind the array: a dimension of stride 0 once, overlapping windows no more than their span."""
        if self.size == 0:
            return 0
        if len(self.strides) != len(self.shape):
            return self.size * self.item_bytes
        pairs = list(zip(self.shape, self.strides, strict=True))
        distinct = math.prod(size for size, stride in pairs if stride != 0) * self.item_bytes
        span = self.item_bytes + sum((size - 1) * abs(stride) for size, stride in pairs)
        return min(distinct, span)

    @property
    def order(self) -> tuple[int, ...]:
        """Dimensions along which memory is walked, from the slowest-varying to the fastest: longer than 1 and not broadcast."""
        dims = [dim for dim, size in enumerate(self.shape) if size > 1 and dim < len(self.strides) and self.strides[dim] != 0]
        return tuple(sorted(dims, key=lambda dim: (-abs(self.strides[dim]), dim)))

    @property
    def dense(self) -> bool:
        """Whether its elements fill a stretch of memory without holes, in whatever order."""
        if len(self.strides) != len(self.shape) or self.size == 0:
            return True
        expected = self.item_bytes
        for dim in reversed(self.order):
            if abs(self.strides[dim]) != expected:
                return False
            expected *= self.shape[dim]
        return True

    @property
    def complex(self) -> bool:
        """Whether its elements are complex."""
        return self.dtype.startswith("complex")

    @property
    def floating(self) -> bool:
        """Whether its elements are real or complex floating-point numbers."""
        return self.dtype.startswith(("float", "complex", "longdouble", "clongdouble"))


def merge(arrays: Iterable[ArrayFacts]) -> tuple[BufferUse, ...]:
    """One use a block: the same view twice counts once, different views of a block add up to no more than the block."""
    seen: dict[int, dict[tuple[object, ...], ArrayFacts]] = {}
    for array in arrays:
        seen.setdefault(array.buffer, {}).setdefault((array.shape, array.strides, array.dtype), array)
    merged = []
    for buffer, views in seen.items():
        first = next(iter(views.values()))
        total = sum(view.touched_bytes for view in views.values())
        size = min(total, first.buffer_bytes) if first.buffer_bytes else total
        if size > 0:
            merged.append(BufferUse(buffer=buffer, size_bytes=size, fresh=any(v.fresh for v in views.values()), persistent=first.persistent))
    return tuple(merged)


def precision_of(inputs: Iterable[ArrayFacts], outputs: Iterable[ArrayFacts]) -> Precision:
    """The number format that was executed: the widest floating dtype read (mixed inputs are promoted first), else int8, else `any`."""
    read = {_PRECISION[array.dtype] for array in inputs if array.dtype in _PRECISION}
    found = read or {_PRECISION[array.dtype] for array in outputs if array.dtype in _PRECISION}
    widest: tuple[Precision, ...] = ("fp64", "fp32", "fp16", "int8")
    return next((precision for precision in widest if precision in found), "any")
