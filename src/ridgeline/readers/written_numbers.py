"""Numbers as tools write them for people: with separators of thousands and the decimal sign of whatever locale they ran under.

This module decides which of `.` and `,` is the decimal sign, from the numbers of a file themselves: `9,589,248` and `97.32` can be read in one way
only, `292,928` in two. A file in which both readings are needed, or in which nothing tells, is refused: a number that is wrong by a thousand is worse
than none. Spaces and apostrophes only ever separate thousands.
"""

from __future__ import annotations

import math
import re
from typing import Literal

__all__ = ["Deciding", "Decimal", "number", "plain"]

Decimal = Literal[".", ","]

_GROUPS = r"[1-9]\d{{0,2}}(?:(?P<group>[{signs}'’\u00a0\u202f ])\d{{3}}(?:(?P=group)\d{{3}})*|(?:{lakh}\d{{2}})+{lakh}\d{{3}})"
_FORM = r"[+-]?(?:(?:" + _GROUPS + r"|\d+)(?:{decimal}\d*)?|{decimal}\d+)(?:[eE][+-]?\d+)?"
_FORMS: dict[Decimal, re.Pattern[str]] = {
    ".": re.compile(_FORM.format(signs=",", lakh=",", decimal=r"\."), re.ASCII),
    ",": re.compile(_FORM.format(signs=".", lakh=r"\.", decimal=","), re.ASCII),
}
_SEPARATORS = {".": str.maketrans("", "", ",'’\u00a0\u202f "), ",": str.maketrans(",", ".", ".'’\u00a0\u202f ")}
#: Longer texts are no number that a tool writes.
_LONGEST = 400


def number(text: str, decimal: Decimal) -> float | None:
    """The finite number that a text is under a decimal sign; `None` if it is none.

    >>> number("9,589,248", "."), number("27.595.520", ","), number("65,77", ","), number("n/a", ".")
    (9589248.0, 27595520.0, 65.77, None)
    """
    text = text.strip()
    if len(text) > _LONGEST or not _FORMS[decimal].fullmatch(text):
        return None
    if decimal == "." and "," in text:
        text = text.replace(",", "")
    # Most numbers have nothing else in them.
    value = float(text if decimal == "." and text.isascii() and " " not in text and "'" not in text else text.translate(_SEPARATORS[decimal]))
    return value if math.isfinite(value) else None


def plain(text: str) -> float | None:
    """The finite number of a tool that writes none but `1234.5`; `None` if it is none, or has separators."""
    return None if "," in text or " " in text.strip() else number(text, ".")


class Deciding:
    """Hears the numbers of a file and says which sign is the decimal one.

    Attributes:
        seen: sign → (text, line) of the first number that can be read with that decimal sign only.
        open: (text, line) of the first that can be read in both ways, if any.
        whole: sign → (text, line) of the first that would be no whole number under the other sign, though it counts something.
    """

    def __init__(self) -> None:
        self.seen: dict[Decimal, tuple[str, int]] = {}
        self.whole: dict[Decimal, tuple[str, int]] = {}
        self.open: tuple[str, int] | None = None

    def hear(self, text: str, line: int, *, counts: bool = False) -> None:
        """Take note of a number; `counts` says that it can only be a whole one."""
        if not ("," in text or "." in text) or len(text) > _LONGEST:
            return
        if any(_FORMS[sign].fullmatch(text) for sign in self.seen):
            return  # it asks for no other sign than the one that is known
        fits: list[Decimal] = [sign for sign, form in _FORMS.items() if form.fullmatch(text)]
        if len(fits) == 1:
            self.seen.setdefault(fits[0], (text, line))
        elif len(fits) == 2:
            self.open = self.open or (text, line)
            if counts:
                self.whole.setdefault("." if "," in text else ",", (text, line))

    def decimal(self) -> Decimal | None:
        """The decimal sign; `None` where the numbers do not tell, or contradict one another (see `why`)."""
        for found in (self.seen, self.whole):
            if found:
                return next(iter(found)) if len(found) == 1 else None
        return "." if self.open is None else None

    def why(self) -> str:
        """What is in the way of a decision."""
        for found in (self.seen, self.whole):
            if len(found) > 1:
                (one, there), (other, yonder) = found["."], found[","]
                return f"{one!r} in line {there} has another decimal sign than {other!r} in line {yonder}"
        return f"{self.open[0]!r} in line {self.open[1]} may be a thousand times as much: nothing in the file tells" if self.open else "no numbers"
