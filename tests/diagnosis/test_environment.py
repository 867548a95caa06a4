"""What a quiet machine is worth: a figure only where calls were seen that bound it."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

from ridgeline.core import Action, Column, Sentinels
from ridgeline.diagnosis import next as next_step
from support.facts_by_hand import around, facts, row, samples

#: A caller that waits 36 % of its time: 1.56× at the least were there nothing else.
BUSY = Sentinels(fma_ratio=around(0.9, "1"), run_queue_share=0.36, steal_share=0.0, other_load=2.0)


def fixes(walls) -> list[Action]:
    taken = msgspec.structs.replace(samples(0.0045, len(walls)), wall_s=Column(np.asarray(walls) * 1e-3, "s"))
    found = next_step(facts([row("op", 0.004, group="other")], samples=taken, sentinels=BUSY))
    assert found.bottleneck.cause == "interference"
    assert "at least 36%" in found.bottleneck.summary
    return [action for action in found.actions if action.action == "fix-environment"]


def test_the_fastest_calls_bound_what_quiet_is_worth_and_not_the_share_that_is_seen_to_be_lost():
    """The planted case: 4.5 ms beside a neighbour, 1 ms where a call was left alone."""
    (fix,) = fixes(np.r_[np.full(290, 4.5), np.full(10, 1.0)])
    low, high = fix.speedup
    assert low == pytest.approx(1 + (1 / 0.64 - 1) / 2, rel=0.01)
    # Amdahl at a share of at most 99.5 %.
    assert high == pytest.approx(4.5, rel=0.03)


@pytest.mark.parametrize("walls", [np.full(300, 4.5), np.r_[np.full(290, 4.5), np.full(10, 3.0)], np.r_[np.full(14, 4.5), np.full(2, 1.0)]])
def test_no_figure_where_no_call_was_left_alone_or_too_few_were_seen(walls):
    assert fixes(walls) == []
