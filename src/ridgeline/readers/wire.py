"""The wire format of protocol buffers: numbered fields out of bytes, with every bound checked.

This module decides how a field is cut out of a message (varint, 32 and 64 bits, length-delimited) and what damage is; which field means what is left
to the readers (Perfetto, XSpace, pprof). The `protobuf` package would need code generated from each schema, copies every message into an object of
its own, and refuses the whole of a file that is cut short; here a message is walked once, straight to columns, and what came before the damage
stays. There is no recursion: nesting is as deep as the reader that asks. Format: protobuf.dev, "Encoding".
"""

from __future__ import annotations

from collections.abc import Iterator
from struct import unpack_from
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

__all__ = ["FIXED32", "FIXED64", "LENGTH", "VARINT", "WireError", "as_double", "as_float", "fields", "signed", "varints", "zigzag"]

VARINT, FIXED64, LENGTH, FIXED32 = 0, 1, 2, 5
_FIXED = {FIXED64: 8, FIXED32: 4}
Raw = TypeVar("Raw", bytes, memoryview)
_MOST_NUMBER = 2**29 - 1


class WireError(ValueError):
    """Bytes that are no message; `offset` is the byte within it."""

    def __init__(self, what: str, offset: int) -> None:
        super().__init__(f"{what} at byte {offset} of a message")
        self.offset = offset


def fields(data: Raw) -> Iterator[tuple[int, int, int | Raw]]:
    """The fields of a message in the order of the file: number, wire type, value.

    Args:
        data: the message. Length-delimited values are slices of it, of the same type: views of a `memoryview`, copies of `bytes` (faster where
            messages are small).

    Yields:
        value: an unsigned whole number for `VARINT`, `FIXED32` and `FIXED64` (see `signed`, `zigzag`, `as_float`, `as_double`), else a slice.

    Raises:
        WireError: a field that ends behind the message, a number or type that there is none of; also a group, which no reader here has a use for.
    """
    place, end = 0, len(data)
    while place < end:
        start = place
        key, place = _varint(data, place, end)
        number, wire = key >> 3, key & 7
        if not 0 < number <= _MOST_NUMBER:
            raise WireError(f"field number {number}", start)
        if wire in _FIXED:
            stop = place + _FIXED[wire]
            if stop > end:
                raise WireError("a field cut short", start)
            yield number, wire, int.from_bytes(data[place:stop], "little")
            place = stop
            continue
        if wire not in (VARINT, LENGTH):
            raise WireError(f"wire type {wire}", start)
        value, place = _varint(data, place, end)
        if wire == VARINT:
            yield number, wire, value
            continue
        stop = place + value
        if stop > end:
            raise WireError(f"a field of {value} bytes where {end - place} are left", start)
        yield number, wire, data[place:stop]
        place = stop


def _varint(data: bytes | memoryview, place: int, end: int) -> tuple[int, int]:
    """A varint and the byte behind it; bits above 64 are dropped, as all decoders do."""
    value, start = 0, place
    if place < end and (byte := data[place]) < 0x80:  # nearly all of them are of one byte
        return byte, place + 1
    for shift in range(0, 70, 7):
        if place >= end:
            raise WireError("a number cut short", start)
        byte = data[place]
        place += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & 0xFFFFFFFFFFFFFFFF, place
    raise WireError("a number longer than ten bytes", start)


def varints(data: bytes | memoryview) -> NDArray[np.uint64]:
    """All the varints of a packed repeated field, shape (k,); `.view(np.int64)` gives the signed ones.

    Raises:
        WireError: the last one is cut short, or one is longer than ten bytes.
    """
    octets = np.frombuffer(data, np.uint8)
    if not len(octets):
        return np.empty(0, np.uint64)
    ends = np.flatnonzero(octets < 0x80)
    if not len(ends) or ends[-1] != len(octets) - 1:
        raise WireError("a number cut short", int(ends[-1]) + 1 if len(ends) else 0)
    if len(ends) == len(octets):
        return octets.astype(np.uint64)
    starts = np.concatenate(([0], ends[:-1] + 1))
    lengths = ends - starts + 1
    longest = int(lengths.max())
    if longest > 10:
        raise WireError("a number longer than ten bytes", int(starts[int(np.argmax(lengths))]))
    values = np.zeros(len(ends), np.uint64)
    for index in range(longest):  # at most ten rounds, each over all numbers that are as long
        longer = np.flatnonzero(lengths > index)
        part = (octets[starts[longer] + index] & 0x7F).astype(np.uint64)
        values[longer] |= part << np.uint64(7 * index)
    return values


def signed(value: int) -> int:
    """An `int64` or `int32` field out of its unsigned varint (or 64 bits)."""
    return value - 2**64 if value >= 2**63 else value


def zigzag(value: int) -> int:
    """A `sint64` field out of its varint."""
    return (value >> 1) ^ -(value & 1)


def as_double(value: int) -> float:
    """A `double` field out of its 64 bits."""
    return float(unpack_from("<d", value.to_bytes(8, "little"))[0])


def as_float(value: int) -> float:
    """A `float` field out of its 32 bits."""
    return float(unpack_from("<f", value.to_bytes(4, "little"))[0])
