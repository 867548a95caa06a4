"""`Page`: what a report says, as plain data, before anyone decides how it looks.

A page is sections of blocks; a number in it stays a number with its unit and interval (`Cell`) until a renderer writes it, and what is not
known says why. How a number is written is decided here, once, through `core.units`; layout is left to the renderers.
"""

from __future__ import annotations

import math
from typing import Literal

import msgspec

from ridgeline.core import Quantity
from ridgeline.core.units import format_quantity, format_share, format_speedup

__all__ = [
    "DASH", "DISTURBED", "Bars", "Block", "Cell", "Column", "Item", "Items", "Page", "Pair", "Pairs", "Paragraph", "Section", "Table", "count",
    "format_cell", "fraction", "missing", "number", "quantity", "seconds", "share", "speedup", "words",
]  # fmt: skip

#: What is said of everything that rests on times which other work disturbed.
DISTURBED = "Measured beside other work (interference): times, shares and bounds here are not judged."
#: What stands where a number is not known; its reason stands beside.
DASH = "—"
# An interval narrower than three figures show would look like no interval at all; up to this many figures are written to keep it visible.
_MOST_DIGITS = 7
# A count under this is written out: 2000 samples are not 2.00 k.
_EXACT_COUNT = 1e7


class Cell(msgspec.Struct, frozen=True, kw_only=True):
    """One value of a page.

    Args:
        value: a number in `unit`, a text, or null for what is not known.
        unit: one of `core.units.BASE_UNITS`, `share` (0…1, written as a percentage), `fraction` (of a ceiling,
            written with two decimals), `speedup` (written with ×), or empty for a text.
        low, high: ends of the interval, null where there is none.
        reason: why the value is null, or a remark on it.
    """

    value: float | str | None
    unit: str = ""
    low: float | None = None
    high: float | None = None
    reason: str = ""

    @property
    def known(self) -> bool:
        """Whether there is a value."""
        return self.value is not None

    @property
    def numeric(self) -> bool:
        """Whether it is a number, for alignment."""
        return isinstance(self.value, float | int)


class Pair(msgspec.Struct, frozen=True, kw_only=True):
    """A label, its value and a remark."""

    label: str
    cell: Cell
    note: str = ""

    @property
    def remark(self) -> str:
        """What stands beside the value: the note, or why there is no value."""
        return self.note if self.cell.known else self.cell.reason or self.note


class Column(msgspec.Struct, frozen=True, kw_only=True):
    """A column of a table.

    Args:
        title: its heading.
        right: whether it is aligned to the right.
        flexible: whether a long text in it may be shortened in the middle where space is short.
        least: columns of the terminal that a flexible text keeps; under that, other columns are left out.
        lines: lines over which a flexible text may go before it is shortened.
        weight: a renderer short of space leaves out the columns with the smallest weight first.
    """

    title: str
    right: bool = False
    flexible: bool = False
    least: int = 12
    lines: int = 1
    weight: int = 9


class Paragraph(msgspec.Struct, frozen=True, kw_only=True, tag="paragraph"):
    """One paragraph of text."""

    text: str


class Pairs(msgspec.Struct, frozen=True, kw_only=True, tag="pairs"):
    """Labels with values."""

    rows: tuple[Pair, ...]
    caption: str = ""


class Table(msgspec.Struct, frozen=True, kw_only=True, tag="table"):
    """Rows of cells under columns; `empty` is said where there are no rows."""

    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    caption: str
    empty: str = "none"
    note: str = ""

    def reasons(self) -> str:
        """Why cells are `—`, one line: `— f_c: no formula; share: the level was perturbed`; empty where all are known."""
        found: dict[str, list[str]] = {}
        for row in self.rows:
            for column, cell in zip(self.columns, row, strict=True):
                if not cell.known and cell.reason and column.title not in found.setdefault(cell.reason, []):
                    found[cell.reason].append(column.title)
        return "; ".join(f"{', '.join(titles)}: {reason}" for reason, titles in found.items())


class Bars(msgspec.Struct, frozen=True, kw_only=True, tag="bars"):
    """Shares of a whole, drawn as bars with their numbers beside."""

    caption: str
    rows: tuple[Pair, ...]


class Item(msgspec.Struct, frozen=True, kw_only=True):
    """One step of a list: a title, its numbers, and why."""

    title: str
    numbers: tuple[Pair, ...] = ()
    detail: str = ""


