"""Collapsed stacks: one line a stack, frames from the outermost on with `;` between, and a number behind (stackcollapse, py-spy, async-profiler, …).

This module decides which lines are stacks and what their numbers are; how a frame is spelled is `frame_names`' business. The format says neither unit
nor tool: weights are counts. Two numbers on every line are a differential file: before and after.
Format: the header comments of stackcollapse.pl and difffolded.pl (brendangregg/FlameGraph).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ridgeline.core import Profile, Stacks

from .frame_names import annotated_frame
from .lines import Lines
from .source import Source
from .stacking import LeftOut, StackTree, believable, nothing

__all__ = ["Collapsed"]

_NUMBER = re.compile(r"\d+(?:\.\d*)?(?:[eE][+-]?\d+)?")
#: Lines of the head that recognition looks at, and how long they may be for it.
_LOOKED_AT, _LONGEST = 200, 4096
#: Stacks that are remembered with their node.
_REMEMBERED = 500_000
_PY_SPY = re.compile(r"(?:^|;)(?:process \d+|thread \(0x|[^;]+ \([^();]+\.py:\d+\))")


class Collapsed:
    """Reads collapsed stacks."""

    format = "collapsed"
    title = "collapsed stacks (stackcollapse, py-spy, async-profiler, …)"

    def recognises(self, source: Source) -> int:
        """By lines that end in a number behind a `;`: many things look like it, so that any other reader is surer."""
        lines = _head(source)
        stacks = [line for line in lines if _ends_in_numbers(line, 1)]
        if not lines or len(stacks) * 5 < len(lines) * 4:
            return 0
        return 45 if any(";" in line for line in stacks) else 10

    def read(self, source: Source) -> Profile:
        """Read all stacks; lines that are none are counted as left out.

        Raises:
            ReadError: no line is a stack, or a stack or name beyond the limits.
        """
        tree, left_out, lines = StackTree(source), LeftOut(), Lines(source)
        head = _head(source)
        two = bool(head) and all(_ends_in_numbers(line, 2) for line in head)
        gather = _Gathering(tree, left_out, 2 if two else 1)
        for piece in lines.pieces():
            gather.take(piece)
        if not tree.measures:
            raise nothing(source, "lines of frames, with ; between, and a number", left_out.listed)
        spelled = next((line for line in head if _PY_SPY.search(line)), "")
        return Profile(
            format=self.format, files=(source.name,), tool="py-spy (by its spelling of frames)" if spelled else "", stacks=_stacks(tree),
            facts={"python": "true"} if spelled else {}, excluded=left_out.listed, warnings=lines.warnings,
        )  # fmt: skip


class _Gathering:
    """Turns lines into weights of a tree."""

    def __init__(self, tree: StackTree, left_out: LeftOut, numbers: int) -> None:
        self._tree, self._left_out, self._numbers = tree, left_out, numbers
        self._nodes: dict[str, int] = {}
        self._frames: dict[str, int] = {}
        self._line = 0

    def take(self, piece: str) -> None:
        """All lines of a piece."""
        for line in piece.split("\n"):
            self._line += 1
            if line and not line.isspace():
                self._one(line.rstrip())
        # The last part of a piece is what stands behind its last line end: nothing.
        self._line -= 1 if piece.endswith("\n") else 0

    def _one(self, line: str) -> None:
        fields = line.rsplit(None, self._numbers)
        weights = [_weight(field) for field in fields[1:]]
        if len(fields) <= self._numbers or None in weights:
            if not _comment(line):
                self._left_out.add("lines without a stack and a number", f"line {self._line}")
            return
        if _comment(line):
            return
        if not all(believable(weight) for weight in weights if weight is not None):
            self._left_out.add("weights that are not between 0 and 2⁶³", f"line {self._line}")
            return
        node = self._node(fields[0].strip())
        for measure, weight in zip(_MEASURES[self._numbers], weights, strict=True):
            self._tree.add(node, weight or 0, measure)

    def _node(self, stack: str) -> int:
        node = self._nodes.get(stack)
        if node is None:
            if len(self._nodes) >= _REMEMBERED:
                self._nodes.clear()
            node = self._nodes[stack] = self._tree.node([self._frame(field) for field in stack.split(";")])
        return node

    def _frame(self, text: str) -> int:
        frame = self._frames.get(text)
        if frame is None:
            frame = self._frames[text] = annotated_frame(self._tree, text.strip())
        return frame


_MEASURES = {1: ("samples",), 2: ("before", "after")}


def _stacks(tree: StackTree) -> tuple[Stacks, ...]:
    return tuple(tree.stacks(measure, measure=measure, unit="count", sampled=False) for measure in tree.measures)


def _weight(text: str) -> float | None:
    if text.isascii() and text.isdigit() and len(text) < 40:
        return int(text)
    if len(text) < 400 and _NUMBER.fullmatch(text):
        return float(text)
    return None


def _ends_in_numbers(line: str, numbers: int) -> bool:
    fields = line.rsplit(None, numbers)
    return len(fields) == numbers + 1 and all(_weight(field) is not None for field in fields[1:])


def _comment(line: str) -> bool:
    return line.startswith(("# ", "//")) and ";" not in line


def _head(source: Source) -> list[str]:
    """The first lines that are neither empty nor comments; the last of the head may be cut and is left out, unless it is the only one."""
    return list(_whole_lines(source.head_text))[:_LOOKED_AT]


def _whole_lines(text: str) -> Iterator[str]:
    parts = text.split("\n")
    for part in parts[:-1] if len(parts) > 1 and len(text) > 2**14 else parts:
        line = part.strip()
        if line and not _comment(line):
            yield line[:_LONGEST]
