"""The opening and the chapter on measuring: what a local gain is worth, the timing loop, outliers, and what a profiler adds."""

from __future__ import annotations

import math

import pytest

from ridgeline import laws
from ridgeline.core import Quantity
from ridgeline.flows.instruments.surroundings import perturbed
from ridgeline.stats import minimum_samples, quantile_interval
from support.printed import is_printed


def test_a_local_gain_on_a_small_share():
    """A part of 7 % made 30 % faster. Read as 1.3 times the speed it saves 1.6 % of the frame, read as 30 % less time 2.1 %: both print as 2."""
    by_speed = 1 - 1 / laws.speedup(share=0.07, local_speedup=1.3)
    by_time = 1 - 1 / laws.speedup(share=0.07, local_speedup=1 / 0.7)
    assert is_printed(100 * by_speed, "2")
    assert is_printed(100 * by_time, "2")
    assert by_time == pytest.approx(0.07 * 0.3)
    # The rest of the frame, and all that perfect work on the part could have given.
    assert is_printed(100 * (1 - 0.07), "93")
    assert laws.speedup_bound(share=0.07) == pytest.approx(1 / 0.93)


@pytest.mark.parametrize(("n", "median_rank", "p99_rank"), [(500, 251, 496), (50, 26, 50), (100, 51, 100), (1, 1, 1)])
def test_ranks_that_the_timing_loop_reads(n: int, median_rank: int, p99_rank: int):
    """The loop sorts n samples and reads places n // 2 and min(n − 1, int(0.99 n)), counted from zero.

    Of fifty samples that is the slowest, where the margin speaks of the second slowest; ridgeline gives no p99 there at all.
    """
    ordered = list(range(1, n + 1))
    assert ordered[n // 2] == median_rank
    assert ordered[min(n - 1, int(0.99 * n))] == p99_rank


def test_how_many_samples_a_p99_needs():
    """A hundred to exist, nearer a thousand to be compared. An upper bound at 95 % exists from 299 on: the first n with 0.99ⁿ ≤ 0.05."""
    needed = minimum_samples(0.99, 0.95)
    assert needed == math.ceil(math.log(0.05) / math.log(0.99)) == 299
    assert 100 <= needed <= 1000
    assert quantile_interval(range(1, 51), 0.99) is None
    # The loop's own five hundred are enough for one with both ends.
    found = quantile_interval(range(1, 501), 0.99)
    assert found is not None
    assert found.low <= 495 <= found.high


def test_one_outlier_moves_the_mean_and_not_the_median():
    samples = [8.0] * 499 + [200.0]
    shift = sum(samples) / 500 - 8
    assert is_printed(shift, "0.4")
    assert shift == pytest.approx((200 - 8) / 500)
    assert sorted(samples)[250] == 8
    # The lower end of the changes that one hopes to see, 5 to 10 % of the kernel.
    assert is_printed(0.05 * 8, "0.4")


@pytest.mark.parametrize(("rate", "handler", "percent"), [(1e3, 1e-6, "0.1"), (1e3, 2e-6, "0.2"), (100e3, 1e-6, "10"), (100e3, 2e-6, "20")])
def test_overhead_of_a_sampling_profiler(rate: float, handler: float, percent: str):
    assert is_printed(100 * laws.overhead_share(handler_seconds=handler, rate=rate), percent)


@pytest.mark.parametrize(("cost", "percent"), [(1e-6, "4"), (10e-6, "37")])
def test_overhead_of_wrapping_every_operator(cost: float, percent: str):
    """300 operators in 8 ms: 3.75 % and 37.5 %; the text rounds the first up and cuts the second."""
    assert is_printed(100 * laws.per_operator_share(operators=300, cost=cost, wall=8e-3), percent)


def test_a_profile_of_14_ms_of_a_model_of_8_is_perturbed():
    def ratio(value: float) -> Quantity:
        return Quantity(value=value, low=value * 0.99, high=value * 1.01, confidence=0.95, unit="1", source="measured")

    assert perturbed(ratio(14 / 8)) is True
    assert perturbed(ratio(1.05)) is False
    assert perturbed(ratio(1.10)) is None  # an interval across the limit settles nothing


@pytest.mark.parametrize(("call", "sync", "least"), [(30e-6, 5e-6, 0.14), (30e-6, 20e-6, 0.39)])
def test_share_of_synchronising_in_a_call_of_30_microseconds(call: float, sync: float, least: float):
    """5 to 20 µs around a call of 30: a seventh to two fifths of what the stopwatch shows. The text prints no figure."""
    share = laws.gap_share(wall=call + sync, operators=call)
    assert least < share < least + 0.02
