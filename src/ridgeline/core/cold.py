"""What a cold start costs, part by part."""

from __future__ import annotations

import msgspec

from .quantity import Quantity
from .site import Site

__all__ = ["ColdStart"]


class ColdStart(msgspec.Struct, frozen=True, kw_only=True):
    """Seconds from starting a process to the end of its first call.

    Args:
        process_s: starting the interpreter, imports of ridgeline left out; null if not measured.
        load_s: imports of the target and loading of its model.
        first_s: the first call.
        starts: fresh processes that were timed.
        site: the line of the user's own functions where most of the first call goes; null where none was seen.
        site_share: part of the samples of the first call on that line.
    """

    load_s: Quantity
    first_s: Quantity
    process_s: Quantity | None = None
    starts: int = 1
    site: Site | None = None
    site_share: float = 0.0
