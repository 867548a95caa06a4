"""Errors of predictions: closed answers, a second path through numpy, and laws."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ridgeline.core import UsageError
from ridgeline.model.validation import deciles, errors, errors_by, worst_rows
from ridgeline.stats import wilson_interval

TIMES = st.lists(st.tuples(st.floats(1e-6, 10), st.floats(1e-6, 10)), min_size=1, max_size=40)


def test_twice_and_half() -> None:
    found = errors(np.array([2.0, 0.5, 1.0, 1.0]), np.ones(4))
    assert (found.rows, found.mape, found.median, found.largest, found.bias) == (4, 0.375, 0.25, 1.0, 0.0)
    assert found.rmse_s == pytest.approx(math.sqrt((1 + 0.25) / 4))
    assert found.rmse_log == pytest.approx(math.log(2) / math.sqrt(2))
    assert found.spearman is None
    assert found.coverage is None


@given(TIMES)
def test_a_second_path(times: list[tuple[float, float]]) -> None:
    predicted, measured = (np.array(side) for side in zip(*times, strict=True))
    found = errors(predicted, measured)
    relative = [abs(p - m) / m for p, m in times]
    assert found.mape == pytest.approx(sum(relative) / len(relative))
    assert found.p90 == pytest.approx(float(np.percentile(relative, 90)))
    assert found.median <= found.p90 * (1 + 1e-12) <= found.largest * (1 + 1e-9)
    assert found.bias == pytest.approx(sum(math.log(p / m) for p, m in times) / len(times), abs=1e-9)
    assert found.rmse_log >= abs(found.bias) - 1e-12


@given(TIMES, st.floats(1e-3, 1e3))
def test_another_unit_changes_only_what_has_a_unit(times: list[tuple[float, float]], factor: float) -> None:
    predicted, measured = (np.array(side) for side in zip(*times, strict=True))
    one, other = errors(predicted, measured), errors(predicted * factor, measured * factor)
    assert other.mape == pytest.approx(one.mape, rel=1e-6, abs=1e-9)
    assert other.bias == pytest.approx(one.bias, rel=1e-6, abs=1e-9)
    assert other.rmse_s == pytest.approx(one.rmse_s * factor, rel=1e-6, abs=1e-15)


def test_coverage_has_an_interval_of_its_own() -> None:
    measured = np.linspace(1, 2, 10)
    found = errors(measured, measured, measured - 0.1, np.where(measured < 1.95, measured + 0.1, measured - 0.01))
    assert found.coverage is not None
    assert (found.coverage.value, (found.coverage.low, found.coverage.high)) == (0.9, wilson_interval(9, 10))
    assert found.mean_width == pytest.approx(float(np.mean(np.r_[np.full(9, 0.2), 0.09] / measured)))


def test_groups_add_up_to_the_whole() -> None:
    draw = np.random.default_rng(1)
    measured = np.exp(draw.normal(size=200))
    predicted = measured * np.exp(0.1 * draw.normal(size=200))
    names = draw.choice(["a", "b", "c"], 200).tolist()
    groups = errors_by("kind", names, predicted, measured)
    assert [group.name for group in groups] == ["a", "b", "c"]
    whole = errors(predicted, measured)
    assert sum(group.errors.rows for group in groups) == 200
    assert sum(group.errors.rows * group.errors.mape for group in groups) / 200 == pytest.approx(whole.mape)
    assert max(group.errors.largest for group in groups) == whole.largest


def test_tenths_hold_a_tenth_each() -> None:
    found = deciles(np.random.default_rng(0).permutation(1000.0 + np.arange(1000)))
    assert {found.count(name) for name in set(found)} == {100}
    assert len(set(found)) == 10


def test_the_worst_is_far_to_either_side() -> None:
    assert worst_rows(np.array([1.0, 4.0, 0.1, 1.1]), np.ones(4), 2) == [2, 1]


@pytest.mark.parametrize(
    ("predicted", "measured"), [([], []), ([1.0], [1.0, 2.0]), ([0.0], [1.0]), ([1.0], [-1.0]), ([math.nan], [1.0]), ([1.0], [math.inf])]
)
def test_times_that_are_none(predicted: list[float], measured: list[float]) -> None:
    with pytest.raises(UsageError):
        errors(np.array(predicted), np.array(measured))


def test_intervals_that_do_not_fit() -> None:
    one = np.ones(2)
    with pytest.raises(UsageError):
        errors(one, one, one, one - 0.5)
    with pytest.raises(UsageError):
        errors(one, one, np.ones(1), np.ones(1))
    with pytest.raises(UsageError):
        errors_by("kind", ["a"], one, one)
