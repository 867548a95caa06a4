import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ridgeline.measurement.probe.summary import agree, summarise

RATES = st.lists(st.floats(min_value=1e-9, max_value=1e15), min_size=1, max_size=20)


def test_the_value_is_the_second_best_of_five_and_the_interval_begins_at_the_median() -> None:
    summary = summarise([5.0, 1.0, 4.0, 2.0, 3.0], unit="B/s", lower_is_better=False, origin="x")
    assert (summary.quantity.low, summary.quantity.value, summary.quantity.high) == (3.0, 4.0, 5.0)
    assert summary.spread == pytest.approx(4 / 3)
    assert not summary.stable


def test_for_a_time_the_good_end_is_the_low_one() -> None:
    summary = summarise([5.0, 1.0, 4.0, 2.0, 3.0], unit="s", lower_is_better=True, origin="")
    assert (summary.quantity.low, summary.quantity.value, summary.quantity.high) == (1.0, 2.0, 3.0)


def test_one_lucky_reading_does_not_make_a_ceiling() -> None:
    assert summarise([10.0] * 6 + [1000.0], unit="B/s", lower_is_better=False, origin="").quantity.value == 10.0


def test_a_neighbour_in_a_third_of_the_readings_changes_neither_value_nor_stability() -> None:
    quiet = [100.0, 101.0, 99.0, 100.5, 100.2]
    alone = summarise(quiet, unit="B/s", lower_is_better=False, origin="")
    beside = summarise([*quiet, 40.0, 55.0], unit="B/s", lower_is_better=False, origin="")
    assert beside.quantity.value == alone.quantity.value
    assert beside.stable
    assert beside.spread > 0.5


def test_confidence_is_the_coverage_of_the_better_quartile() -> None:
    # n = 7, order statistics 4 and 7: P(4 ≤ B ≤ 6), B ~ Binomial(7, 3/4), by hand.
    expected = sum(math.comb(7, b) * 0.75**b * 0.25 ** (7 - b) for b in (4, 5, 6))
    assert summarise([1.0, 2, 3, 4, 5, 6, 7], unit="B/s", lower_is_better=False, origin="").quantity.confidence == pytest.approx(expected)
    assert summarise([1.0], unit="B/s", lower_is_better=False, origin="").quantity.confidence == 0.01


def test_a_single_reading_is_never_stable() -> None:
    assert not agree([1.0], lower_is_better=False)
    assert agree([1.0, 1.0], lower_is_better=False)


@given(readings=RATES)
def test_intervals_enclose_the_value_and_lie_within_the_readings(readings: list[float]) -> None:
    for lower in (True, False):
        quantity = summarise(readings, unit="op/s", lower_is_better=lower, origin="").quantity
        assert min(readings) <= quantity.low <= quantity.value <= quantity.high <= max(readings)
        assert 0 < quantity.confidence <= 1


@given(readings=st.lists(st.floats(min_value=1e-3, max_value=1e6), min_size=1, max_size=20), power=st.integers(min_value=-20, max_value=20))
def test_scaling_the_readings_scales_the_answer(readings: list[float], power: int) -> None:
    factor = 2.0**power
    plain = summarise(readings, unit="op/s", lower_is_better=False, origin="")
    scaled = summarise([factor * one for one in readings], unit="op/s", lower_is_better=False, origin="")
    assert scaled.quantity.value == factor * plain.quantity.value
    assert scaled.spread == pytest.approx(plain.spread)
    assert scaled.stable == plain.stable


@given(readings=RATES)
def test_order_of_the_readings_does_not_matter(readings: list[float]) -> None:
    one = summarise(readings, unit="op/s", lower_is_better=False, origin="")
    assert one == summarise(readings[::-1], unit="op/s", lower_is_better=False, origin="")
