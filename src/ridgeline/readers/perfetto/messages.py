"""Messages of a Perfetto trace, cut out of its bytes: field numbers, and nothing else.

Source: the schema published with Perfetto (`protos/perfetto/trace`), numbers of fields only. Bytes are decoded by `wire`, which says why.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import NamedTuple

from ..wire import LENGTH, WireError, as_double, fields, signed

__all__ = ["Event", "Legacy", "Packet", "clocks_of", "compressed", "event_of", "names_of", "packet", "packets", "pairs", "text", "whole"]

#: `TracePacket`.
TIMESTAMP, CLOCK, SEQUENCE, FLAGS, CLEARED, DEFAULTS = 8, 58, 10, 13, 41, 59
_COMPRESSED = 50


class Packet(NamedTuple):
    """A `TracePacket`: its whole numbers and its messages by field."""

    numbers: dict[int, int]
    messages: dict[int, bytes]


class Legacy(NamedTuple):
    """`TrackEvent.LegacyEvent`: what Chrome's older events say; 0 for what is not there."""

    name_iid: int
    phase: int
    duration_us: int
    #: Process, thread and kind (1 for the process, 2 for one place of it, 3 for all) of an asynchronous event, and its number.
    scope: int
    number: int
    process: int
    thread: int


class Event(NamedTuple):
    """A `TrackEvent`; 0 or `None` for what is not there."""

    type: int
    track: int
    name: str
    name_iid: int
    value: float | None
    delta_us: int
    absolute_us: int
    flows: tuple[int, ...]
    ending: tuple[int, ...]
    legacy: Legacy | None


def packets(data: memoryview) -> Iterator[memoryview]:
    """The packets of a trace."""
    for number, wire, value in fields(data):
        if number == 1 and wire == LENGTH and not isinstance(value, int):
            yield value


def packet(data: bytes) -> Packet:
    """One packet."""
    numbers: dict[int, int] = {}
    messages: dict[int, bytes] = {}
    for number, _, value in fields(data):
        if isinstance(value, int):
            numbers[number] = value
        else:
            messages[number] = value
    return Packet(numbers, messages)


def compressed(one: Packet, most: int) -> bytes | None:
    """The packets that a packet holds packed, at most `most` bytes of them; `None` for an ordinary packet."""
    data = one.messages.get(_COMPRESSED)
    if data is None:
        return None
    unpacking = zlib.decompressobj()
    try:
        found = unpacking.decompress(data, most)
    except zlib.error as error:
        raise WireError(f"packets that cannot be unpacked ({error})", 0) from error
    if unpacking.unconsumed_tail:
        raise WireError(f"packets that are longer than {most} bytes once unpacked", 0)
    return found


def whole(data: bytes, *numbers: int) -> tuple[int, ...]:
    """Whole numbers of a message by field, 0 where there is none."""
    found = {number: value for number, _, value in fields(data) if isinstance(value, int)}
    return tuple(found.get(number, 0) for number in numbers)


def text(data: bytes, *numbers: int) -> str:
    """The first of these text fields that there is."""
    found = {number: value for number, _, value in fields(data) if not isinstance(value, int)}
    return next((found[number].decode("utf-8", "replace") for number in numbers if number in found), "")


def pairs(data: bytes, number: int) -> Iterator[bytes]:
    """The messages of a repeated field."""
    return (value for each, _, value in fields(data) if each == number and not isinstance(value, int))


def names_of(data: bytes) -> dict[int, dict[int, str]]:
    """`InternedData`: texts by number, of categories (1), events (2) and stages of a GPU (24)."""
    found: dict[int, dict[int, str]] = {}
    for number, _, value in fields(data):
        if number in (1, 2, 24) and not isinstance(value, int):
            found.setdefault(number, {})[whole(value, 1)[0]] = text(value, 2)
    return found


def clocks_of(data: bytes) -> tuple[dict[int, tuple[int, int, bool]], int]:
    """`ClockSnapshot`: by clock its time, its unit in ns, and whether it counts on from the packet before; and the clock of the trace."""
    found = {}
    for clock in pairs(data, 1):
        identifier, time, incremental, unit = whole(clock, 1, 2, 3, 4)
        found[identifier] = (time, unit or 1, bool(incremental))
    return found, whole(data, 2)[0]


def event_of(data: bytes) -> Event:
    """A `TrackEvent`."""
    numbers: dict[int, int] = {}
    name, value, legacy = "", None, None
    flows: list[int] = []
    ending: list[int] = []
    for number, _, raw in fields(data):
        if not isinstance(raw, int):
            if number == 23:
                name = raw.decode("utf-8", "replace")
            elif number == 6:
                legacy = _legacy(raw)
        elif number in (36, 47):
            flows.append(raw)
        elif number in (42, 48):
            ending.append(raw)
        elif number == 30:
            value = float(signed(raw))
        elif number == 44:
            value = as_double(raw)
        else:
            numbers[number] = raw
    get = numbers.get
    times = (signed(get(1, 0)), signed(get(16, 0)))
    return Event(get(9, 0), get(11, 0), name, get(10, 0), value, *times, tuple(flows), tuple(ending), legacy)


def _legacy(data: bytes) -> Legacy:
    name, phase, duration, unscoped, local, everywhere, process, thread = whole(data, 1, 2, 3, 6, 10, 11, 18, 19)
    scope, number = next(((kind, each) for kind, each in ((1, unscoped), (2, local), (3, everywhere)) if each), (0, 0))
    return Legacy(name, phase, signed(duration), scope, number, process, thread)
