"""The arguments of events that mean something to a timeline, as sparse columns: which row has which value.

This module decides what of the arguments is kept, and what is no value: amounts below zero or beyond all reason, texts longer than the limit.
"""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from .events import ABSENT, Args, values_of
from .interning import Grown, Names, Raws, finite

__all__ = ["Arguments"]

Ints = NDArray[np.int64]
_MOST_BYTES = 2.0**60


class Arguments:
    """What is kept of arguments.

    Attributes:
        sparse: name → (row of the span, value) for what only some spans have.
    """

    def __init__(self, names: Names) -> None:
        self.sparse: dict[str, tuple[Grown, Grown]] = {}
        self._names = names
        self._raws = Raws(names)
        self._large: dict[Any, int] = {}

    def take(self, args: list[Args], rows: Ints) -> None:
        """What any event may have."""
        correlation = self._identifiers(args, "correlation")
        if (correlation == ABSENT).any():
            correlation = np.where(correlation == ABSENT, self._identifiers(args, "correlation_id"), correlation)
        external = self._identifiers(args, "external_id")
        if (external == ABSENT).any():
            external = np.where(external == ABSENT, self._identifiers(args, "old_external_id"), external)
        self._keep("correlation", rows, correlation)
        self._keep("external", rows, external)
        self._texts("shapes", rows, [each.shapes for each in args])
        self._texts("types", rows, [each.types for each in args])
        self._texts("concrete", rows, [each.concrete for each in args])

    def take_device(self, args: list[Args], rows: Ints) -> None:
        """What work of a device has besides."""
        self._keep("bytes", rows, _moved(args), np.int64)
        self._keep("occupancy", rows, _amounts(values_of(args, "occupancy"), 100.0), np.float64)
        self._keep("graph", rows, self._identifiers(args, "graph"))
        if [each.sync_kind for each in args].count(None) < len(args):
            self._keep("sync_kind", rows, np.array([self._names[each.sync_kind] if each.sync_kind is not None else ABSENT for each in args]))
            self._keep("record", rows, self._identifiers(args, "record"))
            self._keep("wait_stream", rows, np.array([self._names[each.wait_stream] if each.wait_stream != ABSENT else ABSENT for each in args]))
        sequence = self._identifiers(args, "sequence")
        if (sequence != ABSENT).any():
            self._keep("sequence", rows, sequence)
            self._keep("recorded_on", rows, self._identifiers(args, "stream"))
            self._keep("waits_for", rows, self._identifiers(args, "wait_stream"))

    def _keep(self, name: str, rows: Ints, values: NDArray[Any], dtype: Any = np.int64) -> None:
        there = values != ABSENT
        if there.any():
            row, value = self.sparse.setdefault(name, (Grown(np.int64), Grown(dtype)))
            row.add(rows[there])
            value.add(values[there])

    def _texts(self, name: str, rows: Ints, raws: list[msgspec.Raw]) -> None:
        # All at once, which is faster than one by one; no JSON text has the byte between them.
        texts = b"\0".join(raws).split(b"\0")
        self._keep(name, rows, np.fromiter(map(self._raws.__getitem__, texts), np.int64, len(texts)))

    def _identifiers(self, args: list[Args], field: str) -> Ints:
        """Identifiers as whole numbers, `ABSENT` where there is none: what fits 64 bits as it is, anything else by a number of its own."""
        found = values_of(args, field)
        if isinstance(found, np.ndarray) and found.dtype == np.int64:
            return found.astype(np.int64, copy=False)
        return np.array([self._identifier(getattr(each, field)) for each in args], np.int64)

    def _identifier(self, value: Any) -> int:
        if value is None or value == ABSENT or isinstance(value, bool):
            return ABSENT
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if isinstance(value, str):
            value = _number_in(value)
        if isinstance(value, int) and -(2**61) < value < 2**62:
            return value
        return self._large.setdefault(value, -(2**61) - 1 - len(self._large))


def _number_in(text: str) -> Any:
    digits = text.strip()
    return int(digits) if digits.removeprefix("-").isdecimal() and len(digits) < 40 else text


def _amounts(values: NDArray[Any] | list[Any], most: float) -> NDArray[np.float64]:
    """Amounts as floats, `ABSENT` where there is none or it is none, as a negative one or one beyond `most`."""
    array = values
    if isinstance(array, list):
        array = np.array([ABSENT if number is None else number for number in map(finite, array)], np.float64)
    return np.where((array >= 0) & (array <= most), array, float(ABSENT))


def _moved(args: list[Args]) -> NDArray[np.float64]:
    """Bytes of copies, by either of the names that they have."""
    moved, size = values_of(args, "bytes"), values_of(args, "size")
    if isinstance(moved, np.ndarray) and isinstance(size, np.ndarray):
        return _amounts(np.where(moved == ABSENT, size, moved), _MOST_BYTES)
    return _amounts([each.bytes if each.bytes != ABSENT else each.size for each in args], _MOST_BYTES)
