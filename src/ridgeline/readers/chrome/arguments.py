"""The arguments of events that mean something to a timeline, as sparse columns: which row has which value.

This module decides what of the arguments is kept, and what is no value: amounts below zero or beyond all reason, texts longer than the limit.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .decoded import Listed
from .events import ABSENT
from .interning import Grown, Names, Raws
from .scanned import Rowed

__all__ = ["Arguments", "Given"]

Ints = NDArray[np.int64]
#: Arguments of many events, in either form.
Given = Listed | Rowed
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

    def take(self, args: Given, rows: Ints) -> None:
        """What any event may have."""
        correlation = args.identifiers("correlation", self._identifier)
        if (correlation == ABSENT).any():
            correlation = np.where(correlation == ABSENT, args.identifiers("correlation_id", self._identifier), correlation)
        external = args.identifiers("external_id", self._identifier)
        if (external == ABSENT).any():
            external = np.where(external == ABSENT, args.identifiers("old_external_id", self._identifier), external)
        self._keep("correlation", rows, correlation)
        self._keep("external", rows, external)
        for name in ("shapes", "types", "concrete"):
            self._keep(name, rows, args.raws(name, self._raws))

    def take_device(self, args: Given, rows: Ints) -> None:
        """What work of a device has besides."""
        self._keep("bytes", rows, _amounts(args.amounts("bytes", "size"), _MOST_BYTES), np.int64)
        self._keep("occupancy", rows, _amounts(args.amounts("occupancy"), 100.0), np.float64)
        self._keep("graph", rows, args.identifiers("graph", self._identifier))
        kind = args.names("sync_kind", self._names)
        if (kind != ABSENT).any():
            self._keep("sync_kind", rows, kind)
            self._keep("record", rows, args.identifiers("record", self._identifier))
            self._keep("wait_stream", rows, args.names("wait_stream", self._names))
        sequence = args.identifiers("sequence", self._identifier)
        if (sequence != ABSENT).any():
            self._keep("sequence", rows, sequence)
            self._keep("recorded_on", rows, args.identifiers("stream", self._identifier))
            self._keep("waits_for", rows, args.identifiers("wait_stream", self._identifier))

    def _keep(self, name: str, rows: Ints, values: NDArray[Any], dtype: Any = np.int64) -> None:
        there = values != ABSENT
        if there.any():
            row, value = self.sparse.setdefault(name, (Grown(np.int64), Grown(dtype)))
            row.add(rows[there])
            value.add(values[there])

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


def _amounts(values: NDArray[np.float64] | Ints, most: float) -> NDArray[np.float64]:
    """Amounts as floats, `ABSENT` where there is none or it is none, as a negative one or one beyond `most`."""
    return np.where((values >= 0) & (values <= most), values, float(ABSENT))
