"""Our own series: what `ridgeline gate --save` and the pytest plugin write. Values, processes and keys are all in the file; nothing is inferred.

Source: `core.SeriesSet`.
"""

from __future__ import annotations

import msgspec

from ridgeline.core import ReadError, SeriesSet
from ridgeline.core.documents import decode

from .content import Content, text_of

__all__ = ["Own"]


class Own:
    """Reads `ridgeline.series/…`."""

    tool = "ridgeline"

    def sniff(self, content: Content) -> bool:
        """A document whose schema says so."""
        return (text_of(content.fields.get("schema")) or "").startswith("ridgeline.series/")

    def read(self, content: Content) -> SeriesSet:
        """The series as they were written; the source is the file."""
        found = msgspec.structs.replace(decode(content.data, SeriesSet), source=content.name)
        if not found.series:
            raise ReadError("a result file with results", found=f"none in {content.name}", remedy="give another")
        return found
