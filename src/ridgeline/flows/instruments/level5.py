"""Level 5: lines."""

from __future__ import annotations

import msgspec

from ridgeline.core import Facts, HotSpots, LevelRecord

from .bench import Bench

__all__ = ["hot_spots"]


def hot_spots(bench: Bench, facts: Facts) -> Facts:
    """Sampled lines."""
    found: HotSpots = bench.call("hot_spots", HotSpots, seconds=bench.budget_s / 10)
    level = LevelRecord(level=5, instrument=found.instrument)
    return msgspec.structs.replace(facts, hot_spots=found, levels=(*facts.levels, level))
