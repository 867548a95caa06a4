"""Busy, idle and exposed time: closed-form answers, and a second path that marks every tick."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from ridgeline.core import DEVICE_WORK, Timeline
from ridgeline.timeline.use import device_uses, lane_uses, left_out, window_of
from timeline.building import HOST, stream, timeline_of
from timeline.generated import kind_of, ticks_of, timelines, track_of


def ticks(t: Timeline, device: str, *kinds: str) -> set[int]:
    return {tick for i in range(len(t)) if track_of(t, i).device == device and kind_of(t, i) in kinds for tick in ticks_of(t, i)}


def test_what_overlaps_counts_once_and_idle_is_the_rest_of_its_own_window() -> None:
    t = timeline_of(
        [
            (HOST, "operator", "op", 0, 100),
            (stream(7), "compute", "k1", 10, 30),
            (stream(8), "compute", "k2", 20, 40),
            (stream(7), "communication", "allreduce", 35, 50),
            (stream(9), "copy", "copy", 45, 55),
            (stream(9), "fill", "fill", 60, 70),
            (stream(7), "annotation", "step", 0, 100),
            (stream(7), "sync", "wait", 70, 90),
        ]
    )
    (use,) = device_uses(t)
    assert (use.events, use.sum_s, use.start_s, use.window_s) == pytest.approx((5, 75e-9, 10e-9, 60e-9))
    assert (use.busy_s, use.idle_s, use.idle_share) == pytest.approx((55e-9, 5e-9, 5 / 60))
    assert (use.compute_s, use.communication_s, use.copy_s, use.fill_s) == pytest.approx((30e-9, 15e-9, 10e-9, 10e-9))
    assert use.exposed_communication_s == pytest.approx(10e-9)  # 40–50
    assert use.exposed_copy_s == pytest.approx(15e-9)  # 50–55 and 60–70
    assert use.overlapped_s == pytest.approx(20e-9)  # 20–30, 35–40, 45–50
    assert [(each.events, each.total_s) for each in left_out(t)] == [(1, pytest.approx(100e-9)), (1, pytest.approx(20e-9))]


def test_no_device_and_no_event_have_no_use() -> None:
    assert device_uses(timeline_of([(HOST, "operator", "op", 0, 1)])) == ()
    assert (device_uses(timeline_of([])), lane_uses(timeline_of([])), window_of(timeline_of([])), left_out(timeline_of([]))) == ((), (), (0, 0), ())


def test_work_of_no_length_is_busy_for_no_time_and_idle_for_none() -> None:
    (use,) = device_uses(timeline_of([(stream(7), "compute", "k", 5, 5)]))
    assert (use.events, use.window_s, use.busy_s, use.idle_s, use.idle_share) == (1, 0.0, 0.0, 0.0, 0.0)


def test_the_window_is_not_stretched_by_ranges_that_somebody_named() -> None:
    t = timeline_of([(HOST, "annotation", "all", -500, 900), (HOST, "operator", "op", 10, 30), (HOST, "iteration", "step", 5, 40)])
    assert window_of(t) == (5, 40)
    assert window_of(timeline_of([(HOST, "annotation", "all", -500, 900)])) == (-500, 900)


@settings(deadline=None)
@given(timelines())
def test_use_agrees_with_marking_every_tick(t: Timeline) -> None:
    uses = {use.name: use for use in device_uses(t)}
    worked = {track_of(t, i).device for i in range(len(t)) if track_of(t, i).device and kind_of(t, i) in DEVICE_WORK}
    assert set(uses) == worked
    for name, use in uses.items():
        mine = [i for i in range(len(t)) if track_of(t, i).device == name and kind_of(t, i) in DEVICE_WORK]
        first = min(int(t.start_tick.values[i]) for i in mine)
        last = max(int(t.start_tick.values[i] + t.duration_tick.values[i]) for i in mine)
        busy, compute, communication = ticks(t, name, *DEVICE_WORK), ticks(t, name, "compute"), ticks(t, name, "communication")
        exposed = ticks(t, name, "copy", "fill") - compute - communication
        twice = {tick for tick in busy if sum(tick in ticks_of(t, i) for i in mine) > 1}
        found = (use.busy_s, use.idle_s, use.window_s, use.exposed_communication_s, use.exposed_copy_s, use.overlapped_s)
        expected = (len(busy), last - first - len(busy), last - first, len(communication - compute), len(exposed), len(twice))
        assert [round(each * 1e9, 6) for each in found] == list(expected)
        assert use.idle_s >= 0
        assert 0 <= use.idle_share <= 1


@settings(deadline=None)
@given(timelines())
def test_lanes_agree_with_marking_every_tick(t: Timeline) -> None:
    lanes = {lane.name: lane for lane in lane_uses(t)}
    for number, track in enumerate(t.tracks):
        mine = [i for i in range(len(t)) if t.track.values[i] == number]
        assert (track.name in lanes) == bool(mine)
        if mine:
            lane = lanes[track.name]
            busy = {tick for i in mine for tick in ticks_of(t, i)}
            assert (lane.events, round(lane.busy_s * 1e9), round(lane.sum_s * 1e9)) == (len(mine), len(busy), sum(len(ticks_of(t, i)) for i in mine))
