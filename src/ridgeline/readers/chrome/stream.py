"""A file of trace events as blocks of decoded events, in memory of a few blocks whatever its size.

This module decides where the array of events begins and ends (both forms of the format, with metadata before or behind, several documents one after
another, no end at all) and cuts it into blocks between two events. A cut is a guess by the looks of the text that decoding proves: a part that was
cut inside of an event or a string does not decode. Blocks that do not decode go through `mending`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import msgspec

from ridgeline.readers.source import PIECE, Damaged, Source

from .decoded import Decoded
from .events import Ended, Fault, decode_events, end_before_rest
from .mending import NEXT, mended, walk
from .scanned import Scanned, Texts

__all__ = ["Block", "EventStream"]

_KEY = re.compile(rb'"traceEvents"\s*:\s*\[')
_CUT = re.compile(rb"\}\s*,\s*(?=\{)")
#: How far from the end of a piece a cut is looked for, at first and then, and how many are tried.
_TAILS = (2**14, 2**18)
_TRIES = 6
#: Metadata before or behind the events may be as large.
_METADATA = 2**26
#: A single one of them that is larger tells nothing that is looked at.
_VALUE = 2**20
#: How many documents one after another are read.
_DOCUMENTS = 500
_BOM = b"\xef\xbb\xbf"


class Block(msgspec.Struct, frozen=True, gc=False):
    """Events that stand one after another.

    Args:
        events: themselves; index: how many came before.
        text: the array they were read from.
        offset: byte of the unpacked file at which `text` begins.
        places: byte of each event in the file where `text` was put together from events that were decoded one by one.
    """

    events: Decoded | Scanned
    index: int
    text: bytes
    offset: int
    places: tuple[int, ...] = ()

    def __len__(self) -> int:
        return len(self.events)

    def place(self, number: int) -> str:
        """Where event `number` of the block stands, for a person."""
        event = f"event {self.index + number + 1}"
        if self.places:
            return f"byte {self.places[number]}, {event}"
        starts = self.events.starts() or [len(self.text) - len(self.text[1:].lstrip()), *(cut.end() for cut in _CUT.finditer(self.text))]
        if len(starts) == len(self.events):
            return f"byte {self.offset + starts[number]}, {event}"
        return event


class EventStream:
    """The events of a file, taken in by pieces of `size` bytes.

    Attributes, complete once `blocks` is through:
        metadata: what stands beside the events, by key, as JSON text.
        lost: reason → (events, place of the first) of what could not be decoded.
        mended: how many events were mended, first_mended: where the first stands.
        remarks: what else is wrong with the file, in words.
        found: whether there was an array of events at all.
    """

    def __init__(self, source: Source, size: int = PIECE) -> None:
        self.metadata: dict[str, bytes] = {}
        self.lost: dict[str, tuple[int, str]] = {}
        self.mended = 0
        self.first_mended = ""
        self.remarks: list[str] = []
        self.found = False
        self._source = source
        self._pieces = source.pieces(size)
        self._size = size
        self._data = b""
        self._offset = 0
        self._count = 0
        self._object = False
        self._through = False
        self._texts = Texts()

    def blocks(self) -> Iterator[Block]:
        """The events in the order of the file; metadata events among them."""
        for _ in range(_DOCUMENTS):
            if not self._to_events():
                return
            self.found = True
            yield from self._array()
            if self._object:
                self._behind()
        self.remarks.append(f"what follows the first {_DOCUMENTS} arrays of events, at byte {self._offset}, was left out")

    def _more(self) -> bool:
        """Take in the next piece; false at the end of the file."""
        size, gathered = 0, [self._data]
        # Pieces end where members of a packed file do; blocks must not depend on that.
        while size < self._size and not self._through:
            try:
                piece = next(self._pieces, b"")
            except Damaged as error:
                self.remarks.append(str(error))
                piece = b""
            self._through = not piece
            size += len(piece)
            gathered.append(piece)
        self._data = b"".join(gathered)
        return size > 0

    def _drop(self, size: int) -> None:
        self._data = self._data[size:]
        self._offset += size

    def _to_events(self) -> bool:
        """Go behind the `[` of the next array of events."""
        while True:
            clean = self._data.removeprefix(_BOM).lstrip(b" \t\r\n\x00\x1e,;" if self.found else b" \t\r\n\x00")
            self._drop(len(self._data) - len(clean))
            if self._data or not self._more():
                break
        if self._data[:1] == b"[":
            self._object = False
            self._drop(1)
            return True
        if self._data[:1] == b"{":
            self._object = True
            return self._in_object()
        if self._data and self.found:
            self.remarks.append(f"what stands at byte {self._offset}, behind the end of the events, is no trace and was left out")
        return False

    def _in_object(self) -> bool:
        start = 0
        while True:
            for key in _KEY.finditer(self._data, start):
                header = self._data[: key.start()].rstrip().rstrip(b",")
                if self._take(header + b"}") or b'"' not in header:
                    self._drop(key.end())
                    return True
            start = max(0, len(self._data) - 64)
            if len(self._data) > _METADATA or not self._more():
                key_found = _KEY.search(self._data)
                if key_found is None:
                    if self.found:
                        self.remarks.append(f"the object at byte {self._offset}, behind the events, has none and was left out")
                    return False
                self.remarks.append("what stands before the events is damaged and was left out")
                self._drop(key_found.end())
                return True

    def _take(self, text: bytes) -> bool:
        """Keep the metadata of a JSON object; false if it is cut short (the key was found in a string or deeper down)."""
        try:
            found = msgspec.json.decode(text, type=dict[str, msgspec.Raw])
        except (msgspec.MsgspecError, RecursionError, ValueError):
            try:
                found = msgspec.json.decode(mended(text), type=dict[str, msgspec.Raw])
            except (msgspec.MsgspecError, RecursionError, ValueError):
                return False
        for key, raw in found.items():
            value = bytes(raw)
            if key == "traceEvents" and value.strip() not in (b"[]", b"null"):
                self.remarks.append("a second array of events in the same object was left out")
                continue
            if len(value) <= _VALUE:
                self.metadata.setdefault(key, value)
        return True

    def _array(self) -> Iterator[Block]:
        while True:
            last = not self._more()
            cuts = [] if last else self._cuts()
            if not last and not cuts and len(self._data) < _METADATA:
                continue
            if last and not cuts:
                cuts = [len(self._data)]
            done = yield from self._read(cuts, last)
            if done:
                return

    def _cuts(self) -> list[int]:
        """Ends of events near the end of what is at hand, last first."""
        for tail in _TAILS:
            ends = [cut.start() + 1 for cut in NEXT.finditer(self._data, max(0, len(self._data) - tail))]
            if len(ends) >= _TRIES:
                break
        return (ends or [cut.start() + 1 for cut in _CUT.finditer(self._data)])[: -_TRIES - 1 : -1]

    def _read(self, cuts: list[int], last: bool) -> Any:
        """Yield the events before one of the cuts; true at the end of the array."""
        for cut in cuts:
            end = len(self._data[:cut].rstrip(b" \t\r\n,\x00")) if last else cut
            try:
                block, reached, ended = self._scanned(end) or self._decoded(end)
            except Fault as fault:
                if fault.cut and not last:
                    continue
                break
            yield block
            self._count += len(block)
            if ended:
                self._drop(reached)
                return True
            self._drop(cut)
            self._drop(len(self._data) - len(self._data.lstrip(b" \t\r\n,")))
            if last:
                self.remarks.append("the array of events has no end: the recorder may have been interrupted")
            return last
        return (yield from self._walked(last))

    def _scanned(self, end: int) -> tuple[Block, int, bool] | None:
        """The events up to `end` or to the end of their array, the byte that was reached and whether it is that; `None` if they are not plain."""
        found = self._texts.scanned(self._data, end)
        return None if found is None else (Block(found[0], self._count, self._data, self._offset), found[1], found[2])

    def _decoded(self, end: int) -> tuple[Block, int, bool]:
        """The same whatever the events look like; raises `Fault`."""
        text = b"".join((b"[", memoryview(self._data)[:end], b"]"))
        try:
            events, ended = decode_events(text), False
        except Ended as found:
            text, ended = text[: found.byte], True
            events = decode_events(text)
        return Block(Decoded(events, text), self._count, text, self._offset - 1), len(text) - 1, ended

    def _walked(self, last: bool) -> Any:
        found = walk(self._data, last)
        places = tuple(self._offset + place for place in found.places)
        if found.events:
            text = b"[" + b",".join(found.parts) + b"]"
            yield Block(Decoded(found.events, text), self._count, text, self._offset, places)
        self._count += len(found.events)
        for byte, _, reason in found.lost:
            count, first = self.lost.get(reason, (0, f"byte {self._offset + byte}"))
            self.lost[reason] = (count + 1, first)
        if found.mended:
            self.first_mended = self.first_mended or f"byte {self._offset + found.mended[0]}"
            self.mended += len(found.mended)
        self._drop(found.reached)
        if found.hopeless:
            self.remarks.append(f"so many events before byte {self._offset} are damaged that the rest was left out")
            self._data, self._through = b"", True
            return True
        if last and not found.ended:
            self.remarks.append("the array of events has no end: the recorder may have been interrupted")
        return found.ended or last

    def _behind(self) -> None:
        """Metadata behind the events, up to the end of their object."""
        tried = -1
        while True:
            if len(self._data) > 2 * tried:
                tried = len(self._data)
                end = self._end_of_object()
                if end is not None:
                    self._drop(end)
                    return
            if len(self._data) > _METADATA or not self._more():
                break
        end = self._end_of_object()
        if end is None:
            if self._data.strip(b" \t\r\n,]}"):
                self.remarks.append("what stands behind the events is cut short or damaged and was left out")
            end = len(self._data)
        self._drop(end)
        self._through = self._through or len(self._data) > _METADATA

    def _end_of_object(self) -> int | None:
        """Where the object ends whose inside is at hand, its metadata kept; none if it does not end yet."""
        rest = self._data.lstrip(b" \t\r\n,")
        skipped = len(self._data) - len(rest)
        text = b"{" + rest
        try:
            msgspec.json.decode(text, type=dict[str, msgspec.Raw])
            end = len(text)
        except (msgspec.MsgspecError, RecursionError, ValueError) as error:
            found = end_before_rest(text, str(error))
            if found is None:
                return len(self._data) if self._through and self._take(text) else None
            end = found
        self._take(text[:end])
        return skipped + end - 1
