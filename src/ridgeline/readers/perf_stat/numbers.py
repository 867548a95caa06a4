"""Numbers as `perf stat` writes them in any locale: `9,355`, `9.355`, `300,43`, `1 234 567` with a narrow blank, `<not counted>`.

This module decides what is a number and in which unit it is. Whether a comma is a decimal mark cannot be told from one number; it is told once for a
file, from numbers that perf always writes with decimals: percentages and the seconds of a line of time.
"""

from __future__ import annotations

import math
import re

__all__ = ["NOT_COUNTED", "NOT_SUPPORTED", "decimal_mark", "in_base_unit", "number"]

NOT_COUNTED, NOT_SUPPORTED = "<not counted>", "<not supported>"
_SECONDS = re.compile(r"\d([.,])\d{3,9} (?:\+- [\d.,]{1,30} )?seconds (?:time elapsed|user|sys)")
_PERCENT = re.compile(r"(?<![\d.,])\d{1,3}([.,])\d\d(?![\d.,])")
_INTERVAL = re.compile(r"^\s+\d{1,9}([.,])\d{9}(?!\d)")
_SIGNS = "'’\u00a0\u202f\u2009\u066c"
#: Decimal mark → a number: groups of three digits (of two before the last, in India) before the mark, none behind it.
_FORMS = {
    mark: re.compile(
        rf"[+-]?(?:\d+|\d{{1,3}}(?:[{other}{_SIGNS}]\d{{2,3}})*[{other}{_SIGNS}]\d{{3}})(?:[{mark}]\d*)?(?:[eE][+-]?\d{{1,4}})?", re.ASCII
    )
    for mark, other in ((".", ","), (",", "."))
}
_GROUPING = str.maketrans("", "", ".,'’\u00a0\u202f\u2009\u066c")
#: Unit as perf prints it → factor and base unit.
_UNITS = {
    "": (1.0, "count"), "msec": (1e-3, "s"), "ms": (1e-3, "s"), "ns": (1e-9, "s"), "usec": (1e-6, "s"), "sec": (1.0, "s"), "Joules": (1.0, "J"),
    "Bytes": (1.0, "B"), "KiB": (2.0**10, "B"), "MiB": (2.0**20, "B"), "GiB": (2.0**30, "B"), "Watts": (1.0, "W"),
}  # fmt: skip


def decimal_mark(lines: list[str]) -> str:
    """`.` or `,`: the decimal mark of a file."""
    for pattern in (_SECONDS, _INTERVAL):
        for line in lines:
            found = pattern.search(line[:1000])
            if found:
                return found[1]
    # A thousand in groups has three digits after its mark, a percentage two.
    votes = [found[1] for line in lines[:200] for found in _PERCENT.finditer(line[:1000])]
    return "," if votes.count(",") > votes.count(".") else "."


def number(text: str, mark: str = ".") -> float | None:
    """The finite number that a text is under a decimal mark, or `None`.

    >>> number("1,234,567"), number("1.234.567", ","), number("1,234,567", ","), number("12,50")
    (1234567.0, 1234567.0, None, None)
    """
    text = text.strip()
    if len(text) > 60 or _FORMS[mark].fullmatch(text) is None:
        return None
    whole, found, rest = text.partition(mark)
    value = float(whole.translate(_GROUPING) + (f".{rest}" if found else ""))
    return value if math.isfinite(value) else None


def in_base_unit(value: float, unit: str) -> tuple[float, str]:
    """A value and its base unit; as it is where the unit is not known."""
    factor, base = _UNITS.get(unit, (1.0, unit))
    return value * factor, base
