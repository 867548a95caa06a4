"""`Lines`: a text file in pieces of whole lines, whatever its encoding and line ends, never more of it in memory than one piece.

This module decides what a line is and what becomes of bytes that are no text (replaced, and said) and of a file that cannot be read to its end
(what came before is kept, and said). What a line means is left to the readers.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterator

from ridgeline.core import Caution

from .source import PIECE, Damaged, Source

__all__ = ["Lines"]

_ENCODINGS = {b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"}
#: No line is longer: a stack of two thousand names of a kilobyte has two megabytes.
_MOST_LINE = 2**25
_REPLACED = "\ufffd"


class Lines:
    """The lines of a file, read once.

    Attributes:
        ended: whether the last line ended with a line end.
    """

    def __init__(self, source: Source) -> None:
        self._source = source
        self._replaced = False
        self._damage = ""
        self.ended = True

    def pieces(self, size: int = PIECE) -> Iterator[str]:
        """Text that ends with a line end (the last perhaps not), line ends as `\\n`, in pieces of about `size` bytes.

        Raises:
            ReadError: a line longer than any; larger than the limits of the source; unreadable from its first byte.
        """
        rest = ""
        for text in self._decoded(size):
            whole, end, rest = (rest + text).rpartition("\n")
            if end:
                yield self._plain(whole + end)
            if len(rest) > _MOST_LINE:
                raise self._source.damaged(f"lines of at most {_MOST_LINE} characters", f"one that starts with {rest[:40]!r}", "record it as text")
        if rest:
            self.ended = False
            yield self._plain(rest)

    @property
    def warnings(self) -> tuple[Caution, ...]:
        """What became of the file's text; complete after the last piece."""
        found = []
        if self._replaced:
            found.append(Caution(code="not-text", message="some bytes are no text and stand as \ufffd in names", effect="names may differ"))
        if self._damage:
            found.append(Caution(code="cut-short", message=self._damage, effect="what came after is in no figure"))
        return tuple(found)

    def _decoded(self, size: int) -> Iterator[str]:
        decoder: codecs.IncrementalDecoder | None = None
        try:
            for piece in self._source.pieces(size):
                if decoder is None:
                    decoder = codecs.getincrementaldecoder(_ENCODINGS.get(piece[:2], "utf-8"))("replace")
                yield decoder.decode(piece)
        except Damaged as error:
            if decoder is None:
                raise
            self._damage = error.found
        if decoder is not None:
            yield decoder.decode(b"", final=True)

    def _plain(self, text: str) -> str:
        if _REPLACED in text:
            self._replaced = True
        if "\r" in text:
            text = text.replace("\r\n", "\n")
        return text.removeprefix("\ufeff")
