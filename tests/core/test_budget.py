"""A budget is met, missed or undecided by the whole interval, never by the point."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ridgeline.core import Budget, GroundTruth, UsageError, parse_budget


def _truth(median: tuple[float, float], p99: tuple[float, float] | None) -> GroundTruth:
    return GroundTruth(
        samples=500, processes=1, warmup=0, first_s=None, median_s=median[0], median_ci_s=median, p99_s=p99[0] if p99 else None, p99_ci_s=p99,
        min_s=median[0], batched_s=None, noise_floor=None, overhead_s=None,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("text", "limit_s", "at"),
    [
        ("33.3ms@p99", 0.0333, "p99"),
        ("5 ms", 0.005, "median"),
        ("5ms@p50", 0.005, "median"),
        ("2us@MEDIAN", 2e-6, "median"),
        ("1s", 1.0, "median"),
        ("33.3ms@ p99", 0.0333, "p99"),
    ],
)
def test_what_is_written(text: str, limit_s: float, at: str) -> None:
    budget = parse_budget(text)
    assert (budget.limit_s, budget.at) == (pytest.approx(limit_s), at)


@pytest.mark.parametrize("text", ["", "@p99", "5ms@p95", "5ms@p90", "5ms@50", "0ms", "-1ms", "nan", "5GB", "5ms@p99@p99", "1e999s", "٣ms"])
def test_what_is_no_budget(text: str) -> None:
    with pytest.raises(UsageError):
        parse_budget(text)


@pytest.mark.parametrize("text", ["3", "33.3@p99", "1.", "1e-3"])
def test_a_number_without_its_unit_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="with its unit"):
        parse_budget(text)


def test_a_statistic_that_is_announced_must_be_named() -> None:
    with pytest.raises(UsageError, match=r"median \(p50\) or at p99"):
        parse_budget("33ms@")


def test_the_interval_decides() -> None:
    budget = Budget(limit_s=0.010)
    assert budget.state(_truth((0.008, 0.010), None)) == "met"
    assert budget.state(_truth((0.009, 0.011), None)) == "undecided"
    assert budget.state(_truth((0.0101, 0.012), None)) == "missed"


def test_a_p99_without_enough_samples() -> None:
    budget = Budget(limit_s=0.010, at="p99")
    assert budget.state(_truth((0.008, 0.009), None)) == "undecided"
    # The p99 is not under the median, which is over the limit already.
    assert budget.state(_truth((0.011, 0.012), None)) == "missed"
    assert budget.state(_truth((0.001, 0.002), (0.009, 0.010))) == "met"
    assert budget.state(_truth((0.001, 0.002), (0.011, 0.020))) == "missed"


@given(st.floats(1e-6, 1), st.floats(1e-6, 1), st.floats(1.0, 5.0))
def test_a_looser_budget_is_never_worse(low: float, limit: float, factor: float) -> None:
    order = {"missed": 0, "undecided": 1, "met": 2}
    truth = _truth((low, low * 1.1), (low * 2, low * 3))
    for at in ("median", "p99"):
        assert order[Budget(limit_s=limit, at=at).state(truth)] <= order[Budget(limit_s=limit * factor, at=at).state(truth)]
