"""Units as result files write them: each spelling to the base unit it stands for and the exact factor.

This module decides which spellings are known; one that is not is answered with `None`, and its entry is left out rather than guessed. Prefixes of
bytes are taken as written only where they are unambiguous: `MB` is 1e6 for some tools and 2**20 for others, so it is not known.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import msgspec

__all__ = ["BYTE", "BYTE_RATE", "COUNT", "COUNT_RATE", "MILLISECOND", "NANOSECOND", "NUMBER", "SECOND", "Scale", "finite", "per_operation", "spelled"]


class Scale(msgspec.Struct, frozen=True):
    """A written unit: value × times ÷ per is in `unit`. Two factors, since 1e-9 is not a float and a division by 1e9 is exact to the last bit."""

    unit: str
    times: float = 1.0
    per: float = 1.0

    def of(self, value: float) -> float:
        """The value in the base unit."""
        return value * self.times / self.per


SECOND, MILLISECOND, MICROSECOND, NANOSECOND = Scale("s"), Scale("s", per=1e3), Scale("s", per=1e6), Scale("s", per=1e9)
BYTE, BYTE_RATE, COUNT, COUNT_RATE, NUMBER = Scale("B"), Scale("B/s"), Scale("count"), Scale("count/s"), Scale("1")
_SPELLINGS: Mapping[str, Scale] = {
    **dict.fromkeys(("ns", "nanosecond", "nanoseconds", "nsec"), NANOSECOND),
    **dict.fromkeys(("us", "µs", "μs", "microsecond", "microseconds", "usec"), MICROSECOND),
    **dict.fromkeys(("ms", "millisecond", "milliseconds", "msec"), MILLISECOND),
    **dict.fromkeys(("s", "second", "seconds", "sec"), SECOND),
    **dict.fromkeys(("min", "minute", "minutes"), Scale("s", times=60.0)),
    **dict.fromkeys(("h", "hr", "hour", "hours"), Scale("s", times=3600.0)),
    **dict.fromkeys(("d", "day", "days"), Scale("s", times=86400.0)),
    **dict.fromkeys(("B", "byte", "bytes"), BYTE),
    "KiB": Scale("B", times=2.0**10),
    "MiB": Scale("B", times=2.0**20),
    "GiB": Scale("B", times=2.0**30),
    **dict.fromkeys(("B/s", "bytes/s", "bytes/sec", "bytes/second"), BYTE_RATE),
    **dict.fromkeys(("count", "counts"), COUNT),
    **dict.fromkeys(("Hz",), Scale("Hz")),
    **dict.fromkeys(("W", "watt", "watts"), Scale("W")),
    **dict.fromkeys(("J", "joule", "joules"), Scale("J")),
}  # fmt: skip


def spelled(text: str) -> Scale | None:
    """The scale of a written unit, or `None` where it is not known.

    >>> spelled("us").of(1500.0)
    0.0015
    >>> spelled("furlongs") is None
    True
    """
    return _SPELLINGS.get(text)


def per_operation(text: str) -> tuple[Scale, bool] | None:
    """The scale of a time an operation (`us/op`) or of operations a time (`ops/ms`), and whether more is better; `None` for anything else.

    >>> per_operation("ops/ms")
    (Scale(unit='op/s', times=1000.0, per=1.0), True)
    """
    top, slash, bottom = text.partition("/")
    time = spelled(bottom if top == "ops" else top)
    if not slash or time is None or time.unit != "s" or (top != "ops" and bottom != "op"):
        return None
    return (Scale("op/s", times=time.per, per=time.times), True) if top == "ops" else (time, False)


def finite(value: object) -> float | None:
    """A number as a file writes it (a number, or a text such as `1.5`), or `None` for one that is none, NaN or infinite.

    >>> finite("1.5"), finite("NaN"), finite(None), finite(True)
    (1.5, None, None, None)
    """
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None
