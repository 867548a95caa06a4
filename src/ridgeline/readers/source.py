"""`Source`: a profile as its readers see it, whatever it is called: unpacked, in pieces or whole, never more of it than the limits allow.

This module decides what can be opened at all: a regular file; gzip and zstd (several members or frames one after another too) told by their first
bytes; unpacked only as far as `Limits` allow. What the bytes mean is left to the readers.
"""

from __future__ import annotations

import contextlib
import stat
import tempfile
import zlib
from collections.abc import Generator, Iterator
from functools import cached_property
from pathlib import Path
from typing import IO, Any

import msgspec

from ridgeline.core import BackendUnavailable, ReadError

__all__ = ["PIECE", "Damaged", "Limits", "Source"]

_GZIP = b"\x1f\x8b"
_ZSTD = (b"\x28\xb5\x2f\xfd", *(bytes((low, 0x2A, 0x4D, 0x18)) for low in range(0x50, 0x60)))
_BOM = b"\xef\xbb\xbf"
_UTF16 = {b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"}
_HEAD = 2**16
#: Bytes that are read at once.
PIECE = 2**22
_PACKED = 2**18


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """How much of a file is taken in; whoever has larger ones raises them.

    Args:
        unpacked_bytes: of a file that is read in pieces.
        whole_bytes: of a file whose format must be at hand as a whole.
        packing: how many times as large as the packed file it may become, beyond the first 64 MiB: a bomb grows a thousandfold, traces fortyfold.
        name_characters: of one name or text.
        depth: of nested objects or stacks.
        events: of one file.
    """

    unpacked_bytes: int = 2**36
    whole_bytes: int = 2**30
    packing: int = 400
    name_characters: int = 2**16
    depth: int = 2000
    events: int = 200_000_000


class Source:
    """A file to read.

    Args:
        path: where it is; `name` is how it is called in messages.
        limits: how much of it may be taken in.
        what: what it should be, for messages.

    Raises:
        ReadError: no such file, no regular file, or an empty one.
    """

    def __init__(self, path: str | Path, limits: Limits | None = None, what: str = "a profile") -> None:
        self.path = Path(path)
        self.name = str(path)
        self.what = what
        self.limits = limits or Limits()
        try:
            found = self.path.stat()
        except (OSError, ValueError) as error:
            raise ReadError(self.what, found=f"{self.name}: {_reason(error)}", remedy="check the path") from error
        if not stat.S_ISREG(found.st_mode):
            # A pipe or a device would be waited for, or never end.
            kind = "a directory" if stat.S_ISDIR(found.st_mode) else "no regular file"
            raise ReadError(self.what, found=f"{self.name}, which is {kind}", remedy="name the files themselves")
        self.size_bytes = found.st_size
        if not self.size_bytes:
            raise ReadError(self.what, found=f"{self.name}, which is empty", remedy="write it again: the tool may have been interrupted")

    @cached_property
    def packed(self) -> str:
        """`gzip`, `zstd`, or empty."""
        with self._opened() as file:
            start = file.read(4)
        return "gzip" if start.startswith(_GZIP) else "zstd" if start.startswith(_ZSTD) else ""

    @cached_property
    def head(self) -> bytes:
        """The first 64 KiB, unpacked, without a byte-order mark: what readers recognise their format by. Less where the file is damaged."""
        parts, size = [], 0
        with contextlib.suppress(ReadError), contextlib.closing(self.pieces(_HEAD)) as pieces:
            for piece in pieces:
                parts.append(piece)
                size += len(piece)
                if size >= _HEAD:
                    break
        return b"".join(parts)[:_HEAD].removeprefix(_BOM)

    @cached_property
    def head_text(self) -> str:
        """`head` as text, UTF-16 too; what is no text is replaced."""
        return self.head.decode(_UTF16.get(self.head[:2], "utf-8"), "replace").lstrip("\ufeff")

    def pieces(self, size: int = PIECE) -> Generator[bytes, None, None]:
        """The file from its start, unpacked, in pieces of about `size` bytes.

        Raises:
            Damaged: damaged or cut short, with the byte of the unpacked file that was reached.
            ReadError: larger than the limits.
        """
        reached = 0
        with self._opened() as file, self._unpacking(file) as unpacked:
            while True:
                try:
                    piece = unpacked.read(size)
                except (EOFError, zlib.error, OSError, ValueError) as error:
                    raise _damaged(self.name, self.packed, reached, error) from error
                except Exception as error:
                    # zstandard has an error type of its own, which is known only where that library is loaded.
                    if type(error).__name__ != "ZstdError":
                        raise
                    raise _damaged(self.name, self.packed, reached, error) from error
                if not piece:
                    return
                reached += len(piece)
                self._allowed(reached, self.limits.unpacked_bytes)
                yield piece

    @cached_property
    def data(self) -> bytes:
        """The whole file, unpacked.

        Raises:
            ReadError: as `pieces`, or larger than `Limits.whole_bytes`.
        """
        parts, size = [], 0
        for piece in self.pieces():
            size += len(piece)
            self._allowed(size, self.limits.whole_bytes)
            parts.append(piece)
        return b"".join(parts)

    @cached_property
    def text(self) -> str:
        """The whole file as text: UTF-8 with or without a byte-order mark, or UTF-16 with one.

        Raises:
            ReadError: as `data`, or no text (with the byte).
        """
        data = self.data
        encoding = _UTF16.get(data[:2], "utf-8")
        try:
            return data.decode(encoding).lstrip("\ufeff")
        except UnicodeDecodeError as error:
            what = f"{self.name}, whose byte {error.start} is none"
            raise ReadError(f"text in {encoding.upper()}", found=what, remedy="it is damaged, or no text: write it again") from error

    @contextlib.contextmanager
    def unpacked_path(self) -> Iterator[Path]:
        """Where the file lies unpacked, for formats that only a library can open by path; a temporary copy if it is packed."""
        if not self.packed:
            yield self.path
            return
        with tempfile.NamedTemporaryFile(prefix="ridgeline-") as copy:
            for piece in self.pieces():
                copy.write(piece)
            copy.flush()
            yield Path(copy.name)

    def damaged(self, expected: str, found: str, remedy: str = "write it again") -> ReadError:
        """An error that names this file."""
        return ReadError(expected, found=f"{self.name}: {found}", remedy=remedy)

    @contextlib.contextmanager
    def _opened(self) -> Iterator[IO[bytes]]:
        try:
            file = self.path.open("rb")
        except OSError as error:
            raise ReadError(f"{self.what} that can be read", found=f"{self.name}: {_reason(error)}", remedy="check its permissions") from error
        with file:
            yield file

    @contextlib.contextmanager
    def _unpacking(self, file: IO[bytes]) -> Iterator[Any]:
        if self.packed == "gzip":
            yield _Members(file)
        elif self.packed == "zstd":
            with _zstandard().ZstdDecompressor(max_window_size=2**27).stream_reader(file, read_across_frames=True) as unpacked:
                yield unpacked
        else:
            yield file

    def _allowed(self, size: int, most: int) -> None:
        if size > most:
            what = f"{self.name}, which is larger" + (" once unpacked" if self.packed else "")
            raise ReadError(f"a file of at most {most >> 20} MiB", found=what, remedy="record less, or raise the limit with --most-bytes")
        if self.packed and size > max(2**26, self.limits.packing * self.size_bytes):
            what = f"{self.name}, which grew to more than {self.limits.packing} times its size"
            remedy = "unpack it yourself if you trust it, or raise it with --limit packing=…"
            raise ReadError("a packed file of ordinary contents", found=what, remedy=remedy)


class _Members:
    """Members of gzip, one after another; unlike `gzip.GzipFile` it gives all that comes before damage."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._inflate = zlib.decompressobj(wbits=31)
        self._packed = b""
        self._begun = False

    def read(self, size: int) -> bytes:
        """At most `size` unpacked bytes, none at the end; raises `EOFError` or `zlib.error` where it is cut short or damaged."""
        while True:
            packed = self._packed or self._file.read(_PACKED)
            if not self._begun:
                packed = packed.lstrip(b"\x00")  # between and behind members, as tapes and block devices pad them
            over = not packed and not self._file.peek(1)  # type: ignore[attr-defined]
            if over and not self._begun:
                return b""
            self._begun = self._begun or bool(packed)
            unpacked = self._inflate.decompress(packed, size)
            self._packed = self._inflate.unconsumed_tail
            if self._inflate.eof:
                self._packed, self._begun = self._inflate.unused_data, False
                self._inflate = zlib.decompressobj(wbits=31)
            if unpacked:
                return unpacked
            if over:
                raise EOFError("it ends before the end of its contents")


class Damaged(ReadError):
    """A file that cannot be unpacked or read to its end; a reader of events may go on with what came before."""


def _damaged(name: str, packed: str, reached: int, error: Exception) -> Damaged:
    what = f"{name}: {error or type(error).__name__}, after {reached} unpacked bytes"
    return Damaged(f"a whole {packed or 'readable'} file", found=what, remedy="it is cut short or damaged: write or copy it again")


def _zstandard() -> Any:
    try:
        import zstandard
    except ImportError as error:
        raise BackendUnavailable(
            "zstandard, to unpack zstd", found="it is not installed", remedy="pip install 'ridgeline[profiles]', or unpack it"
        ) from error
    return zstandard


def _reason(error: BaseException) -> str:
    return getattr(error, "strerror", None) or str(error) or type(error).__name__
