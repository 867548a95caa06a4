"""Entries as JSON Lines: one document a line, columns and all, which any program can read that reads JSON.

A file begins with a line that says what it is and ends with one that says how many entries it holds, so that one that was cut short is told from a
whole one even where the cut is between two lines. What cannot be read is told line by line; the others are not lost with it.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Iterator
from typing import BinaryIO

import msgspec

from ridgeline.core import ReadError, RidgelineError

from .entries import Entry, Kind, Unreadable, checked, decoded, encoded

__all__ = ["read_json_lines", "write_json_lines"]

# A line longer than this is no document of ours but a packed nothing that would fill the memory.
_LONGEST_LINE = 2**29


class _Begin(msgspec.Struct, frozen=True, kw_only=True, tag_field="schema", tag="ridgeline.notebook/1"):
    """The first line: when the file was written."""

    at: str


class _Line(msgspec.Struct, frozen=True, kw_only=True, tag_field="schema", tag="ridgeline.entry/1"):
    """One entry; its document is read when its kind is known."""

    kind: Kind
    id: str
    at: str = ""
    document: msgspec.Raw


class _End(msgspec.Struct, frozen=True, kw_only=True, tag_field="schema", tag="ridgeline.end/1"):
    """The last line: how many entries stand before it."""

    entries: int


_DECODER = msgspec.json.Decoder(_Begin | _Line | _End)


def write_json_lines(file: BinaryIO, entries: Iterable[Entry]) -> None:
    """Write entries to an open file.

    Raises:
        UsageError: a text in one that is not UTF-8.
    """
    file.write(msgspec.json.encode(_Begin(at=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"))) + b"\n")
    count = 0
    for entry in entries:
        document = msgspec.Raw(encoded(entry.document, None).encode())
        file.write(msgspec.json.encode(_Line(kind=entry.kind, id=entry.id, at=entry.at, document=document)) + b"\n")
        count += 1
    file.write(msgspec.json.encode(_End(entries=count)) + b"\n")


def read_json_lines(file: BinaryIO) -> Iterator[Entry | Unreadable]:
    """The entries of an open file; each line that is none, and an end that is missing, is told where it stands.

    Raises:
        ReadError: the first line is not that of such a file, or a line is longer than any document.
        OSError, EOFError, zlib.error: the file cannot be read on.
    """
    _check_first(file.readline(_LONGEST_LINE))
    count, number = 0, 1
    while line := file.readline(_LONGEST_LINE):
        number += 1
        if len(line) == _LONGEST_LINE:
            # What follows is the rest of the same line, however long.
            raise ReadError(f"lines of less than {_LONGEST_LINE // 2**20} MiB", found=f"line {number}, longer", remedy="export fewer samples a run")
        if not line.strip():
            continue
        try:
            found = _parsed(line)
            if isinstance(found, _End):
                yield from _ended(found, count, number)
                # On to the end: the check sum of a packed file stands there.
                if file.read(1):
                    yield Unreadable(id=f"line {number + 1}", reason="something stands behind the last line: import the files one by one")
                return
            yield _entry(found)
        except RidgelineError as error:
            cut = "" if line.endswith(b"\n") else ", which is cut short"
            yield Unreadable(id=f"line {number}{cut}", reason=str(error))
        # One that cannot be read was told: what the last line says of the number is about lines that are not here at all.
        count += 1
    yield Unreadable(id=f"line {number}", reason="the file was cut short: the last line, which says how many entries there are, is missing")


def _check_first(line: bytes) -> None:
    try:
        if isinstance(_parsed(line), _Begin):
            return
    except ReadError:
        pass
    remedy = "give a file that `ridgeline export` wrote"
    raise ReadError("a first line of schema ridgeline.notebook/1", found=repr(line[:60]) if line else "an empty file", remedy=remedy)


def _parsed(line: bytes) -> _Begin | _Line | _End:
    try:
        found: _Begin | _Line | _End = _DECODER.decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise ReadError("a line of an exported notebook", found=str(error), remedy="export again") from error
    return found


def _entry(found: _Begin | _Line | _End) -> Entry:
    if not isinstance(found, _Line):
        raise ReadError("an entry", found="a second first line", remedy="import the files one by one")
    return checked(Entry(kind=found.kind, id=found.id, at=found.at, document=decoded(found.kind, bytes(found.document))))


def _ended(end: _End, count: int, number: int) -> Iterator[Unreadable]:
    if end.entries != count:
        yield Unreadable(id=f"line {number}", reason=f"{end.entries} entries were written, {count} are here")
