"""Records of an array of JSON objects, as trtexec writes them, and their numbers: finite, in seconds, or absent."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from ridgeline.readers.source import Source
from ridgeline.readers.stacking import LeftOut

__all__ = ["FORMAT", "MS", "TOOL", "Records", "named", "number", "seconds"]

FORMAT = "tensorrt"
TOOL = "TensorRT (trtexec)"
#: Milliseconds of a second.
MS = 1000.0
#: A file with more damaged records than this is no export; each costs a look at what is before and behind it.
_MOST_DAMAGED = 1000


class Records:
    """Objects of an array, one after the other; what is no object of it is counted."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self.left_out = LeftOut()

    def __iter__(self) -> Iterator[tuple[int, dict[str, Any]]]:
        try:
            found = msgspec.json.decode(self._source.data)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            yield from self._one_by_one()
            return
        if not isinstance(found, list):
            raise self._source.damaged("an array of records", f"a {type(found).__name__}")
        if len(found) > self._source.limits.events:
            raise self._source.damaged(f"at most {self._source.limits.events} records", f"{len(found)}", "raise the limit")
        for place, record in enumerate(found, start=1):
            if isinstance(record, dict):
                yield place, record
            else:
                self.left_out.add("entries of the array that are no records", f"record {place}")

    def _one_by_one(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """A damaged array: every object that is whole."""
        text, decoder = self._source.data.decode("utf-8", "replace"), json.JSONDecoder()
        place = at = damaged = 0
        while (at := text.find("{", at)) >= 0:
            place += 1
            try:
                record, at = decoder.raw_decode(text, at)
            except RecursionError as error:
                raise self._source.damaged("records without anything nested in them", f"record {place} is nested too deeply") from error
            except ValueError as error:
                damaged += 1
                if damaged > _MOST_DAMAGED:
                    raise self._source.damaged("records, one or the other of them damaged", f"more than {_MOST_DAMAGED} that are") from error
                self.left_out.add("records that are damaged or cut short", f"record {place}")
                at = max(text.find("\n", at), at) + 1
                continue
            yield place, record


def number(record: Mapping[str, Any], key: str) -> float | None:
    """The finite number under a key, or `None`."""
    value = record.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if abs(value) < 1e15 and math.isfinite(value) else None


def seconds(record: Mapping[str, Any], key: str) -> float | None:
    """The milliseconds under a key as seconds, or `None` where they are negative or none."""
    value = number(record, key)
    return None if value is None or value < 0.0 else value / MS


def named(source: Source, name: str) -> str:
    """The name; raises `ReadError` for one longer than the limits."""
    if len(name) > source.limits.name_characters:
        raise source.damaged(f"names of at most {source.limits.name_characters} characters", "a longer one", "raise the limit if you trust it")
    return name
