"""Whether a product is one of a matrix with its own transpose, for which numpy asks BLAS for one triangle (`syrk`) and mirrors it.

numpy tells it from the addresses: both operands start at the same byte and step through it the other way round. Whether it gets so far depends on
the function: what has to be copied first has another address. Source: numpy's `umath/matmul.c.src` and `common/cblasfuncs.c`.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from .facts import ArrayFacts

__all__ = ["BLAS", "as_matrix", "results_computed"]

#: Formats that have a BLAS.
BLAS = ("float32", "float64", "complex64", "complex128")


def results_computed(first: ArrayFacts, second: ArrayFacts, results: int, *, copies: bool) -> int:
    """Results that a product of matrices, or of stacks of them, works out: n(n + 1) ÷ 2 of each n² where a matrix meets its own transpose.

    Args:
        first, second: as the product sees them, n × k and k × n.
        results: all of them.
        copies: whether anything but a whole matrix in C or Fortran order is copied first (`dot`), or only what has no unit step (`matmul`).
    """
    # A single row or column is no matrix to numpy, and goes another way.
    if min(len(first.shape), len(first.strides)) < 2 or min(first.shape[-2:]) < 2 or not _mirrored(first, second):
        return results
    (rows, columns), (down, right) = first.shape[-2:], first.strides[-2:]
    if not any(_usable(*axes, first.item_bytes, whole=copies) for axes in ((columns, down, right), (rows, right, down))):
        return results
    if copies and len(first.shape) > 2:
        return results
    return results // (rows * rows) * (rows * (rows + 1) // 2)


def _usable(length: int, outer: int, inner: int, item_bytes: int, *, whole: bool) -> bool:
    """Whether rows of that length lie side by side (`whole`) or at least do not overlap, as BLAS wants a matrix."""
    return inner == item_bytes and (outer == length * inner if whole else outer >= length * inner)


def _mirrored(first: ArrayFacts, second: ArrayFacts) -> bool:
    turned = (*first.shape[:-2], first.shape[-1], first.shape[-2]), (*first.strides[:-2], first.strides[-1], first.strides[-2])
    return (
        (second.shape, second.strides) == turned
        and (first.buffer, first.offset, first.dtype) == (second.buffer, second.offset, second.dtype)
        and first.dtype in BLAS
    )


def as_matrix(array: ArrayFacts, groups: Sequence[Sequence[int]]) -> ArrayFacts | None:
    """The array with each group of its axes as one axis, `None` where numpy could not do that without a copy.

    Args:
        array: with its steps.
        groups: positions of axes, each once.
    """
    if len(array.strides) != len(array.shape):
        return None
    merged = [_merged([(array.shape[axis], array.strides[axis]) for axis in group if array.shape[axis] != 1]) for group in groups]
    found = [pair for pair in merged if pair is not None]
    if len(found) < len(merged):
        return None
    return msgspec.structs.replace(array, shape=tuple(size for size, _ in found), strides=tuple(step for _, step in found))


def _merged(axes: Sequence[tuple[int, int]]) -> tuple[int, int] | None:
    """Length and step of several axes as one: each must step over all of the next."""
    size, step = 1, 0
    for length, stride in reversed(axes):
        if size > 1 and stride != step * size:
            return None
        size, step = size * length, step if size > 1 else stride
    return size, step
