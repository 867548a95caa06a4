"""What threads wait for, and what goes on meanwhile."""

from __future__ import annotations

import msgspec

from ridgeline.core import Facts, LevelRecord
from ridgeline.measurement.agent import WaitsReport

from .surroundings import Instruments, perturbed

__all__ = ["waits"]


def waits(instruments: Instruments, facts: Facts) -> Facts:
    """Waits by line."""
    # A process of its own: locks and stopwatches must leave no trace in the one that the other instruments look at.
    found: WaitsReport = instruments.call_apart("timed_waits", WaitsReport, seconds=instruments.budget_s / 8)
    level = LevelRecord(
        level=5,
        instrument=found.table.instrument,
        total_s=found.table.wall_s,
        ratio_to_ground_truth=found.ratio,
        perturbed=perturbed(found.ratio),
    )
    return msgspec.structs.replace(facts, waits=found.table, levels=(*facts.levels, level))
