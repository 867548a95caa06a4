"""The harness under a fake clock: times are exact, nothing sleeps."""

from __future__ import annotations

import numpy as np
import pytest

from ridgeline.measurement.harness import Plan, measure


class FakeClock:
    """Nanoseconds that move only when somebody works."""

    def __init__(self) -> None:
        self.now = 0
        self.calls = 0

    def __call__(self) -> int:
        return self.now

    def work(self, ns: int):
        def call() -> None:
            self.calls += 1
            self.now += ns

        return call


def test_every_sample_is_kept_and_exact():
    clock = FakeClock()
    found = measure(clock.work(2_000_000), clock=clock, plan=Plan(budget_s=1.0, samples=100))
    assert len(found.samples) == 100
    assert np.all(found.samples.wall_s.values == 0.002)
    assert found.steady is True
    assert found.noise_floor == 0.0


def test_the_budget_ends_it_and_a_slow_call_still_gets_its_least():
    clock = FakeClock()
    found = measure(clock.work(20_000_000_000), clock=clock, plan=Plan(budget_s=8.0, samples=500, at_least=3))
    assert len(found.samples) == 3
    assert found.batched_s is None


def test_warm_up_is_left_out():
    clock = FakeClock()
    slow = iter([50_000_000] * 5)

    def call() -> None:
        clock.now += next(slow, 1_000_000)

    found = measure(call, clock=clock, plan=Plan(budget_s=4.0, samples=200))
    assert found.warmup >= 5
    assert found.samples.wall_s.values.max() == 0.001


def test_batched_is_throughput_and_synchronises_once():
    clock = FakeClock()
    pending = {"work": 0}

    def call() -> None:
        # Issued at once, done only when somebody waits: 10 µs to issue; waiting costs 100 µs for one and nothing more for many.
        clock.now += 10_000
        pending["work"] = 1

    def wait(_: object) -> None:
        clock.now += 100_000 * pending["work"]
        pending["work"] = 0

    found = measure(call, synchronise=wait, clock=clock, plan=Plan(budget_s=2.0, samples=300))
    assert np.median(found.samples.wall_s.values) == pytest.approx(110e-6)
    assert found.batched_s is not None
    assert found.batched_s.value == pytest.approx(10e-6 + 100e-6 / 454, rel=0.05)


def test_sentinels_run_between_samples_and_never_inside_one():
    clock = FakeClock()
    runs = []

    def sentinel() -> None:
        runs.append(clock.now)
        clock.now += 10_000_000

    found = measure(clock.work(5_000_000), clock=clock, sentinel=sentinel, plan=Plan(budget_s=5.0, samples=400, sentinel_every_s=0.5))
    assert len(runs) >= 4
    assert found.sentinel_runs == len(runs)
    assert np.all(found.samples.wall_s.values == 0.005)


def test_a_raising_call_raises():
    def call() -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        measure(call, clock=FakeClock())


def test_what_was_taken_so_far_is_handed_over_between_samples():
    clock = FakeClock()
    kept = []
    found = measure(clock.work(100_000_000), clock=clock, keep=kept.append, plan=Plan(budget_s=20.0, samples=500, keep_every_s=2.0))
    assert [len(part) for part in kept] == sorted({len(part) for part in kept})
    assert len(kept) >= 5
    whole = found.samples.wall_s.values
    assert all(np.array_equal(part.wall_s.values, whole[: len(part)]) for part in kept)
