"""Texts of events that do not decode: mended where their meaning is certain, passed over where it is not.

Certain are raw control characters in a string (the character), a backslash that begins no escape (a backslash), bytes that are no UTF-8 and halves of
a pair (a replacement character), `NaN` and infinities (no number), trailing commas. An unescaped quote is not: such an event is lost, and reading
goes on at the next text that looks like the start of an event. Where an event ends is found by counting brackets outside of strings, never by
trying all ends, so that time stays proportional to the text.
"""

from __future__ import annotations

import re

from .events import Event, Fault, decode_event

__all__ = ["NEXT", "Walk", "mended", "walk"]

#: The end of an event and the start of the next one, by a key that events have.
NEXT = re.compile(rb'\}\s*,?\s*(?=\{\s*"(?:ph|name|pid|tid|ts|cat|dur|args|id|bp|s|tts|tdur|id2|scope)"\s*:)')
_ANY_NEXT = re.compile(rb"\}\s*,\s*(?=\{)")
#: Elements of the array that are no events.
_ASIDE = re.compile(rb'(?:null|true|false|-?\d[\d.eE+-]{0,30}|"(?:[^"\\]|\\.){0,200}"|\[\s{0,9}\])(?=\s{0,99}[,\]])', re.DOTALL)
_LAST = re.compile(rb"\}(?=\s*\])")
_STRING = rb'"(?:[^"\\]|\\.)*"'
_BRACKET = re.compile(_STRING + rb"|[\"{}\[\]]", re.DOTALL)
_TOKEN = re.compile(
    _STRING + rb"|,(?=\s*[}\]])|(?<![\w.\"])[-+]?(?:nan|inf|infinity|none|true|false)(?:\(\w*\))?(?![\w.\"])|-?\d[\d.]*[eE][+]?\d{3,}|-?\d{400,}",
    re.DOTALL | re.IGNORECASE,
)
_CONTROL = re.compile(rb"[\x00-\x1f]")
_ESCAPE = re.compile(rb"\\(?:[\"/bfnrt]|u[0-9a-fA-F]{4}|(\\)|(.))", re.DOTALL)
_HALF = re.compile(rb"\\u[dD][89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F])|(?<!\\u[dD][89abAB][0-9a-fA-F]{2})\\u[dD][c-fC-F][0-9a-fA-F]{2}")
_NO_NUMBER = re.compile(rb"[-+]?(?:nan|inf|infinity)(?=\s*[,}\]])", re.IGNORECASE)
#: How many of them in one event are put right one by one.
_NUMBERS = 16
#: After so many events in a row that are lost nothing is expected of the rest.
_MOST_LOST = 50_000
#: How many lost events are looked at for why they are.
_EXPLAINED = 1000
#: An event whose end is not in sight after so many bytes is looked for no further.
_LONGEST = 2**22
#: No more of an event is mended, which costs far more time than decoding.
_LONGEST_MENDED = 2**18
_NO_JSON = "no JSON"


class _Ahead:
    """The next match of a pattern, looked for once however often it is asked for."""

    def __init__(self, pattern: re.Pattern[bytes], text: bytes) -> None:
        self._pattern = pattern
        self.hopeless = False
        self._text = text
        self._next = pattern.search(text)

    def after(self, position: int) -> re.Match[bytes] | None:
        """The first match at `position` or later; positions must not go back."""
        if self._next is not None and self._next.start() < position:
            self._next = self._pattern.search(self._text, position)
        return self._next


