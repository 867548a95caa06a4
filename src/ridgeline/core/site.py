"""`Site`: a place in source code, as operators, stages, waits and samples name it."""

from __future__ import annotations

import msgspec

__all__ = ["Site"]


class Site(msgspec.Struct, frozen=True, kw_only=True):
    """A place in source code."""

    file: str | None = None
    line: int | None = None
    function: str | None = None
