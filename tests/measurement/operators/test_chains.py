"""The cost of one more operator, from calls whose length is known; a fake clock, so that no time is measured."""

from __future__ import annotations

import pytest

from ridgeline.measurement.operators import chains
from ridgeline.measurement.operators.chains import LENGTHS, slope


class Clock:
    """Runs of known length, each now and then disturbed."""

    def __init__(self) -> None:
        self.now, self.calls = 0.0, 0

    def run(self, seconds: float) -> None:
        self.calls += 1
        self.now += seconds + (1.0 if self.calls % 3 == 0 else 0.0)


@pytest.mark.parametrize(("each_s", "wanted"), [(2e-6, 2e-6), (0.0, 0.0), (-1e-6, 0.0)])
def test_the_slope_is_the_cost_of_one_more_and_never_below_zero(monkeypatch, each_s, wanted):
    clock = Clock()
    monkeypatch.setattr(chains.time, "perf_counter", lambda: clock.now)
    found = slope([lambda length=length: clock.run(1e-3 + each_s * length) for length in LENGTHS], 5, "by hand")
    assert found.value == pytest.approx(wanted, abs=1e-12)
    assert 0.0 <= found.low <= found.value <= found.high
    assert clock.calls == 8 * 5 * len(LENGTHS)
