"""Look-ups: by single elements, on the engine `gather`, or by whole rows, which are copies of bytes. The same for every framework.

A library that picks a row copies it in one stretch: rows of 16 numbers run at twice the rate of single look-ups, rows of 256 at five times, so that
counted as look-ups they would stand above their ceiling. From half a cache line on a row is a stretch.
"""

from __future__ import annotations

from ridgeline.core import Engine

__all__ = ["STRETCH_BYTES", "looked_up"]

STRETCH_BYTES = 32


def looked_up(elements: float, row_bytes: float, *, adds: bool = False) -> tuple[float, Engine | None, str]:
    """Operations, their engine, and what to say of it.

    Args:
        elements: that are picked or placed.
        row_bytes: that lie side by side behind each index.
        adds: whether what is picked is added up instead of copied.
    """
    if row_bytes < STRETCH_BYTES:
        return float(elements), "gather", ""
    return (float(elements), "add", "whole rows") if adds else (0.0, None, "whole rows")
