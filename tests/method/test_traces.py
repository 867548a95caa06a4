"""The chapters on overheads, tools and traces: the gap, sampling error, partitions, serialised stages, the critical path."""

from __future__ import annotations

from itertools import pairwise

import pytest

from ridgeline import laws
from ridgeline.timeline import union_length
from support.printed import is_printed


def test_the_gap_between_operators_and_the_frame():
    gap = laws.gap(wall=11.4e-3, operators=6.2e-3)
    assert is_printed(gap * 1e3, "5.2")
    share = laws.gap_share(wall=11.4e-3, operators=6.2e-3)
    assert is_printed(100 * share, "46")
    assert 0.30 <= share <= 0.60


@pytest.mark.parametrize("factor", [2, 4, 10])
def test_sampling_error_falls_with_the_root_of_the_samples(factor: int):
    assert laws.relative_error(samples=100 * factor**2) == pytest.approx(laws.relative_error(samples=100) / factor)


def test_seven_partitions_have_six_hand_offs_and_come_from_three_operators():
    """Operators that are not supported, none beside another and none at an end, cut a chain: u of them leave u + 1 accelerated pieces and u
    pieces on the CPU, so three make the text's seven partitions with six boundaries."""
    chain = "NNNCNNCNNNNCNN"  # N on the accelerator, C on the CPU
    boundaries = sum(before != after for before, after in pairwise(chain))
    assert chain.count("C") == 3
    assert boundaries == 2 * 3 == 6
    assert boundaries + 1 == 7


def test_stages_that_overlap_take_the_longer_and_not_the_sum():
    """14 ms on one lane and 9 ms on the other: 23 ms one after the other, 14 ms a frame when frames overlap, 1.64 times the frames."""
    assert union_length([0, 14], [14, 23]) == 23
    steady = union_length([0, 0], [14, 9])
    assert steady == 14
    assert is_printed(23 / steady, "1.64")
    # Period, not latency: one frame still passes through both.
    assert laws.speedup(share=9 / 23, local_speedup=float("inf")) == pytest.approx(23 / 14)


def test_off_the_critical_path_three_times_faster_changes_nothing():
    assert laws.speedup(share=0.0, local_speedup=3) == 1
