"""Level 5: lines."""

from __future__ import annotations

import msgspec

from ridgeline.core import Facts, HotSpots, LevelRecord

from .surroundings import Instruments

__all__ = ["hot_spots"]


def hot_spots(instruments: Instruments, facts: Facts) -> Facts:
    """Sampled lines."""
    found: HotSpots = instruments.call("hot_spots", HotSpots, seconds=instruments.budget_s / 10)
    level = LevelRecord(level=5, instrument=found.instrument)
    return msgspec.structs.replace(facts, hot_spots=found, levels=(*facts.levels, level))
