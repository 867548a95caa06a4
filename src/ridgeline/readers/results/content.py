"""`Content`: the bytes of a result file as its readers see them, whatever it is called: unpacked, checked, and looked into once.

This module decides what can be read at all: a regular file of at most `MAX_BYTES` once unpacked, in UTF-8 with or without a byte-order mark,
gzip recognised by its first bytes. Bare `NaN` and `Infinity`, which several tools write though JSON has no such numbers, become texts of the same
name, so that `gathering` can count them as what they are. What a file means is left to the readers.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import re
import stat
import zlib
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from ridgeline.core import ReadError

__all__ = ["MAX_BYTES", "Content", "Fields", "decode_as", "entries_of", "fields_of", "object_of", "scalar_of", "text_of"]

T = TypeVar("T")
#: The fields of a JSON object, each still to be decoded.
Fields = dict[str, msgspec.Raw]
#: A file that is larger once unpacked is refused: decoded it takes several times as much memory.
MAX_BYTES = 2**30
_PIECE = 2**20
_GZIP = b"\x1f\x8b"
_BOM = b"\xef\xbb\xbf"
_UTF16 = (b"\xff\xfe", b"\xfe\xff")
# A JSON text, or a bare word that only some writers know; texts are matched so that a word within one is passed over.
_TOKENS = re.compile(rb'"(?:[^"\\]|\\.)*"|-?\b(?:NaN|nan|Infinity|Inf|inf)\b', re.DOTALL)
_ANY_WORD = re.compile(rb"NaN|nan|Infinity|Inf|inf")
_CANNOT = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


class Content:
    """A result file, or a directory of them.

    Args:
        path: where it is; `name` is how it is called in messages.

    Raises:
        ReadError: there is nothing, or neither a regular file nor a directory.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.name = str(path)
        try:
            mode = self.path.stat().st_mode
        except (OSError, ValueError) as error:
            raise ReadError("a result file", found=f"{self.name}: {_reason(error)}", remedy="check the path") from error
        self.is_directory = stat.S_ISDIR(mode)
        if not self.is_directory and not stat.S_ISREG(mode):
            # A pipe or a device would be waited for, or never end.
            raise ReadError("a result file", found=f"{self.name}, which is neither a file nor a directory", remedy="save the results to a file")

    @cached_property
    def data(self) -> bytes:
        """The whole file, unpacked, without a byte-order mark, valid UTF-8; empty for a directory."""
        if self.is_directory:
            return b""
        data = _read(self.path, self.name).removeprefix(_BOM)
        if data[:2] in _UTF16:
            raise ReadError("a result file in UTF-8", found=f"{self.name} in UTF-16", remedy="save it as UTF-8 (a shell may have written it)")
        at = _not_text(data)
        if at is not None:
            raise ReadError(
                "a result file in UTF-8", found=f"{self.name}, whose byte {at} is not", remedy="it is damaged, or no text: write it again"
            )
        if not data.strip():
            raise ReadError("a result file", found=f"{self.name}, which is empty", remedy="write it again: the tool may have been interrupted")
        return data

    @cached_property
    def is_json(self) -> bool:
        """Whether it begins as JSON does."""
        return self.data[:1024].lstrip()[:1] in (b"{", b"[")

    @cached_property
    def fields(self) -> Fields:
        """The fields of the object that the file is; empty where it is something else.

        Raises:
            ReadError: it begins as JSON and is damaged or cut short, with the byte.
        """
        if not self.is_json or self.lines_fields:
            return {}
        found = self._decoded
        return found if isinstance(found, dict) else {}

    @cached_property
    def elements(self) -> list[msgspec.Raw]:
        """The elements of the array that the file is; empty where it is something else. Raises as `fields`."""
        if not self.is_json or self.lines_fields:
            return []
        found = self._decoded
        return found if isinstance(found, list) else []

    @cached_property
    def lines_fields(self) -> Fields:
        """The fields of the first line, where the file is one JSON object a line and has several lines, or only a part of the second."""
        end = self.data.find(b"\n")
        if end < 0 or not self.data[end:].strip() or not self.data.startswith(b"{"):
            return {}
        return fields_of(msgspec.Raw(_worded(self.data[:end])[0]))

    @cached_property
    def header(self) -> tuple[str, ...]:
        """The columns of the table that the file is, by its first line; empty where that is no header."""
        if self.is_directory or self.is_json:
            return ()
        end = self.data.find(b"\n")
        first = self.data[: end if end >= 0 else len(self.data)][:65536].decode(errors="replace").strip("\r")
        try:
            return tuple(next(csv.reader([first]), ()))
        except csv.Error:
            return ()

    def lines(self) -> Iterator[bytes]:
        """Each line that holds something, bare NaN made a text."""
        start, data = 0, self.data
        while start < len(data):
            end = data.find(b"\n", start)
            end = len(data) if end < 0 else end
            line = data[start:end].strip()
            if line:
                yield _worded(line)[0]
            start = end + 1

    def rows(self) -> Iterator[dict[str, str]]:
        """The rows of the table as column → text; a row that is too short lacks the rest.

        Raises:
            ReadError: no table of comma-separated values.
        """
        reader = csv.DictReader(io.StringIO(self.data.decode(), newline=""), restkey="", restval="")
        try:
            for row in reader:
                yield {key: value for key, value in row.items() if isinstance(value, str)}
        except csv.Error as error:
            what = f"{self.name}, line {reader.line_num}: {error}"
            raise ReadError("a table of comma-separated values", found=what, remedy="write it again") from error

    def beside(self, *parts: str) -> Content | None:
        """A file in the same directory or below it; none where there is none, or where the name leads out of it."""
        root = self.path if self.is_directory else self.path.parent
        path = root.joinpath(*parts)
        try:
            inside = path.resolve().is_relative_to(root.resolve())
            return Content(path) if inside and path.is_file() else None
        except (OSError, ValueError, ReadError):
            return None

    def bytes_beside(self, name: str) -> bytes | None:
        """The bytes of a side file, which need not be text, in the same directory or below it; `None` as for `beside`, or where it is too large."""
        side = self.beside(name)
        try:
            return None if side is None or side.path.stat().st_size > MAX_BYTES else side.path.read_bytes()
        except OSError:
            return None

    def above(self, name: str) -> Content | None:
        """A file one directory up, where a format keeps what all its files share; none where there is none."""
        path = self.path.absolute().parent.parent / name
        try:
            return Content(path) if path.is_file() else None
        except (OSError, ReadError):
            return None

    @cached_property
    def _decoded(self) -> Fields | list[msgspec.Raw]:
        data = self.data
        try:
            return msgspec.json.decode(data, type=Fields | list[msgspec.Raw])
        except _CANNOT as error:
            first = error
        data, moved = _worded(data) if _ANY_WORD.search(data) else (data, [])
        try:
            if moved:
                return msgspec.json.decode(data, type=Fields | list[msgspec.Raw])
        except _CANNOT as error:
            first = error
        raise ReadError("a result file in sound JSON", found=f"{self.name}: {_where(first, data, moved)}", remedy="write it again") from first


