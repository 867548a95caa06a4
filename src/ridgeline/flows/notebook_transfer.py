"""`export_notebook` and `import_notebook`: a notebook as a file, for another machine, another database or a person's own analysis.

A file is whole or not there; what an import could not take is named and costs nothing else, and the same file may be imported again.
"""

from __future__ import annotations

import contextlib
import gzip
import os
import sys
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import BinaryIO, cast

from ridgeline.core import UsageError
from ridgeline.core.errors import ReadError
from ridgeline.core.transfer import Exported, Imported, NotTaken
from ridgeline.machine import written_whole
from ridgeline.notebook import Entry, Notebook, RunFilter, Unreadable
from ridgeline.notebook.json_lines import read_json_lines, write_json_lines
from ridgeline.notebook.parquet import read_parquet, write_parquet

__all__ = ["STANDARD", "check_name", "export_notebook", "import_notebook"]

#: The name that stands for standard output and standard input.
STANDARD = "-"
#: So many of what was left out are named.
_NAMED = 100
_ALL = RunFilter()
_ENDINGS = ".jsonl, .jsonl.gz or .parquet"


class _Report:
    """Counts what happens and keeps the first of what was left out."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.left_out: list[NotTaken] = []
        self.conflicts: list[str] = []

    def leave_out(self, identity: str, reason: str) -> None:
        self.counts["left_out"] += 1
        if len(self.left_out) < _NAMED:
            self.left_out.append(NotTaken(id=identity, reason=reason))

    def conflict(self, identity: str) -> None:
        self.counts["conflict"] += 1
        if len(self.conflicts) < _NAMED:
            self.conflicts.append(identity)

    def readable(self, entries: Iterable[Entry | Unreadable]) -> Iterator[Entry]:
        """The entries; what is none is left out."""
        for entry in entries:
            if isinstance(entry, Unreadable):
                self.leave_out(entry.id, entry.reason)
            else:
                self.counts[entry.kind] += 1
                yield entry


def check_name(name: str) -> str:
    """The form that a file's name asks for: `parquet`, `gzip` or `lines`.

    Raises:
        UsageError: another ending.
    """
    lower = name.lower()
    if lower.endswith(".parquet"):
        return "parquet"
    if lower.endswith((".jsonl.gz", ".ndjson.gz")):
        return "gzip"
    if name == STANDARD or lower.endswith((".jsonl", ".ndjson")):
        return "lines"
    raise UsageError(f"a file that ends in {_ENDINGS}, or {STANDARD}", found=name, remedy="give it one of these endings")


def export_notebook(location: str | Path | None, file: str, wanted: RunFilter = _ALL) -> Exported:
    """Write runs with their experiments and comparisons to a file.

    Args:
        location: path or URL of the notebook; the default one if null.
        file: `.jsonl`, `.jsonl.gz` or `.parquet`, which is written over if it exists; `-` for JSON Lines on stdout.
        wanted: only these runs and what names them; everything if it restricts nothing.

    Raises:
        UsageError: no such notebook, a filter that means nothing, another ending, or no place for the file.
        BackendUnavailable: Parquet without pyarrow.
    """
    form, report = check_name(file), _Report()
    wanted.where()  # a filter that means nothing is refused before anything is written, to standard output as well
    with Notebook.open(location, create=False) as notebook:
        with _target(file) as target:
            _WRITERS[form](target, report.readable(notebook.entries(wanted)))
        counts = report.counts
        return Exported(
            notebook=notebook.place, file=file, runs=counts["run"], experiments=counts["experiment"], comparisons=counts["comparison"],
            size_bytes=None if file == STANDARD else os.stat(file).st_size, left_out=tuple(report.left_out), left_out_count=counts["left_out"],
        )  # fmt: skip


@contextlib.contextmanager
def _target(file: str) -> Iterator[BinaryIO]:
    if file != STANDARD:
        with written_whole(file) as target:
            yield target
        return
    yield sys.stdout.buffer
    sys.stdout.buffer.flush()


def _write_gzip(target: BinaryIO, entries: Iterable[Entry]) -> None:
    # No name and no time in the head: the same entries are the same bytes.
    with gzip.GzipFile(filename="", fileobj=target, mode="wb", compresslevel=6, mtime=0) as packed:
        write_json_lines(cast(BinaryIO, packed), entries)


_WRITERS: dict[str, Callable[[BinaryIO, Iterable[Entry]], None]] = {
    "lines": write_json_lines, "gzip": _write_gzip, "parquet": write_parquet,
}  # fmt: skip


def import_notebook(location: str | Path | None, file: str) -> Imported:
    """Take the entries of a file that `export_notebook` wrote; each is kept whole or not at all, and what is there already stays.

    Args:
        location: path or URL of the notebook, made if it is not there; the default one if null.
        file: in any of the forms, told by its content; `-` for JSON Lines, packed or not, on stdin.

    Raises:
        UsageError: no such file, or a notebook that cannot be written.
        ReadError: a file of another kind.
        BackendUnavailable: Parquet without pyarrow.
    """
    report = _Report()
    with contextlib.ExitStack() as stack:
        # The file first: a wrong name makes no notebook.
        entries = _read(stack, file)
        first = next(entries, None)
        notebook = stack.enter_context(Notebook.open(location))
        for entry, outcome in notebook.take(report.readable(_again(first, _guarded(entries, report)))):
            _note(report, entry, outcome)
        counts = report.counts
        return Imported(
            notebook=notebook.place, file=file, added=counts["added"], present=counts["present"], conflicts=tuple(report.conflicts),
            conflict_count=counts["conflict"], left_out=tuple(report.left_out), left_out_count=counts["left_out"],
        )  # fmt: skip


def _note(report: _Report, entry: Entry, outcome: str) -> None:
    if outcome == "conflict":
        report.conflict(entry.id)
    elif outcome in {"added", "present"}:
        report.counts[outcome] += 1
    else:
        report.leave_out(entry.id, outcome)


def _again(first: Entry | Unreadable | None, rest: Iterator[Entry | Unreadable]) -> Iterator[Entry | Unreadable]:
    if first is not None:
        yield first
    yield from rest


def _guarded(entries: Iterator[Entry | Unreadable], report: _Report) -> Iterator[Entry | Unreadable]:
    """Entries up to where the file can be read no further, which is told like any other loss."""
    try:
        yield from entries
    except ReadError as error:
        report.leave_out("the rest of the file", str(error))


def _read(stack: contextlib.ExitStack, file: str) -> Iterator[Entry | Unreadable]:
    try:
        source = cast(BinaryIO, sys.stdin.buffer) if file == STANDARD else _opened(stack, file)
        # `peek` leaves stdin, which cannot be wound back, where it is.
        head = source.peek(4)[:4] if hasattr(source, "peek") else b""
    except (OSError, ValueError) as error:
        found = f"{file}: {getattr(error, 'strerror', None) or error}"
        raise UsageError("a file that can be read", found=found, remedy="give a file that `ridgeline export` wrote") from error
    if head == b"PAR1":
        return read_parquet(source)
    if head[:2] == b"\x1f\x8b":
        source = cast(BinaryIO, stack.enter_context(gzip.GzipFile(fileobj=source, mode="rb")))
    return _lines(source)


def _opened(stack: contextlib.ExitStack, file: str) -> BinaryIO:
    return stack.enter_context(open(file, "rb"))


def _lines(source: BinaryIO) -> Iterator[Entry | Unreadable]:
    try:
        yield from read_json_lines(source)
    except (OSError, EOFError, zlib.error) as error:
        raise ReadError("a whole file", found=str(error) or type(error).__name__, remedy="export again") from error
