"""Versioned documents: the same typed struct is API, file and wire.

A document is a msgspec struct whose tag is `ridgeline.NAME/VERSION`, written in the field `schema`. Fields are only ever added. A
document of an older version goes through the upcasters from its version to the current one; a newer one is refused with a clear line.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import msgspec

from .column import Blobs, Column
from .errors import ReadError, RidgelineError, UsageError

__all__ = ["decode", "encode", "from_builtins", "json_schema", "to_builtins", "upcaster"]

T = TypeVar("T")
Upcast = Callable[[dict[str, Any]], dict[str, Any]]
_UPCASTERS: dict[tuple[str, int], Upcast] = {}


class _Head(msgspec.Struct):
    schema: str = ""


def upcaster(name: str, version: int) -> Callable[[Upcast], Upcast]:
    """Register a function that turns the plain form of `name`/`version` into that of `name`/`version + 1`."""

    def register(function: Upcast) -> Upcast:
        _UPCASTERS[name, version] = function
        return function

    return register


def encode(document: msgspec.Struct, blobs: Blobs | None = None) -> bytes:
    """Write a struct as JSON; long columns go to `blobs` where there is one.

    Raises:
        UsageError: a number that is not finite; JSON has none, and null in its place would not be read back.
    """
    return msgspec.json.encode(to_builtins(document, blobs))


def to_builtins(document: msgspec.Struct, blobs: Blobs | None = None) -> Any:
    """The plain dict form of a struct, as `encode` would write it."""
    plain = msgspec.to_builtins(document, enc_hook=_enc_hook(blobs))
    _refuse_infinite(plain, type(document).__name__)
    return plain


def from_builtins(plain: object, kind: type[T], blobs: Blobs | None = None) -> T:
    """Build a struct from its plain form; `ReadError` names the place of what does not fit."""
    try:
        return msgspec.convert(plain, kind, dec_hook=_dec_hook(blobs))
    except (msgspec.ValidationError, RidgelineError) as error:
        raise _as_read_error(kind, error) from error


def decode(data: bytes, kind: type[T], blobs: Blobs | None = None) -> T:
    """Read a struct from JSON.

    Raises:
        ReadError: not JSON, not UTF-8, truncated, another schema, a newer version, or a field that does not fit.
    """
    try:
        found = msgspec.json.decode(data, type=_Head).schema
        config = getattr(kind, "__struct_config__", None)
        expected = config.tag if config else None
        if expected and found != expected:
            return from_builtins(_upcast(msgspec.json.decode(data), found, str(expected)), kind, blobs)
        return msgspec.json.decode(data, type=kind, dec_hook=_dec_hook(blobs))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, RidgelineError) as error:
        raise _as_read_error(kind, error) from error


def json_schema(kind: type) -> dict[str, Any]:
    """The JSON Schema of a document type."""
    return msgspec.json.schema(kind, schema_hook=_schema_hook)


def _upcast(plain: dict[str, Any], found: str, expected: str) -> dict[str, Any]:
    name, _, wanted = expected.rpartition("/")
    found_name, _, version_text = found.rpartition("/")
    if found_name != name or not re.fullmatch(r"[0-9]{1,6}", version_text):
        raise ReadError(f"a document {expected}", found=f"schema {found!r}", remedy="give the file that this command writes")
    version = int(version_text)
    if version > int(wanted):
        raise ReadError(f"a document {expected} or older", found=f"schema {found!r}", remedy="update ridgeline")
    while version < int(wanted):
        if (name, version) not in _UPCASTERS:
            raise ReadError(f"a way from {name}/{version} to {expected}", found="no upcaster", remedy="report this: fields are only ever added")
        try:
            plain = _UPCASTERS[name, version](plain)
        except (LookupError, TypeError, ValueError, AttributeError) as error:
            what = f"{type(error).__name__}: {error}"
            raise ReadError(f"a document {name}/{version} with the fields of that version", found=what, remedy="the file is damaged") from error
        version += 1
    return {**plain, "schema": expected}


def _as_read_error(kind: type, error: Exception) -> ReadError:
    if isinstance(error, ReadError):
        return error
    name = getattr(kind, "__name__", str(kind))
    return ReadError(f"a document of type {name}", found=str(error), remedy="the file is damaged or of another kind")


def _refuse_infinite(plain: Any, where: str) -> None:
    """Walk a plain form and refuse floats that are not finite, naming the place."""
    stack = [(where, plain)]
    while stack:
        place, value = stack.pop()
        if isinstance(value, float) and not math.isfinite(value):
            raise UsageError("documents with finite numbers", found=f"{place} = {value!r}", remedy="leave out what is not known")
        if isinstance(value, dict):
            stack += [(f"{place}.{key}", item) for key, item in value.items()]
        elif isinstance(value, (list, tuple)) and not _finite_numbers(value):
            stack += [(f"{place}[{index}]", item) for index, item in enumerate(value)]


def _finite_numbers(values: Sequence[Any]) -> bool:
    """Whether all are whole numbers, or all are finite floats: the long lists of a document are, and walking each of their values takes long."""
    kinds = set(map(type, values))
    return kinds <= {int, bool} or (kinds == {float} and all(map(math.isfinite, values)))


def _enc_hook(blobs: Blobs | None) -> Callable[[Any], Any]:
    def encode_other(value: Any) -> Any:
        if isinstance(value, Column):
            return value.to_wire(blobs)
        raise NotImplementedError(f"{type(value).__name__} has no wire form")

    return encode_other


def _dec_hook(blobs: Blobs | None) -> Callable[[type, Any], Any]:
    def decode_other(kind: type, wire: Any) -> Any:
        if kind is Column:
            return Column.from_wire(wire, blobs)
        raise NotImplementedError(f"{kind.__name__} has no wire form")

    return decode_other


def _schema_hook(kind: type) -> dict[str, Any]:
    if kind is Column:
        return Column.json_schema()
    raise NotImplementedError(f"{kind.__name__} has no schema")
