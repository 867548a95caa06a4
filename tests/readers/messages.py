"""Messages in the wire format of protocol buffers, written field by field."""

from __future__ import annotations

import struct

Value = int | float | str | bytes


def varint(value: int) -> bytes:
    """A varint; negative numbers as 64 bits in two's complement."""
    value %= 2**64
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def message(*fields: tuple[int, Value]) -> bytes:
    """A message: whole numbers as varints, floats as doubles, texts and messages with their length."""
    out = b""
    for number, value in fields:
        if isinstance(value, int):
            out += varint(number << 3) + varint(value)
        elif isinstance(value, float):
            out += varint(number << 3 | 1) + struct.pack("<d", value)
        else:
            data = value.encode() if isinstance(value, str) else value
            out += varint(number << 3 | 2) + varint(len(data)) + data
    return out


def fixed64(number: int, value: int) -> bytes:
    """A field of 64 bits."""
    return varint(number << 3 | 1) + value.to_bytes(8, "little")
