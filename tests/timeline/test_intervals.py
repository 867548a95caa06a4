"""Unions of intervals: closed-form answers, laws, and a second path that marks every tick."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ridgeline.core import UsageError
from ridgeline.timeline.intervals import (
    covered_before,
    grouped_merge,
    grouped_union,
    intersect,
    merge,
    overlap_length,
    subtract,
    twice_covered,
    union_length,
)

INTERVALS = st.lists(st.tuples(st.integers(-200, 200), st.integers(0, 60)), max_size=40)


def split(intervals: list[tuple[int, int]]) -> tuple[list[int], list[int]]:
    return [start for start, _ in intervals], [start + length for start, length in intervals]


def test_overlap_counts_once_and_gaps_do_not_count() -> None:
    assert union_length([0, 2, 10], [4, 6, 11]) == 7


def test_one_inside_another_adds_nothing() -> None:
    assert union_length([0, 2], [10, 3]) == 10


def test_no_intervals_have_no_length() -> None:
    assert union_length([], []) == 0


def test_touching_intervals_become_one() -> None:
    starts, ends = merge([3, 0], [5, 3])
    assert (starts.tolist(), ends.tolist()) == ([0], [5])


@settings(deadline=None)
@given(INTERVALS)
def test_agrees_with_marking_every_tick(intervals: list[tuple[int, int]]) -> None:
    marked = {tick for start, length in intervals for tick in range(start, start + length)}
    assert union_length(*split(intervals)) == len(marked)


@settings(deadline=None)
@given(INTERVALS)
def test_is_at_most_the_sum_and_the_span(intervals: list[tuple[int, int]]) -> None:
    starts, ends = split(intervals)
    union = union_length(starts, ends)
    assert 0 <= union <= sum(length for _, length in intervals)
    assert union <= (max(ends) - min(starts) if intervals else 0)
    assert union >= max((length for _, length in intervals), default=0)


@settings(deadline=None)
@given(INTERVALS, st.randoms(use_true_random=False))
def test_order_does_not_matter(intervals: list[tuple[int, int]], random: object) -> None:
    shuffled = list(intervals)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert union_length(*split(shuffled)) == union_length(*split(intervals))


@settings(deadline=None)
@given(INTERVALS, st.integers(1, 1000), st.integers(-(10**15), 10**15))
def test_scales_with_the_tick_and_ignores_the_origin(intervals: list[tuple[int, int]], factor: int, origin: int) -> None:
    starts, ends = split(intervals)
    moved = union_length([origin + factor * s for s in starts], [origin + factor * e for e in ends])
    assert moved == factor * union_length(starts, ends)


@settings(deadline=None)
@given(INTERVALS)
def test_merged_intervals_are_disjoint_sorted_and_as_long(intervals: list[tuple[int, int]]) -> None:
    starts, ends = merge(*split(intervals))
    assert bool((starts[1:] > ends[:-1]).all())
    assert bool((ends > starts).all())
    assert int((ends - starts).sum()) == union_length(*split(intervals))


def test_unsigned_ticks_do_not_wrap() -> None:
    assert union_length(np.array([2**62, 5], dtype=np.uint64), np.array([2**62 + 1, 9], dtype=np.uint64)) == 5


def test_seconds_stay_seconds() -> None:
    assert union_length([0.5], [0.75]) == 0.25


@pytest.mark.parametrize(
    ("starts", "ends"),
    [([1], [0]), ([0, 1], [2]), ([[0]], [[1]]), ([0.0], [float("nan")]), ([0.0], [float("inf")]), (["a"], ["b"]), ([[0], [1, 2]], [1, 2])],
)
def test_what_is_no_interval_is_refused(starts: list[object], ends: list[object]) -> None:
    with pytest.raises(UsageError):
        union_length(starts, ends)  # type: ignore[arg-type]


GROUPED = st.lists(st.tuples(st.integers(0, 4), st.integers(-200, 200), st.integers(0, 60)), max_size=40)


def marked(intervals: list[tuple[int, int]]) -> set[int]:
    return {tick for start, length in intervals for tick in range(start, start + length)}


def all_of(merged: tuple[np.ndarray, np.ndarray]) -> set[int]:
    return {tick for start, end in zip(*(part.tolist() for part in merged), strict=True) for tick in range(start, end)}


@settings(deadline=None)
@given(INTERVALS, INTERVALS)
def test_common_and_remaining_parts_agree_with_marking_every_tick(one: list[tuple[int, int]], other: list[tuple[int, int]]) -> None:
    a, b = merge(*split(one)), merge(*split(other))
    assert all_of(intersect(a, b)) == marked(one) & marked(other)
    assert all_of(subtract(a, b)) == marked(one) - marked(other)
    assert overlap_length(a, b) == len(marked(one) & marked(other))
    assert overlap_length(a, b) + int((subtract(a, b)[1] - subtract(a, b)[0]).sum()) == union_length(*split(one))


@settings(deadline=None)
@given(INTERVALS)
def test_what_is_covered_twice_agrees_with_counting_at_every_tick(intervals: list[tuple[int, int]]) -> None:
    counts = [tick for start, length in intervals for tick in range(start, start + length)]
    starts, ends = (np.array(part, dtype=np.int64) for part in split(intervals))
    assert all_of(twice_covered(starts, ends)) == {tick for tick in counts if counts.count(tick) > 1}


@settings(deadline=None)
@given(INTERVALS, st.lists(st.integers(-250, 300), max_size=9))
def test_what_is_covered_before_a_tick_agrees_with_counting(intervals: list[tuple[int, int]], ticks: list[int]) -> None:
    found = covered_before(merge(*split(intervals)), ticks).tolist()
    assert found == [sum(tick < at for tick in marked(intervals)) for at in ticks]


@settings(deadline=None)
@given(GROUPED, st.sampled_from([1, 2**54]))
def test_groups_are_merged_as_if_each_were_alone(rows: list[tuple[int, int, int]], factor: int) -> None:
    groups = np.array([row[0] for row in rows], dtype=np.int64)
    starts, ends = (factor * np.array(part, dtype=np.int64) for part in split([row[1:] for row in rows]))
    group, low, high = grouped_merge(groups, starts, ends)
    for each in range(5):
        alone = merge(starts[groups == each], ends[groups == each])
        assert (low[group == each].tolist(), high[group == each].tolist()) == (alone[0].tolist(), alone[1].tolist())
    unions = grouped_union(groups, starts, ends, 5).tolist()
    assert unions == [union_length(starts[groups == each], ends[groups == each]) for each in range(5)]
