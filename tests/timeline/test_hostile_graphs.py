"""Graphs of recordings that make no sense: links between anything, one tick for all, times far apart, many lanes, what is nested in nothing."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from ridgeline.core import EVENT_KINDS, Column, Links, Timeline, Track, UsageError
from ridgeline.timeline.critical_path import critical_path, path_of
from ridgeline.timeline.dependencies import graph_of
from ridgeline.timeline.replay import makespan, replayed, slack, what_if

THREADS = [Track(name=f"thread {number}", role="thread", process=str(number % 7)) for number in range(30)]
QUEUES = [Track(name=f"queue {number}", role="queue", device=f"GPU {number % 4}") for number in range(30)]
COUNT = 5000


def soup(seed: int, start: NDArray[np.int64], duration: NDArray[np.int64], tracks: list[Track]) -> Timeline:
    draw = np.random.default_rng(seed)
    count = len(start)
    return Timeline(
        tick_s=1e-9,
        start_tick=Column(start, "count", "int64"),
        duration_tick=Column(duration, "count", "int64"),
        name=Column(draw.integers(0, 5, count), "count", "int32"),
        track=Column(draw.integers(0, len(tracks), count), "count", "int32"),
        strings=tuple("abcde"),
        tracks=tuple(tracks),
        kind=Column(draw.integers(0, len(EVENT_KINDS), count), "count", "uint8"),
        links=Links(
            source=Column(draw.integers(0, count, count), "count", "int64"),
            target=Column(draw.integers(0, count, count), "count", "int64"),
            kind=Column(draw.integers(0, 4, count), "count", "uint8"),
        ),
    )


def assert_holds(t: Timeline) -> None:
    deps = graph_of(t)
    path = path_of(deps)
    start, end = deps.window
    assert (deps.lag >= 0).all()
    assert (deps.delay >= 0).all()
    assert (deps.source < deps.target).all()
    if end > start:
        assert (path.start[0], path.end[-1]) == (start, end)
        assert (path.start[1:] == path.end[:-1]).all()
    assert (replayed(deps) == deps.tick).all()
    room = slack(t, deps=deps)
    assert (room[path.event[path.own]] == 0).all()
    assert (room[deps.host | deps.device] >= 0).all()
    assert 0 <= critical_path(t, deps=deps, path=path).covered_share <= 1
    faster = what_if(t, "a", 2, deps=deps)
    assert faster.low_s is not None
    assert faster.high_s is not None
    assert 0 <= faster.low_s <= faster.after_s <= faster.high_s
    assert faster.after_s <= faster.before_s
    assert makespan(deps, replayed(deps, deps.delay * 0)) <= end - start


@pytest.mark.parametrize("seed", range(12))
def test_soups_of_all_densities(seed: int) -> None:
    draw = np.random.default_rng(seed)
    assert_holds(soup(seed, draw.integers(0, 10 ** (1 + seed // 2), COUNT), draw.integers(0, 100, COUNT), THREADS + QUEUES))


def test_everything_at_one_tick() -> None:
    zero = np.zeros(COUNT, dtype=np.int64)
    assert_holds(soup(1, zero, zero, THREADS + QUEUES))


@pytest.mark.parametrize("low", [0, -(2**61)])
def test_times_so_far_apart_that_tracks_do_not_fit_beside_them(low: int) -> None:
    draw = np.random.default_rng(3)
    assert_holds(soup(3, low + draw.integers(0, 2**61, COUNT), draw.integers(0, 2**60, COUNT), THREADS + QUEUES))


def test_more_lanes_than_events() -> None:
    draw = np.random.default_rng(4)
    threads = [Track(name=f"t{number}", role="thread") for number in range(COUNT)]
    queues = [Track(name=f"q{number}", role="queue", device=f"GPU {number}") for number in range(COUNT)]
    assert_holds(soup(4, draw.integers(0, 10**4, COUNT), draw.integers(0, 100, COUNT), threads + queues))


def test_a_staircase_of_overlaps() -> None:
    steps = np.arange(COUNT, dtype=np.int64)
    for lanes in (THREADS[:1], QUEUES[:1]):
        assert_holds(soup(5, steps, np.full(COUNT, 1000), lanes))


def test_clocks_that_do_not_compare_are_left_out_and_counted() -> None:
    draw = np.random.default_rng(6)
    lanes = [*THREADS, Track(name="other", role="thread", clock="other")]
    t = soup(6, draw.integers(0, 10**4, COUNT), draw.integers(0, 100, COUNT), lanes)
    assert_holds(t)
    assert any("clock" in one.reason for one in graph_of(t).left_out)


def test_ticks_that_leave_63_bits_are_refused() -> None:
    with pytest.raises(UsageError, match="ticks"):
        graph_of(soup(7, np.full(3, 2**62), np.full(3, 2**62), THREADS))
