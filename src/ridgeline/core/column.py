"""`Column`: a read-only array with a dtype and a unit, equal by content, that msgspec can encode, decode and describe.

A short column is written into the document as a list. A long one becomes a content-addressed, zlib-compressed blob beside the document, and the
document carries its digest and a summary; which of the two happens is the business of the `Blobs` that `documents` was given.
numpy is imported by the first column: a process that only passes errors and texts on does not need it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Protocol

from .errors import ReadError, UsageError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, DTypeLike, NDArray

__all__ = ["INLINE_LENGTH", "Blobs", "Column", "MemoryBlobs"]

#: Columns up to this many elements are written into the document itself.
INLINE_LENGTH = 64
_KINDS = "biuf"
_DTYPE = r"\|b1|[|<][iu]1|<[iu][248]|<f[248]"
# A hostile document could claim any length; a column larger than this is refused before anything is allocated.
_MAX_BYTES = 2**32


class Blobs(Protocol):
    """Where long columns live: bytes by their digest."""

    def put(self, digest: str, data: bytes) -> None:
        """Keep compressed `data` under `digest`; putting the same digest again changes nothing."""

    def get(self, digest: str) -> bytes:
        """Return what was put under `digest`; raise `ReadError` if it is missing."""


class MemoryBlobs(dict[str, bytes]):
    """Blobs in a dictionary, for tests and for documents that never reach a disk."""

    def put(self, digest: str, data: bytes) -> None:
        """Keep `data` under `digest`."""
        self.setdefault(digest, data)

    def get(self, digest: str, default: object = None) -> bytes:
        """Return the bytes kept under `digest`."""
        try:
            return self[digest]
        except KeyError:
            raise ReadError("the blob of a column", found=f"no blob {digest}", remedy="restore the blob, or read the summary only") from None


class Column:
    """A one-dimensional read-only array with a unit.

    Args:
        values: anything `numpy.array` takes; always copied.
        unit: one of `ridgeline.core.units.BASE_UNITS`.
        dtype: bool, integer or float of at most 8 bytes; the array's own if not given.

    Raises:
        UsageError: not one-dimensional, another kind of dtype, unknown unit, or floats that are not finite ("finite or absent").

    >>> Column([1.0, 2.0], "s") == Column([1.0, 2.0], "s")
    True
    """

    __slots__ = ("_unit", "_values")

    def __init__(self, values: ArrayLike, unit: str, dtype: DTypeLike | None = None) -> None:
        import numpy as np

        try:
            array = np.array(values, dtype=dtype, copy=True, order="C")
        except (TypeError, ValueError, OverflowError) as error:
            raise UsageError("a Column of a one-dimensional array of numbers", found=str(error), remedy="give numbers that fit the dtype") from error
        if array.ndim != 1 or array.dtype.kind not in _KINDS or array.dtype.itemsize > 8:
            raise UsageError("a Column of a one-dimensional array of numbers", found=f"{array.ndim} dimensions of {array.dtype}", remedy="flatten it")
        from .units import BASE_UNITS  # late, as numpy is: a process that is measured makes no column

        if not isinstance(unit, str) or unit not in BASE_UNITS:
            raise UsageError(f"Column.unit to be one of {sorted(BASE_UNITS)}", found=repr(unit), remedy="convert to SI first")
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            raise UsageError("Column values to be finite", found=f"NaN or infinity at index {int(np.argmin(np.isfinite(array)))}", remedy="drop them")
        # Little-endian everywhere, so that a digest is the same on every machine.
        array = array.astype(array.dtype.newbyteorder("<"), copy=False)
        array.setflags(write=False)
        self._values = array
        self._unit = unit

    @property
    def values(self) -> NDArray[Any]:
        """The read-only array, shape (n,)."""
        # A view of an array that is not writeable cannot be made writeable, the owner could.
        return self._values.view()

    @property
    def unit(self) -> str:
        """The base unit of the values."""
        return self._unit

    @property
    def dtype(self) -> str:
        """The dtype as numpy's array-protocol text, such as `<f8`."""
        return self._values.dtype.str

    def __len__(self) -> int:
        return int(self._values.shape[0])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Column):
            return NotImplemented
        import numpy as np

        return self.unit == other.unit and self.dtype == other.dtype and bool(np.array_equal(self._values, other._values))

    def __hash__(self) -> int:
        # -0.0 and 0.0 are equal, so they must hash alike: adding 0 turns one into the other.
        same = self._values + 0.0 if self._values.dtype.kind == "f" else self._values
        return hash((self.unit, self.dtype, same.tobytes()))

    def __repr__(self) -> str:
        return f"Column({len(self)} × {self.dtype} in {self.unit})"

    def __reduce__(self) -> tuple[Any, ...]:
        return (Column, (self._values, self.unit))

    def to_wire(self, blobs: Blobs | None) -> dict[str, Any]:
        """The JSON form: inline where short or where there is nowhere to put a blob, else a reference with a summary."""
        head: dict[str, Any] = {"dtype": self.dtype, "unit": self.unit, "length": len(self)}
        if len(self) <= INLINE_LENGTH or blobs is None:
            return {**head, "values": self._values.tolist()}
        import hashlib  # late: with its libraries it takes longer to load than all else here
        import zlib

        raw = self._values.tobytes()
        digest = hashlib.sha256(self.dtype.encode() + b"\0" + raw).hexdigest()
        blobs.put(digest, zlib.compress(raw, 6))
        return {**head, "blob": digest, "summary": self.summary()}

    def summary(self) -> dict[str, float]:
        """min, median and max as floats; empty for an empty column."""
        if len(self) == 0:
            return {}
        import numpy as np

        return {"min": float(self._values.min()), "median": float(np.median(self._values)), "max": float(self._values.max())}

    @classmethod
    def from_wire(cls, wire: object, blobs: Blobs | None) -> Column:
        """Inverse of `to_wire`.

        Raises:
            ReadError: a form, dtype or length that does not fit, a blob that is missing or does not match its digest.
        """
        if not isinstance(wire, dict) or not {"dtype", "unit", "length"} <= wire.keys():
            raise ReadError("a column with dtype, unit and length", found=repr(wire)[:80], remedy="the document is damaged")
        dtype = _checked_dtype(wire["dtype"])
        length = wire["length"]
        if type(length) is not int or not 0 <= length * dtype.itemsize <= _MAX_BYTES:
            raise ReadError(f"a column length up to {_MAX_BYTES} bytes", found=repr(length), remedy="the document is damaged")
        if "values" in wire:
            values = _inline(wire["values"], dtype)
        elif blobs is None:
            raise ReadError(
                "the blobs of this document", found=f"only a reference to {wire.get('blob')}", remedy="read it through the notebook that holds it"
            )
        else:
            values = _unpack(blobs.get(str(wire.get("blob"))), str(wire.get("blob")), dtype, length)
        if values.shape != (length,):
            raise ReadError(f"a column of {length} values", found=f"shape {values.shape}", remedy="the document is damaged")
        try:
            return cls(values, wire["unit"])
        except UsageError as error:
            raise ReadError("a column that keeps the rules of columns", found=str(error), remedy="the document is damaged") from error

    @staticmethod
    def json_schema() -> dict[str, Any]:
        """The JSON Schema of the wire form, for msgspec's schema hook."""
        return {
            "type": "object",
            "required": ["dtype", "unit", "length"],
            "properties": {
                "dtype": {"type": "string"},
                "unit": {"type": "string"},
                "length": {"type": "integer", "minimum": 0},
                "values": {"type": "array"},
                "blob": {"type": "string", "pattern": "^[0-9a-f]{64}$"},
                "summary": {"type": "object"},
            },
        }


