"""Unions, own time and overlap from entries made by hand, and the laws that hold for any of them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ridgeline.core import Site
from ridgeline.measurement.stages.device import DeviceSpans
from ridgeline.measurement.stages.looks import _Booking, _looks
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
    looks = _looks(
        found, interpreted, [(at * MS, ident, line) for at, ident in ((5, 7), (6, 7), (20, 7), (99, 7), (40, 8))], 7, _Booking(2, 4 * MS, 20 * MS)
    )
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
    assert (_looks(found, np.zeros(0, bool), [], 7, _Booking(2, 4 * MS, 0)).of(("tiny",)).busy_cpus is not None) is known


def looked(ms: float, booked_ms: float, own_ms: float, booking: _Booking, entries: int = 1):
    """One stage of so many entries of a length, each with what the clocks of the process and of the thread have moved by."""
    found = made(*(("s", index * 2 * ms, (index * 2 + 1) * ms, -1, "main") for index in range(entries)))
    found.events["process_cpu_ns"], found.events["cpu_ns"] = int(booked_ms * MS), int(own_ms * MS)
    found.idents = (7,)
    return _looks(found, np.zeros(0, bool), [], 7, booking).of(("s",))


def test_a_tick_of_another_thread_is_not_cpus_busy():
    """936 µs in which the clock of the process moved by a tick of 4 ms beside the thread's own time: 5.3 CPUs of 2."""
    look = looked(0.936, 4.936, 0.936, _Booking(2, 4 * MS, 900 * MS))
    assert look.busy_cpus is None
    assert look.busy_range == (pytest.approx(1.0), 2.0)


def test_where_no_other_thread_ran_the_clock_is_exact():
    look = looked(0.936, 0.468, 0.468, _Booking(64, 4 * MS, 0))
    assert look.busy_cpus == pytest.approx(0.5)
    assert look.busy_range == (pytest.approx(0.5), pytest.approx(0.5))
    # What the others took in all bounds what many short entries can have of it, however many CPUs there are.
    many = looked(1.0, 0.5, 0.5, _Booking(64, 4 * MS, 5 * MS), entries=50)
    assert many.busy_cpus == pytest.approx(0.5)
    assert many.busy_range == (pytest.approx(0.5), pytest.approx(0.6))


@settings(deadline=None)
@given(
    st.floats(0.03, 500), st.floats(0, 2000), st.floats(0, 1.2), st.integers(1, 64), st.floats(0, 1e4), st.integers(1, 5)
)  # fmt: skip
def test_cpus_busy_are_within_their_range_and_never_beyond_the_machine(ms, booked, own, cpus, others, entries):
    look = looked(ms, booked, own * min(ms, booked), _Booking(cpus, 4 * MS, others * MS), entries)
    low, high = look.busy_range
    assert 0.0 <= low <= high <= cpus
    assert look.busy_cpus is None or (low <= look.busy_cpus <= high and high - low <= 1.0 + 1e-9)


def with_models(recording: Recording, *names: str) -> Recording:
    recording.models = frozenset(index for index, name in enumerate(recording.names) if name in names)
    return recording


def test_the_calls_of_models_are_in_the_stage_around_them():
    entries = (
        ("read", 0, 10, -1, "main"),
        ("net", 1, 4, 0, "main"),
        ("net", 5, 9, 0, "main"),
        ("cut", 10, 12, -1, "main"),
        ("net", 12, 15, -1, "main"),
    )
    table = table_of([with_models(made(*entries, wall_ms=20), "net")])
    read, cut, outside, inside = table.stages
    assert [(s.name, s.parent, s.model) for s in table.stages] == [("read", None, False), ("cut", None, False), ("net", None, True), ("net", 0, True)]
    assert (inside.calls, inside.total_s.value, outside.total_s.value) == (2.0, pytest.approx(0.007), pytest.approx(0.003))
    assert (read.own_s.value, read.models_s.value, cut.models_s.value) == (pytest.approx(0.003), pytest.approx(0.007), 0.0)
    assert inside.models_s is None
    assert table.models_s.value == pytest.approx(0.010)
    assert table.covered_s.value == pytest.approx(0.012)
    assert table_of([made(*entries)]).models_s is None


def test_a_stage_inside_a_model_stays_where_it_is_and_is_in_the_model():
    entries = (("net", 0, 10, -1, "main"), ("attention", 2, 6, 0, "main"), ("attention", 11, 12, -1, "main"))
    net, attention = table_of([with_models(made(*entries), "net")]).stages
    assert (attention.parent, attention.calls, attention.total_s.value) == (None, 2.0, pytest.approx(0.005))
    assert attention.models_s.value == pytest.approx(0.004)
    assert net.overlapped_s == attention.overlapped_s == 0.0


def test_a_model_on_another_thread_is_no_part_of_the_stage_beside_it():
    table = table_of([with_models(made(("decode", 0, 10, -1, "main"), ("net", 0, 10, -1, "worker")), "net")])
    assert table.stages[0].models_s.value == 0.0
    assert table.models_s.value == pytest.approx(0.010)


def test_many_models_push_no_stage_out():
    entries = [(f"stage {index}", index, index + 0.2, -1, "main") for index in range(60)] + [
        (f"net {i}", 100 + i, 101 + i, -1, "main") for i in range(60)
    ]
    table = table_of([with_models(made(*entries, wall_ms=200), *(f"net {index}" for index in range(60)))])
    assert sum(not stage.model for stage in table.stages) == 60
    assert (len(table.stages), table.left_out) == (64, 0)
    assert table.models_s.value == pytest.approx(0.060)


def without(recording: Recording, name: str) -> Recording:
    """The same with the entries of a name left out, each of their children in the next one around."""
    index = recording.names.index(name) if name in recording.names else -1
    parents = {int(event["id"]): int(event["parent"]) for event in recording.events}
    gone = {int(event["id"]) for event in recording.events if event["name"] == index}
    rest = recording.events[recording.events["name"] != index].copy()
    for event in rest:
        while int(event["parent"]) in gone:
            event["parent"] = parents[int(event["parent"])]
    fields = {name: getattr(recording, name) for name in ("names", "sites", "lanes", "start_ns", "end_ns")}
    return Recording(events=rest, **fields)


@settings(deadline=None)
@given(recordings())
def test_the_programs_stages_are_the_same_with_and_without_models(recording):
    plain = table_of([without(recording, "c")])
    table = table_of([with_models(recording, "c")])
    marked = [stage for stage in table.stages if not stage.model]

    def said(stages, among):
        return [(s.name, s.calls, s.total_s.value, s.overlapped_s, "" if s.parent is None else among[s.parent].name) for s in stages]

    assert sorted(said(marked, table.stages)) == sorted(said(plain.stages, plain.stages))
    if marked:
        assert table.covered_s.value == plain.covered_s.value
    for stage in marked:
        assert stage.models_s is None or stage.models_s.value <= stage.total_s.value
        # A stage without another in it is what it has for itself and what its models take, unless it is in one itself.
        assert (
            stage.models_s is None
            or stage.own_s.value
            >= stage.total_s.value
            - stage.models_s.value
            - sum(s.total_s.value for s in table.stages if s.parent is not None and table.stages[s.parent] is stage and not s.model)
            - 1e-12
        )