class Walk:
    """What a walk over a damaged text found: events, the byte that it reached, whether the array ended there, and what it cost.

    Attributes:
        events: in order; places: byte of each in the text; parts: each as it was decoded.
        reached: where the rest begins; ended: whether that is behind the `]` of the array.
        mended: bytes of events that were mended; lost: (byte, length, reason) of those that are lost; hopeless: so many that it was given up.
    """

    def __init__(self, text: bytes) -> None:
        self.events: list[Event] = []
        self.places: list[int] = []
        self.parts: list[bytes] = []
        self.reached = 0
        self.ended = False
        self.mended: list[int] = []
        self.lost: list[tuple[int, int, str]] = []
        self.hopeless = False
        self._text = text
        self._next = _Ahead(NEXT, text)
        self._any = _Ahead(_ANY_NEXT, text)
        self._last = _Ahead(_LAST, text)
        self._endless = False
        # Bytes that may be looked at in vain for the ends of events that have none.
        self._patience = 2 * len(text)

    def go(self, final: bool) -> None:
        """Read on until the array ends, the text ends, or what is left may go on in the next piece."""
        position = 0
        row = 0
        while not self.ended and row <= _MOST_LOST:
            position = self.reached = _skipped(self._text, position)
            if position >= len(self._text):
                return
            if self._text[position] == 0x5D:  # ]
                self.reached, self.ended = position + 1, True
                return
            aside = _ASIDE.match(self._text, position)
            if aside is not None:
                self.lost.append((position, aside.end() - position, "no object"))
                position = self.reached = aside.end()
                continue
            end = self._one(position) if self._text[position] == 0x7B else None  # {
            row = row + 1 if end is None else 0
            if end is None and not final and self._endless and len(self._text) - position < _LONGEST:
                return  # its end may be in the next piece
            if end is None:
                end = self._resumed(position, final)
                if end is None:
                    return
                cut = final and end == len(self._text)
                self.lost.append((position, end - position, _why(self._text[position:end], cut) if len(self.lost) < _EXPLAINED else _NO_JSON))
            position = self.reached = end
        self.hopeless = not self.ended

    def _one(self, position: int) -> int | None:
        """Where the event at `position` ends, which was kept; none if it could not be read."""
        near = self._next.after(position) or min(
            filter(None, (self._any.after(position), self._last.after(position))), key=lambda found: found.start(), default=None
        )
        end: int | None = near.start() + 1 if near else None
        found = _read(self._text[position:end]) if end is not None else Fault("no end in sight", True, -1)
        if isinstance(found, Fault) and found.cut:
            # What looked like its end was inside of it; or it has none.
            end = self._end_of(position, position + _LONGEST if self._patience > 0 else end or position)
            found = _read(self._text[position:end]) if end is not None else found
        if isinstance(found, Fault) or end is None:
            return None
        event, part = found
        self.events.append(event)
        self.places.append(position)
        self.parts.append(part)
        if len(part) != end - position or part != self._text[position:end]:
            self.mended.append(position)
        return end

    def _end_of(self, start: int, most: int) -> int | None:
        depth, stop = 0, min(len(self._text), most)
        self._endless = False
        for token in _BRACKET.finditer(self._text, start, stop):
            mark = token.group()
            if mark == b'"':
                break  # a string without an end: brackets behind it mean nothing
            if mark in b"{[":
                depth += 1
            elif mark in b"}]":
                depth -= 1
                if depth == 0:
                    return token.end()
        self._endless = stop == len(self._text)
        self._patience -= stop - start
        return None

    def _resumed(self, position: int, final: bool) -> int | None:
        """Where to go on behind an event that is lost: at the next one, the end of the array or of the file, or (none) later."""
        last = self._last.after(position)
        following = self._next.after(position)
        if following is None:
            # What looks like another event may stand behind the array: not if an end of an array comes first.
            other = self._any.after(position)
            following = other if other is not None and (last is None or other.start() < last.start()) else None
        if following is not None:
            return following.end()
        if not final and len(self._text) - position < 16 * _LONGEST:
            return None
        return last.end() if last is not None and final else len(self._text)


def walk(text: bytes, final: bool) -> Walk:
    """Event by event through a text that starts where an event may.

    Args:
        text: of an array, from behind its `[` or behind an event.
        final: whether nothing follows, so that an event without an end is lost; else it is left for later.
    """
    found = Walk(text)
    found.go(final)
    return found


def _read(part: bytes) -> tuple[Event, bytes] | Fault:
    """The event of a text and the text it was decoded from, which is mended where it had to be; or what is wrong with it."""
    whole = part
    for _ in range(_NUMBERS):
        try:
            return decode_event(part), part
        except Fault as fault:
            if fault.cut and not _HALF.search(part):
                return fault
            # Numbers that are none are most of what goes wrong, and the decoder says where they stand.
            number = fault.byte > 0 and (_NO_NUMBER.match(part, fault.byte) or _NO_NUMBER.match(part, fault.byte - 1))
            if not number:
                break
            part = part[: number.start()] + b"null" + part[number.end() :]
    part = mended(whole[:_LONGEST_MENDED])
    try:
        return decode_event(part), part
    except Fault as fault:
        return fault


def _skipped(text: bytes, position: int) -> int:
    while position < len(text) and text[position] in b" \t\r\n,\x00\x1e":
        position += 1
    return position


def _why(part: bytes, cut: bool) -> str:
    if cut:
        return "cut off"
    try:
        decode_event(mended(part[:_LONGEST_MENDED].rstrip(b", \t\r\n")))
    except Fault as fault:
        if "deeply" in str(fault):
            return "nested too deeply"
    return _NO_JSON


def mended(text: bytes) -> bytes:
    """The same with what is certain set right."""
    try:
        text.decode()
    except UnicodeDecodeError:
        text = text.decode("utf-8", "replace").encode()
    return _TOKEN.sub(_token, text)


def _token(match: re.Match[bytes]) -> bytes:
    token = match.group()
    if token[:1] == b'"':
        return _HALF.sub(rb"\\ufffd", _ESCAPE.sub(_escape, _CONTROL.sub(lambda found: b"\\u%04x" % found.group()[0], token)))
    if token in (b"true", b"false"):
        return token
    return b"" if token == b"," else b"null"


def _escape(match: re.Match[bytes]) -> bytes:
    stray = match.group(2)
    return match.group() if stray is None else b"\\\\" + stray
