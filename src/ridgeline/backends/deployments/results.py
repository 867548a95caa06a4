"""Results of a call as arrays by name, which can be kept in an .npz and checked as outputs of a kernel are.

How a result is taken apart is `measurement.outputs`'s; here its leaves become arrays: text as the bytes of it, so that any two can be compared.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ridgeline.measurement.outputs import Leaf

from ..base import Argument

__all__ = ["arrays_of", "as_expected", "outputs_of"]

Array = NDArray[Any]


def arrays_of(leaves: Iterable[Leaf]) -> dict[str, Array]:
    """Path of a leaf → its array; nothing, and what cannot be compared, is left out."""
    return {leaf.path: _array(leaf) for leaf in leaves if leaf.dtype or leaf.plain not in ("", "None")}


def outputs_of(arrays: dict[str, Array]) -> tuple[Argument, ...]:
    """The arrays as outputs of a job."""
    return tuple(Argument(name=name, dtype=array.dtype.str, shape=array.shape, output=True) for name, array in arrays.items())


def as_expected(arrays: dict[str, Array], outputs: Iterable[Argument]) -> dict[str, Array]:
    """Numbers with a point in the width in which a job has them: a change of precision may return another."""
    wanted = {output.name: np.dtype(output.dtype) for output in outputs}
    return {
        name: array.astype(wanted[name]) if name in wanted and array.dtype.kind == wanted[name].kind == "f" else array
        for name, array in arrays.items()
    }


def _array(leaf: Leaf) -> Array:
    if not leaf.dtype:
        return np.frombuffer(leaf.plain.encode("utf-8", "surrogatepass"), np.uint8)
    if np.dtype(leaf.dtype).kind not in "biufc":
        return np.frombuffer(leaf.data, np.uint8)
    return np.frombuffer(leaf.data, leaf.dtype).reshape(leaf.shape)
