"""What the analyses make of columns that a file does not fill, and of times that nothing can be computed with."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ridgeline.core import Column, ReadReport, Timeline, UsageError
from ridgeline.timeline.figures import figures
from ridgeline.timeline.gaps import gaps, idle_because
from ridgeline.timeline.grouping import distinct, numbered
from ridgeline.timeline.iterations import iterations
from ridgeline.timeline.nesting import own_ticks, parents
from ridgeline.timeline.operators import operator_uses
from ridgeline.timeline.overhead import overhead
from ridgeline.timeline.serial import serial_pairs
from ridgeline.timeline.use import device_uses, lane_uses, left_out
from timeline.building import HOST, stream, timeline_of


def everything(t: Timeline) -> tuple[object, ...]:
    up = parents(t)
    return (
        own_ticks(t, up).tolist(), device_uses(t), lane_uses(t, up), left_out(t), gaps(t, up=up), idle_because(t, up), overhead(t, up), iterations(t),
        serial_pairs(t), operator_uses(t, up=up), figures(ReadReport(files=(), format=""), t, up),
    )  # fmt: skip


ROWS = [(HOST, "operator", "op", 0, 9), (stream(7), "compute", "k", 3, 5), (stream(7), "compute", "k", 8, 12)]


def test_events_without_kinds_and_links_without_kinds_are_in_no_device_figure() -> None:
    t = timeline_of(ROWS, [(0, 1, "launch")])
    assert t.links is not None
    bare = msgspec.structs.replace(t, kind=None, links=msgspec.structs.replace(t.links, kind=None))
    found = everything(bare)
    assert found[1] == ()
    assert [each.events for each in left_out(bare)] == [2]
    assert everything(msgspec.structs.replace(bare, links=None))[1] == ()


def test_times_of_any_origin_and_unsigned_ones_give_the_same_answers() -> None:
    t = timeline_of(ROWS, [(0, 1, "launch")])
    for shift, dtype in ((2**61, np.int64), (-(2**61), np.int64), (2**61, np.uint64)):
        moved = Column(t.start_tick.values.astype(dtype) + dtype(shift), "count", dtype)
        assert everything(msgspec.structs.replace(t, start_tick=moved)) == everything(t)


@pytest.mark.parametrize("start", [2**62, -(2**62) - 1])
def test_times_that_differences_could_not_hold_are_refused(start: int) -> None:
    t = timeline_of([(HOST, "operator", "op", start, start + 1)])
    with pytest.raises(UsageError, match="origin"):
        everything(t)


def test_times_of_two_clocks_are_not_set_against_each_other() -> None:
    other = msgspec.structs.replace(HOST, clock="another")
    work = [(stream(7), "compute", "k", 0, 5), (stream(7), "compute", "k", 20, 25)]
    ((gap,), _) = gaps(timeline_of([(other, "operator", "op", 5, 20), *work]))
    assert gap.because == "nothing known"
    ((gap,), _) = gaps(timeline_of([(HOST, "operator", "op", 5, 20), *work]))
    assert gap.because == "operator"


@settings(deadline=None)
@given(st.lists(st.one_of(st.integers(0, 9), st.integers(0, 2**62)), max_size=30))
def test_numbers_of_distinct_values(values: list[int]) -> None:
    array = np.array(values, dtype=np.int64)
    assert distinct(array).tolist() == sorted(set(values))
    found, places = numbered(array)
    assert found.tolist() == sorted(set(values))
    assert found[places].tolist() == values
