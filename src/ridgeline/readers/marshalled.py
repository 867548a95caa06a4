"""Python's marshal format, as far as the statistics of cProfile need it: dictionaries, tuples, texts and numbers.

`marshal.loads` trusts its input and may crash the interpreter on a damaged file (its documentation says so); here every length is checked, nesting is
bounded, and code objects, sets and lists do not exist. Format: Python/marshal.c of CPython, versions 2 to 5.
"""

from __future__ import annotations

import struct
from typing import Any

__all__ = ["MarshalError", "unmarshalled"]

_REFERENCED = 0x80
_DEEPEST = 10


class MarshalError(ValueError):
    """Bytes that are not of this part of the format, with the byte."""


def unmarshalled(data: bytes) -> Any:
    """The value that the bytes begin with.

    Raises:
        MarshalError: cut short, or a type that statistics do not have.
    """
    return _Values(data).value(0)


class _Values:
    """A walk through the bytes; values that others refer to are kept in the order they were met."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0
        self._kept: list[Any] = []

    def value(self, depth: int) -> Any:
        if depth > _DEEPEST:
            raise MarshalError(f"nesting deeper than {_DEEPEST} at byte {self._at}")
        start = self._at
        byte = self._take(1)[0]
        kind = chr(byte & ~_REFERENCED)
        if kind in "({)":
            return self._container(kind, byte, depth)
        value = self._scalar(kind, start)
        if byte & _REFERENCED:
            self._kept.append(value)
        return value

    def _container(self, kind: str, byte: int, depth: int) -> Any:
        place = len(self._kept)
        if byte & _REFERENCED:
            self._kept.append(None)
        made: Any = self._pairs(depth) if kind == "{" else self._items(kind, depth)
        if byte & _REFERENCED:
            self._kept[place] = made
        return made

    def _items(self, kind: str, depth: int) -> tuple[Any, ...]:
        count = self._take(1)[0] if kind == ")" else self._number("<I", 4)
        if count > len(self._data) - self._at:
            raise MarshalError(f"a tuple of {count} where {len(self._data) - self._at} bytes are left, at byte {self._at}")
        return tuple(self.value(depth + 1) for _ in range(count))

    def _pairs(self, depth: int) -> dict[Any, Any]:
        made: dict[Any, Any] = {}
        while self._data[self._at : self._at + 1] != b"0":
            key = self.value(depth + 1)
            try:
                made[key] = self.value(depth + 1)
            except TypeError as error:
                raise MarshalError(f"a key that is none before byte {self._at}") from error
        self._at += 1
        return made

    def _scalar(self, kind: str, start: int) -> Any:
        match kind:
            case "N" | "T" | "F":
                return {"N": None, "T": True, "F": False}[kind]
            case "i":
                return self._number("<i", 4)
            case "I":
                return self._number("<q", 8)
            case "g":
                return struct.unpack("<d", self._take(8))[0]
            case "f":
                return float(self._take(self._take(1)[0]))
            case "l":
                return self._long()
            case "z" | "Z":
                return self._take(self._take(1)[0]).decode("latin-1")
            case "a" | "A" | "u" | "t" | "s":
                return self._take(self._number("<I", 4)).decode("utf-8", "replace")
            case "r":
                return self._kept_at(self._number("<I", 4))
        raise MarshalError(f"type {kind!r} at byte {start}")

    def _kept_at(self, place: int) -> Any:
        if place >= len(self._kept) or self._kept[place] is None:
            raise MarshalError(f"a reference to nothing at byte {self._at}")
        return self._kept[place]

    def _long(self) -> int:
        count = self._number("<i", 4)
        if abs(count) > 16:
            raise MarshalError(f"a number of {abs(count)} digits at byte {self._at}")
        digits = [self._number("<H", 2) for _ in range(abs(count))]
        value = sum(digit << (15 * place) for place, digit in enumerate(digits))
        return -value if count < 0 else value

    def _number(self, form: str, size: int) -> int:
        return int(struct.unpack(form, self._take(size))[0])

    def _take(self, size: int) -> bytes:
        part = self._data[self._at : self._at + size]
        if len(part) != size:
            raise MarshalError(f"the end of the file within a value at byte {self._at}")
        self._at += size
        return part
