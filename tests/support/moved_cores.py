"""A stand-in for the watch over how far apart the cores are."""

from __future__ import annotations

from ridgeline.core import CoreToCore


class MovedCores:
    """The host moves the cores after so many looks: 40 ns before, 200 ns behind."""

    def __init__(self, *, after: int) -> None:
        self.after, self.looked, self.fresh = after, 0, list[float]()

    def look(self) -> None:
        self.looked += 1
        self.fresh.append(4e-8 if self.looked <= self.after else 2e-7)

    def taken(self) -> CoreToCore:
        looks, self.fresh = tuple(self.fresh), []
        return CoreToCore(looks_s=looks)
