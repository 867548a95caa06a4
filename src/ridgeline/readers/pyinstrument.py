"""pyinstrument: its JSON report (a tree of frames with their time) and its saved session (stacks with their time).

This module decides what the two forms mean. Times of the report are rounded to microseconds, so that a frame's own time, its time less that of the
frames below it, may come out a few microseconds under zero: that counts as none. Format: the JSON renderer and session of pyinstrument 4 and 5.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec

from ridgeline.core import Profile, Stacks

from .source import Source
from .stacking import LeftOut, StackTree, believable, nothing

__all__ = ["Pyinstrument"]

_REPORT = re.compile(rb'"root_frame"\s*:')
_SESSION = re.compile(rb'"(?:start_call_stack|min_interval|frame_records)"\s*:')
_PURPOSE = re.compile(rb'"sample_count"\s*:')
#: Frames that stand for time in the frame above them.
_SELF = ("[self]", "[out-of-context]")
_UNBELIEVABLE = "times that are not between 0 and 2⁶³"


class _Frame(msgspec.Struct):
    function: str
    time: float
    file_path: str | None = None
    line_no: int | None = None
    children: list[_Frame] = []


class _File(msgspec.Struct):
    root_frame: _Frame | None = None
    frame_records: list[tuple[list[str], float]] | None = None
    start_time: float | None = None
    duration: float | None = None
    sample_count: int | None = None
    cpu_time: float | None = None
    target_description: str | None = None
    program: str | None = None


class Pyinstrument:
    """Reads reports and sessions of pyinstrument."""

    format = "pyinstrument"
    title = "pyinstrument (JSON report or session)"

    def recognises(self, source: Source) -> int:
        """By the keys that both forms begin with."""
        head = source.head
        if not head.lstrip().startswith(b"{") or not _PURPOSE.search(head):
            return 0
        return 95 if _REPORT.search(head) or _SESSION.search(head) else 0

    def read(self, source: Source) -> Profile:
        """Read a file.

        Raises:
            ReadError: damaged JSON (with the byte), or no frame with a time.
        """
        try:
            file = msgspec.json.decode(source.data, type=_File)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise source.damaged("a report or session of pyinstrument", str(error) or type(error).__name__) from error
        tree, left_out = StackTree(source), LeftOut()
        if file.frame_records is not None:
            _session(tree, file.frame_records, left_out)
        elif file.root_frame is not None:
            _report(tree, file.root_frame, left_out)
        if not tree.measures:
            raise nothing(source, "frames of pyinstrument with a time", left_out.listed)
        return Profile(
            format=self.format, files=(source.name,), tool="pyinstrument", resolution_s=None if file.frame_records is not None else 1e-6,
            stacks=(_stacks(tree, file),), facts=_facts(file), excluded=left_out.listed,
        )  # fmt: skip


def _stacks(tree: StackTree, file: _File) -> Stacks:
    made = tree.stacks(measure="wall", unit="s", sampled=False, at_s=file.start_time)
    return msgspec.structs.replace(made, samples=file.sample_count if file.sample_count and file.sample_count > 0 else None)


def _session(tree: StackTree, records: list[tuple[list[str], float]], left_out: LeftOut) -> None:
    for place, (stack, time) in enumerate(records):
        if not believable(time):
            left_out.add(_UNBELIEVABLE, f"frame_records[{place}]")
        elif not stack:
            left_out.add("records without a frame", f"frame_records[{place}]")
        else:
            tree.add(tree.node([_identified(tree, each) for each in stack if not each.startswith(_SELF)]), time)


def _identified(tree: StackTree, text: str) -> int:
    """A frame of `function NUL file NUL line`, attributes behind a byte 1."""
    function, _, rest = text.partition("\0")
    file, _, line = rest.partition("\0")
    return _frame(tree, function, file, line.partition("\1")[0])


def _frame(tree: StackTree, function: str, file: str, line: str) -> int:
    if file == "<thread>":
        return tree.frame(function, kind="process")
    number = int(line) if line.isascii() and line.isdigit() and 0 < len(line) < 10 else 0
    python = bool(file) and not function.startswith("[")
    return tree.frame(function, file=file or None, line=number or None, kind="python" if python else "")


def _report(tree: StackTree, root: _Frame, left_out: LeftOut) -> None:
    waiting: list[tuple[_Frame, int, int]] = [(root, -1, 1)]
    while waiting:
        frame, parent, depth = waiting.pop()
        if not believable(frame.time):
            left_out.add(_UNBELIEVABLE, frame.function[:80])
            continue
        if parent >= 0 and frame.function in _SELF:
            tree.add(parent, frame.time)
            continue
        tree.shallow(depth)
        node = tree.child(parent, _frame(tree, frame.function, frame.file_path or "", str(frame.line_no or "")))
        below = sum(child.time for child in frame.children if believable(child.time))
        tree.add(node, max(0.0, frame.time - below))
        waiting.extend((child, node, depth + 1) for child in frame.children)


def _facts(file: _File) -> dict[str, str]:
    found: dict[str, Any] = {
        "duration": f"{file.duration:.9g} s" if file.duration is not None else None,
        "cpu time": f"{file.cpu_time:.9g} s" if file.cpu_time is not None else None,
        "target": file.target_description or file.program,
    }
    return {key: str(value) for key, value in found.items() if value}