class Items(msgspec.Struct, frozen=True, kw_only=True, tag="items"):
    """A list, numbered where the order is a ranking."""

    items: tuple[Item, ...]
    numbered: bool = False


Block = Paragraph | Pairs | Table | Bars | Items


class Section(msgspec.Struct, frozen=True, kw_only=True):
    """A titled part of a page."""

    title: str
    blocks: tuple[Block, ...]


class Page(msgspec.Struct, frozen=True, kw_only=True):
    """A report.

    Args:
        title: of the document.
        headline: the one sentence to read, empty where the title says it all.
        tone: how the headline is coloured where there is colour.
        sections: in order of reading.
    """

    title: str
    headline: str = ""
    tone: Literal["good", "bad", "unsure", "plain"] = "plain"
    sections: tuple[Section, ...] = ()


def words(text: str, reason: str = "") -> Cell:
    """A text; an empty one counts as not known."""
    return Cell(value=text or None, reason=reason)


def missing(reason: str) -> Cell:
    """A value that is not known, and why."""
    return Cell(value=None, reason=reason)


def number(value: float | None, unit: str, interval: tuple[float, float] | None = None, reason: str = "") -> Cell:
    """A number in `unit` with its interval, or a null with its reason."""
    if value is None:
        return missing(reason)
    low, high = interval or (None, None)
    return Cell(value=value, unit=unit, low=low, high=high, reason=reason)


def seconds(value: float | None, interval: tuple[float, float] | None = None, reason: str = "") -> Cell:
    """A time in seconds."""
    return number(value, "s", interval, reason)


def share(value: float | None, reason: str = "") -> Cell:
    """A share of a whole, 0…1."""
    return number(value, "share", reason=reason)


def count(value: float | None, reason: str = "") -> Cell:
    """A count, which may be fractional when it is a mean."""
    return number(value, "count", reason=reason)


def quantity(value: Quantity | None, reason: str = "") -> Cell:
    """A `Quantity` with its interval (none where the ends meet)."""
    if value is None:
        return missing(reason)
    interval = None if value.low == value.high else (value.low, value.high)
    return number(value.value, value.unit, interval, reason)


def fraction(value: Quantity | None, reason: str = "") -> Cell:
    """A fraction of a ceiling, such as f_c, with its interval."""
    cell = quantity(value, reason)
    return msgspec.structs.replace(cell, unit="fraction") if cell.known else cell


def speedup(interval: tuple[float, float]) -> Cell:
    """A gain as (low, high); its value is the low end, which is what may be relied on."""
    return Cell(value=interval[0], unit="speedup", low=interval[0], high=interval[1])


def format_cell(cell: Cell, *, interval: bool = True) -> str:
    """Write a cell for people: SI prefixes, the interval in brackets unless it is not wanted, `—` for what is not known.

    >>> format_cell(seconds(0.0046, (0.0045, 0.0048)))
    '4.60 ms [4.50 ms, 4.80 ms]'
    >>> format_cell(missing("not measured"))
    '—'
    """
    value = cell.value
    if value is None:
        return DASH
    if isinstance(value, str):
        return value
    # A record made by hand, or by somebody else's program, may hold what is no number.
    if not math.isfinite(value):
        return DASH
    if cell.low is None or cell.high is None or not (math.isfinite(cell.low) and math.isfinite(cell.high)):
        return format_speedup(value, value) if cell.unit == "speedup" else _written(value, cell.unit, 3)
    if cell.unit == "speedup":
        return format_speedup(cell.low, cell.high)
    if not interval:
        return _written(value, cell.unit, 3)
    digits = next((d for d in range(3, _MOST_DIGITS) if _written(cell.low, cell.unit, d) != _written(cell.high, cell.unit, d)), _MOST_DIGITS)
    # Ends that no figure tells apart are not an interval, as for a count.
    if cell.low == cell.high:
        digits = 3
    return f"{_written(value, cell.unit, digits)} [{_written(cell.low, cell.unit, digits)}, {_written(cell.high, cell.unit, digits)}]"


def _written(value: float, unit: str, digits: int) -> str:
    if unit == "share":
        return format_share(value)
    if unit == "fraction":
        return "<0.01" if 0 < value < 0.005 else f"{value:.{digits - 1}f}"
    if unit == "count" and abs(value) < _EXACT_COUNT:
        return f"{int(value)}" if value == int(value) else f"{value:.{digits}g}" if abs(value) < 100 else f"{value:.1f}"
    return format_quantity(value, unit, digits)
