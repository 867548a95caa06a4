"""Level 1 and the ceilings it is held against."""

from __future__ import annotations

import msgspec
import numpy as np

from ridgeline.core import Facts, LevelRecord, Quantity
from ridgeline.measurement.agent import GroundTruthReport

from .bench import Bench

__all__ = ["device", "ground_truth"]


def device(bench: Bench, facts: Facts) -> Facts:
    """The ceilings of this machine."""
    return msgspec.structs.replace(facts, device=bench.probe())


def ground_truth(bench: Bench, facts: Facts) -> Facts:
    """The uninstrumented wall clock."""
    bench.facts = facts
    found: GroundTruthReport = bench.call(
        "ground_truth", GroundTruthReport, budget_s=bench.budget_s / 2, samples=bench.samples or 2000, at_least=3, device=facts.device
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
