"""Arrays of numpy's `.npz` files, read without running anything of them.

This module decides what is refused: objects (they are pickled code), members that are not asked for, and arrays that claim to be larger than the
bytes they come with. What the arrays mean is left to the readers. Source: numpy, "NEP 1: a simple file format for numpy arrays".
"""

from __future__ import annotations

import contextlib
import math
import zipfile
from collections.abc import Sequence
from typing import Any

from numpy.lib import format as npy
from numpy.typing import NDArray

from ridgeline.core import ReadError

from ..source import Source

__all__ = ["array_names", "read_arrays"]

_ZIP = b"PK\x03\x04"
_HEADERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}


def array_names(source: Source) -> frozenset[str]:
    """Names of the arrays of a file; none where it is no `.npz`."""
    with contextlib.suppress(ReadError, OSError, zipfile.BadZipFile, ValueError, NotImplementedError):
        if source.head.startswith(_ZIP):
            with zipfile.ZipFile(source.path) as packed:
                return frozenset(name.removesuffix(".npy") for name in packed.namelist())
    return frozenset()


def read_arrays(source: Source, names: Sequence[str]) -> dict[str, NDArray[Any]]:
    """Arrays of a file by name.

    Raises:
        ReadError: one that is missing, damaged, too large, or of objects.
    """
    try:
        with zipfile.ZipFile(source.path) as packed:
            return {name: _read(source, packed, name) for name in names}
    except (OSError, EOFError, zipfile.BadZipFile, ValueError, KeyError, NotImplementedError, RuntimeError) as error:
        raise source.damaged("a whole .npz file", str(error) or type(error).__name__, "fetch it again") from error
    except Exception as error:
        if type(error).__name__ != "error":  # zlib.error, of a module that zipfile loads late
            raise
        raise source.damaged("a whole .npz file", str(error), "fetch it again") from error


def _read(source: Source, packed: zipfile.ZipFile, name: str) -> NDArray[Any]:
    member = packed.getinfo(f"{name}.npy")
    with packed.open(member) as file:
        version = npy.read_magic(file)
        if version not in _HEADERS:
            raise source.damaged("arrays in format 1.0 or 2.0", f"{name} in {version}", "save it again")
        shape, _, dtype = _HEADERS[version](file)
    size = math.prod(shape) * dtype.itemsize
    if dtype.hasobject or dtype.kind not in "biufU":
        raise source.damaged("arrays of numbers or texts", f"{name} of {dtype}", "save it as numbers")
    if size > min(member.file_size, source.limits.whole_bytes):
        raise source.damaged(f"{name} of as many bytes as it claims", f"{member.file_size} of {size}", "fetch it again")
    with packed.open(member) as file:
        found: NDArray[Any] = npy.read_array(file, allow_pickle=False)
    return found
