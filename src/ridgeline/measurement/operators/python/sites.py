"""`Sites`: small integers for places in the user's source.

A site is one operator, subscript or call in one file. The same place keeps its number when its file is transformed again, so that what was learned
about a site in one pass (it only ever saw numbers) can thin out the next one.
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["Place", "Sites"]


class Place(NamedTuple):
    """Where a site is: file, line and column (from 1 and 0), the node's kind, and the qualified name of the function around it."""

    file: str
    line: int
    column: int
    kind: str
    function: str


class Sites:
    """The table of sites of one recorder.

    Attributes:
        places: by site number.
        files: files that were transformed: what is the user's own code.
        quiet: sites that stay as they were written, in this and every later transformation.
    """

    def __init__(self) -> None:
        self.places: list[Place] = []
        self.files: set[str] = set()
        self.quiet: set[int] = set()
        self._numbers: dict[Place, int] = {}

    def number(self, place: Place) -> int:
        """The number of a place, a new one at first sight."""
        found = self._numbers.setdefault(place, len(self.places))
        if found == len(self.places):
            self.places.append(place)
        return found
