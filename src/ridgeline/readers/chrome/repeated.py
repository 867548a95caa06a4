"""Metadata that a recorder writes again and again: each distinct text decoded once.

PyTorch's recorder of MTIA writes the names of its devices with every event of theirs, 310,000 times among 146,000 events. This module decides when a
block is such a one; nothing of it is guessed, as each part of the text must decode to one event of metadata.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from typing import NamedTuple

from .events import Ended, Event, Fault, decode_events

__all__ = ["Repeated", "repeated"]

_PHASE = re.compile(rb'"ph"\s*:\s*"(.)"')
_BETWEEN = re.compile(rb"\}\s*,\s*\{")
#: How much of a block is looked at first, at either end, how often each of its texts must stand there, and how many they may be.
_LOOKED_AT = 2048
_TIMES, _MOST = 50, 1000


class Repeated(NamedTuple):
    """The first of each event in their order, then the last of each in theirs, which is what holds.

    `text` is the array that they make; `places`, `numbers` and `times`: byte of each in the block's text, which of the block's events it is, and how
    many it stands for.
    """

    events: list[Event]
    text: bytes
    places: tuple[int, ...]
    numbers: tuple[int, ...]
    times: tuple[int, ...]


def repeated(text: bytes) -> Repeated | None:
    """The events of an array of nothing but repeated metadata, `None` for any other."""
    phases = {*_PHASE.findall(text, 0, _LOOKED_AT), *_PHASE.findall(text, max(0, len(text) - _LOOKED_AT))}
    between = _BETWEEN.search(text, 0, _LOOKED_AT) if phases == {b"M"} else None
    if between is None:
        return None
    parts = text[1:-1].split(between.group())
    counts = Counter(parts)
    # What looks like a cut within a part is one that was written otherwise, or lies within an event: the parts are no events then.
    if len(counts) > _MOST or len(counts) * _TIMES > len(parts) or any(_BETWEEN.search(part) for part in counts):
        return None
    return _decoded(parts, counts, between.group())


def _decoded(parts: list[bytes], counts: Counter[bytes], between: bytes) -> Repeated | None:
    last = {part: number for number, part in enumerate(parts)}
    first = {part: len(parts) - 1 - number for number, part in enumerate(reversed(parts))}
    again = sorted(number for part, number in last.items() if counts[part] > 1)
    numbers = [*(first[part] for part in counts), *again]
    text = b"[" + b",".join(_whole(parts, number) for number in numbers) + b"]"
    try:
        events = decode_events(text)
    except (Ended, Fault):
        return None
    # As many events as parts: none was cut off inside of an event.
    if len(events) != len(numbers) or any(event.ph != "M" for event in events):
        return None
    reached = [0, *itertools.accumulate(map(len, parts))]
    places = (max(1, reached[number] + number * len(between)) for number in numbers)
    times = (*(max(1, counts[part] - 1) for part in counts), *(1 for _ in again))
    return Repeated(events, text, tuple(places), tuple(numbers), times)


def _whole(parts: list[bytes], number: int) -> bytes:
    """A part with the brackets that cutting took from it."""
    return (b"{" if number else b"") + parts[number] + (b"}" if number < len(parts) - 1 else b"")
