"""Tables in text: lines, fields and columns of the files that vendors' tools call CSV, whatever their delimiter, line ends and encoding.

This module decides what a row is: quotes may hold delimiters and line breaks, and a field longer than the limits is refused. What a line is, `lines`
decides; what the columns mean is left to the readers.
"""

from __future__ import annotations

import contextlib
import csv
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from ridgeline.core import Caution

from .lines import Lines
from .source import Source

__all__ = ["DELIMITERS", "Columns", "Row", "RowReader", "delimiter_of", "header_in", "split", "table", "unverified"]

DELIMITERS = (",", ";", "\t", "|", "^")
#: A quoted field may go over this many lines.
_LINES_A_FIELD = 64


class Row(NamedTuple):
    """Fields of a row and the line it starts at, from 1."""

    line: int
    fields: list[str]


class Columns:
    """Where the columns of a header are: by name without regard to case, spaces around it, or a mark of the byte order.

    Args:
        header: fields of the header; of two columns of one name the first is meant.
    """

    def __init__(self, header: Sequence[str]) -> None:
        self.names = [name.strip().strip('"').lstrip("\ufeff").strip() for name in header]
        self._where: dict[str, int] = {}
        for place, name in enumerate(self.names):
            self._where.setdefault(name.casefold(), place)

    def __contains__(self, name: str) -> bool:
        return name.casefold() in self._where

    def where(self, *names: str) -> int | None:
        """Place of the first of these columns that there is."""
        return next((self._where[name.casefold()] for name in names if name.casefold() in self._where), None)

    def text(self, fields: Sequence[str], *names: str) -> str:
        """The field under the first of these columns that there is; empty if there is none."""
        place = self.where(*names)
        return fields[place].strip() if place is not None and place < len(fields) else ""


class RowReader:
    """Rows of a file, one after the other.

    Args:
        source: the file.
    """

    def __init__(self, source: Source) -> None:
        self._source = source
        self._text = Lines(source)
        if csv.field_size_limit() < source.limits.name_characters:
            csv.field_size_limit(source.limits.name_characters)

    def lines(self) -> Iterator[tuple[int, str]]:
        """Number and text of each line, without its end.

        Raises:
            ReadError: a line longer than any, or more of them than events are allowed.
        """
        number = 0
        for piece in self._text.pieces():
            lines = piece.removesuffix("\n").split("\n")
            if number + len(lines) > self._source.limits.events:
                raise self._source.damaged(f"at most {self._source.limits.events} lines", "more", "raise the limit, or record less")
            for line in lines:
                number += 1
                # A mark of the byte order stands where files were joined.
                yield number, line.lstrip("\ufeff")

    def rows(self, delimiter: str, whole: Callable[[list[str]], bool] | None = None) -> Iterator[Row]:
        """Every line as a row; quoted fields may go over several lines.

        Args:
            delimiter: between fields.
            whole: says of the fields of a line that they are the start of a row of their own, so that a quote left open ends before it.

        Raises:
            ReadError: as `lines`, or a field longer than the limits.
        """
        return self.following(self.lines(), delimiter, whole)

    def following(self, lines: Iterator[tuple[int, str]], delimiter: str, whole: Callable[[list[str]], bool] | None = None) -> Iterator[Row]:
        """`rows` of what is left of `lines`."""
        return joined(lines, delimiter, self.split, whole)

    def split(self, line: str, delimiter: str, number: int) -> list[str]:
        """Fields of a line; raises `ReadError` for one longer than the limits."""
        try:
            fields = split(line, delimiter)
        except csv.Error as error:
            raise self._source.damaged("fields of ordinary length", f"line {number}: {error}", "raise the limit if you trust it") from error
        most = self._source.limits.name_characters
        if len(line) > most and any(len(field) > most for field in fields):
            raise self._source.damaged(f"fields of at most {most} characters", f"line {number}: a longer one", "raise the limit if you trust it")
        return fields

    @property
    def warnings(self) -> tuple[Caution, ...]:
        """What became of the file's text; complete after the last row."""
        return self._text.warnings


def delimiter_of(line: str, is_header: Callable[[Columns], bool]) -> str:
    """The delimiter under which a line is a header; empty if it is none."""
    with contextlib.suppress(csv.Error):
        return next((sign for sign in DELIMITERS if sign in line and is_header(Columns(split(line, sign)))), "")
    return ""


def header_in(text: str, is_header: Callable[[Columns], bool], lines: int = 50) -> bool:
    """Whether one of the first lines of a text is a header; no table begins with a brace, which saves looking at those of large JSON files."""
    return text.lstrip()[:1] != "{" and any(delimiter_of(line, is_header) for line in text.split("\n", lines)[:lines])


def table(source: Source, reader: RowReader, is_header: Callable[[Columns], bool], expected: str) -> tuple[Columns, Iterator[Row]]:
    """The first header of a file and the rows below it.

    Raises:
        ReadError: no header.
    """
    lines = reader.lines()
    for number, line in lines:
        sign = delimiter_of(line, is_header)
        if sign:
            return Columns(reader.split(line, sign, number)), reader.following(lines, sign)
    raise source.damaged(expected, "no line with them")


def joined(
    lines: Iterator[tuple[int, str]],
    delimiter: str,
    fields_of: Callable[[str, str, int], list[str]],
    whole: Callable[[list[str]], bool] | None = None,
) -> Iterator[Row]:
    """Rows of lines; one with a quote left open goes on in the next ones, at most `_LINES_A_FIELD`, and not beyond a line that is a row itself."""
    ahead: deque[tuple[int, str]] = deque()

    def following() -> tuple[int, str] | None:
        return ahead.popleft() if ahead else next(lines, None)

    while (found := following()) is not None:
        number, line = found
        if line.count('"') % 2:
            looked: list[tuple[int, str]] = []
            text = line
            while len(looked) < _LINES_A_FIELD and (more := following()) is not None:
                looked.append(more)
                if whole is not None and whole(fields_of(more[1], delimiter, more[0])):
                    break
                text += "\n" + more[1]
                if not text.count('"') % 2:
                    line, looked = text, []
                    break
            ahead.extendleft(reversed(looked))
        yield Row(number, fields_of(line, delimiter, number))


def split(line: str, delimiter: str) -> list[str]:
    """Fields of one line; raises `csv.Error` for a field longer than the csv module takes."""
    if '"' not in line:
        return line.split(delimiter)
    # Where a field does not begin with its quote, the line ends are not part of any field.
    broken = "\n" in line or "\r" in line
    quoted = line if not broken or _quoted(line, delimiter) else line.replace("\n", " ").replace("\r", " ")
    return next(csv.reader([quoted], delimiter=delimiter), [])


def _quoted(line: str, delimiter: str) -> bool:
    try:
        next(csv.reader([line], delimiter=delimiter), [])
    except csv.Error:
        return False
    return True


def unverified(what: str) -> Caution:
    """The warning of a format of which no real file was at hand when its reader was written."""
    return Caution(
        code="unverified",
        message=f"{what} is read as its documentation says; no file of the tool itself was at hand to check that",
        effect="compare a few figures with the tool's own report before you rely on them",
    )
