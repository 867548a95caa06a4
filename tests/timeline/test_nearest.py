"""The nearest element that is great enough, against looking at every pair."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ridgeline.timeline.nearest import earlier_at_least, later_above

UNTIMED = settings(deadline=None)
VALUES = st.lists(st.integers(-5, 12), max_size=60)


@UNTIMED
@given(VALUES, st.integers(0, 1))
def test_agrees_with_looking_at_every_pair(values: list[int], more: int) -> None:
    given_values = np.array(values, np.int64)
    expected = [max((j for j in range(i) if values[j] >= values[i] + more), default=-1) for i in range(len(values))]
    assert earlier_at_least(given_values, given_values + more).tolist() == expected
    above = [min((j for j in range(i + 1, len(values)) if values[j] > values[i]), default=len(values)) for i in range(len(values))]
    assert later_above(given_values).tolist() == above


@pytest.mark.parametrize("deep", [10, 3000])
def test_a_slope_down_and_up_again_leads_to_its_mirror(deep: int) -> None:
    # Every element of the way up has the one of the same height on the way down; that is more steps than jumps reach at once.
    values = np.concatenate((np.arange(deep)[::-1], np.arange(deep)))
    assert earlier_at_least(values, values)[deep:].tolist() == [deep - 1 - height for height in range(deep)]


def test_a_long_row_that_rises_has_nothing_before_it() -> None:
    values = np.concatenate(([10**6], np.arange(20_000)))
    found = earlier_at_least(values, values)
    assert found[0] == -1
    assert (found[1:] == 0).all()
