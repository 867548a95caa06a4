"""Outputs of a call, kept in a file and compared in another process: nested structures, arrays, tensors and plain values.

A result is taken apart into leaves with a path each. Arrays are compared by the largest difference relative to the largest magnitude of the array
(an element near zero has no meaningful relative error of its own), and where one in a hundred of the values or more has become another number of
its own size, they differ however large the rest is. NaN equals NaN, infinities must agree. Everything else must be equal, containers, types and
shapes among it. Objects that are neither cannot be compared, which is said and never taken for equal.
"""

from __future__ import annotations

import dataclasses
import math
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from ridgeline.core import OutputCheck

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Leaf", "compare", "leaves", "load", "store"]

#: More bytes of results than this are not kept beside two processes that hold the target.
_MOST_BYTES = 2**30
_MOST_LEAVES = 100_000
_DEEPEST = 20
#: A value has become another where it moved by this part of itself, and by more than this part of what is allowed of the largest: what arithmetic
#: in another order does to it is far less. Fewer than one in a hundred may: those beside zero by chance.
_ANOTHER, _NOISE, _BY_CHANCE = 0.03, 0.01, 0.01
#: Times the median of an array from which its largest value is a giant.
_GIANT = 1e5
#: From this tolerance on a change is about losing digits, and small values lose all of theirs.
_LOSSY = 1e-3
#: Libraries of whose arrays dtype, shape and values are all there is: an index, units or a mask of others would be lost.
_PLAIN_ARRAYS = frozenset({"jax", "jaxlib", "cupy", "tensorflow", "ml_dtypes"})


class Leaf(msgspec.Struct, frozen=True, kw_only=True):
    """One value of a result: an array (dtype, shape, bytes, and its type as a person calls it), a plain value as text, a container (`holds`, its
    type), or `opaque`, the name of a type that cannot be compared.
    """

    path: str
    dtype: str = ""
    shape: tuple[int, ...] = ()
    data: bytes = b""
    kind: str = ""
    holds: str = ""
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


def compare(before: list[list[Leaf]], after: list[list[Leaf]], tolerance: float, *, any_float: bool = False) -> OutputCheck:
    """Whether several results are the same within a tolerance.

    Args:
        before, after: leaves of the results of the same calls.
        tolerance: largest |after − before| ÷ largest |before| of an array, ≥ 0; 0 asks for bit-equal numbers.
        any_float: whether floating-point numbers may come in another width; that they do is then said as the reason of an equal result.
    """
    opaque = next((leaf for result in (*before, *after) for leaf in result if leaf.opaque), None)
    if opaque is not None:
        return OutputCheck(state="unknown", tolerance=tolerance, reason=f"{opaque.path} is {opaque.opaque}, which cannot be compared")
    if not any(_says_something(leaf) for result in before for leaf in result):
        return OutputCheck(state="unknown", tolerance=tolerance, reason="the call returns nothing that could be compared")
    found = _compared(before, after, tolerance, any_float)
    if found.state == "differs" and any(_compared(before[:1], [other], tolerance, False).state == "differs" for other in before[1:]):
        return OutputCheck(state="unknown", tolerance=tolerance, reason="the results change from call to call, with or without the change")
    return found


def _compared(before: list[list[Leaf]], after: list[list[Leaf]], tolerance: float, any_float: bool) -> OutputCheck:
    worst, said = 0.0, ""
    for old, new in zip(before, after, strict=True):
        structure = _structure(old, new)
        if structure:
            return OutputCheck(state="differs", tolerance=tolerance, reason=structure)
        for a, b in zip(old, new, strict=True):
            typed = _typed(a, b)
            difference, reason = _difference(a, b, tolerance)
            if reason or (typed and not (any_float and _both_float(a, b))):
                return OutputCheck(state="differs", tolerance=tolerance, reason=typed or reason)
            if not difference <= tolerance:
                reason = f"{a.path} differs by {difference:.1e} of its largest value, where {tolerance:.0e} is allowed"
                return OutputCheck(state="differs", difference=difference if math.isfinite(difference) else None, tolerance=tolerance, reason=reason)
            worst, said = max(worst, difference), said or typed
    return OutputCheck(state="equal", difference=worst, tolerance=tolerance, reason=said)


def _structure(old: list[Leaf], new: list[Leaf]) -> str:
    """How the structures of two results differ; empty where they do not."""
    paths, others = [leaf.path for leaf in old], [leaf.path for leaf in new]
    if paths == others:
        return ""
    return "the same values come in another order" if sorted(paths) == sorted(others) else "the result has another structure"


def _typed(a: Leaf, b: Leaf) -> str:
    """How the types of two values differ; empty where they do not."""
    return "" if (a.kind, a.holds) == (b.kind, b.holds) else f"{a.path} is {_called(b)} instead of {_called(a)}"


def _called(leaf: Leaf) -> str:
    return leaf.kind or leaf.holds or leaf.plain[:60]


