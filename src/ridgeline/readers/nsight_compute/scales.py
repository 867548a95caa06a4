"""Units of Nsight Compute: text such as `Gbyte/second`, `usecond`, `Khz` or `%` to a factor and a base unit.

Prefixes are powers of a thousand, bytes too: the tool shows 32 KiB as 32.77 Kbyte.
Source: the units that Nsight Compute 2019.5 to 2026.2 prints (`--print-units auto` and `base`), as files show them.
"""

from __future__ import annotations

import functools
import math
from fractions import Fraction

__all__ = ["counted", "scale"]

_PREFIXES = {"K": 3, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "m": -3, "u": -6, "µ": -6, "n": -9}
#: Atom → base unit of ridgeline. Everything that is counted one by one is a pure number.
_BYTES = {"byte": "B", "bytes": "B", "B": "B"}
_SECONDS = {"second": "s", "s": "s", "sec": "s"}
_HERTZ = {"hz": "Hz", "Hz": "Hz"}
_COUNTED = frozenset(
    [
        "",
        "inst",
        "instruction",
        "sector",
        "request",
        "warp",
        "thread",
        "block",
        "cycle",
        "register",
        "wavefront",
        "pass",
        "tag",
        "branch",
        "flop",
        "op",
        "line",
        "grid",
        "cluster",
        "lane",
        "access",
        "item",
        "launch",
        "bank",
        "packet",
        "message",
        "transaction",
        "query",
        "fault",
        "page",
        "gpc",
        "sm",
        "tpc",
    ]
)
_ATOMS = {**_BYTES, **_SECONDS, **_HERTZ, **dict.fromkeys(_COUNTED, "1"), **{f"{each}s": "1" for each in _COUNTED if each}}
#: (unit above, unit below) → base unit.
_QUOTIENTS = {("B", "s"): "B/s", ("1", "s"): "count/s", ("1", "1"): "1", ("B", "1"): "B", ("s", "1"): "s", ("1", "B"): "1"}


@functools.lru_cache(maxsize=4096)
def scale(text: str) -> tuple[float, str] | None:
    """Factor to the base unit, and that unit; `None` for a unit that is not known.

    >>> scale("Gbyte/second"), scale("usecond"), scale("%"), scale("cycle/nsecond"), scale("Kbyte/block"), scale("furlong")
    ((1000000000.0, 'B/s'), (1e-06, 's'), (0.01, '1'), (1000000000.0, 'Hz'), (1000.0, 'B'), None)
    """
    text = text.strip()
    if text == "%":
        return 0.01, "1"
    above, slash, below = text.partition("/")
    top, bottom = _atom(above), _atom(below) if slash else (Fraction(1), "1")
    if top is None or bottom is None:
        return None
    if not slash:
        return float(top[0]), top[1]
    unit = "Hz" if above.lower().endswith(("cycle", "cycles")) and bottom[1] == "s" else _QUOTIENTS.get((top[1], bottom[1]))
    return None if unit is None else (_exact(top[0] / bottom[0]), unit)


def counted(metric: str, unit: str) -> bool:
    """Whether values of a metric are whole numbers by what they are: sums of bytes, events or nanoseconds without a prefix."""
    return metric.endswith(".sum") and (unit in ("byte", "ns", "nsecond") or unit in _COUNTED)


def _atom(text: str) -> tuple[Fraction, str] | None:
    text = text.strip()
    for word in (text, text.lower()):
        if word in _ATOMS:
            return Fraction(1), _ATOMS[word]
    for rest in (text[1:], text[1:].lower()):
        if text[:1] in _PREFIXES and rest and rest in _ATOMS:
            return Fraction(10) ** _PREFIXES[text[0]], _ATOMS[rest]
    return None


def _exact(factor: Fraction) -> float:
    value = float(factor)
    return value if math.isfinite(value) else 1.0
