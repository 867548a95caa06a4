"""`read_latencies`: recordings in any known layout to a `LatencyTable`; whose they are is told from what is in them, never from names.

This module decides which reader reads: every one (entry points `ridgeline.latencies`, ours and a stranger's) looks at the folder, exactly one may
recognise it. What is in the files is left to that reader.
"""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Protocol

import msgspec

from ridgeline.core import LatencyTable, PluginError, ReadError, RecordedNetwork, plugins

from .folder import Folder

__all__ = ["LatencyReader", "read_latencies", "read_networks", "recognised"]

_KIND = "latencies"
#: What a reader may stumble over in files that are not as their tool writes them.
_STUMBLES = (ArithmeticError, LookupError, TypeError, ValueError, AttributeError, RecursionError, MemoryError, OSError, msgspec.MsgspecError)


class LatencyReader(Protocol):
    """Reads the recordings of one origin. Called in this order: made without arguments, `sniff`, and `read` or `networks` where that was true.

    Attributes:
        origin: a short name of whose recordings it reads.
    """

    origin: str

    def sniff(self, folder: Folder) -> bool:
        """Whether there are such recordings: by how files start, without reading them all, never raising for what is damaged."""

    def read(self, folder: Folder) -> LatencyTable:
        """All measured operators; raises `ReadError` where there are none."""

    def networks(self, folder: Folder) -> tuple[RecordedNetwork, ...]:
        """All whole networks that were measured; empty where there are none."""


def recognised(path: str | Path) -> str | None:
    """Origin of the recordings in a folder, or `None`.

    Raises:
        ReadError: nothing is there. PluginError: two readers recognise it.
    """
    reader = _reader_of(Folder(path))
    return None if reader is None else reader.origin


def read_latencies(path: str | Path) -> LatencyTable:
    """The operators of a folder of recordings.

    Raises:
        ReadError: nothing is there, no reader recognises it, it is damaged (with the file), or no usable row is in it.
        PluginError: two readers recognise it, or the one that does fails to load.
    """
    folder = Folder(path)
    reader = _known(folder)
    try:
        return reader.read(folder)
    except _STUMBLES as error:
        raise _stumbled(folder, reader, error) from error


def read_networks(path: str | Path) -> tuple[RecordedNetwork, ...]:
    """The whole networks of a folder of recordings; raises as `read_latencies`."""
    folder = Folder(path)
    reader = _known(folder)
    try:
        return reader.networks(folder)
    except _STUMBLES as error:
        raise _stumbled(folder, reader, error) from error


def _known(folder: Folder) -> LatencyReader:
    reader = _reader_of(folder)
    if reader is None:
        known = ", ".join(each.origin for each in _readers()[0])
        found = f"{folder.name} with {len(folder.files)} files" + (f", such as {folder.files[0]}" if folder.files else "")
        raise ReadError(f"recorded latencies of one of: {known}", found=found, remedy="name the folder that holds the recordings")
    return reader


def _stumbled(folder: Folder, reader: LatencyReader, error: Exception) -> ReadError:
    what = f"{folder.name}: {type(error).__name__}: {error}"
    return ReadError(f"recordings as {reader.origin} publishes them", found=what, remedy="fetch them again")


def _reader_of(folder: Folder) -> LatencyReader | None:
    readers, broken = _readers()
    found = [reader for reader in readers if reader.sniff(folder)]
    if len(found) > 1:
        names = " and ".join(reader.origin for reader in found)
        raise PluginError("recordings that one reader recognises", found=f"{folder.name} recognised by {names}", remedy="remove one of the readers")
    if not found and broken:
        # One that does not load keeps no other from reading its own; it may have been the one.
        raise broken[0]
    return found[0] if found else None


@functools.cache
def _readers() -> tuple[tuple[LatencyReader, ...], tuple[PluginError, ...]]:
    """Those that load, and why the others do not; looked up once a process."""
    loaded, broken = plugins.sound(_KIND)
    return tuple(reader() for reader in loaded.values()), broken