def _both_float(a: Leaf, b: Leaf) -> bool:
    """Whether both are numbers with a point of the same library."""
    import numpy as np  # late: results without arrays need none, and it takes longer to load than a process to start

    return all(leaf.dtype and np.dtype(leaf.dtype).kind in "fc" for leaf in (a, b)) and a.kind.rpartition(" ")[0] == b.kind.rpartition(" ")[0]


def _says_something(leaf: Leaf) -> bool:
    return bool(leaf.data) or (not leaf.dtype and not leaf.holds and leaf.plain not in ("", "None"))


def _taken_apart(value: Any, path: str, depth: int) -> Iterator[Leaf]:
    array = _array(value)
    if array is not None:
        yield _array_leaf(array, path, _kind(value))
        return
    inside = _items(value)
    if inside is not None:
        if depth >= _DEEPEST:
            yield Leaf(path=path, opaque="nested too deeply")
            return
        yield Leaf(path=path, holds=f"a {type(value).__qualname__}")
        for name, item in inside:
            yield from _taken_apart(item, f"{path}{name}", depth + 1)
    elif value is None or isinstance(value, bool | int | str | bytes | complex):
        yield Leaf(path=path, plain=repr(value))
    elif isinstance(value, float):
        import numpy as np

        yield _array_leaf(np.asarray(value), path, "a float")
    else:
        yield Leaf(path=path, opaque=f"a {type(value).__module__}.{type(value).__qualname__}")


def _items(value: Any) -> list[tuple[str, Any]] | None:
    if _is_masked(value):
        import numpy as np

        # What is masked may be anything.
        return [(".data", value.filled(0)), (".mask", np.ma.getmaskarray(value))] if value.dtype.kind in "biufc" else None
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
    if "numpy" not in sys.modules:  # then no value is an array, of whichever library
        return None
    import numpy as np

    if _is_masked(value):
        return None
    if isinstance(value, np.ndarray | np.generic):
        return np.asarray(value)
    if hasattr(value, "detach") and hasattr(value, "is_sparse"):
        return _tensor(value)
    if type(value).__module__.partition(".")[0] in _PLAIN_ARRAYS and hasattr(type(value), "__array__"):
        return np.asarray(value)
    return None


def _is_masked(value: Any) -> bool:
    masked = sys.modules.get("numpy.ma")
    return masked is not None and isinstance(value, masked.MaskedArray)


def _kind(value: Any) -> str:
    """An array as a person calls it, its number type the last word: `a Tensor of bfloat16`."""
    import numpy as np

    number = str(value.dtype).rpartition(".")[2]
    if type(value) is np.ndarray:
        return f"an array of {number}"
    if isinstance(value, np.generic):
        return f"a numpy {number}"
    sparse = "sparse " if getattr(value, "is_sparse", False) is True else ""
    return f"a {sparse}{type(value).__name__} of {number}"


def _tensor(value: Any) -> NDArray[Any] | None:
    import numpy as np

    plain = value.detach().cpu()
    if plain.is_sparse or plain.is_quantized:
        plain = plain.to_dense() if plain.is_sparse else plain.dequantize()
    try:
        return np.asarray(plain.numpy())
    except TypeError:  # a type numpy has not, such as bfloat16
        return np.asarray(plain.float().numpy())


def _array_leaf(array: NDArray[Any], path: str, kind: str) -> Leaf:
    import numpy as np

    if array.dtype.kind in "OV":
        return Leaf(path=path, opaque=f"an array of {array.dtype}")
    return Leaf(path=path, dtype=array.dtype.str, shape=array.shape, data=np.ascontiguousarray(array).tobytes(), kind=kind)


def _difference(a: Leaf, b: Leaf, tolerance: float) -> tuple[float, str]:
    """(relative difference, why they differ where it is no matter of size)."""
    if bool(a.dtype) != bool(b.dtype) or a.plain != b.plain:
        return 0.0, f"{a.path} is {b.plain[:60] or b.dtype} instead of {a.plain[:60] or a.dtype}"
    if not a.dtype:
        return 0.0, ""
    if a.shape != b.shape:
        return 0.0, f"{a.path} has the shape {b.shape} instead of {a.shape}"
    if a.data == b.data and a.dtype == b.dtype:
        return 0.0, ""
    import numpy as np

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
    if not largest > 0:
        return (0.0 if apart == 0 else math.inf), ""
    if apart / largest > tolerance or not (others := _others(x, y, largest, tolerance)):
        return apart / largest, ""
    return apart / largest, f"{others} of {x.size} values of {a.path} are others, small as they are beside its largest"


def _others(x: NDArray[Any], y: NDArray[Any], largest: float, tolerance: float) -> int:
    """Values that have become others, where they are too many for chance; 0 where they are not, or where digits may be lost."""
    if not 0.0 < tolerance < _LOSSY:
        return 0
    import numpy as np

    sizes, moved = np.abs(x), np.abs(y - x)
    # A lone giant, such as what masks a value out, says nothing of what arithmetic does to the rest.
    largest = min(largest, _GIANT * float(np.median(sizes[sizes > 0])))
    others = int(np.count_nonzero((moved > _ANOTHER * sizes) & (moved > _NOISE * tolerance * largest)))
    return others if others > _BY_CHANCE * np.count_nonzero(x) else 0
