"""The events of a block as the decoder builds them: one object for each, whatever its text looks like.

This module decides how fields of many events become arrays. `scanned` gives the same for plain text without building objects.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from .events import ABSENT, EMPTY, Args, Event, values_of
from .interning import Names, Raws, finite
from .times import nanoseconds

__all__ = ["Decoded", "Listed"]

Other = TypeVar("Other")
Ints = NDArray[np.int64]
Ints32 = NDArray[np.int32]
#: Identifiers up to here are kept as they are, whatever stands beside them.
_MOST = 2**60


class Decoded:
    """Events that stand one after another, n of them, and the array they were decoded from."""

    def __init__(self, events: list[Event], text: bytes) -> None:
        self._events = events
        self._text = text

    def __len__(self) -> int:
        return len(self._events)

    def origins(self, origins: dict[tuple[Any, Any, Any, Any], int]) -> Ints32:
        """The number of each event's phase, category, process and thread, shape (n,)."""
        return np.array([origins[(event.ph, event.cat, event.pid, event.tid)] for event in self._events], np.int32)

    def names(self, names: Names) -> Ints32:
        """The number of each event's name, shape (n,)."""
        return np.array([names[event.name] for event in self._events], np.int32)

    def times(self, field: str) -> Ints:
        """`ts` or `dur` in nanoseconds as in `times`, shape (n,)."""
        return nanoseconds(self._events, field, self._text)

    def at(self, rows: Ints) -> list[Event]:
        """Some of the events."""
        return [self._events[row] for row in rows.tolist()]

    def again(self, rows: Ints, decoder: msgspec.json.Decoder[list[Other]]) -> list[Other]:
        """Some of the events as another decoder reads them."""
        found = decoder.decode(self._text)
        return [found[row] for row in rows.tolist()]

    def arguments(self, rows: Ints) -> Listed:
        """The arguments of some of the events."""
        return Listed([found if type(found := event.args) is Args else EMPTY for event in self.at(rows)])

    def identifiers(self, rows: Ints) -> list[int | str] | None:
        """The `id` of some of the events, empty where there is none; `None` if one is no whole number or holds in a scope, or that is not known."""
        return None

    def enclosing(self, rows: Ints) -> NDArray[np.bool_]:
        """Whether flows bind to the slice around them (`bp` is `e`), shape (k,)."""
        return np.array([event.bp == "e" for event in self.at(rows)], np.bool_)

    def starts(self) -> list[int] | None:
        """Where each event begins in the text, in bytes; none where that is not known."""
        return None


class Listed:
    """Arguments of k events as objects."""

    def __init__(self, args: list[Args]) -> None:
        self._args = args

    def at(self, rows: Ints) -> Listed:
        """Those of some of the events."""
        return Listed([self._args[row] for row in rows.tolist()])

    def identifiers(self, field: str, number_of: Callable[[Any], int]) -> Ints:
        """Whole numbers as they are, `number_of` for each value where one is none; `ABSENT` where there is none; shape (k,)."""
        found = values_of(self._args, field)
        if isinstance(found, np.ndarray) and found.dtype == np.int64 and ((np.abs(found) < _MOST) | (found == ABSENT)).all():
            return found.astype(np.int64, copy=False)
        return np.array([number_of(getattr(each, field)) for each in self._args], np.int64)

    def amounts(self, *fields: str) -> NDArray[np.float64] | Ints:
        """Numbers of the first of the fields that is there; `ABSENT` where none is, or where it is no number; shape (k,)."""
        found = values_of(self._args, fields[0])
        for field in fields[1:]:
            other = values_of(self._args, field)
            if isinstance(found, np.ndarray) and isinstance(other, np.ndarray):
                found = np.where(found == ABSENT, other, found)
            else:
                found = [first_of(each, fields) for each in self._args]
        return found if isinstance(found, np.ndarray) else np.array([number_or_absent(value) for value in found], np.float64)

    def names(self, field: str, names: Names) -> Ints:
        """The number of each text, `ABSENT` where there is none; shape (k,)."""
        missing = getattr(EMPTY, field)
        values = (getattr(each, field) for each in self._args)
        return np.array([names[value] if value is not None and value != missing else ABSENT for value in values], np.int64)

    def raws(self, field: str, raws: Raws) -> Ints:
        """The number of the JSON text of each, `ABSENT` where there is none; shape (k,)."""
        # All at once, which is faster than one by one; no JSON text has the byte between them.
        texts = b"\0".join([getattr(each, field) for each in self._args]).split(b"\0")
        return np.fromiter(map(raws.__getitem__, texts), np.int64, len(texts))

    def queues(self, origin: Ints32) -> tuple[list[tuple[int, Any, Any]], Ints]:
        """The different (origin, device, stream) in the order in which they appear, and which of them each event has, shape (k,)."""
        numbers: dict[tuple[int, Any, Any], int] = {}
        each = zip(origin.tolist(), self._args, strict=True)
        which = [numbers.setdefault((number, args.device, args.stream), len(numbers)) for number, args in each]
        return list(numbers), np.array(which, np.int64)


def first_of(args: Args, fields: tuple[str, ...]) -> Any:
    """The first of the fields that is there."""
    return next((value for field in fields if (value := getattr(args, field)) != ABSENT), ABSENT)


def number_or_absent(value: Any) -> float:
    """A finite number, `ABSENT` for anything else."""
    number = finite(value)
    return ABSENT if number is None else number
