"""The wire format of protocol buffers: what is encoded comes back, and no bytes are walked past their end."""

from __future__ import annotations

import contextlib
import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ridgeline.readers.wire import FIXED32, FIXED64, LENGTH, VARINT, WireError, as_double, as_float, fields, signed, varints, zigzag

_WHOLE = st.integers(0, 2**64 - 1)
_FIELD = st.one_of(
    st.tuples(st.integers(1, 2**29 - 1), st.just(VARINT), _WHOLE),
    st.tuples(st.integers(1, 2**29 - 1), st.just(FIXED64), _WHOLE),
    st.tuples(st.integers(1, 2**29 - 1), st.just(FIXED32), st.integers(0, 2**32 - 1)),
    st.tuples(st.integers(1, 2**29 - 1), st.just(LENGTH), st.binary(max_size=300)),
)


def varint(value: int) -> bytes:
    """A varint, least significant group of seven bits first."""
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def written(number: int, wire: int, value: int | bytes) -> bytes:
    """One field."""
    key = varint(number << 3 | wire)
    if isinstance(value, bytes):
        return key + varint(len(value)) + value
    return key + (varint(value) if wire == VARINT else value.to_bytes(8 if wire == FIXED64 else 4, "little"))


@given(st.lists(_FIELD, max_size=20))
def test_fields_come_back_as_they_were_written(message: list[tuple[int, int, int | bytes]]) -> None:
    data = b"".join(written(*field) for field in message)
    assert list(fields(data)) == message
    viewed = [(number, wire, value if isinstance(value, int) else bytes(value)) for number, wire, value in fields(memoryview(data))]
    assert viewed == message


@given(st.lists(_FIELD, min_size=1, max_size=5), st.data())
def test_a_message_that_is_cut_keeps_what_came_before_and_says_where(message: list[tuple[int, int, int | bytes]], data: st.DataObject) -> None:
    parts = [written(*field) for field in message]
    whole = b"".join(parts)
    cut = data.draw(st.integers(0, len(whole)))
    seen = []
    at_a_border = cut in {sum(map(len, parts[:count])) for count in range(len(parts) + 1)}
    with contextlib.nullcontext() if at_a_border else pytest.raises(WireError) as refused:
        for field in fields(whole[:cut]):
            seen.append(field)
    if refused:
        assert 0 <= refused.value.offset <= cut
    assert seen == message[: len(seen)]


@given(st.binary(max_size=200))
def test_any_bytes_end_or_are_refused(data: bytes) -> None:
    try:
        total = sum(len(written(number, wire, value)) for number, wire, value in fields(data))
    except WireError:
        return
    assert total <= len(data), "more was read than there is (a varint may be longer than it must, never shorter)"


@given(st.lists(_WHOLE, max_size=50))
def test_packed_numbers_agree_with_single_ones(values: list[int]) -> None:
    packed = b"".join(map(varint, values))
    assert varints(packed).tolist() == values
    assert varints(packed).dtype == np.uint64


@pytest.mark.parametrize("data", [b"\x80", b"\x01\xff", b"\xff" * 11 + b"\x01"])
def test_damaged_packed_numbers_are_refused(data: bytes) -> None:
    with pytest.raises(WireError):
        varints(data)


@pytest.mark.parametrize("data", [b"\x00\x01", b"\x0b", b"\x0c", b"\x0e", b"\x08" + b"\xff" * 11, b"\x08", b"\x0a\x05ab", b"\x0d\x01", b"\x09\x01"])
def test_what_is_no_field_is_refused(data: bytes) -> None:
    with pytest.raises(WireError):
        list(fields(data))


@given(st.integers(-(2**63), 2**63 - 1))
def test_signed_numbers(value: int) -> None:
    assert signed(value % 2**64) == value
    assert zigzag((value << 1 ^ value >> 63) % 2**64) == value


@given(st.floats(allow_nan=False, width=32))
def test_floats(value: float) -> None:
    assert as_double(struct.unpack("<Q", struct.pack("<d", value))[0]) == value
    assert as_float(struct.unpack("<I", struct.pack("<f", value))[0]) == value
