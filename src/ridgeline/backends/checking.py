"""Whether the outputs of a kernel are right: shape, dtype, numbers that are numbers, and close to a reference where there is one.

`base.Check` says what close is. What becomes of a wrong result is decided elsewhere.
"""

from __future__ import annotations

import os
import zipfile
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ridgeline.core import ReadError

from .base import Argument, Check, Job

__all__ = ["what_is_wrong"]

Array = NDArray[Any]


def what_is_wrong(job: Job, outputs: Mapping[str, Array]) -> str:
    """The first thing that is not right, in one line; empty where everything is.

    Args:
        outputs: by name, after a run.

    Raises:
        ReadError: the reference cannot be read, or has no such output.
    """
    reference = _reference(job.check.reference) if job.check.reference else None
    for argument in job.arguments:
        if not argument.output:
            continue
        if argument.name not in outputs:
            return f"the kernel gives no output {argument.name}"
        found = np.asarray(outputs[argument.name])
        right = None if reference is None else _of(reference, argument.name, job.check.reference)
        if said := _typed(argument, found) or (_infinite(found) if right is None else _apart(found, right, job.check)):
            return f"{argument.name} {said}"
    return ""


def _typed(argument: Argument, found: Array) -> str:
    shape = argument.shape or ()
    if found.shape != shape:
        return f"has the shape {found.shape} instead of {shape}"
    return "" if found.dtype == np.dtype(argument.dtype) else f"is {found.dtype} instead of {argument.dtype}"


def _infinite(found: Array) -> str:
    if found.dtype.kind not in "fc":
        return ""
    bad = ~np.isfinite(found)
    return f"is {found[bad][0]} at {_place(bad)}, {np.count_nonzero(bad)} of {found.size} values are no numbers" if bad.any() else ""


def _apart(found: Array, right: Array, check: Check) -> str:
    """How an output differs from the reference; empty where it lies within the tolerance."""
    if found.shape != right.shape:
        return f"has the shape {found.shape} instead of {right.shape} of the reference"
    if np.array_equal(found, right) or _clearly_close(found, right, check.relative):
        return ""
    relative = check.relative if found.dtype.kind in "fc" and right.dtype.kind in "fc" else check.whole
    if not relative:
        return _other(found, right)
    wide: Any = np.complex128 if "c" in (found.dtype.kind, right.dtype.kind) else np.float64
    x, y = right.astype(wide), found.astype(wide)
    finite = np.isfinite(x)
    strange = (finite != np.isfinite(y)) | ~(finite | (x == y) | (np.isnan(x) & np.isnan(y)))
    if strange.any():
        return f"is {_at(found, strange)} at {_place(strange)} instead of {_at(right, strange)}"
    apart = np.abs(np.subtract(y, x, where=finite, out=np.zeros_like(x)))
    largest = float(np.abs(x[finite]).max(initial=0.0))
    bad = apart > relative * largest
    if not bad.any():
        return ""
    worst = apart == apart.max()
    by = f"{float(apart.max()) / largest:.1e} of its largest value" if largest else "where all is zero"
    counted = f"{np.count_nonzero(bad)} of {found.size} values differ by more than the {relative:.0e} that is allowed"
    return f"is {_at(found, worst)} at {_place(worst)} instead of {_at(right, worst)}, {by}; {counted}"


def _clearly_close(found: Array, right: Array, relative: float) -> bool:
    """Whether nothing is wrong, without widening anything: what most outputs are. Not for whole numbers, whose differences may overflow.

    A difference is rounded to one part in 2^11 at the most (of 16 bits), so that half the tolerance is clearly within it; with anything that is no
    number no comparison holds.
    """
    if found.dtype != right.dtype or found.dtype.kind != "f" or not found.size:
        return False
    with np.errstate(all="ignore"):
        largest = float(np.abs(right).max())
        return bool(np.isfinite(largest) and float(np.abs(found - right).max()) <= 0.5 * relative * largest)


def _other(found: Array, right: Array) -> str:
    """How an output differs from the reference where nothing may: as they are, since a large whole number is none of 64 bits with a point."""
    other = ~((found == right) | ((found != found) & (right != right)))
    if not other.any():
        return ""
    return f"is {_at(found, other)} at {_place(other)} instead of {_at(right, other)}; {np.count_nonzero(other)} of {found.size} values are others"


def _at(array: Array, where: NDArray[np.bool_]) -> str:
    value = array[where].ravel()[0]
    return f"{value:.6g}" if array.dtype.kind in "fc" else str(value)


def _place(where: NDArray[np.bool_]) -> str:
    return "[" + ", ".join(str(int(axis)) for axis in np.unravel_index(int(np.argmax(where)), where.shape)) + "]"


def _of(reference: Mapping[str, Array], name: str, path: str) -> Array:
    if name not in reference:
        raise ReadError(
            f"an array {name!r} in the reference", found=f"{path} with {sorted(reference)}", remedy="write every output to it by its name"
        )
    return reference[name]


def _reference(path: str) -> Mapping[str, Array]:
    try:
        state = os.stat(path)
        return _read(path, state.st_mtime_ns, state.st_size)
    except (OSError, ValueError, zipfile.BadZipFile, EOFError) as error:
        raise ReadError("a reference of arrays by name, in an .npz", found=f"{path}: {error}", remedy="write it with numpy.savez") from error


@lru_cache(maxsize=1)
def _read(path: str, changed_ns: int, size: int) -> Mapping[str, Array]:
    """A worker checks against the same reference again and again; another file of the same name is another key."""
    stored = np.load(path, allow_pickle=False)
    if not isinstance(stored, np.lib.npyio.NpzFile):
        raise ValueError("an array without a name")
    with stored:
        return {name: stored[name] for name in stored.files}
