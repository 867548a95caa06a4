"""Lanes that take turns: closed-form answers, quiet where something orders them."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given, settings

from ridgeline.core import Timeline, Track
from ridgeline.timeline import serial
from ridgeline.timeline.serial import serial_pairs
from timeline.building import HOST, stream, timeline_of
from timeline.generated import SECOND, ticks_of, timelines

QUEUE, OTHER, NPU = stream(7), stream(8), Track(name="NPU", device="NPU 0", role="queue")
Row = tuple[Track, str, str, int, int]


def turns(one: tuple[Track, str], other: tuple[Track, str], lengths: tuple[int, int] = (14, 9), steps: int = 4) -> list[Row]:
    """One after the other: 14 + 9 a step."""
    rows: list[Row] = []
    for step in range(steps):
        at = step * sum(lengths)
        rows.append((one[0], one[1], "first", at, at + lengths[0]))
        rows.append((other[0], other[1], "second", at + lengths[0], at + sum(lengths)))
    return rows


def test_a_host_that_prepares_while_the_accelerator_waits_takes_the_sum_and_could_take_the_longer_one() -> None:
    (pair,) = serial_pairs(timeline_of(turns((HOST, "operator"), (NPU, "compute"))))
    assert {pair.first, pair.second} == {"thread 1", "NPU 0"}
    assert {round(pair.first_s * 1e9), round(pair.second_s * 1e9)} == {14, 9}
    assert (pair.saved_s, pair.overlapped_s, pair.ordered) == (pytest.approx(9e-9), 0.0, 0.0)


def test_a_launch_orders_one_turn_of_two() -> None:
    rows = turns((HOST, "runtime"), (NPU, "compute"))
    (pair,) = serial_pairs(timeline_of(rows, [(2 * step, 2 * step + 1, "launch") for step in range(4)]))
    assert pair.ordered == pytest.approx(4 / 7)


def test_a_wait_for_every_piece_orders_the_others_too() -> None:
    rows = turns((HOST, "runtime"), (NPU, "compute"))
    waits = [(HOST, "wait", "sync", 23 * step + 14, 23 * step + 23) for step in range(4)]
    links = [(2 * step, 2 * step + 1, "launch") for step in range(4)] + [(2 * step + 1, 8 + step, "wait") for step in range(4)]
    assert serial_pairs(timeline_of([*rows, *waits], links)) == ()


def test_queues_that_events_order_are_left_alone_and_others_are_not() -> None:
    rows = turns((QUEUE, "copy"), (OTHER, "compute"))
    (pair,) = serial_pairs(timeline_of(rows))
    assert (pair.first, pair.second) == ("GPU 0: compute", "GPU 0: copy")
    both = [(2 * step, 2 * step + 1, "signal") for step in range(4)] + [(2 * step + 1, 2 * step + 2, "signal") for step in range(3)]
    assert serial_pairs(timeline_of(rows, both)) == ()
    assert serial_pairs(timeline_of(rows, [(source, target, "flow") for source, target, _ in both])) == (pair,)


def test_one_thread_and_one_queue_do_one_thing_after_the_other() -> None:
    assert serial_pairs(timeline_of(turns((HOST, "operator"), (HOST, "annotation")))) == ()
    assert serial_pairs(timeline_of(turns((QUEUE, "copy"), (QUEUE, "compute")))) == ()


def test_order_over_several_tracks_counts() -> None:
    # The second thread hands over to a third, which hands back.
    third = Track(name="thread 3", role="thread", thread="3")
    rows = turns((HOST, "operator"), (SECOND, "operator"), (10, 10))
    between: list[Row] = []
    links = []
    for place in range(7):
        at = 10 * (place + 1)
        between.append((third, "other", "hand over", at - 1, at))
        links += [(place, 8 + place, "signal"), (8 + place, place + 1, "signal")]
    assert serial_pairs(timeline_of([*rows, *between])) != ()
    found = serial_pairs(timeline_of([*rows, *between], links))
    assert not any({pair.first, pair.second} == {"thread 1", "thread 2"} for pair in found)


def test_threads_that_feed_one_queue_are_ordered_by_it() -> None:
    rows = turns((HOST, "operator"), (SECOND, "operator"), (10, 10))
    work: list[Row] = [(QUEUE, "compute", "k", 10 * place + 2, 10 * place + 11) for place in range(8)]
    links = [(place, 8 + place, "launch") for place in range(8)]

    def threads(t: Timeline) -> bool:
        return any({pair.first, pair.second} == {"thread 1", "thread 2"} for pair in serial_pairs(t))

    assert threads(timeline_of([*rows, *work]))
    assert not threads(timeline_of([*rows, *work], links))


def test_what_overlaps_or_comes_once_takes_no_turns() -> None:
    rows = turns((HOST, "operator"), (NPU, "compute"))
    overlapping = [(track, kind, name, start - 2 * (track == NPU), end) for track, kind, name, start, end in rows]
    assert serial_pairs(timeline_of(overlapping)) == ()
    assert serial_pairs(timeline_of(turns((HOST, "operator"), (NPU, "compute"), steps=2))) == ()
    assert serial_pairs(timeline_of([])) == ()


def test_seconds_are_those_of_an_iteration_where_there_are_some() -> None:
    rows = turns((SECOND, "operator"), (NPU, "compute"), steps=8)
    marks = [(HOST, "iteration", f"step#{step}", 46 * step, 46 * step + 46) for step in range(4)]
    (pair,) = serial_pairs(timeline_of([*rows, *marks]))
    assert {round(pair.first_s * 1e9), round(pair.second_s * 1e9), round(pair.saved_s * 1e9)} == {28, 18}


def test_of_many_devices_and_lanes_the_longest_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serial, "_DEVICES", 3)
    monkeypatch.setattr(serial, "_STAGES", 2)
    npus = [Track(name=f"NPU {at}", device=f"NPU {at}", role="queue") for at in range(6)]
    threads = [Track(name=f"thread {at}", role="thread", process=str(at)) for at in range(4)]
    lengths = [9, 10, 15, 11, 13, 14]
    rows = [row for step in range(4) for row in _one_by_one(npus, "compute", lengths, 1000 * step)]
    rows += [row for step in range(4) for row in _one_by_one(threads, "operator", [5, 8, 6, 7], 1000 * step + 500)]
    found = {frozenset((pair.first, pair.second)) for pair in serial.serial_pairs(timeline_of(rows))}
    longest = ("NPU 2", "NPU 4", "NPU 5", "thread 1", "thread 3")
    assert found == {frozenset(pair) for pair in combinations(longest, 2)}


def _one_by_one(tracks: list[Track], kind: str, lengths: list[int], at: int) -> list[Row]:
    starts = [at + sum(lengths[:number]) for number in range(len(lengths))]
    return [(track, kind, track.name, start, start + length) for track, start, length in zip(tracks, starts, lengths, strict=True)]


@settings(deadline=None)
@given(timelines(most=30, span=60))
def test_no_more_is_saved_than_the_shorter_one_takes(t: Timeline) -> None:
    busy = sum(len(ticks_of(t, i)) for i in range(len(t))) * 1e-9
    for pair in serial_pairs(t):
        assert 0 <= pair.ordered < 1
        assert 0 <= pair.saved_s <= min(pair.first_s, pair.second_s) <= busy
        assert pair.overlapped_s <= 0.011 * min(pair.first_s, pair.second_s)
