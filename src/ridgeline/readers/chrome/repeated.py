"""Metadata that a recorder writes again and again: each distinct text decoded once.

PyTorch's recorder of MTIA writes the names of its devices with every event of theirs, 310,000 times among 146,000 events. This module decides when a
block is such a one; nothing of it is guessed, as each part of the text must decode to one event of metadata.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import NamedTuple

from .events import Ended, Event, Fault, decode_events

__all__ = ["Repeated", "repeated"]

_PHASE = re.compile(rb'"ph"\s*:\s*"(.)"')
_BETWEEN = re.compile(rb"\}\s*,\s*\{")
#: How much of a block is looked at first, at either end, and how often each of its texts must stand there.
_LOOKED_AT = 2048
_TIMES = 50


class Repeated(NamedTuple):
    """The distinct events in the order of the last of each: the array they make, which of the block's events the first of each is, and how many."""

    events: list[Event]
    text: bytes
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
    if len(counts) * _TIMES > len(parts):
        return None
    last = list(dict.fromkeys(reversed(parts)))[::-1]
    distinct = b"[" + between.group().join(last) + b"]"
    try:
        events = decode_events(distinct)
    except (Ended, Fault):
        return None
    # As many events as parts: no part was cut off inside of an event.
    if len(events) != len(last) or any(event.ph != "M" for event in events):
        return None
    return Repeated(events, distinct, tuple(map(parts.index, last)), tuple(counts[part] for part in last))
