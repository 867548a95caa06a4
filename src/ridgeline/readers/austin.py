"""austin: collapsed stacks of Python with a preamble that says what their numbers are.

This module decides the numbers (microseconds of wall or CPU time, bytes gained, or both, by the mode) and the frames (`FILE:FUNCTION:LINE`). Format:
the wiki of austin and its parser in austin-python.
"""

from __future__ import annotations

import re

from ridgeline.core import Profile, Stacks

from .lines import Lines
from .source import Source
from .stacking import LeftOut, StackTree, believable, nothing

__all__ = ["Austin"]

_PREAMBLE = re.compile(r"^# austin: ", re.MULTILINE)
_SAMPLE = re.compile(r"^P\d+;T[^; \n]+[; ]", re.MULTILINE)
_FACT = re.compile(r"# (\w[\w ]{0,40}): (.*)")
_NUMBER = re.compile(r"-?\d{1,18}")
_REMEMBERED = 500_000


class Austin:
    """Reads the collapsed stacks of austin."""

    format = "austin"
    title = "austin (collapsed stacks with its preamble)"

    def recognises(self, source: Source) -> int:
        """By its preamble, or samples that begin with a process and a thread."""
        text = source.head_text
        return 95 if _PREAMBLE.search(text) else 70 if _SAMPLE.match(text) else 0

    def read(self, source: Source) -> Profile:
        """Read all samples.

        Raises:
            ReadError: none, or a stack or name beyond the limits.
        """
        gather, lines = _Gathering(source), Lines(source)
        number = 0
        for piece in lines.pieces():
            for line in piece.split("\n"):
                number += 1
                if line.strip():
                    gather.line(line.rstrip(), number)
            number -= 1 if piece.endswith("\n") else 0
        stacks = gather.stacks()
        if not stacks:
            raise nothing(source, "samples of austin", gather.left_out.listed)
        tool = f"austin {gather.facts['austin']}" if "austin" in gather.facts else "austin"
        return Profile(
            format=self.format, files=(source.name,), tool=tool, resolution_s=1e-6, stacks=stacks, facts=gather.facts,
            excluded=gather.left_out.listed, warnings=lines.warnings,
        )  # fmt: skip


class _Gathering:
    """Samples as they come."""

    def __init__(self, source: Source) -> None:
        self.left_out = LeftOut()
        self.facts: dict[str, str] = {}
        self._tree = StackTree(source)
        self._nodes: dict[str, int] = {}

    def line(self, line: str, number: int) -> None:
        """A fact of the preamble, or a sample."""
        if line.startswith("# "):
            if found := _FACT.fullmatch(line[:4096]):
                self.facts[found[1]] = found[2]
            return
        stack, _, metrics = line.rpartition(" ")
        cells = metrics.split(",")
        if not stack.startswith("P") or ";T" not in stack or len(cells) not in (1, 3) or not all(_NUMBER.fullmatch(cell) for cell in cells):
            self.left_out.add("lines that are no sample of austin", f"line {number}")
            return
        for measure, value in self._weights([int(cell) for cell in cells]):
            if believable(value):
                self._tree.add(self._node(stack), value, measure)
            else:
                self.left_out.add(f"samples with a negative {measure}", f"line {number}")

    def _weights(self, cells: list[int]) -> list[tuple[str, int]]:
        if len(cells) == 1:
            mode = self.facts.get("mode", "wall")
            return [("allocated" if mode == "memory" else "cpu" if mode == "cpu" else "wall", cells[0])]
        time, idle, memory = cells
        gained = ("allocated", memory) if memory >= 0 else ("freed", -memory)
        return [("wall", time), *([] if idle else [("cpu", time)]), *([gained] if memory else [])]

    def _node(self, stack: str) -> int:
        node = self._nodes.get(stack)
        if node is None:
            if len(self._nodes) >= _REMEMBERED:
                self._nodes.clear()
            process, thread, *frames = stack.split(";")
            roots = [self._tree.frame(f"{kind} {text[1:]}", kind="process") for kind, text in (("process", process), ("thread", thread))]
            node = self._nodes[stack] = self._tree.node([*roots, *(self._frame(frame) for frame in frames)])
        return node

    def _frame(self, text: str) -> int:
        parts = text.rsplit(":", 2)
        if len(parts) < 3 or not (parts[2].isascii() and parts[2].isdigit()) or len(parts[2]) > 9:
            return self._tree.frame(text)
        return self._tree.frame(parts[1], file=parts[0] or None, line=int(parts[2]) or None, kind="python" if parts[0] else "")

    def stacks(self) -> tuple[Stacks, ...]:
        """One for each measure."""
        made = []
        for measure in self._tree.measures:
            unit, per_unit = ("B", 1) if measure in ("allocated", "freed") else ("s", 10**6)
            made.append(self._tree.stacks(measure, measure=measure, unit=unit, per_unit=per_unit, interval_s=self._interval_s()))
        return tuple(made)

    def _interval_s(self) -> float | None:
        text = self.facts.get("interval", "")
        return int(text) / 1e6 if text.isascii() and text.isdigit() and 0 < len(text) < 12 and int(text) > 0 else None
