"""The events of a block as rows of numbers, which `_native.Scanner` takes from plain text in one pass.

This module decides what the rows mean: each distinct text is decoded once for each meaning, and the few fields that are in no row are decoded where
somebody asks for them. Text that is not plain is left to `decoded`, which gives the same.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from ridgeline import _native

from .decoded import Ints, Ints32, Other, first_of, number_or_absent
from .events import ABSENT, EMPTY, Args, Event, Scalar, decode_events
from .interning import Names, Raws

__all__ = ["Scanned", "Texts"]

_WIDE = ("ts", "dur", "id", "external_id", "correlation", "old_external_id", "correlation_id", "graph", "bytes", "size", "sequence", "record")
_TEXTS = ("origin", "name", "bp", "device", "stream", "shapes", "types", "concrete", "wait_stream", "sync_kind")
#: `struct row` of scan.c: times in ns, identifiers and amounts, numbers of texts (−1 for none), bytes of the event in the text, and what is not
#: said by the columns: `_ODD_ARGUMENT`, `_ODD_IDENTIFIER`.
ROW = np.dtype(
    [(name, np.int64) for name in _WIDE] + [("occupancy", np.float64)] + [(name, np.int32) for name in (*_TEXTS, "begin", "end", "odd")], align=True
)
_SCALAR: msgspec.json.Decoder[Scalar] = msgspec.json.Decoder(Scalar)
_UNKNOWN = -(2**63)
#: An argument of another type than its column; an identifier that is no whole number, or holds in a scope.
_ODD_ARGUMENT, _ODD_IDENTIFIER = 1, 2


class Texts:
    """The texts of one file, each with a number, and what the numbers mean."""

    def __init__(self) -> None:
        self._scanner = _native.Scanner()
        self._meanings: dict[str, Ints] = {}

    def scanned(self, text: bytes, end: int) -> tuple[Scanned, int, bool] | None:
        """The events of a text up to `end` or to the end of their array: the byte that was reached, and whether the array ended there.

        `None` if the text is not plain.
        """
        found = self._scanner.scan(text, end)
        return None if found is None else (Scanned(text, np.frombuffer(found[0], ROW), self), found[1], found[2])

    def __getitem__(self, number: int) -> bytes:
        return self._scanner.text(number) if number >= 0 else b""

    def meant(self, meaning: str, numbers: Ints32, number_of: Callable[[bytes], int]) -> Ints:
        """What numbers of texts (−1 for no text) mean, shape (k,): `number_of` each text, asked once in the order in which they appear."""
        known = self._meanings.get(meaning, np.empty(0, np.int64))
        if len(known) <= len(self._scanner):
            grown = np.full(2 * len(self._scanner) + 1, _UNKNOWN)
            grown[: len(known)] = known
            known = self._meanings[meaning] = grown
        found = known[numbers + 1]
        unknown = np.flatnonzero(found == _UNKNOWN)
        if len(unknown):
            fresh, first = np.unique(numbers[unknown], return_index=True)
            for number in fresh[np.argsort(first)].tolist():
                known[number + 1] = number_of(self[number])
            found = known[numbers + 1]
        return found


class Scanned:
    """Events that stand one after another, n of them, as rows of numbers."""

    def __init__(self, text: bytes, rows: NDArray[Any], texts: Texts) -> None:
        self._text = text
        self._rows = rows
        self._texts = texts

    def __len__(self) -> int:
        return len(self._rows)

    def origins(self, origins: dict[tuple[Any, Any, Any, Any], int]) -> Ints32:
        """As `Decoded.origins`."""

        def number_of(raw: bytes) -> int:
            phase, category, process, thread = map(_value, raw[:-1].split(b"\0"))
            return origins[(phase, category, process, thread)]

        return self._texts.meant("origin", self._rows["origin"], number_of).astype(np.int32)

    def names(self, names: Names) -> Ints32:
        """As `Decoded.names`."""
        return self._texts.meant("name", self._rows["name"], lambda raw: names[_value(raw)]).astype(np.int32)

    def times(self, field: str) -> Ints:
        """As `Decoded.times`."""
        return np.ascontiguousarray(self._rows[field])

    def _array(self, rows: Ints) -> bytes:
        """The array of some of the events, as text."""
        begin, end = self._rows["begin"][rows].tolist(), self._rows["end"][rows].tolist()
        return b"[" + b",".join([self._text[first:last] for first, last in zip(begin, end, strict=True)]) + b"]"

    def at(self, rows: Ints) -> list[Event]:
        """As `Decoded.at`."""
        return decode_events(self._array(rows))

    def again(self, rows: Ints, decoder: msgspec.json.Decoder[list[Other]]) -> list[Other]:
        """As `Decoded.again`."""
        return decoder.decode(self._array(rows))

    def arguments(self, rows: Ints) -> Rowed:
        """As `Decoded.arguments`."""
        chosen = self._rows[rows]
        odd = np.flatnonzero(chosen["odd"] & _ODD_ARGUMENT)
        events = self.at(rows[odd]) if len(odd) else []
        return Rowed(chosen, self._texts, {row: _args(event) for row, event in zip(odd.tolist(), events, strict=True)})

    def identifiers(self, rows: Ints) -> list[int | str] | None:
        """As `Decoded.identifiers`."""
        chosen = self._rows[rows]
        if (chosen["odd"] & _ODD_IDENTIFIER).any():
            return None
        return ["" if number == ABSENT else number for number in chosen["id"].tolist()]

    def enclosing(self, rows: Ints) -> NDArray[np.bool_]:
        """As `Decoded.enclosing`."""
        return self._texts.meant("bp", self._rows["bp"][rows], lambda raw: _value(raw) == "e").astype(np.bool_)

    def starts(self) -> list[int] | None:
        """As `Decoded.starts`."""
        found: list[int] = self._rows["begin"].tolist()
        return found


class Rowed:
    """Arguments of k events as rows, and as objects those of the few (`odd`, by row) that are of another type than their column."""

    def __init__(self, rows: NDArray[Any], texts: Texts, odd: dict[int, Args]) -> None:
        self._rows = rows
        self._texts = texts
        self._odd = odd

    def at(self, rows: Ints) -> Rowed:
        """As `Listed.at`."""
        odd = {new: self._odd[row] for new, row in enumerate(rows.tolist()) if row in self._odd} if self._odd else {}
        return Rowed(self._rows[rows], self._texts, odd)

    def identifiers(self, field: str, number_of: Callable[[Any], int]) -> Ints:
        """As `Listed.identifiers`."""
        column = self._rows[field]
        if field in _TEXTS:
            return self._texts.meant(f"identifier {field}", column, lambda raw: number_of(_value(raw) if raw else getattr(EMPTY, field)))
        found = np.ascontiguousarray(column)
        for row, args in self._odd.items():
            found[row] = number_of(getattr(args, field))
        return found

    def amounts(self, *fields: str) -> NDArray[np.float64] | Ints:
        """As `Listed.amounts`."""
        found = self._rows[fields[0]]
        for field in fields[1:]:
            found = np.where(found == ABSENT, self._rows[field], found)
        if self._odd:
            found = found.astype(np.float64)
            for row, args in self._odd.items():
                found[row] = number_or_absent(first_of(args, fields))
        return found

    def names(self, field: str, names: Names) -> Ints:
        """As `Listed.names`."""
        missing = getattr(EMPTY, field)

        def number_of(raw: bytes) -> int:
            value = _value(raw) if raw else missing
            return names[value] if value is not None and value != missing else ABSENT

        return self._texts.meant(f"name {field}", self._rows[field], number_of)

    def raws(self, field: str, raws: Raws) -> Ints:
        """As `Listed.raws`."""
        return self._texts.meant("text", self._rows[field], raws.__getitem__)

    def queues(self, origin: Ints32) -> tuple[list[tuple[int, Any, Any]], Ints]:
        """As `Listed.queues`."""
        device, stream = self._rows["device"].astype(np.int64), self._rows["stream"]
        pair = np.unique(device << 32 | (stream + 1), return_inverse=True)[1]
        keys, first, which = np.unique(origin.astype(np.int64) << 32 | pair, return_index=True, return_inverse=True)
        order = np.argsort(first)
        place = np.empty(len(keys), np.int64)
        place[order] = np.arange(len(keys))
        at = first[order].tolist()
        found = [(int(origin[row]), self._one("device", row), self._one("stream", row)) for row in at]
        return found, place[which]

    def _one(self, field: str, row: int) -> Any:
        raw = self._texts[int(self._rows[field][row])]
        return _value(raw) if raw else getattr(EMPTY, field)


def _value(raw: bytes) -> Scalar:
    return _SCALAR.decode(raw) if raw else None


def _args(event: Event) -> Args:
    return event.args if type(event.args) is Args else EMPTY
