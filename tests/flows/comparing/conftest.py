"""A harness that measures nothing: two versions whose times are drawn, in place of `run_benchmarks`."""

from __future__ import annotations

import numpy as np
import pytest

from ridgeline.core import Benchmark, Column, ProcessRecord, Samples


class Harness:
    """Stands in for `measurement.bench.run_benchmarks`: hands out processes of drawn times until it is told to stop."""

    def __init__(self) -> None:
        self.ratio, self.spread, self.calls, self.most = 1.0, 0.01, 40, 30
        self.versions, self.plan, self.seed = [], None, None
        self.interrupted_at: int | None = None
        self.random = np.random.default_rng(5)

    def bench(self, medians):
        walls = np.concatenate([median * np.exp(0.02 * self.random.standard_normal(self.calls)) for median in medians])
        process = np.repeat(np.arange(len(medians)), self.calls)
        samples = Samples(
            wall_s=Column(walls, "s"), start_s=Column(np.arange(walls.size) * 0.01, "s"), process=Column(process, "count"),
            inner=Column(np.ones(walls.size, int), "count"), method="drawn",
        )  # fmt: skip
        return Benchmark(samples=samples, processes=tuple(ProcessRecord(index=i, at_s=float(i), first_s=0.02) for i in range(len(medians))))

    def run(self, versions, plan, *, report=None, keep=None, looked=None, seed=0):
        self.versions, self.plan, self.seed = list(versions), plan, seed
        medians = ([], [])
        benches = ()
        for number in range(plan.processes or self.most):
            for index, level in enumerate((0.01, 0.01 * self.ratio)):
                medians[index].append(level * np.exp(self.spread * self.random.standard_normal()))
            benches = tuple(self.bench(side) for side in medians)
            for index, bench in enumerate(benches):
                keep(index, bench)
            if self.interrupted_at == number + 1:
                raise KeyboardInterrupt
            if looked(benches):
                break
        return benches


@pytest.fixture
def harness(monkeypatch):
    import ridgeline.measurement.bench

    fake = Harness()
    monkeypatch.setattr(ridgeline.measurement.bench, "run_benchmarks", fake.run)
    return fake
