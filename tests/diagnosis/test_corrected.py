"""A profile less the cost of its records: the sum comes back to the clean wall, large operators keep their time, small ones lose certainty."""

from __future__ import annotations

import pytest

from ridgeline.core import Diagnosis
from ridgeline.diagnosis import next as next_step
from ridgeline.diagnosis.corrected import corrected_rows, cost_of_a_record
from support.facts_by_hand import MB, buffer, facts, perturbed, row, samples


def given(instrumented_s: float = 0.0125):
    # One large product of 8 ms and 100 small operators; each record costs 25 µs.
    large = row("gemm", 0.008025, group="matmul", engine="fma", flop=0.8 * 128e9 * 0.008, reads=(buffer(1, MB),), writes=(buffer(2, MB),))
    small = row("small", 0.0044, calls=100.0, group="other", engine=None)
    return facts([large, small], wall_s=instrumented_s, samples=samples(0.01), levels=perturbed())


def test_the_cost_of_a_record_is_what_the_profile_added():
    cost = cost_of_a_record(given(), 0.01)
    assert cost == pytest.approx(0.0025 / 101)


def test_the_large_keep_their_time_and_the_small_their_doubt():
    rows = corrected_rows(given(), 0.01)
    assert rows is not None
    large, small = (r.total_s for r in rows)
    assert large.value == pytest.approx(0.008, rel=0.01)
    assert (large.high - large.low) / large.value < 0.06
    assert small.value == pytest.approx(0.0044 - 100 * 0.0025 / 101)
    assert small.low < 0.2 * small.value
    assert small.high >= 0.0044


def test_a_profile_that_is_mostly_its_own_cost_says_nothing():
    assert corrected_rows(given(instrumented_s=0.021), 0.01) is None
    assert corrected_rows(given(instrumented_s=0.009), 0.01) is None


def test_the_verdict_stands_on_the_corrected_times():
    found = next_step(given())
    assert isinstance(found, Diagnosis)
    assert found.bottleneck is not None
    assert (found.bottleneck.cause, found.bottleneck.where.operator) == ("near-peak", "gemm")
    assert found.bottleneck.share == pytest.approx(0.8, abs=0.02)
    assert "perturbed" in {w.code for w in found.warnings}
