"""Parents and own time: closed-form answers, and a second path that looks at every pair and every tick."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings

from ridgeline.core import Timeline
from ridgeline.timeline.events import events_of
from ridgeline.timeline.nesting import ancestors, inside_of, outermost, own_pieces, own_ticks, parents, partly_overlapping
from timeline.building import HOST, stream, timeline_of
from timeline.generated import ticks_of, timelines, track_of


def spans(*pairs: tuple[int, int]) -> Timeline:
    return timeline_of([(HOST, "operator", f"e{index}", start, end) for index, (start, end) in enumerate(pairs)])


def brute_parents(t: Timeline) -> list[int]:
    """The last one before, in order of (start, longest first, place), that ends no sooner."""
    start, length = t.start_tick.values.tolist(), t.duration_tick.values.tolist()
    order = sorted(range(len(t)), key=lambda i: (start[i], -length[i], i))
    out = [-1] * len(t)
    for place, i in enumerate(order):
        if track_of(t, i).role == "queue":
            continue
        for j in reversed(order[:place]):
            around = start[j] + length[j] >= start[i] + length[i] + (length[i] == 0)
            if t.track.values[j] == t.track.values[i] and length[j] > 0 and around:
                out[i] = j
                break
    return out


def test_the_innermost_event_around_each_is_its_parent() -> None:
    assert parents(spans((0, 10), (1, 9), (2, 3), (4, 8), (5, 6), (12, 15))).tolist() == [-1, 0, 1, 1, 3, -1]


def test_the_order_of_the_file_does_not_matter_but_for_equal_events() -> None:
    assert parents(spans((5, 6), (4, 8), (0, 10))).tolist() == [1, 2, -1]
    assert parents(spans((0, 4), (0, 4), (0, 4))).tolist() == [-1, 0, 1]


def test_an_event_of_no_length_lies_in_what_goes_on_and_holds_nothing() -> None:
    t = spans((0, 10), (10, 10), (0, 0), (5, 5), (5, 5), (10, 20))
    assert parents(t).tolist() == [-1, 5, 0, 0, 0, -1]


def test_events_that_overlap_in_part_stay_beside_each_other() -> None:
    t = spans((0, 10), (5, 15), (6, 9))
    assert parents(t).tolist() == [-1, -1, 1]
    assert partly_overlapping(t).tolist() == [False, True, False]


def test_own_time_takes_the_union_of_what_lies_in_an_event() -> None:
    # 5–10 and 8–12 overlap: together they take 7 of the 20.
    assert own_ticks(spans((0, 20), (5, 10), (8, 12))).tolist() == [13, 5, 4]


def test_work_in_a_queue_runs_beside_other_work_and_not_in_it() -> None:
    t = timeline_of([(stream(1), "compute", "a", 0, 10), (stream(1), "compute", "b", 2, 4)])
    assert parents(t).tolist() == [-1, -1]
    assert own_ticks(t).tolist() == [10, 2]
    assert partly_overlapping(t).tolist() == [False, True]


def test_very_deep_nesting_is_no_special_case() -> None:
    depth = 3000
    t = spans(*((index, 2 * depth - index) for index in range(depth)))
    assert parents(t).tolist() == list(range(-1, depth - 1))
    t = spans((0, 1), *((index, 2 * depth - index) for index in range(depth)), (depth * 2 - 1, depth * 2 + 5))
    assert parents(t).tolist() == [1, -1, *range(1, depth), -1]


@settings(deadline=None)
@given(timelines())
def test_parents_agree_with_looking_at_every_pair(t: Timeline) -> None:
    assert parents(t).tolist() == brute_parents(t)


@settings(deadline=None)
@given(timelines())
def test_own_time_agrees_with_marking_every_tick(t: Timeline) -> None:
    up = brute_parents(t)
    expected = [len(ticks_of(t, i) - {tick for j in range(len(t)) if up[j] == i for tick in ticks_of(t, j)}) for i in range(len(t))]
    assert own_ticks(t).tolist() == expected
    pieces = own_pieces(events_of(t), parents(t), np.arange(len(t)))
    assert [int((pieces.end - pieces.start)[pieces.event == i].sum()) for i in range(len(t))] == expected
    assert all(set(range(a, b)) <= ticks_of(t, i) for i, a, b in zip(*(column.tolist() for column in pieces), strict=True))


@settings(deadline=None)
@given(timelines())
def test_overlaps_agree_with_looking_at_every_pair(t: Timeline) -> None:
    up, start = brute_parents(t), t.start_tick.values.tolist()
    long = [i for i in sorted(range(len(t)), key=lambda i: (start[i], i)) if t.duration_tick.values[i]]
    expected = [False] * len(t)
    for place, i in enumerate(long):
        before = [j for j in long[:place] if t.track.values[j] == t.track.values[i] and up[j] == up[i]]
        expected[i] = any(start[j] + t.duration_tick.values[j] > start[i] for j in before)
    assert partly_overlapping(t).tolist() == expected


@settings(deadline=None)
@given(timelines())
def test_walks_up_agree_with_walking_one_by_one(t: Timeline) -> None:
    up = parents(t)
    chosen = np.arange(len(t)) % 3 == 0
    lines = []
    for i in range(len(t)):
        line, at = [], i
        while at >= 0:
            line.append(at)
            at = int(up[at])
        lines.append(line)
    assert outermost(up, chosen).tolist() == [bool(chosen[i]) and not any(chosen[at] for at in lines[i][1:]) for i in range(len(t))]
    assert inside_of(up, chosen, np.arange(len(t))).tolist() == [any(chosen[at] for at in line) for line in lines]
    assert ancestors(up, np.flatnonzero(chosen)).tolist() == [any(chosen[j] and i in lines[j] for j in range(len(t))) for i in range(len(t))]
