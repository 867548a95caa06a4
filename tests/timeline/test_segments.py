"""Segments of threads: closed-form answers, and a second path that paints every tick."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from ridgeline.timeline.segments import Segments, last_at, segments_of

EVENTS = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 40), st.integers(0, 20)), max_size=30)

UNTIMED = settings(deadline=None)


def segments(rows: list[tuple[int, int, int]]) -> Segments:
    """Of rows (track, start, duration)."""
    track, start, duration = (np.array([row[column] for row in rows], dtype=np.int64) for column in range(3))
    return segments_of(track, start, start + duration, np.arange(len(rows)))


def painted(rows: list[tuple[int, int, int]]) -> dict[tuple[int, int], int]:
    """Owner of each tick: in order of (start, longest first, place) later events paint over earlier ones."""
    order = sorted(range(len(rows)), key=lambda at: (rows[at][1], -rows[at][2], at))
    return {(rows[at][0], tick): at for at in order for tick in range(rows[at][1], rows[at][1] + rows[at][2])}


@UNTIMED
@given(EVENTS)
def test_agrees_with_painting_every_tick(rows: list[tuple[int, int, int]]) -> None:
    found = segments(rows)
    columns = (found.track.tolist(), found.start.tolist(), found.end.tolist(), found.event.tolist())
    ours = {(track, tick): event for track, start, end, event in zip(*columns, strict=True) if event >= 0 for tick in range(start, end)}
    assert ours == painted(rows)


@UNTIMED
@given(EVENTS)
def test_tiles_each_track(rows: list[tuple[int, int, int]]) -> None:
    found = segments(rows)
    assert (found.end > found.start).all()
    same = found.track[1:] == found.track[:-1]
    assert (found.start[1:][same] == found.end[:-1][same]).all()
    for track in {row[0] for row in rows if row[2]}:
        mine = found.track == track
        spans = [(start, start + length) for of, start, length in rows if of == track and length]
        assert (found.start[mine].min(), found.end[mine].max()) == (min(s for s, _ in spans), max(e for _, e in spans))


def test_an_event_that_outlives_its_caller_cuts_it() -> None:
    found = segments([(0, 0, 10), (0, 5, 10), (0, 6, 1)])
    assert found.event.tolist() == [0, 1, 2, 1]
    assert found.cut == 1


def test_deep_nesting_needs_no_depth_of_levels() -> None:
    rows = [(0, at, 2000 - 2 * at) for at in range(1000)]
    assert segments(rows).event.tolist() == [*range(1000), *range(998, -1, -1)]


def test_a_track_that_is_not_nested_may_be_as_deep() -> None:
    rows = [(0, at, 2000 - 2 * at) for at in range(1000)] + [(0, 1999, 5)]
    found = segments(rows)
    assert found.event.tolist() == [*range(1000), *range(998, 0, -1), 1000]
    assert found.end.max() == 2004
    assert found.cut == 1


@UNTIMED
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(-50, 50)), max_size=30), st.lists(st.tuples(st.integers(0, 3), st.integers(-60, 60))))
def test_the_last_before(known: list[tuple[int, int]], asked: list[tuple[int, int]]) -> None:
    known = sorted(known)
    expected = [sum(pair <= ask for pair in known) - 1 for ask in asked]
    for scale in (1, 2**55):
        columns = [np.array([pair[at] for pair in rows], dtype=np.int64) for rows in (known, asked) for at in range(2)]
        assert last_at(columns[0], columns[1] * scale, columns[2], columns[3] * scale).tolist() == expected
