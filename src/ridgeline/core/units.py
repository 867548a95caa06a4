"""Units: the one place where text such as `3.35 TB/s` becomes a number in SI, and where a number becomes such text again.

Decimal prefixes are powers of 1000 and binary ones (`KiB`, `MiB`) powers of 1024: GB = 1e9 bytes, GiB = 2**30 bytes. Everything inside
ridgeline is in the base units named here; formatting happens only where a person reads.

Source of the prefixes: SI Brochure, 9th edition, table 7; IEC 80000-13 for the binary ones.
"""

from __future__ import annotations

import math
import re
from decimal import Context, Decimal

from .errors import UsageError

__all__ = ["BASE_UNITS", "format_quantity", "format_share", "format_speedup", "parse"]

#: Units in which data is kept. "1" is a pure number or a share.
BASE_UNITS = frozenset({"s", "B", "FLOP", "FLOP/s", "op/s", "B/s", "Hz", "W", "J", "K", "1", "FLOP/B", "count", "count/s", "USD/h", "USD", "cycle"})

# Factors are exact decimals, so that 17.1 GB/s is the float nearest to 17.1e9 and not the product of two rounded floats.
_DECIMAL = {
    prefix: Decimal(f"1e{exponent}")
    for prefix, exponent in {"": 0, "n": -9, "u": -6, "µ": -6, "μ": -6, "m": -3, "k": 3, "K": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}.items()
}
_BINARY = {prefix: Decimal(2**power) for prefix, power in {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50}.items()}
# No traps: what overflows becomes infinite and is refused as such.
_EXACT = Context(prec=60, traps=[])
_PREFIXES = {-9: "n", -6: "µ", -3: "m", 0: "", 3: "k", 6: "M", 9: "G", 12: "T", 15: "P", 18: "E"}
# Names under which people write the base units; the longest match wins, so that "FLOPS" is a rate and "FLOP" a count.
_SPELLINGS = {
    "s": "s", "sec": "s", "B": "B", "byte": "B", "bytes": "B", "FLOP": "FLOP", "FLOPs": "FLOP",
    "FLOP/s": "FLOP/s", "FLOPs/s": "FLOP/s", "FLOPS": "FLOP/s", "OP/s": "op/s", "op/s": "op/s", "OPS": "op/s",
    "B/s": "B/s", "Hz": "Hz", "W": "W", "J": "J", "K": "K", "FLOP/B": "FLOP/B",
    "count": "count", "count/s": "count/s", "cycle": "cycle", "USD": "USD", "USD/h": "USD/h",
}  # fmt: skip
_WHOLE_WORDS = {"min": (Decimal(60), "s"), "h": (Decimal(3600), "s"), "%": (Decimal("0.01"), "1")}
# re.ASCII: without it \d would admit other scripts' digits, and float() would quietly read them.
_TEXT = r"\s*([+-]?(?:\d+(?:_\d{3})*(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)\s*([^\s\d]\S*)?\s*"


def parse(text: str, unit: str) -> float:
    """Read a number with a unit and return it in the base unit asked for.

    Args:
        text: such as `33.3ms`, `3.35 TB/s`, `64 MiB`, `128 GFLOP/s`, `60%`, `0.5`.
        unit: one of `BASE_UNITS`; a bare number is taken to be in it already.

    Returns:
        The value in `unit`, finite.

    Raises:
        UsageError: not a number, not finite, unknown unit, or a unit of another kind.

    >>> parse("3.35 TB/s", "B/s")
    3350000000000.0
    >>> parse("64 MiB", "B")
    67108864.0
    """
    match = re.fullmatch(_TEXT, text, re.ASCII)
    if match is None:
        raise UsageError(f"a number in {unit}, such as {_example(unit)}", found=repr(text), remedy="write a finite number and, if any, its unit")
    factor, found_unit = _split_unit(match[2], unit, text)
    value = float(_EXACT.multiply(_EXACT.create_decimal(match[1].replace("_", "")), factor))
    if found_unit != unit:
        raise UsageError(f"a quantity in {unit}, such as {_example(unit)}", found=f"{text!r}, which is in {found_unit}", remedy=f"give it in {unit}")
    if not math.isfinite(value):
        raise UsageError(f"a finite number in {unit}", found=repr(text), remedy="give a number that a machine can have")
    return value


