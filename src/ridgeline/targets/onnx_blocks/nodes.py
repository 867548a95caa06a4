"""One operator of ONNX as a node with its operands, before it has a place in a model.

Values matter to the time: weights that are equal in two nodes are kept once, and denormals are slow.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["BLOCKED", "MICROSOFT", "Node", "Operand", "constant", "element_type", "operand", "values", "weights"]

BLOCKED, MICROSOFT = "com.microsoft.nchwc", "com.microsoft"
#: Different values, a prime number of them, so that rows of no matrix are alike.
_DRAWN = 262_147
_REPEATED = 2**23
#: Elements for which a mask stays as it is.
_MASK = 64
#: How far the values of one copy are from those of the next.
_APART = 1_009


class Operand(NamedTuple):
    """One operand: `kept` if it is in the file, `own` if each node has one of its own; `content` where the values decide what is done."""

    shape: tuple[int, ...]
    dtype: str
    kept: bool = False
    own: bool = False
    content: NDArray[Any] | None = None

    @property
    def nbytes(self) -> int:
        """Bytes of it."""
        return math.prod(self.shape) * np.dtype(self.dtype).itemsize


class Node(NamedTuple):
    """One operator: its operands in order (null where one is left out) and its results."""

    kind: str
    operands: tuple[Operand | None, ...]
    results: tuple[tuple[tuple[int, ...], str], ...]
    domain: str = ""
    attributes: Mapping[str, Any] = {}


def operand(*shape: int, dtype: str = "float32") -> Operand:
    """What changes from call to call."""
    return Operand(shape, dtype)


def weights(*shape: int, dtype: str = "float32") -> Operand:
    """What each node has in the file."""
    return Operand(shape, dtype, kept=True, own=True)


def constant(content: object, dtype: str = "float32") -> Operand:
    """A value in the file that tells the operator what to do."""
    array = np.asarray(content, dtype)
    return Operand(array.shape, dtype, kept=True, content=array)


def values(of: Operand, number: int = 0) -> NDArray[Any]:
    """Its content, or values as networks have them: weights about 0, inputs between 0 and 1, bytes of all sizes, masks in runs; indices are 0 or 1.

    Args:
        number: of the copy. Weights of no two copies are the same: onnxruntime keeps equal ones once, where no memory is far away.
    """
    if of.content is not None:
        return of.content
    count, first = math.prod(of.shape), number * _APART % _DRAWN
    repeated = _repeated(of.dtype, of.kept)
    found = repeated[first : first + count]
    return (found if len(found) == count else np.resize(repeated[first : first + _DRAWN], count)).reshape(of.shape)


@cache
def _repeated(dtype: str, kept: bool) -> NDArray[Any]:
    """The drawn values over and over, so that most operands are a part of it: drawing them anew takes longer than what is measured."""
    return np.resize(_drawn(dtype, kept), _REPEATED)


@cache
def _drawn(dtype: str, kept: bool) -> NDArray[Any]:
    generator, kind = np.random.default_rng(0), np.dtype(dtype)
    if kind.kind == "f":
        # Finite and no denormals; positive where a function may want it.
        return np.asarray((generator.normal(0.0, 0.05, _DRAWN) if kept else generator.uniform(0.01, 1.0, _DRAWN)).astype(kind))
    if kind.kind == "b":
        # A mask holds for long and then does not: what is drawn for each element no processor foresees, and takes ten times as long.
        return np.repeat(generator.integers(0, 1, -(-_DRAWN // _MASK), endpoint=True).astype(kind), _MASK)[:_DRAWN]
    limits = np.iinfo(kind) if kind.itemsize == 1 and kind.kind in "iu" else None
    low, high = (int(limits.min), int(limits.max)) if limits is not None else (0, 1)
    return np.asarray(generator.integers(low, high, _DRAWN, endpoint=True).astype(kind))


def element_type(dtype: str) -> int:
    """The code of ONNX for a type of numpy."""
    from onnx import helper

    return int(helper.np_dtype_to_tensor_dtype(np.dtype(dtype)))
