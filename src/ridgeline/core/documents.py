"""Versioned documents: the same typed struct is API, file and wire.

A document is a msgspec struct whose tag is `ridgeline.NAME/VERSION`, written in the field `schema`. Fields are only ever added. A
document of an older version goes through the upcasters from its version to the current one; a newer one is refused with a clear line.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

from .column import Blobs, Column
from .errors import ReadError, RidgelineError

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
    """Write a struct as JSON; long columns go to `blobs` where there is one."""
    return msgspec.json.encode(document, enc_hook=_enc_hook(blobs))


def to_builtins(document: msgspec.Struct, blobs: Blobs | None = None) -> Any:
    """The plain dict form of a struct, as `encode` would write it."""
    return msgspec.to_builtins(document, enc_hook=_enc_hook(blobs))


def from_builtins(plain: object, kind: type[T], blobs: Blobs | None = None) -> T:
    """Build a struct from its plain form; `ReadError` names the place of what does not fit."""
    try:
        return msgspec.convert(plain, kind, dec_hook=_dec_hook(blobs), strict=False)
    except (msgspec.ValidationError, RidgelineError) as error:
        raise _as_read_error(kind, error) from error


def decode(data: bytes, kind: type[T], blobs: Blobs | None = None) -> T:
    """Read a struct from JSON.

    Raises:
        ReadError: not JSON, not UTF-8, truncated, another schema, a newer version, or a field that does not fit.
    """
    try:
        found = msgspec.json.decode(data, type=_Head).schema
        expected = getattr(kind, "__struct_config__").tag if hasattr(kind, "__struct_config__") else None
        if expected and found != expected:
            return from_builtins(_upcast(msgspec.json.decode(data), found, str(expected)), kind, blobs)
        return msgspec.json.decode(data, type=kind, dec_hook=_dec_hook(blobs))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise _as_read_error(kind, error) from error


def json_schema(kind: type) -> dict[str, Any]:
    """The JSON Schema of a document type."""
    return msgspec.json.schema(kind, schema_hook=_schema_hook)


def _upcast(plain: dict[str, Any], found: str, expected: str) -> dict[str, Any]:
    name, _, wanted = expected.rpartition("/")
    found_name, _, version_text = found.rpartition("/")
    if found_name != name or not version_text.isdecimal():
        raise ReadError(f"a document {expected}", found=f"schema {found!r}", remedy="give the file that this command writes")
    version = int(version_text)
    if version > int(wanted):
        raise ReadError(f"a document {expected} or older", found=f"schema {found!r}", remedy="update ridgeline")
    while version < int(wanted):
        if (name, version) not in _UPCASTERS:
            raise ReadError(f"a way from {name}/{version} to {expected}", found="no upcaster", remedy="report this: fields are only ever added")
        plain = _UPCASTERS[name, version](plain)
        version += 1
    return {**plain, "schema": expected}


def _as_read_error(kind: type, error: Exception) -> ReadError:
    if isinstance(error, ReadError):
        return error
    return ReadError(f"a document of type {kind.__name__}", found=str(error), remedy="the file is damaged or of another kind")


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