def _split_unit(suffix: str | None, unit: str, text: str) -> tuple[Decimal, str]:
    """Return (factor, base unit) of a written suffix."""
    if suffix is None:
        return Decimal(1), unit
    if unit == "count" and suffix in _DECIMAL:
        return _DECIMAL[suffix], unit
    if suffix in _WHOLE_WORDS:
        return _WHOLE_WORDS[suffix]
    for spelling in sorted(_SPELLINGS, key=len, reverse=True):
        if suffix.endswith(spelling):
            prefix = suffix[: len(suffix) - len(spelling)]
            if prefix in _DECIMAL:
                return _DECIMAL[prefix], _SPELLINGS[spelling]
            if prefix in _BINARY and _SPELLINGS[spelling] in {"B", "B/s"}:
                return _BINARY[prefix], _SPELLINGS[spelling]
    raise UsageError(
        f"a unit that ridgeline knows, for a quantity in {unit}", found=f"{suffix!r} in {text!r}", remedy=f"write it like {_example(unit)}"
    )


def _example(unit: str) -> str:
    return {
        "s": "33.3ms",
        "B": "64MiB",
        "FLOP/s": "128GFLOP/s",
        "B/s": "13GB/s",
        "1": "0.6 or 60%",
        "FLOP": "3.4GFLOP",
        "Hz": "4kHz",
        "count": "300",
    }.get(unit, f"12{unit}")


def format_quantity(value: float, unit: str, digits: int = 3) -> str:
    """Write a value for people: SI prefix and `digits` significant figures.

    >>> format_quantity(0.0046, "s")
    '4.60 ms'
    >>> format_quantity(7.29e9, "B/s")
    '7.29 GB/s'
    """
    if not math.isfinite(value):
        raise UsageError("a finite number to format", found=repr(value), remedy="leave out what is not known")
    if unit == "1":
        return f"{value:.{digits}g}"
    if value == 0:
        return "0" if unit == "count" else f"0 {unit}"
    exponent = _engineering_exponent(abs(value), digits)
    # Fractions of a byte, an operation or a count mean nothing: only time, rates and energy go below one. Nobody writes prices with prefixes.
    if (unit in {"B", "FLOP", "count", "cycle"} and exponent < 0) or unit in {"USD", "USD/h"}:
        exponent = 0
    scaled = value / 10.0**exponent
    name = "" if unit == "count" else unit
    if unit == "count" and exponent == 0 and value == int(value):
        return f"{int(value)}"
    # The number of decimals follows the rounded mantissa: 0.99996 with three figures is 1.00, not 1.000.
    rounded = abs(float(f"{scaled:.{digits - 1}e}"))
    if rounded < 0.01 or rounded >= 1e6:
        # Beyond the prefixes: plain decimals would round the value to nothing or show figures that are not known.
        return f"{scaled:.{digits - 1}e} {_PREFIXES[exponent]}{name}".rstrip()
    decimals = max(0, digits - 1 - math.floor(math.log10(rounded)))
    return f"{scaled:.{decimals}f} {_PREFIXES[exponent]}{name}".rstrip()


def _engineering_exponent(magnitude: float, digits: int) -> int:
    """The multiple of three, within the prefixes, that leaves 1 ≤ mantissa < 1000 *after* rounding, so that 999.96 ms is written 1.00 s."""
    exponent = max(-9, min(18, 3 * math.floor(math.log10(magnitude) / 3)))
    rounded = float(f"{magnitude / 10.0**exponent:.{digits - 1}e}")
    if rounded >= 1000:
        exponent += 3
    elif rounded < 1:
        exponent -= 3
    return max(-9, min(18, exponent))


def format_share(share: float) -> str:
    """Write a share of the whole as a percentage that never rounds something to nothing.

    >>> format_share(0.463), format_share(0.0004)
    ('46.3%', '<0.1%')
    """
    if not math.isfinite(share):
        raise UsageError("a finite share to format", found=repr(share), remedy="leave out what is not known")
    if 0 < abs(share) < 0.001:
        return "<0.1%" if share > 0 else ">-0.1%"
    if 0.9995 <= share < 1:
        return ">99.9%"
    return f"{share * 100:.1f}%"


def format_speedup(low: float, high: float) -> str:
    """Write a gain interval; what is a hundred and more with three figures.

    >>> format_speedup(1.8, 2.41)
    '1.80–2.41×'
    >>> format_speedup(99.5, 62123.4)
    '99.50–62100×'
    """
    ends = _factor(low), _factor(high)
    return f"{ends[0]}×" if ends[0] == ends[1] else f"{ends[0]}–{ends[1]}×"


def _factor(gain: float) -> str:
    return f"{gain:.2f}" if not 100.0 <= gain < math.inf else f"{float(f'{gain:.3g}'):.0f}"
