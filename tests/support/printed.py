"""Comparing a computed number with one that was printed: they agree within one unit in the last printed digit."""

from __future__ import annotations

from decimal import Decimal

__all__ = ["is_printed"]


def is_printed(value: float, text: str) -> bool:
    """Whether `value` is what `text` shows, to one unit in its last digit: `is_printed(4.63, "4.7")`, `is_printed(2.89e9, "2.890e9")`."""
    shown = Decimal(text)
    unit = Decimal(1).scaleb(int(shown.as_tuple().exponent))
    # A hair of room: 4.6 and 4.7 are one unit apart, whichever way their difference rounds in binary.
    return abs(Decimal(value) - shown) <= unit * (1 + Decimal("1e-9"))
