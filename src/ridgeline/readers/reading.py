"""`read_profile`: the file of any profiler to a `Profile`; which tool wrote it is told from what is in it, never from its name.

This module decides which reader reads: every one (entry points `ridgeline.readers`, ours and a stranger's) says how sure it is, and the surest reads.
What is in the file is left to that reader.
"""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Protocol

import msgspec

from ridgeline.core import PluginError, Profile, ReadError, plugins

from .foreign import looks_like, remedy_for
from .source import Limits, Source

__all__ = ["ProfileReader", "read_profile", "recognised"]

_KIND = "readers"
#: What a reader may stumble over in a file that is not as its tool writes it.
_STUMBLES = (ArithmeticError, LookupError, TypeError, ValueError, AttributeError, RecursionError, MemoryError, OSError, msgspec.MsgspecError)


class ProfileReader(Protocol):
    """Reads the files of one format. Called in this order: made without arguments, `recognises`, and `read` where that was surest.

    Attributes:
        format: its name, as in `Profile.format` and as the entry point is called.
        title: for a person, such as `Chrome trace events (PyTorch, TensorFlow, JAX, …)`.
    """

    format: str
    title: str

    def recognises(self, source: Source) -> int:
        """How sure it is that a file is of its format, from `source.head` or the file's magic alone: 0 not at all, 100 a signature that nothing else
        has, about 50 for a shape that others could have too. Never raises for a damaged file.
        """

    def read(self, source: Source) -> Profile:
        """All that the file says; raises `ReadError` where nothing can be read, with the place and what was found there."""


def recognised(source: Source) -> ProfileReader | None:
    """The reader of a file, or `None`.

    Raises:
        PluginError: two readers are equally sure, or none is and one does not load.
    """
    readers, broken = _readers()
    sure = sorted(((reader.recognises(source), reader.format) for reader in readers), reverse=True)
    if not sure or sure[0][0] <= 0:
        if broken:
            raise broken[0]
        return None
    if len(sure) > 1 and sure[0][0] == sure[1][0]:
        found = f"{source.name} recognised by {sure[0][1]} and {sure[1][1]}"
        raise PluginError("a profile that one reader is surest of", found=found, remedy="say which with --format")
    return next(reader for reader in readers if reader.format == sure[0][1])


def read_profile(path: str | Path, *, format: str = "", limits: Limits | None = None) -> Profile:
    """Read a profile.

    Args:
        path: of the file; gzip and zstd are unpacked.
        format: name of the reader; told from the contents if empty.
        limits: how much is taken in.

    Raises:
        ReadError: no such file, no reader recognises it, damaged (with the place), or nothing usable in it.
        PluginError: as `recognised`.
    """
    source = Source(path, limits)
    reader = _named(format) if format else recognised(source)
    if reader is None:
        list(source.pieces())  # a damaged packed file says so here
        raise ReadError("a profile in a format that is known", found=looks_like(source), remedy=remedy_for(source))
    try:
        return reader.read(source)
    except _STUMBLES as error:
        what = f"{source.name}: {type(error).__name__}: {error}"
        raise ReadError(f"a file of {reader.title}", found=what, remedy="write it again, or report what wrote it") from error


def _named(format: str) -> ProfileReader:
    readers, _ = _readers()
    found = next((reader for reader in readers if reader.format == format), None)
    if found is None:
        known = ", ".join(sorted(reader.format for reader in readers))
        raise ReadError(f"a format of: {known}", found=repr(format), remedy="leave it out to have it told from the contents")
    return found


@functools.cache
def _readers() -> tuple[tuple[ProfileReader, ...], tuple[PluginError, ...]]:
    """Those that load, and why the others do not; looked up once a process."""
    loaded, broken = plugins.sound(_KIND)
    return tuple(reader() for reader in loaded.values()), broken
