"""A journal of finished cells: a line of JSON each, on the disk as soon as it is done, so that an interrupted run goes on where it stopped."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TypeVar

import msgspec

__all__ = ["append", "read"]

Line = TypeVar("Line", bound=msgspec.Struct)


def read(path: Path, kind: type[Line]) -> list[Line]:
    """The finished lines; one that a kill cut short is passed over."""
    lines = []
    for text in path.read_bytes().splitlines() if path.exists() else ():
        try:
            lines.append(msgspec.json.decode(text, type=kind))
        except msgspec.MsgspecError:
            print(f"{path}: a line that cannot be read is passed over", file=sys.stderr)
    return lines


def append(path: Path, line: msgspec.Struct) -> None:
    """Write one line and see it to the disk."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab") as journal:
        # On a line of its own even if the last one was cut short.
        journal.write((b"" if _ends_with_a_newline(path) else b"\n") + msgspec.json.encode(line) + b"\n")
        journal.flush()
        os.fsync(journal.fileno())


def _ends_with_a_newline(path: Path) -> bool:
    return path.stat().st_size == 0 or path.read_bytes()[-1:] == b"\n"
