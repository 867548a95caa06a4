"""Level 1 and the ceilings it is held against."""

from __future__ import annotations

import msgspec
import numpy as np

from ridgeline.core import Facts, LevelRecord, Quantity
from ridgeline.measurement.agent import GroundTruthReport

from .surroundings import Instruments

__all__ = ["device", "ground_truth"]


def device(instruments: Instruments, facts: Facts) -> Facts:
    """The ceilings of this machine."""
    return msgspec.structs.replace(facts, device=instruments.probe())


def ground_truth(instruments: Instruments, facts: Facts) -> Facts:
    """The uninstrumented wall clock."""
    instruments.facts = facts
    found: GroundTruthReport = instruments.call(
        "ground_truth", GroundTruthReport, budget_s=instruments.budget_s / 2, samples=instruments.samples or 2000, at_least=3, device=facts.device
    )
    median = float(np.median(found.samples.wall_s.values))
    level = LevelRecord(level=1, instrument="wall clock, uninstrumented", total_s=Quantity.exact(median, "s", source="measured", origin="median"))
    return msgspec.structs.replace(
        facts,
        samples=found.samples,
        warmup=found.warmup,
        steady=found.steady,
        batched_s=found.batched_s,
        overhead_s=found.overhead_s,
        noise_floor=found.noise_floor,
        sentinels=found.sentinels,
        clock=found.clock,
        levels=(*facts.levels, level),
    )
