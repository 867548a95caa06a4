"""`Folder`: recordings as their readers see them: the files below a place, in order, each told by how it starts.

This module decides what belongs to a folder: regular files below it, no links, never more than `MOST_FILES`. What is in them is left to the readers.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

from ridgeline.core import ReadError

from ..source import Source

__all__ = ["MOST_FILES", "Folder"]

#: A place with more files is no folder of recordings, but somebody's disk.
MOST_FILES = 20_000


class Folder:
    """A file or a folder of files.

    Args:
        path: where it is.

    Raises:
        ReadError: there is nothing, or too much.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.name = str(path)
        self._sources: dict[str, Source] = {}
        try:
            there = self.path.exists()
        except (OSError, ValueError):
            there = False
        if not there:
            raise ReadError("a folder of recorded latencies", found=f"{self.name}, where nothing is", remedy="check the path")

    @cached_property
    def files(self) -> tuple[str, ...]:
        """Paths of all files relative to the folder, in alphabetical order; of a single file its name."""
        if self.path.is_file():
            return (self.path.name,)
        found = []
        for path in self._walked():
            found.append(path)
            if len(found) > MOST_FILES:
                raise ReadError(f"a folder with at most {MOST_FILES} files", found=self.name, remedy="name the folder of the recordings itself")
        return tuple(sorted(found))

    def _walked(self) -> Iterator[str]:
        for root, _, names in os.walk(self.path):
            for name in names:
                path = Path(root, name)
                if path.is_file() and not path.is_symlink():
                    yield path.relative_to(self.path).as_posix()

    def source(self, file: str) -> Source:
        """One of `files`, to be read."""
        if file not in self._sources:
            self._sources[file] = Source(self.path if self.path.is_file() else self.path / file)
        return self._sources[file]

    def first_line(self, file: str) -> str:
        """How one of `files` starts; empty for one that is empty or cannot be read."""
        try:
            return self.source(file).head_text.split("\n", 1)[0].strip()
        except ReadError:
            return ""
