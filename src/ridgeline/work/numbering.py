"""`Numbering`: which executions compute again what was computed before, by giving every value a number.

Two executions are the same work when the same operation is given the same values; a value is the same when nobody wrote its memory in between, or
when what wrote it was itself the same work. (Value numbering: Cocke and Schwartz, "Programming languages and their compilers", 1970, chapter 6.)
Equal contents alone are not enough: a loop that has settled down does not know that it has.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import NamedTuple

__all__ = ["Numbering", "View"]


class View(NamedTuple):
    """A part of a block of memory: where it lies, and a fingerprint of what is in it (anything, as long as equal contents have equal ones).

    Attributes:
        block: number of the block.
        place: offset, shape and steps; `None` for all of the block, however it is looked at.
        print: of its contents, `None` where none was taken.
    """

    block: int
    place: Hashable = None
    print: Hashable = None


class Numbering:
    """Numbers of the values in memory while a program runs."""

    def __init__(self) -> None:
        self._numbers: dict[Hashable, int] = {}
        self._held: dict[int, int] = {}
        self._next = 0

    def repeats(self, operation: Hashable | None, reads: Iterable[View], writes: Iterable[View] = ()) -> bool:
        """Take down one execution; whether it is one that was seen before.

        Args:
            operation: name and arguments that are no memory; `None` where it is not known or does not depend on its arguments alone.
            reads: in order of the arguments.
            writes: what it wrote, in order; a write to a part keeps what the rest holds.
        """
        written = list(writes)
        given = tuple((self._held.get(view.block, ("given", view.block)), view.place, view.print) for view in reads)
        if operation is None:
            for view in written:
                self._held[view.block] = self._fresh()
            return False
        before = tuple(self._held.get(view.block, ("given", view.block)) if view.place is not None else None for view in written)
        key = (operation, given)
        known = key in self._numbers
        self._number(key)
        for position, view in enumerate(written):
            self._held[view.block] = self._number((key, position, view.place, before[position]))
        return known

    def wrote(self, block: int) -> None:
        """Something unknown wrote a block."""
        self._held[block] = self._fresh()

    def _number(self, key: Hashable) -> int:
        found = self._numbers.get(key)
        if found is None:
            found = self._numbers[key] = self._fresh()
        return found

    def _fresh(self) -> int:
        self._next += 1
        return self._next
