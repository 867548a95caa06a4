"""The events of an onnxruntime profile, decoded piece by piece straight from the file, whatever is broken in it.

This module decides what is an event. The file is an array with one event a line; each begins with its category, so a piece of the file is cut before
the last beginning in it, and reading goes on at the next beginning after damage. Older versions wrote names raw: quotes, backslashes and line
ends within them make no JSON, and such an event is taken apart at its fixed fields.
Source: profiles of onnxruntime 1.32; the format is not documented field by field.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from ..source import Damaged, Source

__all__ = ["CAP", "Damage", "Event", "batches"]

#: onnxruntime records this many events and no more.
CAP = 1_000_000
#: Bytes of one event at the most.
_LONGEST = 2**22
_START = re.compile(rb'\{\s*"cat"\s*:')
_RAW = re.compile(
    rb'\{"cat" ?: ?"(\w{1,40})","pid" ?: ?(-?\d{1,19}),"tid" ?: ?(-?\d{1,19}),"dur" ?: ?(-?\d{1,19}),"ts" ?: ?(-?\d{1,19}),"ph" ?: ?"X",'
    rb'"name" ?: ?"(.{0,65536}?)","args" ?: ?\{',
    re.DOTALL,
)
_FIELD = re.compile(rb'"(op_name|provider|node_index|output_size)" ?: ?"([^"\\]{0,400})"')


class _Arguments(msgspec.Struct):
    op_name: str = ""
    provider: str = ""
    node_index: str | int = -1
    output_size: str | int = -1
    input_type_shape: msgspec.Raw = msgspec.Raw(b"")
    stream: str | int = ""
    device: str | int = ""


class Event(msgspec.Struct):
    """One event as it is written; null where a field is missing."""

    cat: str
    name: str
    ts: int | float | None = None
    dur: int | float | None = None
    pid: int | str = 0
    tid: int | str = 0
    ph: str = "X"
    args: _Arguments = msgspec.field(default_factory=_Arguments)


class Damage(msgspec.Struct):
    """What was broken.

    Args:
        broken: pieces that gave no event; first_broken: byte of the first; mended: events with a raw name that were taken apart by hand.
        cut: why the file could not be read to its end; empty if it could. ended: whether the array was closed.
    """

    broken: int = 0
    first_broken: int = 0
    mended: int = 0
    cut: str = ""
    ended: bool = False


def batches(source: Source, damage: Damage) -> Iterator[list[Event]]:
    """All events of a file in its order, a piece of the file at a time; what is broken is written into `damage`."""
    rest, offset = b"", 0
    try:
        for piece in source.pieces():
            data = rest + piece
            starts = [match.start() for match in _START.finditer(data, max(0, len(data) - 2**20))]
            # What holds no beginning is kept for the next piece, unless it is longer than any event.
            cut = starts[-1] if starts else 0 if len(data) < _LONGEST else len(data)
            yield _taken(data[:cut], offset, damage)
            rest, offset = data[cut:], offset + cut
    except Damaged as error:
        damage.cut = str(error)
    yield _taken(rest, offset, damage)
    damage.ended = rest.rstrip().endswith(b"]")


def _taken(data: bytes, offset: int, damage: Damage) -> list[Event]:
    """The events of a piece that begins with one (or with the array)."""
    body = data.strip(b" \t\r\n,[]\xef\xbb\xbf\x00")
    if not body:
        return []
    try:
        return _WHOLE.decode(b"[" + body + b"]")
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        found = [_one(piece, offset + at, damage) for at, piece in _pieces(data)]
        return [event for event in found if event is not None]


def _pieces(data: bytes) -> Iterator[tuple[int, bytes]]:
    starts = [match.start() for match in _START.finditer(data)]
    if not starts:
        yield 0, data
        return
    for start, end in zip(starts, [*starts[1:], len(data)], strict=True):
        yield start, data[start : data.rfind(b"}", start, end) + 1]


def _one(piece: bytes, at: int, damage: Damage) -> Event | None:
    try:
        return _SINGLE.decode(piece)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        mended = _mended(piece)
        if mended is not None:
            damage.mended += 1
        else:
            damage.first_broken = damage.first_broken if damage.broken else at
            damage.broken += 1
        return mended


def _mended(piece: bytes) -> Event | None:
    """An event whose name was written raw."""
    match = _RAW.match(piece)
    if match is None or not piece.endswith(b"}"):
        return None
    fields = {name.decode(): value.decode("utf-8", "replace") for name, value in _FIELD.findall(piece, match.end())}
    return Event(
        cat=match[1].decode(),
        pid=int(match[2]),
        tid=int(match[3]),
        dur=int(match[4]),
        ts=int(match[5]),
        name=match[6].decode("utf-8", "replace"),
        args=_Arguments(**fields),
    )


_WHOLE = msgspec.json.Decoder(list[Event])
_SINGLE = msgspec.json.Decoder(Event)
