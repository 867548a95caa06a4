"""Microseconds as the file writes them, to integer nanoseconds, with no digit lost.

Times of a day or a month as numbers are exact after one rounding: a decimal of at most three places below 2⁴² µs (50 days) is at most half a unit of
2⁻¹⁰ µs away from its double and, times 1000, less than half a nanosecond from the whole number that it stands for (with more places, the last
nanosecond may be rounded the other way). Larger ones with a fraction (microseconds since 1970 have 16 digits before the point) are not: for them the
block is decoded once more with its times as text.
What a time means, and which are impossible, is left to `building`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import ROUND_HALF_EVEN, Decimal, InvalidOperation
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from .events import ABSENT, Event, values_of

__all__ = ["ABSENT_NS", "LONGEST_NS", "WRONG_NS", "nanoseconds"]

#: No time, and a time that is no number or beyond what can be reckoned with.
ABSENT_NS = -(2**63)
WRONG_NS = ABSENT_NS + 1
_EXACT_US = 2.0**42
#: The latest start (110 years from 0) and the longest duration (36 years): ends of events and differences between them fit twice over.
LATEST_NS = 3 * 2**60
LONGEST_NS = 2**60
_MOST = {"ts": LATEST_NS, "dur": LONGEST_NS}
_MOST_US = (2**63 - 1) // 1000
_NONE = msgspec.Raw(b"")
#: `Decimal` takes more than files mean: digits of all scripts, and underscores between them.
_DECIMAL = re.compile(r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?")


class _Texts(msgspec.Struct, gc=False):
    ts: msgspec.Raw = _NONE
    dur: msgspec.Raw = _NONE


_TEXTS = msgspec.json.Decoder(list[_Texts])


def nanoseconds(events: list[Event], field: str, text: bytes | None) -> NDArray[np.int64]:
    """Times of events in nanoseconds, shape (n,); `ABSENT_NS` where there is none and `WRONG_NS` where it is no time.

    Args:
        events: with microseconds as decoded, `ABSENT` where the file has none.
        field: `ts` or `dur`.
        text: the array that the events were decoded from, if it is at hand; without it digits of a large float may be lost.
    """
    found = _nanoseconds(events, field, text)
    wrong = (np.abs(found) > _MOST[field]) & (found != ABSENT_NS)
    if wrong.any():
        found[wrong] = WRONG_NS
    return found


def _nanoseconds(events: list[Event], field: str, text: bytes | None) -> NDArray[np.int64]:
    array = values_of(events, field)
    if isinstance(array, np.ndarray):
        if array.dtype == np.int64:
            return _scaled(array.astype(np.int64, copy=False))
        known = array != ABSENT
        if not known.any() or float(np.abs(array[known]).max()) < _EXACT_US:
            return _rounded(array.astype(np.float64, copy=False), known)
    values = [getattr(event, field) for event in events]
    if text is not None and any(isinstance(value, float) and abs(value) >= _EXACT_US for value in values):
        return _from_texts(text, field)
    return _one_by_one(values)


def _scaled(array: NDArray[np.int64]) -> NDArray[np.int64]:
    absent = array == ABSENT
    wrong = ((array > _MOST_US) | (array < -_MOST_US)) & ~absent
    out = np.where(absent | wrong, 0, array) * 1000
    out[absent] = ABSENT_NS
    out[wrong] = WRONG_NS
    return out


def _rounded(array: NDArray[np.float64], known: NDArray[np.bool_]) -> NDArray[np.int64]:
    if known.all():
        return np.rint(array * 1000.0).astype(np.int64)
    out = np.rint(np.where(known, array, 0.0) * 1000.0).astype(np.int64)
    out[~known] = ABSENT_NS
    return out


def _from_texts(text: bytes, field: str) -> NDArray[np.int64]:
    raw = [bytes(getattr(each, field)) for each in _TEXTS.decode(text)]
    return _three_places(raw) if _uniform(raw) else np.array([_exact(each) for each in raw], np.int64)


def _uniform(raw: list[bytes]) -> bool:
    """Whether all are whole numbers with three places behind the point, as nanoseconds are written."""
    joined = np.frombuffer(b",".join(raw) + b",", np.uint8)
    commas = np.flatnonzero(joined == ord(","))
    points = np.flatnonzero(joined == ord("."))
    digits = (joined >= ord("0")) & (joined <= ord("9"))
    longest = int(np.diff(commas, prepend=-1).max()) if len(commas) else 0
    return (
        len(points) == len(commas) == len(raw)
        and bool((commas - points == 4).all())
        and int(digits.sum()) == len(joined) - 2 * len(raw)
        and longest < 20
    )


def _three_places(raw: list[bytes]) -> NDArray[np.int64]:
    return np.array([int(each.replace(b".", b"")) for each in raw], np.int64)


def _exact(raw: bytes) -> int:
    if not raw:
        return ABSENT_NS
    if raw == b"null":
        return ABSENT_NS
    return _of_text(raw.decode("ascii", "replace").strip('"'))


def _one_by_one(values: Sequence[Any]) -> NDArray[np.int64]:
    return np.array([_of_value(value) for value in values], np.int64)


def _of_value(value: Any) -> int:
    if value is None or value == ABSENT:
        return ABSENT_NS
    if isinstance(value, int):
        return value * 1000 if abs(value) <= _MOST_US else WRONG_NS
    return _of_text(repr(value) if isinstance(value, float) else value)


def _of_text(text: str) -> int:
    """Decimal microseconds to the nearest nanosecond, in exact arithmetic."""
    text = text.strip()
    if not _DECIMAL.fullmatch(text):
        return WRONG_NS
    try:
        number = Decimal(text)
    except (InvalidOperation, ValueError):
        return WRONG_NS
    # The size is looked at first: 1e999999 as a whole number would take a million digits.
    if not number.is_finite() or (number and number.adjusted() > 18):
        return WRONG_NS
    if number and number.adjusted() < -6:
        return 0
    scaled = int((number * 1000).to_integral_value(ROUND_HALF_EVEN))
    return scaled if abs(scaled) < 2**63 - 1 else WRONG_NS
