"""`read_results`: the result file of any tool to a `SeriesSet`; which tool wrote it is told from what is in it, never from its name.

This module decides which reader reads: every one (entry points `ridgeline.result_readers`, ours and a stranger's) looks at the content, exactly
one may recognise it. What is in the file is left to that reader.
"""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Protocol

import msgspec

from ridgeline.core import PluginError, ReadError, SeriesSet, plugins

from .content import Content

__all__ = ["ResultReader", "read_results", "sniff"]

_KIND = "result_readers"
#: What a reader may stumble over in a file that is not as its tool writes it.
_STUMBLES = (ArithmeticError, LookupError, TypeError, ValueError, AttributeError, RecursionError, MemoryError, OSError, msgspec.MsgspecError)


class ResultReader(Protocol):
    """Reads the results of one tool. Called in this order: made without arguments, `sniff`, and `read` where that was true.

    Attributes:
        tool: its name, as in `SeriesSet.tool`.
    """

    tool: str

    def sniff(self, content: Content) -> bool:
        """Whether its tool wrote this: by what is in it, quickly, without reading it all, raising only `ReadError` for a file that is damaged."""

    def read(self, content: Content) -> SeriesSet:
        """All series; raises `ReadError` where there are none."""


def sniff(path: str | Path) -> str | None:
    """Name of the tool that wrote a file, or `None`.

    Raises:
        ReadError: the file cannot be read, or is damaged.
        PluginError: two readers recognise it.
    """
    reader = _reader_of(Content(path))
    return None if reader is None else reader.tool


def read_results(path: str | Path) -> SeriesSet:
    """Read a result file (or the directory `target/criterion`).

    Args:
        path: of pyperf, Google Benchmark, hyperfine, pytest-benchmark, criterion, JMH, asv, NVBench, BenchmarkDotNet, k6, Locust, vLLM,
            GenAI-Perf, or of a tool that an installed package can read; may be packed with gzip.

    Raises:
        ReadError: no such file, no tool recognises it, damaged (with the byte), or no usable benchmark in it.
        PluginError: two readers recognise it, or the one that does fails to load.
    """
    content = Content(path)
    reader = _reader_of(content)
    if reader is None:
        known = ", ".join(reader.tool for reader in _readers()[0])
        raise ReadError(
            f"a result file of one of: {known}", found=f"{content.name}: {_looks(content)}", remedy="see docs/results.md for what is read"
        )
    try:
        return reader.read(content)
    except _STUMBLES as error:
        what = f"{content.name}: {type(error).__name__}: {error}"
        raise ReadError(f"a result file as {reader.tool} writes it", found=what, remedy="write it again, or report what wrote it") from error


def _reader_of(content: Content) -> ResultReader | None:
    readers, broken = _readers()
    found = [reader for reader in readers if reader.sniff(content)]
    if len(found) > 1:
        names = " and ".join(reader.tool for reader in found)
        raise PluginError(
            "a result file that one reader recognises", found=f"{content.name} recognised by {names}", remedy="remove one of the readers"
        )
    if not found and broken:
        # One that does not load keeps no other from reading its own; it may have been the one.
        raise broken[0]
    return found[0] if found else None


@functools.cache
def _readers() -> tuple[tuple[ResultReader, ...], tuple[PluginError, ...]]:
    """Those that load, and why the others do not; looked up once a process."""
    loaded, broken = plugins.sound(_KIND)
    return tuple(reader() for reader in loaded.values()), broken


def _looks(content: Content) -> str:
    """What it is instead, in a few words."""
    if content.is_directory:
        return "a directory without criterion's new/estimates.json"
    if content.lines_fields:
        return f"lines of JSON with {_some(content.lines_fields)}"
    if content.data.lstrip().startswith(b"{"):
        return f"a JSON object with {_some(content.fields)}"
    if content.elements:
        return f"a JSON array of {len(content.elements)}"
    return f"{len(content.data)} bytes that start with {content.data[:40]!r}"


def _some(names: dict[str, msgspec.Raw]) -> str:
    return ", ".join(repr(name[:40]) for name in list(names)[:6]) or "nothing in it"
