"""Identity of what an operation is given, taken down so that two executions can be told to be the same work without keeping either's arguments.

Decides which values can be compared by what they are (numbers, text, plain containers, paths, a file and the place in it) and which operations depend
on nothing else. What is not known to be a function of its arguments never repeats.
"""

from __future__ import annotations

import enum
import hashlib
import io
import os
import pathlib
import pickle
import re
import types
import zlib
from collections.abc import Hashable, Iterable
from typing import Any

import numpy as np

from .kinds import Kinds

__all__ = ["fingerprint", "is_function", "known_arguments", "writes_first"]

_PLAIN = (type(None), bool, int, float, complex, str, bytes)
#: Up to this size arrays are compared by all of their bytes, beyond by elements spread over them.
_EXACT_BYTES = 16_384
_SPREAD = 64
_MOST_ITEMS = 1_000_000
_DEEPEST = 6

#: Operations that write their first array, by their names without `numpy.`; methods only where the function of that name returns a new array.
_IN_PLACE = frozenset(
    {"put", "place", "putmask", "copyto", "fill_diagonal", "put_along_axis", "fill", "itemset", "resize", "setfield",
     "add.at", "subtract.at", "multiply.at", "maximum.at", "minimum.at"}
)  # fmt: skip
_IN_PLACE_METHODS = frozenset({"sort", "partition", "byteswap"})
_NO_FUNCTIONS = (
    "random.",
    "save",
    "load",
    "fromfile",
    "tofile",
    "memmap",
    "empty",
    "errstate",
    "seterr",
    "vectorize",
    "frompyfunc",
    "nditer",
    "dump",
)
_FUNCTIONS = (
    "json.loads", "json.decoder.", "json.dumps", "json.load", "json.encoder.", "re.", "builtins.sorted", "builtins.sum", "builtins.min",
    "builtins.max", "math.", "statistics.", "zlib.", "gzip.compress", "gzip.decompress", "bz2.compress", "bz2.decompress", "lzma.compress",
    "lzma.decompress", "base64.", "binascii.", "tomllib.", "ast.", "html.", "urllib.parse.", "xml.etree.ElementTree.fromstring", "string.Template.",
    "textwrap.", "difflib.", "fractions.", "pathlib.Path.read_text", "pathlib.Path.read_bytes", "pathlib.PosixPath.read_text",
    "pathlib.PosixPath.read_bytes", "io.TextIOWrapper.read", "io.BufferedReader.read", "io.TextIOWrapper.readlines", "io.BufferedReader.readlines",
    "builtins.str.", "builtins.bytes.", "csv.reader", "unicodedata.", "hashlib.", "_hashlib.", "marshal.loads", "pickle.loads", "struct.unpack",
    "_json.", "_re.", "_pickle.loads", "_struct.unpack", "_statistics.", "numpy.loadtxt", "numpy.genfromtxt", "numpy.load",
)  # fmt: skip


class _Unknown(Exception):
    """A value that cannot be compared by what it is."""


def is_function(kind: str) -> bool:
    """Whether an operation depends on nothing but its arguments and changes nothing but what it returns or is told to write.

    >>> is_function("numpy.linalg.inv"), is_function("numpy.random.normal"), is_function("json.loads"), is_function("subprocess.run")
    (True, False, True, False)
    """
    package, _, name = kind.partition(".")
    if kind.startswith(_FUNCTIONS):
        return True
    return package in ("numpy", "scipy") and not name.startswith(_NO_FUNCTIONS) and ".stats" not in kind


def writes_first(kind: str, *, method: bool) -> bool:
    """Whether an operation changes the first array it is given."""
    name = kind.removeprefix("numpy.")
    return name in _IN_PLACE or (method and name in _IN_PLACE_METHODS)


def known_arguments(values: Iterable[Any], kinds: Kinds) -> Hashable | None:
    """What the arguments are, arrays left out; `None` if one of them cannot be compared by what it is."""
    try:
        return tuple(_identity(value, kinds, 0) for value in values)
    except _Unknown:
        return None


def fingerprint(array: Any) -> tuple[bool, int] | None:
    """(Whether all bytes were looked at, checksum) of an array's contents; `None` where it holds objects."""
    if array.dtype.hasobject:
        return None
    if array.nbytes <= _EXACT_BYTES:
        return True, zlib.crc32(np.ascontiguousarray(array).tobytes())
    step = max(1, array.size // _SPREAD)
    return False, zlib.crc32(array.flat[::step].tobytes())


def _identity(value: Any, kinds: Kinds, depth: int) -> Hashable:
    kind = type(value)
    if kinds[kind]:
        return "array"
    if kind in _PLAIN:
        return (kind.__name__, value if kind not in (str, bytes) or len(value) <= 64 else _digest(value))
    if kind in (list, tuple, set, frozenset, dict):
        return _container(value, kinds, depth)
    return _object(value, kinds, depth)


def _container(value: Any, kinds: Kinds, depth: int) -> Hashable:
    if depth >= _DEEPEST or len(value) > _MOST_ITEMS:
        raise _Unknown
    name = type(value).__name__
    if type(value) is dict:
        return (name, _container(list(value.keys()), kinds, depth + 1), _container(list(value.values()), kinds, depth + 1))
    if len(value) > 16 and all(kind in _PLAIN for kind in set(map(type, value))):
        return (name, _digest(value))
    return (name, tuple(_identity(item, kinds, depth + 1) for item in value))


def _object(value: Any, kinds: Kinds, depth: int) -> Hashable:
    if isinstance(value, np.generic) and not value.dtype.hasobject:
        return (value.dtype.str, value.tobytes())
    if isinstance(value, slice):
        return ("slice", *(_identity(part, kinds, depth + 1) for part in (value.start, value.stop, value.step)))
    if isinstance(value, np.dtype | pathlib.PurePath | range | enum.Enum | types.EllipsisType | np.ufunc):
        return (type(value).__name__, str(value))
    if isinstance(value, type | types.BuiltinFunctionType):
        return ("name", str(value.__module__), value.__qualname__)
    if isinstance(value, re.Pattern):
        return ("pattern", _identity(value.pattern, kinds, depth + 1), value.flags)
    if isinstance(value, io.TextIOWrapper | io.BufferedReader):
        return _file(value)
    raise _Unknown


def _file(value: Any) -> Hashable:
    """A file that is only read: which, where in it, and in which state."""
    try:
        if value.writable() or not value.seekable():
            raise _Unknown
        found = os.fstat(value.fileno())
        return ("file", found.st_dev, found.st_ino, found.st_mtime_ns, found.st_size, value.tell())
    except (OSError, ValueError) as error:
        raise _Unknown from error


def _digest(value: Any) -> bytes:
    return hashlib.blake2b(pickle.dumps(value, 5), digest_size=16).digest()
