"""Where labels stand so that none covers another: the first place that is free, or none at all.

The width of a text is estimated, since only the browser knows its font; the estimate errs on the wide side.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from ..text import ELLIPSIS, shorten, width
from .markup import NOTHING, Markup, tag, text

__all__ = ["NAME_CHARACTER", "ROOF_CHARACTER", "Places", "short_name"]

#: Width of a character of a roof's label and of an operator's name, which may be bold, in units of the drawing.
ROOF_CHARACTER, NAME_CHARACTER = 6.6, 8.0
_LINE = 14.0
# Where along a line a label may begin, as parts of the room it leaves.
_PARTS = (0.02, 0.12, 0.24, 0.36, 0.48, 0.6, 0.72, 0.84, 0.95)
Box = tuple[float, float, float, float]


def short_name(name: str, columns: int) -> str:
    """A name in at most `columns` columns; of a path its last parts, since operators of one model share their first ones.

    >>> short_name("model/encoder/layer.0/attention/MatMul", 22)
    '…/attention/MatMul'
    """
    if width(name) <= columns:
        return name
    kept = ""
    for part in reversed(name.split("/")[1:]):
        if width(part) + width(kept) + 2 > columns:
            break
        kept = f"/{part}{kept}"
    return f"{ELLIPSIS}{kept}" if kept else shorten(name, columns)


class Places:
    """The room of a plot and what is taken of it, in units of the drawing."""

    def __init__(self, *, left: float, top: float, right: float, bottom: float) -> None:
        self._room = (left, top, right, bottom)
        self._upright: list[Box] = []
        # Labels along a line are compared in a system turned by its angle.
        self._turned: list[Box] = []
        self._points: list[tuple[float, float]] = []

    def avoid(self, x: float, y: float) -> None:
        """Remember a point that a label along a line rather leaves uncovered."""
        self._points.append((x, y))

    def block(self, x: float, y: float, radius: float) -> None:
        """Keep a circle free of labels."""
        self._upright.append((x - radius, y - radius, x + radius, y + radius))

    def find(self, label: str, places: Sequence[tuple[float, float, str]], character: float, *, anyway: bool = False) -> Markup:
        """The label at the first free of `places` (x, baseline, anchor); nothing where all are taken, the first one if it must stand `anyway`."""
        for x, y, anchor in places:
            box = _box(label, x, y, anchor, character)
            if self._inside(box) and not any(_overlap(box, other) for other in self._upright):
                self._upright.append(box)
                return tag("text", text(label), x=x, y=y, text_anchor=anchor, class_="label")
        if not anyway or not places:
            return NOTHING
        x, y, anchor = places[0]
        self._upright.append(_box(label, x, y, anchor, character))
        return tag("text", text(label), x=x, y=y, text_anchor=anchor, class_="label")

    def along(self, label: str, start: tuple[float, float], end: tuple[float, float]) -> Markup:
        """The label just above the line from `start` to `end` (to the right), turned with it; nothing where no part of the line has room."""
        (x1, y1), (x2, y2) = start, end
        angle = math.atan2(y2 - y1, x2 - x1)
        length = math.hypot(x2 - x1, y2 - y1)
        needed = width(label) * ROOF_CHARACTER
        free = length - needed
        if free <= 0:
            return NOTHING
        places = [(x1 + part * free * math.cos(angle), y1 + part * free * math.sin(angle)) for part in _PARTS]
        boxes = [(place, _turned(*place, angle, needed)) for place in places]
        open_ones = [(place, box) for place, box in boxes if not any(_overlap(box, other) for other in self._turned)]
        if not open_ones:
            return NOTHING
        turned = [(_along(x, y, angle), _across(x, y, angle)) for x, y in self._points]
        (x, y), box = min(open_ones, key=lambda found: sum(_inside(point, found[1]) for point in turned))
        self._turned.append(box)
        turn = f"translate({x:.1f} {y:.1f}) rotate({math.degrees(angle):.2f})"
        return tag("text", text(label), x=0.0, y=-5.0, transform=turn, class_="label")

    def _inside(self, box: Box) -> bool:
        left, top, right, bottom = self._room
        return box[0] >= left and box[1] >= top and box[2] <= right and box[3] <= bottom


def _box(label: str, x: float, y: float, anchor: str, character: float) -> Box:
    wide = width(label) * character
    left = x - wide if anchor == "end" else x
    return (left, y - _LINE + 3, left + wide, y + 3)


def _along(x: float, y: float, angle: float) -> float:
    return x * math.cos(angle) + y * math.sin(angle)


def _across(x: float, y: float, angle: float) -> float:
    return -x * math.sin(angle) + y * math.cos(angle)


def _turned(x: float, y: float, angle: float, length: float) -> Box:
    u, v = _along(x, y, angle), _across(x, y, angle)
    return (u, v - _LINE - 4, u + length, v - 2)


def _inside(point: tuple[float, float], box: Box) -> bool:
    return box[0] <= point[0] <= box[2] and box[1] <= point[1] <= box[3]


def _overlap(one: Box, other: Box) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]
