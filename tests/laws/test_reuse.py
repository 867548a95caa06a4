"""Reuse distances: worked sequences, and what holds for every one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ridgeline.laws.reuse import Touch, reuse_distances


def whole(buffer: int, size: int) -> Touch:
    return Touch(buffer, 0, size, size)


def test_a_ring_of_two_buffers_comes_back_after_both() -> None:
    assert reuse_distances([whole(1, 100), whole(2, 50)]) == [150, 150]


def test_what_is_touched_twice_in_a_row_is_as_near_as_it_is_large() -> None:
    assert reuse_distances([whole(1, 100), whole(1, 100), whole(2, 50)]) == [150, 100, 150]


def test_without_a_ring_the_first_touch_is_as_far_as_everything_so_far() -> None:
    assert reuse_distances([whole(1, 100), whole(2, 50), whole(1, 100)], ring=False) == [100, 150, 150]


def test_a_loop_over_tiles_touches_each_tile_from_afar_once() -> None:
    # Two operators on each of ten tiles of 100 bytes: the first finds the tile 1000 bytes away, the second finds it where the first left it.
    tiles = [Touch(1, start, start + 100, 100) for start in range(0, 1000, 100) for _ in range(2)]
    assert reuse_distances(tiles) == [1000, 100] * 10


def test_two_passes_over_everything_find_all_of_it_far_away() -> None:
    passes = [Touch(1, start, start + 100, 100) for _ in range(2) for start in range(0, 1000, 100)]
    assert reuse_distances(passes) == [1000] * 20


def test_a_whole_made_of_tiles_is_as_far_as_its_first_tile() -> None:
    tiles = [Touch(1, start, start + 100, 100) for start in range(0, 1000, 100)]
    assert reuse_distances([*tiles, whole(1, 1000)], ring=False)[-1] == 1000


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(1, 100)), max_size=30))
def test_a_distance_lies_between_the_own_size_and_the_footprint(given_touches: list[tuple[int, int]]) -> None:
    sizes = dict(given_touches)
    touches = [whole(buffer, sizes[buffer]) for buffer, _ in given_touches]
    for touch, distance in zip(touches, reuse_distances(touches), strict=True):
        assert touch.size_bytes <= distance <= sum(sizes.values())


@pytest.mark.parametrize("factor", [2, 1000])
def test_distances_scale_with_the_buffers(factor: int) -> None:
    small = [whole(1, 10), whole(2, 20), whole(1, 10), whole(3, 5)]
    large = [whole(t.buffer, t.size_bytes * factor) for t in small]
    assert reuse_distances(large) == [factor * distance for distance in reuse_distances(small)]
