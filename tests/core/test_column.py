"""Columns: equal by content, read-only, and the way to the wire and back changes nothing or fails with a reason."""

from __future__ import annotations

import hashlib
import pickle
import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from ridgeline.core import Column, MemoryBlobs, ReadError, UsageError
from ridgeline.core.column import INLINE_LENGTH

dtypes = st.sampled_from(["|b1", "|i1", "|u1", "<i2", "<i4", "<i8", "<u2", "<u4", "<u8", "<f2", "<f4", "<f8"])
arrays = dtypes.flatmap(
    lambda dtype: hnp.arrays(
        dtype,
        st.integers(0, 3 * INLINE_LENGTH),
        elements=hnp.from_dtype(np.dtype(dtype), allow_nan=False, allow_infinity=False),
    )
)


@given(arrays)
def test_round_trip_through_blobs(values: np.ndarray) -> None:
    blobs = MemoryBlobs()
    column = Column(values, "s")
    wire = column.to_wire(blobs)
    assert ("values" in wire) == (len(values) <= INLINE_LENGTH)
    assert Column.from_wire(wire, blobs) == column
    assert len(blobs) == (0 if "values" in wire else 1)


@given(arrays)
def test_round_trip_inline(values: np.ndarray) -> None:
    column = Column(values, "count")
    assert Column.from_wire(column.to_wire(None), None) == column


@given(arrays)
def test_equal_columns_hash_alike_and_pickle(values: np.ndarray) -> None:
    column = Column(values, "s")
    same = Column(values.tolist(), "s", dtype=values.dtype)
    assert column == same
    assert hash(column) == hash(same)
    assert pickle.loads(pickle.dumps(column)) == column


def test_negative_zero_is_equal_and_hashes_alike() -> None:
    assert Column([0.0], "s") == Column([-0.0], "s")
    assert hash(Column([0.0], "s")) == hash(Column([-0.0], "s"))


def test_unit_and_dtype_are_part_of_the_identity() -> None:
    assert Column([1.0], "s") != Column([1.0], "B")
    assert Column([1.0], "s") != Column([1], "s")
    assert Column([1.0], "s") != [1.0]


def test_equal_content_shares_one_blob_and_big_endian_is_the_same() -> None:
    blobs = MemoryBlobs()
    values = np.arange(1000, dtype="<i8")
    first, second = Column(values, "s").to_wire(blobs), Column(values.astype(">i8"), "s").to_wire(blobs)
    assert first == second
    assert len(blobs) == 1
    assert first["summary"] == {"min": 0.0, "median": 499.5, "max": 999.0}


def test_nobody_writes_into_a_column() -> None:
    source = np.arange(3.0)
    column = Column(source, "s")
    source[0] = 99
    assert column.values[0] == 0
    with pytest.raises(ValueError, match="read-only"):
        column.values[0] = 1
    with pytest.raises(ValueError, match="WRITEABLE"):
        column.values.setflags(write=True)
    with pytest.raises(AttributeError):
        column.unit = "B"  # type: ignore[misc]


@pytest.mark.parametrize(
    ("values", "unit", "dtype"),
    [
        ([np.nan], "s", None),
        ([1.0, np.inf], "s", None),
        ([[1.0]], "s", None),
        (1.0, "s", None),
        (["a"], "s", None),
        ([1j], "s", None),
        ([None], "s", None),
        ([1, [2]], "s", None),
        ([10**30], "s", None),
        ([300], "s", "u1"),
        ([1.0], "ms", None),
        ([1.0], ["s"], None),
        ([1.0], "s", "longdouble"),
        (["2020-01-01"], "s", "datetime64[s]"),
    ],
)
def test_what_is_no_column_is_refused(values: object, unit: object, dtype: object) -> None:
    with pytest.raises(UsageError):
        Column(values, unit, dtype)  # type: ignore[arg-type]


GOOD = {"dtype": "<f8", "unit": "s", "length": 2, "values": [1.0, 2.0]}


@pytest.mark.parametrize(
    "change",
    [
        {"length": 3},
        {"length": -1},
        {"length": 2.0},
        {"length": True},
        {"length": "2"},
        {"length": 2**62},
        {"length": 10**30},
        {"dtype": "O"},
        {"dtype": "<U10"},
        {"dtype": "<f16"},
        {"dtype": "<c8"},
        {"dtype": "f8,i4"},
        {"dtype": "(1000000,)<f8"},
        {"dtype": ">f8"},
        {"dtype": None},
        {"dtype": 7},
        {"dtype": "x" * 10_000},
        {"unit": "parsec"},
        {"unit": ["s"]},
        {"values": "12"},
        {"values": {"0": 1}},
        {"values": [1.0, "2"]},
        {"values": [1.0, None]},
        {"values": [[1.0], [2.0]]},
        {"values": [1.0, float("nan")]},
        {"values": [1.0, 10**400]},
        {"dtype": "<i8"},  # 1.0 is no integer; numpy would truncate
        {"dtype": "|b1"},
        {"dtype": "|u1", "values": [1, 300]},
        {"dtype": "|u1", "values": [1, -1]},
        {"dtype": "|i1", "values": [True, False]},
    ],
)
def test_a_damaged_inline_column_is_a_read_error(change: dict[str, object]) -> None:
    assert len(Column.from_wire(GOOD, None)) == 2
    with pytest.raises(ReadError) as caught:
        Column.from_wire({**GOOD, **change}, None)
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize("wire", [None, 7, [], "x", {}, {"dtype": "<f8"}, {"dtype": "<f8", "unit": "s", "length": 1}])
def test_a_form_that_is_no_column_is_a_read_error(wire: object) -> None:
    with pytest.raises(ReadError):
        Column.from_wire(wire, MemoryBlobs())


def damaged(data: bytes) -> list[bytes]:
    flipped = bytearray(data)
    flipped[len(flipped) // 2] ^= 0xFF
    return [b"", data[:-200], data[: len(data) // 2], bytes(flipped), b"not zlib", zlib.compress(b""), zlib.compress(bytes(8 * 1000))]


@pytest.mark.parametrize("index", range(7))
def test_a_damaged_blob_is_a_read_error(index: int) -> None:
    blobs = MemoryBlobs()
    wire = Column(np.arange(1000.0), "s").to_wire(blobs)
    blobs[wire["blob"]] = damaged(blobs[wire["blob"]])[index]
    with pytest.raises(ReadError, match="blob"):
        Column.from_wire(wire, blobs)


def test_a_bomb_is_not_inflated() -> None:
    """A blob that unpacks to a gigabyte stops one byte past what the document promised."""
    raw = bytes(64 * 2**20)
    digest = hashlib.sha256(b"<f8\0" + raw).hexdigest()
    blobs = MemoryBlobs({digest: zlib.compress(raw)})
    with pytest.raises(ReadError):
        Column.from_wire({"dtype": "<f8", "unit": "s", "length": 100, "blob": digest}, blobs)


def test_a_missing_blob_and_missing_blobs_are_read_errors() -> None:
    wire = Column(np.arange(1000.0), "s").to_wire(MemoryBlobs())
    with pytest.raises(ReadError, match="no blob"):
        Column.from_wire(wire, MemoryBlobs())
    with pytest.raises(ReadError, match="reference"):
        Column.from_wire(wire, None)
