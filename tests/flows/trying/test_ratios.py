"""The speedup of interleaved blocks: closed forms, and what must cancel."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ridgeline.flows.trying.ratios import BlockPair, speedup_of, tail_of


def pairs(factor: float, count: int = 8, calls: int = 5, rounds: int = 1, drift: float = 0.0) -> list[BlockPair]:
    made = []
    for index in range(count):
        base = 1e-3 * (1 + drift * index)
        made.append(BlockPair(np.full(calls, base), np.full(calls, base / factor), index % rounds))
    return made


@settings(deadline=None)
@given(st.floats(0.01, 100), st.floats(0, 5))
def test_what_moves_both_sides_alike_cancels(factor, drift):
    found = speedup_of(pairs(factor, drift=drift))
    assert found.value == pytest.approx(factor)
    assert found.low == pytest.approx(factor)
    assert found.high == pytest.approx(factor)


def test_one_wild_block_in_twelve_does_not_move_the_interval_far():
    made = pairs(2.0, count=12)
    made[3] = BlockPair(made[3].before * 50, made[3].after)
    found = speedup_of(made)
    assert (found.value, found.low, found.high) == (pytest.approx(2.0), pytest.approx(2.0), pytest.approx(2.0))


def test_pairs_of_processes_that_disagree_widen_the_interval():
    made = [*pairs(1.0, count=8), *(BlockPair(p.before, p.after / 1.1, 1) for p in pairs(1.0, count=8))]
    found = speedup_of(made)
    assert found.low <= 1.0
    assert found.high >= 1.1
    assert "2 pairs of processes" in found.origin


def test_few_pairs_give_their_range_and_less_confidence():
    made = pairs(2.0, count=3)
    made[0] = BlockPair(made[0].before * 1.5, made[0].after)
    found = speedup_of(made)
    assert (found.low, found.high) == (pytest.approx(2.0), pytest.approx(3.0))
    assert found.confidence == pytest.approx(0.75)
    assert speedup_of(pairs(2.0, count=1)) is None


def test_the_tail_is_its_own_ratio():
    made = []
    for _ in range(12):
        before = np.full(20, 1e-3)
        after = np.full(20, 5e-4)
        after[:4] = 4e-3  # a fifth of the calls: the median halves, the 95th percentile is four times as long
        made.append(BlockPair(before, after))
    assert speedup_of(made).value == pytest.approx(2.0)
    assert tail_of(made).value == pytest.approx(0.25)
    assert tail_of(made).high < 0.5
    assert tail_of(pairs(2.0, count=4, calls=5)) is None
