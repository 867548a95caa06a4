"""Outputs of a call, kept in a file and compared in another process: nested structures, arrays, tensors and plain values.

A result is taken apart into leaves with a path each. Arrays are compared by the largest difference relative to the largest magnitude of the array
(an element near zero has no meaningful relative error of its own); NaN equals NaN, infinities must agree. Everything else must be equal. Objects
that are neither cannot be compared, which is said and never taken for equal.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from ridgeline.core import OutputCheck

__all__ = ["Leaf", "compare", "leaves", "load", "store"]

#: More bytes of results than this are not kept beside two processes that hold the target.
_MOST_BYTES = 2**30
_MOST_LEAVES = 100_000
_DEEPEST = 20


class Leaf(msgspec.Struct, frozen=True, kw_only=True):
    """One value of a result: an array (dtype, shape, bytes), a plain value as text, or `opaque`, the name of a type that cannot be compared."""

    path: str
    dtype: str = ""
    shape: tuple[int, ...] = ()
    data: bytes = b""
    plain: str = ""
    opaque: str = ""


class _Stored(msgspec.Struct, frozen=True):
    results: list[list[Leaf]]


def leaves(result: Any) -> list[Leaf]:
    """The leaves of a result, in order; the contents of arrays are copied, since a later call may write over them."""
    found: list[Leaf] = []
    size = 0
    for leaf in _taken_apart(result, "result", 0):
        size += len(leaf.data)
        if size > _MOST_BYTES or len(found) >= _MOST_LEAVES:
            return [Leaf(path="result", opaque="a result of more than a gibibyte" if size > _MOST_BYTES else f"more than {_MOST_LEAVES} values")]
        found.append(leaf)
    return found


def store(path: Path, results: list[list[Leaf]]) -> None:
    """Write the leaves of several results to a file."""
    path.write_bytes(msgspec.msgpack.encode(_Stored(results)))


def load(path: Path) -> list[list[Leaf]]:
    """Read what `store` wrote."""
    return msgspec.msgpack.decode(path.read_bytes(), type=_Stored).results


def compare(before: list[list[Leaf]], after: list[list[Leaf]], tolerance: float) -> OutputCheck:
    """Whether several results are the same within a tolerance.

    Args:
        before, after: leaves of the results of the same calls.
        tolerance: largest |after − before| ÷ largest |before| of an array, ≥ 0; 0 asks for bit-equal numbers.
    """
    opaque = next((leaf for result in (*before, *after) for leaf in result if leaf.opaque), None)
    if opaque is not None:
        return OutputCheck(state="unknown", tolerance=tolerance, reason=f"{opaque.path} is {opaque.opaque}, which cannot be compared")
    if not any(_says_something(leaf) for result in before for leaf in result):
        return OutputCheck(state="unknown", tolerance=tolerance, reason="the call returns nothing that could be compared")
    found = _compared(before, after, tolerance)
    if found.state == "differs" and any(_compared(before[:1], [other], tolerance).state == "differs" for other in before[1:]):
        return OutputCheck(state="unknown", tolerance=tolerance, reason="the results change from call to call, with or without the change")
    return found


def _compared(before: list[list[Leaf]], after: list[list[Leaf]], tolerance: float) -> OutputCheck:
    worst = 0.0
    for old, new in zip(before, after, strict=True):
        if [leaf.path for leaf in old] != [leaf.path for leaf in new]:
            return OutputCheck(state="differs", tolerance=tolerance, reason="the result has another structure")
        for a, b in zip(old, new, strict=True):
            difference, reason = _difference(a, b)
            if reason:
                return OutputCheck(state="differs", tolerance=tolerance, reason=reason)
            if not difference <= tolerance:
                reason = f"{a.path} differs by {difference:.1e} of its largest value, where {tolerance:.0e} is allowed"
                return OutputCheck(state="differs", difference=difference if math.isfinite(difference) else None, tolerance=tolerance, reason=reason)
            worst = max(worst, difference)
    return OutputCheck(state="equal", difference=worst, tolerance=tolerance)


def _says_something(leaf: Leaf) -> bool:
    return bool(leaf.data) or (not leaf.dtype and leaf.plain not in ("", "None", "()"))


def _taken_apart(value: Any, path: str, depth: int) -> Iterator[Leaf]:
    array = _array(value)
    if array is not None:
        yield _array_leaf(array, path)
        return
    inside = _items(value)
    if inside is not None:
        if depth >= _DEEPEST:
            yield Leaf(path=path, opaque="nested too deeply")
            return
        if not inside:
            yield Leaf(path=path, plain="()")
        for name, item in inside:
            yield from _taken_apart(item, f"{path}{name}", depth + 1)
    elif value is None or isinstance(value, bool | int | str | bytes | complex):
        yield Leaf(path=path, plain=repr(value))
    elif isinstance(value, float):
        yield _array_leaf(np.asarray(value), path)
    else:
        yield Leaf(path=path, opaque=f"a {type(value).__module__}.{type(value).__qualname__}")


def _items(value: Any) -> list[tuple[str, Any]] | None:
    if isinstance(value, list | tuple):
        return [(f"[{index}]", item) for index, item in enumerate(value)]
    if isinstance(value, Mapping):
        return [(f"[{key!r}]", item) for key, item in value.items()]
    if isinstance(value, set | frozenset):
        return [(f"{{{index}}}", item) for index, item in enumerate(sorted(value, key=repr))]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return [(f".{field.name}", getattr(value, field.name, None)) for field in dataclasses.fields(value)]
    return None


def _array(value: Any) -> NDArray[Any] | None:
    """The value as an array of numbers; `None` where it is none."""
    if isinstance(value, np.ndarray | np.generic):
        return np.asarray(value)
    if hasattr(value, "detach") and hasattr(value, "is_sparse"):
        return _tensor(value)
    if hasattr(type(value), "__array__") and hasattr(value, "dtype") and hasattr(value, "shape"):
        return np.asarray(value)
    return None


def _tensor(value: Any) -> NDArray[Any] | None:
    plain = value.detach().cpu()
    if plain.is_sparse or plain.is_quantized:
        plain = plain.to_dense() if plain.is_sparse else plain.dequantize()
    try:
        return np.asarray(plain.numpy())
    except TypeError:  # a type numpy has not, such as bfloat16
        return np.asarray(plain.float().numpy())


def _array_leaf(array: NDArray[Any], path: str) -> Leaf:
    if array.dtype.kind in "OV":
        return Leaf(path=path, opaque=f"an array of {array.dtype}")
    return Leaf(path=path, dtype=array.dtype.str, shape=array.shape, data=np.ascontiguousarray(array).tobytes())


def _difference(a: Leaf, b: Leaf) -> tuple[float, str]:
    """(relative difference, why they differ where it is no matter of size)."""
    if bool(a.dtype) != bool(b.dtype) or a.plain != b.plain:
        return 0.0, f"{a.path} is {b.plain[:60] or b.dtype} instead of {a.plain[:60] or a.dtype}"
    if not a.dtype:
        return 0.0, ""
    if a.shape != b.shape:
        return 0.0, f"{a.path} has the shape {b.shape} instead of {a.shape}"
    if a.data == b.data and a.dtype == b.dtype:
        return 0.0, ""
    old, new = np.frombuffer(a.data, a.dtype), np.frombuffer(b.data, b.dtype)
    if old.dtype.kind not in "fc" or new.dtype.kind not in "fc":
        wrong = int(np.count_nonzero(old != new))
        return 0.0, f"{wrong} of {old.size} values of {a.path} are others" if wrong else ""
    if not np.array_equal(np.isfinite(old), np.isfinite(new)) or not np.array_equal(old[~np.isfinite(old)], new[~np.isfinite(old)], equal_nan=True):
        return 0.0, f"{a.path} is infinite or not a number in other places"
    finite = np.isfinite(old)
    wide = np.complex128 if old.dtype.kind == "c" else np.float64
    x, y = old[finite].astype(wide), new[finite].astype(wide)
    if not x.size:
        return 0.0, ""
    largest, apart = float(np.abs(x).max()), float(np.abs(y - x).max())
    return (apart / largest if largest > 0 else (0.0 if apart == 0 else math.inf)), ""
