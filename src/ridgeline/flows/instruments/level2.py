"""Level 2: the split of the wall, and the stages."""

from __future__ import annotations

import msgspec

from ridgeline.core import Facts, LevelRecord
from ridgeline.measurement.agent import SplitReport, StagesReport

from .surroundings import Instruments, level_record, perturbed

__all__ = ["stages", "wall_split"]


def wall_split(instruments: Instruments, facts: Facts) -> Facts:
    """Blocked, waiting, system, interpreter and kernels."""
    found: SplitReport = instruments.call("split", SplitReport, seconds=instruments.budget_s / 8)
    level = level_record(2, found.split.how, found.wall_s, facts)
    return msgspec.structs.replace(facts, wall_split=found.split, levels=(*facts.levels, level))


def stages(instruments: Instruments, facts: Facts) -> Facts:
    """The program's stages, or the calls of its models; an empty table where there are neither."""
    found: StagesReport = instruments.call("stages", StagesReport, seconds=instruments.budget_s / 8)
    table = found.table
    if not table.stages:
        return msgspec.structs.replace(facts, stages=table)
    level = LevelRecord(
        level=2, instrument=table.instrument, total_s=table.wall_s, ratio_to_ground_truth=found.ratio, perturbed=perturbed(found.ratio)
    )
    return msgspec.structs.replace(facts, stages=table, levels=(*facts.levels, level))
