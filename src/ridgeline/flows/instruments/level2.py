"""Level 2: the split of the wall."""

from __future__ import annotations

import msgspec

from ridgeline.core import Facts
from ridgeline.measurement.agent import SplitReport

from .bench import Bench, level_record

__all__ = ["wall_split"]


def wall_split(bench: Bench, facts: Facts) -> Facts:
    """Blocked, waiting, system, interpreter and kernels."""
    found: SplitReport = bench.call("split", SplitReport, seconds=bench.budget_s / 8)
    level = level_record(2, found.split.how, found.wall_s, facts)
    return msgspec.structs.replace(facts, wall_split=found.split, levels=(*facts.levels, level))
