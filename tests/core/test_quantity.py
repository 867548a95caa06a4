"""Quantities: interval arithmetic must contain the truth, confidence only falls, the weakest source wins."""

from __future__ import annotations

import math
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ridgeline.core import Quantity, UsageError, product, quotient, total
from ridgeline.core.quantity import _WEAKNESS, Source

positive = st.floats(1e-6, 1e6)


@st.composite
def quantities(draw: st.DrawFn, unit: str = "s") -> tuple[Quantity, float]:
    """A quantity and a true value somewhere inside its interval."""
    low, value, high = sorted(draw(st.tuples(positive, positive, positive)))
    truth = draw(st.floats(low, high))
    confidence = draw(st.floats(0.5, 1.0))
    source = draw(st.sampled_from(get_args(Source)))
    return Quantity(value=value, low=low, high=high, confidence=confidence, unit=unit, source=source, origin="drawn"), truth


@given(quantities("FLOP"), quantities("s"))
def test_quotient_contains_every_true_quotient(a: tuple[Quantity, float], b: tuple[Quantity, float]) -> None:
    found = quotient(a[0], b[0], "FLOP/s")
    assert found.low <= a[1] / b[1] <= found.high
    assert found.low <= found.value <= found.high
    assert found.confidence <= min(a[0].confidence, b[0].confidence)


@given(quantities("FLOP/s"), quantities("s"))
def test_product_contains_every_true_product(a: tuple[Quantity, float], b: tuple[Quantity, float]) -> None:
    found = product(a[0], b[0], "FLOP")
    assert found.low <= a[1] * b[1] <= found.high
    assert found.confidence <= min(a[0].confidence, b[0].confidence)
    assert found == product(b[0], a[0], "FLOP", origin=found.origin)


@given(st.lists(quantities(), min_size=1, max_size=6))
def test_total_contains_every_true_sum(drawn: list[tuple[Quantity, float]]) -> None:
    found = total([quantity for quantity, _ in drawn], "s")
    truth = math.fsum(value for _, value in drawn)
    assert found.low <= truth <= found.high
    assert _WEAKNESS.index(found.source) == max(_WEAKNESS.index(quantity.source) for quantity, _ in drawn)


@given(quantities(), st.floats(1e-3, 1e3))
def test_scaling_scales_the_whole_interval(drawn: tuple[Quantity, float], factor: float) -> None:
    found = drawn[0].scaled(factor)
    assert found.low <= drawn[1] * factor <= found.high
    assert found.unit == drawn[0].unit
    assert found.confidence == drawn[0].confidence


@given(quantities(), positive)
def test_straddling_means_ends_on_both_sides(drawn: tuple[Quantity, float], threshold: float) -> None:
    quantity = drawn[0]
    below, above = quantity.low < threshold, quantity.high >= threshold
    assert quantity.straddles(threshold) == (below and above)


def test_every_source_has_a_place_in_the_order() -> None:
    assert set(_WEAKNESS) == set(get_args(Source))


def test_bonferroni() -> None:
    a = Quantity(value=2, low=1, high=3, confidence=0.95, unit="FLOP", source="measured")
    b = Quantity(value=2, low=1, high=4, confidence=0.9, unit="s", source="spec")
    found = quotient(a, b, "FLOP/s")
    assert (found.value, found.low, found.high) == (1, 0.25, 3)
    assert found.confidence == pytest.approx(0.85)
    assert found.source == "spec"


@pytest.mark.parametrize(
    "change",
    [
        {"value": math.nan},
        {"low": -math.inf},
        {"high": math.inf},
        {"low": 2.5},
        {"high": 1.5},
        {"confidence": 0.0},
        {"confidence": 1.5},
        {"confidence": math.nan},
        {"unit": "ms"},
        {"source": "guessed"},
    ],
)
def test_what_is_no_quantity_is_refused(change: dict[str, object]) -> None:
    good: dict[str, object] = {"value": 2.0, "low": 1.0, "high": 3.0, "confidence": 0.95, "unit": "s", "source": "measured"}
    Quantity(**good)  # type: ignore[arg-type]
    with pytest.raises(UsageError):
        Quantity(**{**good, **change})  # type: ignore[arg-type]


def test_quantities_that_cannot_be_combined() -> None:
    one = Quantity.exact(1, "s")
    zero = Quantity(value=1, low=0, high=2, confidence=0.9, unit="s", source="measured")
    negative = Quantity(value=0, low=-1, high=2, confidence=0.9, unit="s", source="measured")
    for call in (
        lambda: quotient(one, zero, "1"),
        lambda: quotient(negative, one, "1"),
        lambda: product(negative, one, "1"),
        lambda: total([one, Quantity.exact(1, "B")], "s"),
        lambda: one.scaled(0),
        lambda: one.scaled(math.nan),
    ):
        with pytest.raises(UsageError):
            call()


def test_nothing_sums_to_nothing() -> None:
    assert total([], "s") == Quantity.exact(0.0, "s")


def test_an_end_that_misses_the_value_by_rounding_becomes_the_value() -> None:
    """Six equal times have a mean that is one unit in the last place above them: a number, not a mistake."""
    above = Quantity(value=0.006078695946698095, low=0.0059, high=0.006078695946698094, confidence=0.95, unit="s", source="measured")
    assert above.high == above.value
    below = Quantity(value=1.0, low=1.0 + 2.0**-52, high=2.0, confidence=0.95, unit="s", source="measured")
    assert below.low == below.value
    with pytest.raises(UsageError, match="low ≤ value ≤ high"):
        Quantity(value=1.0, low=1.0 + 1e-9, high=2.0, confidence=0.95, unit="s", source="measured")