def _checked_dtype(text: object) -> np.dtype[Any]:
    # A list of what is allowed: numpy would also take structures, time units and much else from a hostile text.
    if not isinstance(text, str) or re.fullmatch(_DTYPE, text) is None:
        raise ReadError("a column dtype of bool, integer or float kind", found=repr(text)[:80], remedy="the document is damaged")
    import numpy as np

    return np.dtype(text)


def _inline(values: object, dtype: np.dtype[Any]) -> NDArray[Any]:
    """Values written into the document; numpy alone would turn 1.5 into 1 and "7" into 7 without a word."""
    allowed = {"b": (bool,), "i": (int,), "u": (int,), "f": (int, float)}[dtype.kind]
    if not isinstance(values, list) or not set(map(type, values)) <= set(allowed):
        raise ReadError(f"a list of values of dtype {dtype.str}", found=repr(values)[:80], remedy="the document is damaged")
    import numpy as np

    try:
        return np.array(values, dtype=dtype)
    except (OverflowError, ValueError) as error:
        raise ReadError(f"values that fit dtype {dtype.str}", found=str(error), remedy="the document is damaged") from error


def _unpack(data: bytes, digest: str, dtype: np.dtype[Any], length: int) -> NDArray[Any]:
    import hashlib
    import zlib

    import numpy as np

    inflater = zlib.decompressobj()
    try:
        raw = inflater.decompress(data, length * dtype.itemsize + 1)
    except zlib.error as error:
        raise ReadError("a zlib-compressed column", found=f"blob {digest}: {error}", remedy="restore the blob") from error
    if len(raw) != length * dtype.itemsize or hashlib.sha256(dtype.str.encode() + b"\0" + raw).hexdigest() != digest:
        raise ReadError(f"a blob of {length * dtype.itemsize} bytes with digest {digest}", found="other bytes", remedy="restore the blob")
    return np.frombuffer(raw, dtype=dtype)
