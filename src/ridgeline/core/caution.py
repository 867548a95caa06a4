"""`Caution`: what could change a verdict, said beside it."""

from __future__ import annotations

import msgspec

__all__ = ["Caution"]


class Caution(msgspec.Struct, frozen=True, kw_only=True):
    """Something that could change the verdict: a code, one sentence, and what it may do to the result."""

    code: str
    message: str
    effect: str = ""
