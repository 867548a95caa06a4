"""`has_levelled` on approaches with a known rest."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ridgeline.core import UsageError
from ridgeline.stats.levelling import has_levelled


@settings(deadline=None)
@given(st.floats(2.0, 50.0), st.floats(1.0, 100.0), st.sampled_from([-1.0, 1.0]))
def test_what_is_left_of_an_exponential_approach_is_within_the_tolerance(tau: float, rise: float, sign: float) -> None:
    values = 300 + sign * rise * (1 - np.exp(-np.arange(600.0) / tau))
    levelled_at = next((n for n in range(17, 601) if has_levelled(values[:n], 0.5)), None)
    assert levelled_at is not None
    # What moves by less than a tenth of the tolerance over the half, 0.1 × 0.5 here, is let pass by what is documented.
    hidden = rise * math.exp(-levelled_at / 2 / tau) * (1 - math.exp(-levelled_at / 2 / tau)) < 0.1
    assert rise * math.exp(-(levelled_at - 1) / tau) <= 0.5 or hidden


@settings(deadline=None)
@given(st.floats(0.02, 10.0), st.floats(-100.0, 100.0))
def test_a_ramp_never_levels(slope: float, start: float) -> None:
    assert not any(has_levelled([start + slope * i for i in range(n)], 0.5) for n in range(17, 300, 20))


def test_a_constant_levels_as_soon_as_there_is_enough_of_it() -> None:
    assert has_levelled([5.0] * 17, 1e-9)
    assert not has_levelled([5.0] * 16, 1.0)


def test_a_step_is_waited_out() -> None:
    stepped = [0.0] * 30 + [10.0] * 90
    assert not has_levelled(stepped[:45], 0.5)
    assert has_levelled(stepped, 0.5)


@given(st.lists(st.floats(-1e6, 1e6), min_size=17, max_size=60), st.floats(1e-3, 1e3), st.floats(0.5, 100.0))
def test_scale_and_shift_do_not_matter(values: list[float], tolerance: float, scale: float) -> None:
    exact = [float(round(value)) for value in values]
    factor = 2.0 ** round(math.log2(scale))
    assert has_levelled(exact, tolerance) == has_levelled([factor * value for value in exact], factor * tolerance)
    assert has_levelled(exact, tolerance) == has_levelled([-value for value in exact], tolerance)


def test_noise_and_short_cycles_do_not_keep_it_from_levelling() -> None:
    noise = np.random.default_rng(1).normal(0, 0.3, 90)
    assert has_levelled(300 + noise, 0.5)
    assert has_levelled([300 + 3 * math.sin(i) for i in range(90)], 0.5)


@pytest.mark.parametrize("values", [[], [math.nan] * 10, [math.inf] * 10])
def test_what_is_no_series(values: list[float]) -> None:
    with pytest.raises(UsageError):
        has_levelled(values, 1.0)
