"""Unions, own time and overlap from entries made by hand, and the laws that hold for any of them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ridgeline.core import Site
from ridgeline.measurement.stages.device import DeviceSpans
from ridgeline.measurement.stages.looks import _looks
from ridgeline.measurement.stages.recorder import EVENT, Recording
from ridgeline.measurement.stages.table import table_of

MS = 1_000_000


def spans(*ms: tuple[float, float] | None) -> DeviceSpans:
    """(start, end) in ms on the device, one an entry in order of its end."""
    known = np.array([item or (np.nan, np.nan) for item in ms]) * MS
    starts, ends = np.nan_to_num(known).astype(np.int64).T
    return DeviceSpans((known[:, 1] - known[:, 0]) / 1e9, starts, ends)


def made(*entries: tuple[str, float, float, int, str], wall_ms: float = 100.0, device=None) -> Recording:
    """Entries (name, start ms, end ms, index of the enclosing entry or −1, lane) in order of entry."""
    names, lanes = list(dict.fromkeys(e[0] for e in entries)), list(dict.fromkeys(e[4] for e in entries))
    events = np.zeros(len(entries), EVENT)
    for index, (name, start, end, parent, lane) in enumerate(entries):
        events[index]["id"], events[index]["parent"] = index, parent
        events[index]["start_ns"], events[index]["end_ns"] = int(start * MS), int(end * MS)
        events[index]["name"], events[index]["lane"] = names.index(name), lanes.index(lane)
    return Recording(
        events=events[np.argsort(events["end_ns"], kind="stable")],
        names=tuple(names),
        sites=(None,) * len(names),
        lanes=tuple(lanes),
        device=DeviceSpans() if device is None else spans(*device),
        start_ns=0,
        end_ns=int(wall_ms * MS),
    )


def test_a_serial_pipeline():
    table = table_of([made(("a", 0, 14, -1, "main"), ("b", 14, 23, -1, "main"), ("a", 23, 37, -1, "main"), ("b", 37, 46, -1, "main"), wall_ms=50)])
    a, b = table.stages
    assert (a.name, a.calls, a.total_s.value, a.overlapped_s) == ("a", 2.0, pytest.approx(0.028), 0.0)
    assert (b.calls, b.total_s.value, b.overlapped_s) == (2.0, pytest.approx(0.018), 0.0)
    assert table.covered_s.value == pytest.approx(0.046)
    assert table.wall_s.value == pytest.approx(0.050)


def test_own_time_is_without_what_is_nested():
    table = table_of([made(("frame", 0, 10, -1, "main"), ("decode", 1, 4, 0, "main"), ("infer", 4, 9, 0, "main"))])
    frame, decode, infer = table.stages
    assert frame.own_s.value == pytest.approx(0.002)
    assert (decode.parent, infer.parent) == (0, 0)
    assert frame.overlapped_s == decode.overlapped_s == 0.0


def test_overlap_between_threads():
    table = table_of([made(("read", 0, 6, -1, "reader"), ("pack", 4, 9, -1, "main"))])
    assert [stage.overlapped_s for stage in table.stages] == [pytest.approx(0.002)] * 2
    assert [stage.lanes for stage in table.stages] == [("reader",), ("main",)]


def test_the_same_stage_on_three_threads_takes_what_the_wall_says():
    table = table_of([made(*(("work", 0, 10, -1, f"ThreadPoolExecutor-7_{index}") for index in range(3)))])
    (work,) = table.stages
    assert work.total_s.value == pytest.approx(0.010)
    assert work.overlapped_s == 0.0
    assert work.lanes == ("ThreadPoolExecutor_0", "ThreadPoolExecutor_1", "ThreadPoolExecutor_2")


def test_tasks_that_take_turns_on_one_thread():
    table = table_of([made(("fetch", 0, 10, -1, "main"), ("fetch", 1, 11, -1, "main"))])
    assert table.stages[0].lanes == ("main (tasks)",)
    assert table.stages[0].total_s.value == pytest.approx(0.011)


def test_recursion_belongs_to_the_outer_row():
    table = table_of([made(("walk", 0, 10, -1, "main"), ("leaf", 1, 2, 0, "main"), ("walk", 2, 9, 0, "main"), ("leaf", 3, 4, 2, "main"))])
    assert [(stage.name, stage.calls, stage.parent) for stage in table.stages] == [("walk", 2.0, None), ("leaf", 2.0, 0)]
    assert table.stages[0].total_s.value == pytest.approx(0.010)
    assert table.stages[0].own_s.value == pytest.approx(0.008)


def test_deep_recursion_is_counted_and_deep_nesting_ends_in_the_last_row():
    deep = made(*(("down", index, 1000 - index, index - 1, "main") for index in range(400)), wall_ms=1000)
    assert [(stage.name, stage.calls) for stage in table_of([deep]).stages] == [("down", 400.0)]
    mutual = made(*(("ab"[index % 2], index, 1000 - index, index - 1, "main") for index in range(400)), wall_ms=1000)
    table = table_of([mutual])
    assert len(table.stages) == 64
    assert sum(stage.calls for stage in table.stages) == 400
    assert sum(stage.own_s.value for stage in table.stages) == pytest.approx(1.0)


def test_medians_over_calls_and_a_stage_that_comes_later():
    calls = [made(("a", 0, length, -1, "main")) for length in (10, 11, 12)]
    calls[1] = made(("a", 0, 11, -1, "main"), ("rare", 11, 12, -1, "main"))
    table = table_of(calls)
    a, rare = table.stages
    assert (a.total_s.low, a.total_s.value, a.total_s.high) == pytest.approx((0.010, 0.011, 0.012))
    assert rare.calls == pytest.approx(1 / 3)
    assert rare.total_s.value == 0.0
    assert table.iterations == 3


def test_device_time_stands_beside():
    table = table_of([made(("kernel", 0, 5, -1, "main"), device=[(0.5, 5)])])
    assert table.stages[0].device_s.value == pytest.approx(0.0045)
    assert "device's own events" in table.instrument


def test_work_on_a_device_and_on_the_cpu_at_the_same_time():
    """A frame is inferred while the next is decoded: neither takes the other's time, nor that in which it waited in the queue."""
    entries = (("infer", 0, 1, -1, "main"), ("decode", 1, 11, -1, "main"), ("infer", 11, 12, -1, "main"))
    infer, decode = table_of([made(*entries, device=[(0, 30), None, (30, 60)])]).stages
    assert (infer.total_s.value, infer.device_s.value) == (pytest.approx(0.060), pytest.approx(0.060))
    assert (decode.total_s.value, decode.device_s) == (pytest.approx(0.010), None)
    assert decode.overlapped_s == infer.overlapped_s == pytest.approx(0.010)


