"""What a cold start costs, part by part."""

from __future__ import annotations

import msgspec

from .quantity import Quantity

__all__ = ["ColdStart"]


class ColdStart(msgspec.Struct, frozen=True, kw_only=True):
    """Seconds from starting a process to the end of its first call.

    Args:
        process_s: starting the interpreter, imports of ridgeline left out; null if not measured.
        load_s: imports of the target and loading of its model.
        first_s: the first call.
        starts: fresh processes that were timed.
    """

    load_s: Quantity
    first_s: Quantity
    process_s: Quantity | None = None
    starts: int = 1