def fields_of(raw: msgspec.Raw | None) -> Fields:
    """The fields of an object; empty for anything else."""
    if raw is None:
        return {}
    try:
        return msgspec.json.decode(raw, type=Fields)
    except _CANNOT:
        return {}


def decode_as(raw: msgspec.Raw | bytes | None, kind: type[T]) -> T | str:
    """Decode one entry, or say in words why it is none."""
    if raw is None:
        return "missing"
    try:
        return msgspec.json.decode(raw, type=kind)
    except _CANNOT as error:
        return "nested too deeply" if isinstance(error, RecursionError) else str(error)


def scalar_of(raw: msgspec.Raw | None) -> str | float | bool | None:
    """A text, number or truth value; `None` for anything else."""
    if raw is None:
        return None
    try:
        return msgspec.json.decode(raw, type=str | int | float | bool | None)
    except _CANNOT:
        return None


def text_of(raw: msgspec.Raw | None) -> str:
    """A text; empty for anything else."""
    found = scalar_of(raw)
    return found if isinstance(found, str) else ""


def entries_of(raw: msgspec.Raw | None) -> list[msgspec.Raw]:
    """The elements of an array; empty for anything else."""
    found = decode_as(raw, list[msgspec.Raw])
    return [] if isinstance(found, str) else found


def object_of(raw: msgspec.Raw | None) -> dict[str, Any]:
    """An object whose shape nobody fixes; empty for anything else."""
    found = decode_as(raw, dict[str, Any])
    return {} if isinstance(found, str) else found


def _read(path: Path, name: str) -> bytes:
    """The bytes, unpacked, of which there may be only so many."""
    try:
        with path.open("rb") as file:
            packed = file.read(2) == _GZIP
            file.seek(0)
            data = gzip.GzipFile(fileobj=file).read(MAX_BYTES + 1) if packed else file.read(MAX_BYTES + 1)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise ReadError("a whole gzip file", found=f"{name}: {error}", remedy="it is cut short or damaged: write or copy it again") from error
    except (OSError, MemoryError) as error:
        raise ReadError("a result file that can be read", found=f"{name}: {_reason(error)}", remedy="check its permissions and size") from error
    if len(data) > MAX_BYTES:
        what = f"{name}, which is larger" + (" once unpacked" if packed else "")
        raise ReadError(f"a result file of at most {MAX_BYTES >> 20} MiB", found=what, remedy="save less: fewer benchmarks a file, or summaries")
    return data


def _not_text(data: bytes) -> int | None:
    """The first byte that is not UTF-8; in pieces, so that no second copy of a large file is made."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    for start in range(0, len(data), _PIECE):
        held = len(decoder.getstate()[0])
        try:
            decoder.decode(data[start : start + _PIECE], start + _PIECE >= len(data))
        except UnicodeDecodeError as error:
            return start - held + error.start
    return None


def _worded(data: bytes) -> tuple[bytes, list[int]]:
    """Bare words for numbers that are none made texts, and where (bytes in the result before which two were added)."""
    if not _ANY_WORD.search(data):
        return data, []
    moved: list[int] = []

    def quoted(match: re.Match[bytes]) -> bytes:
        word = match[0]
        if word.startswith(b'"'):
            return word
        moved.append(match.start() + 2 * len(moved))
        return b'"' + word + b'"'

    return _TOKENS.sub(quoted, data), moved


def _where(error: Exception, data: bytes, moved: list[int]) -> str:
    """What is wrong, at which byte of the file."""
    if isinstance(error, RecursionError):
        return "nested too deeply"
    text = str(error)
    if "truncated" in text:
        return f"it ends at byte {len(data) - 2 * len(moved)}, in the middle"
    at = re.search(r"\(byte (\d+)\)", text)
    if at is None:
        return text
    byte = int(at[1])
    return text.replace(at[0], f"(byte {byte - 2 * sum(place < byte for place in moved)})")


def _reason(error: BaseException) -> str:
    return getattr(error, "strerror", None) or str(error) or type(error).__name__
