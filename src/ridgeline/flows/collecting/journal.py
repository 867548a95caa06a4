"""The journal of a collection: one line a block, written when it is measured, so that a kill loses none but the one in flight.

The first line says what the rows belong to; going on with another machine, runtime or seed is refused. A last line that was cut is taken off.
"""

from __future__ import annotations

import fcntl
import os
from typing import IO, Any

import msgspec

from ridgeline.core import ReadError, UsageError
from ridgeline.measurement.onnx_blocks import BlockTime

__all__ = ["Head", "Journal", "Measured"]

_TAG = "ridgeline.collecting/4"


class Head(msgspec.Struct, frozen=True, kw_only=True, tag_field="schema", tag=_TAG):
    """What the rows of a journal belong to.

    Args:
        machine: its name, fingerprint: what of it decides about times; software: versions; threads: of the runtime, 0 for its own choice.
        seed: of the design; started: date and time, ISO 8601.
        peak_flop_per_s: of multiply-adds on all processors by the probe of this machine; 0 where there is none.
    """

    machine: str
    fingerprint: str
    software: dict[str, str]
    threads: int
    seed: int
    started: str
    peak_flop_per_s: float = 0.0


class Measured(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One line: the form and number of the workload in the design (below 0: asked for again or where the model was unsure), and what came of it.

    Args:
        form, number: of the design; spent_s: seconds since the line before.
        block: its time, null if it failed; failure: why.
    """

    form: str
    number: int
    spent_s: float
    block: BlockTime | None = None
    failure: str = ""


class Journal:
    """An open journal; use it as a context manager."""

    def __init__(self, path: str, head: Head, *, resume: bool) -> None:
        self.path, self.head, self.rows = path, head, list[Measured]()
        try:
            self._file: IO[bytes] = open(path, "ab")  # noqa: SIM115
        except OSError as error:
            raise UsageError("a file to write rows to", found=f"{path}: {error.strerror or error}", remedy="name another") from error
        try:
            self._begin(head, resume)
        except BaseException:
            self._file.close()
            raise

    def _begin(self, head: Head, resume: bool) -> None:
        try:
            # Rows of two collections beside each other would each be measured beside a neighbour.
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise UsageError("a journal that no other process writes", found=self.path, remedy="wait for the other collection") from error
        exists = os.path.getsize(self.path) > 0
        if exists and not resume:
            raise UsageError("a collection that is not begun", found=self.path, remedy="go on with --resume, or remove the file")
        if exists:
            self._read(head)
        else:
            self._write(head)

    def _read(self, head: Head) -> None:
        try:
            with open(self.path, "rb") as file:
                data = file.read()
        except OSError as error:
            raise ReadError("a journal to go on with", found=f"{self.path}: {error.strerror or error}", remedy="check the path") from error
        whole = data.rfind(b"\n") + 1
        lines = data[:whole].splitlines()
        try:
            before = msgspec.json.decode(lines[0] if lines else b"", type=Head)
            self.rows = [msgspec.json.decode(line, type=Measured) for line in lines[1:]]
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise ReadError(f"a journal of {_TAG}", found=f"{self.path}: {error}", remedy="remove it and begin again") from error
        for name in ("fingerprint", "software", "threads", "seed"):
            if getattr(before, name) != getattr(head, name):
                found = f"{self.path} of {name} {getattr(before, name)!r}, now {getattr(head, name)!r}"
                raise UsageError(
                    "a journal of the same machine, software and design", found=found, remedy="begin another, or give what it was begun with"
                )
        # What the table says of its start is when the first row was measured.
        self.head = before
        if whole < len(data):
            # The line that was in flight when the process was killed.
            os.truncate(self.path, whole)

    def add(self, row: Measured) -> None:
        """Write one line at once."""
        self._write(row)
        self.rows.append(row)

    def _write(self, line: Any) -> None:
        self._file.write(msgspec.json.encode(line) + b"\n")
        self._file.flush()

    def close(self) -> None:
        """No more lines."""
        self._file.close()

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()
