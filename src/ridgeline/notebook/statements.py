"""The SQL that every part of the notebook shares: running a statement, what LIKE takes literally, and the blobs of a connection.

Statements are written so that SQLite and PostgreSQL read them alike; values are always bound, never written into the text.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ridgeline.core import ReadError

if TYPE_CHECKING:
    from sqlalchemy import Connection

__all__ = ["ConnectionBlobs", "containing", "escaped", "execute", "insert_blobs", "named"]

_DIGEST = re.compile(r'"blob":\s?"([0-9a-f]{64})"')
# SQLite takes at least 999 bound values in a statement (sqlite.org/limits.html, 9).
_MOST_BOUND = 500


def execute(connection: Connection, statement: str, values: Any) -> Sequence[Any]:
    """Run one statement; its rows, if it returns any."""
    from sqlalchemy import text

    result = connection.execute(text(statement), values)
    return result.all() if result.returns_rows else []


def named(columns: str) -> str:
    """`a, b` → `:a, :b`."""
    return ", ".join(f":{name.strip()}" for name in columns.split(","))


def escaped(text: str) -> str:
    """A text that LIKE takes literally, with `!` as the escape character."""
    return text.replace("!", "!!").replace("%", "!%").replace("_", "!_")


def containing(text: str) -> str:
    """The LIKE pattern of everything that contains `text`."""
    return f"%{escaped(text)}%"


def insert_blobs(connection: Connection, blobs: Sequence[tuple[str, bytes]]) -> None:
    """Keep blobs by digest; those that are there already stay."""
    # Sorted: two writers that take the rows in one order cannot block each other in a circle.
    rows = [{"digest": digest, "data": data} for digest, data in sorted(blobs)]
    if rows:
        execute(connection, "INSERT INTO ridgeline_blobs (digest, data) VALUES (:digest, :data) ON CONFLICT DO NOTHING", rows)


class ConnectionBlobs:
    """The blobs that a document names, read at once through a connection that is open already; `core.Blobs` for `decode`."""

    def __init__(self, connection: Connection, document: str, place: str) -> None:
        digests = list(dict.fromkeys(_DIGEST.findall(document)))
        self._place = place
        self._found: dict[str, bytes] = {}
        for start in range(0, len(digests), _MOST_BOUND):
            wanted = {f"d{index}": digest for index, digest in enumerate(digests[start : start + _MOST_BOUND])}
            names = ", ".join(f":{name}" for name in wanted)
            for digest, data in execute(connection, f"SELECT digest, data FROM ridgeline_blobs WHERE digest IN ({names})", wanted):
                self._found[str(digest)] = bytes(data)

    def put(self, digest: str, data: bytes) -> None:
        """Keep `data` here only."""
        self._found.setdefault(digest, data)

    def get(self, digest: str) -> bytes:
        """The bytes kept under `digest`."""
        if digest not in self._found:
            raise ReadError("the blob of a column", found=f"no blob {digest} in {self._place}", remedy="restore the notebook from a copy")
        return self._found[digest]
