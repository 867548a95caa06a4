"""`CoreToCore`: how far apart the cores were while something was measured, as the time that a cache line took from one to the other."""

from __future__ import annotations

import statistics
from collections.abc import Iterable

import msgspec

__all__ = ["CoreToCore"]


class CoreToCore(msgspec.Struct, frozen=True, kw_only=True):
    """How long a cache line took from one core to the other, by looks before, between and after what was measured.

    The host of a virtual machine moves its CPUs: what threads that work together take then changes, while each alone is as fast as before.

    Args:
        looks_s: seconds of each look, in order.
        missing: why there is none; empty where there are some.
    """

    looks_s: tuple[float, ...] = ()
    missing: str = ""

    @property
    def typical_s(self) -> float | None:
        """Median of the looks in seconds; null without one."""
        return statistics.median(self.looks_s) if self.looks_s else None

    @classmethod
    def joined(cls, parts: Iterable[CoreToCore | None]) -> CoreToCore | None:
        """One after the other; null where nobody looked."""
        known = [part for part in parts if part is not None]
        if not known:
            return None
        looks = tuple(seconds for part in known for seconds in part.looks_s)
        return cls(looks_s=looks, missing="" if looks else next((part.missing for part in known if part.missing), ""))