def test_many_names_are_cut_and_said_to_be():
    table = table_of([made(*((f"stage {index}", index, index + 0.5 + index / 1000, -1, "main") for index in range(300)), wall_ms=400)])
    assert len(table.stages) == 64
    assert table.left_out == 236
    assert table.stages[-1].name == "stage 299"


@st.composite
def recordings(draw):
    entries, open_stages, now = [], [], 0.0
    for _ in range(draw(st.integers(0, 25))):
        now += draw(st.integers(0, 5))
        if open_stages and draw(st.booleans()):
            index = open_stages.pop()
            entries[index][2] = now
        else:
            entries.append([draw(st.sampled_from("abc")), now, None, open_stages[-1] if open_stages else -1, "main"])
            open_stages.append(len(entries) - 1)
    for index in reversed(open_stages):
        entries[index][2] = now
    return made(*map(tuple, entries), wall_ms=now + 1)


@settings(deadline=None)
@given(recordings())
def test_conservation_on_one_thread(recording):
    table = table_of([recording])
    top = sum(stage.total_s.value for stage in table.stages if stage.parent is None)
    own = sum(stage.own_s.value for stage in table.stages)
    # On one thread nothing overlaps: own times are all of the covered time, and so are the top-level stages.
    assert top == pytest.approx(table.covered_s.value, abs=1e-9)
    assert own == pytest.approx(table.covered_s.value, abs=1e-9)
    assert table.covered_s.value <= table.wall_s.value
    assert all(stage.overlapped_s == pytest.approx(0.0, abs=1e-9) for stage in table.stages)
    for stage in table.stages:
        if stage.parent is not None:
            assert stage.total_s.value <= table.stages[stage.parent].total_s.value + 1e-12


def test_a_closer_look_divides_samples_and_clocks():
    found = made(("python", 0, 10, -1, "main"), ("native", 10, 30, -1, "main"), ("asleep", 30, 50, -1, "main"))
    events = found.events
    events["cpu_ns"], events["process_cpu_ns"] = [10 * MS, 20 * MS, 0], [10 * MS, 40 * MS, 0]
    events["sample_from"], events["sample_to"] = [0, 10, 30], [10, 30, 30]
    interpreted = np.array([True] * 9 + [False] * 21)
    line = Site(file="a.py", line=3, function="f")
    found.idents = (7,)
    looks = _looks(found, interpreted, [(at * MS, ident, line) for at, ident in ((5, 7), (6, 7), (20, 7), (99, 7), (40, 8))], 7)
    python, native, asleep = (looks.of((name,)) for name in ("python", "native", "asleep"))
    assert (python.interpreter, native.interpreter, asleep.interpreter) == (pytest.approx(0.9), 0.0, 0.0)
    assert (python.busy_cpus, native.busy_cpus, asleep.busy_cpus) == (pytest.approx(1.0), pytest.approx(2.0), 0.0)
    assert [line.samples for line in python.lines] == [2]
    assert [line.samples for line in native.lines] == [1]
    assert asleep.lines == ()


@pytest.mark.parametrize(("ms", "known"), [(0.01, False), (0.03, True)])
def test_of_the_shortest_entries_nobody_knows_how_many_cpus_they_kept_busy(ms, known):
    found = made(("tiny", 0, ms, -1, "main"), ("tiny", 1, 1 + ms, -1, "main"))
    found.events["process_cpu_ns"] = ms * MS
    assert (_looks(found, np.zeros(0, bool), [], 7).of(("tiny",)).busy_cpus is not None) is known
