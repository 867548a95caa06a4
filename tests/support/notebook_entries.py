"""Entries of every kind, made from one run."""

from __future__ import annotations

import msgspec
import numpy as np

from ridgeline.core import (
    Action,
    Benchmark,
    Column,
    Comparison,
    ComparisonSet,
    Experiment,
    ProcessRecord,
    Run,
    Samples,
    TailComparison,
)
from ridgeline.core.samples import FLAG_WARMUP

__all__ = ["benchmarked", "comparison", "experiment", "family"]


def benchmarked(run: Run, identity: str, processes: int = 3, calls: int = 200, seed: int = 0) -> Run:
    """A run of `bench`: the first tenth of each process is warm-up, process p takes 1 ms + p × 1 µs and a little more."""
    random = np.random.default_rng(seed)
    process = np.repeat(np.arange(processes), calls)
    wall = 1e-3 + process * 1e-6 + random.random(processes * calls) * 1e-7
    flags = np.where(np.tile(np.arange(calls), processes) < calls // 10, FLAG_WARMUP, 0)
    samples = Samples(
        wall_s=Column(wall, "s"),
        start_s=Column(np.cumsum(wall), "s"),
        process=Column(process, "count"),
        inner=Column(np.ones(len(wall), int), "count"),
        flags=Column(flags, "count"),
    )
    bench = Benchmark(
        samples=samples,
        processes=tuple(ProcessRecord(index=index, at_s=float(index)) for index in range(processes)),
        batched_s=Column(np.full(processes, 0.9e-3), "s"),
        batched_process=Column(np.arange(processes), "count"),
        batch_size=100,
    )
    return msgspec.structs.replace(run, id=identity, verb="bench", diagnosis=None, bench=bench)


def experiment(run: str = "r1", **changes: object) -> Experiment:
    action = Action(id="a1", action="fuse", on="x", because="y", metric="latency", speedup=(1.1, 1.2), median_after_s=(0.1, 0.2))
    made = Experiment(
        diagnosis=run, action=action, before=run, after="r2", found=(1.05, 1.2), verdict="faster", kept=True, target="t.py:f", machine="Test CPU"
    )
    return msgspec.structs.replace(made, **changes)


def comparison(a: str = "r1", b: str = "r2", **changes: object) -> Comparison:
    made = Comparison(
        verdict="slower", ratio=1.05, ratio_ci=(1.04, None), confidence=0.97, tail=TailComparison(verdict="same", ratio=1.0, ratio_ci=(0.9, 1.1)),
        keep=False, detectable_ratio=1.01, a=None, b=None, reasons=("B is 5 % slower",), name="t.py:f", run_a=a, run_b=b,
    )  # fmt: skip
    return msgspec.structs.replace(made, **changes)


def family() -> ComparisonSet:
    return ComparisonSet(a="old.json", b="new.json", comparisons=(comparison(), comparison(verdict="same")), missing=("gone",))
