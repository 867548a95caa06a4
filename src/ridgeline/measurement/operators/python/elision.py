"""Reuse of temporaries: numpy computes `a * b + c` in the memory of `a * b`, because nothing else refers to it. A hook that holds its arguments would
hide that, and the instrumented program would allocate where the original does not. `reusable` finds the operand that numpy would have reused.

Conditions as numpy documents them for its temporary elision (release notes 1.13): a reference count of one, own writeable memory of at least 256 KiB,
the same dtype, the other operand a scalar or of the same shape; the left operand first, the right one for operators that commute.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["IN_PLACE", "reusable"]

_LEAST_BYTES = 256 * 1024
_ARITHMETIC = "biufc"
#: Operators numpy does it for, and whether their operands may be exchanged.
IN_PLACE: dict[str, tuple[np.ufunc, bool]] = {
    "add": (np.add, True), "sub": (np.subtract, False), "mul": (np.multiply, True), "truediv": (np.true_divide, False),
    "floordiv": (np.floor_divide, False), "and_": (np.bitwise_and, True), "or_": (np.bitwise_or, True), "xor": (np.bitwise_xor, True),
    "lshift": (np.left_shift, False), "rshift": (np.right_shift, False),
}  # fmt: skip


def _references(left: Any, count: Callable[[Any], int] = sys.getrefcount) -> int:
    return count(left)


# What a value shows that only the call itself refers to: measured, since it differs between interpreters.
_ALONE = _references(np.empty(0))
# numpy looks for its caller in the C stack, which it can do with glibc only.
_AVAILABLE = sys.platform == "linux" and sys.implementation.name == "cpython"
# Before numpy 2 the *value* of a number could widen the result.
_NUMBERS_ARE_WEAK = int(np.__version__.split(".")[0]) >= 2


def reusable(name: str, left: Any, right: Any, extra: int) -> Any:
    """The operand whose memory numpy would use for the result, `None` if there is none.

    Args:
        name: of the operator, as `operator` has it.
        left, right: the operands.
        extra: references that the hooks themselves hold beyond a direct call of this function.
    """
    # Most operands are small or no arrays; they must cost next to nothing here.
    if not (_large(left) or _large(right)) or not _AVAILABLE or name not in IN_PLACE:
        return None
    commutes = IN_PLACE[name][1]
    # The quotient of integers has another dtype.
    if name == "truediv" and type(left) is np.ndarray and left.dtype.kind not in "fc":
        return None
    if _temporary(left) and sys.getrefcount(left) <= _ALONE + extra and _fits(left, right):
        return left
    if commutes and _temporary(right) and sys.getrefcount(right) <= _ALONE + extra and _fits(right, left):
        return right
    return None


def _large(value: Any) -> bool:
    return type(value) is np.ndarray and value.nbytes >= _LEAST_BYTES


def _temporary(value: Any) -> bool:
    return _large(value) and bool(value.flags.owndata and value.flags.writeable and value.dtype.kind in _ARITHMETIC)


def _fits(target: Any, other: Any) -> bool:
    if type(other) is np.ndarray:
        return other.dtype == target.dtype and (other.shape == target.shape or other.ndim == 0)
    if not _NUMBERS_ARE_WEAK:
        return False
    return target.dtype.kind in ("iufc" if type(other) in (bool, int) else "fc" if type(other) is float else "")
