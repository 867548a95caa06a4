"""Replay: what a graph promises is what the simulator then finds; slack is what can be added before anything moves."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from ridgeline.core import UsageError
from ridgeline.timeline.critical_path import critical_path, path_of
from ridgeline.timeline.dependencies import graph_of
from ridgeline.timeline.replay import makespan, replayed, slack, what_if

from .building import HOST, stream, timeline_of
from .simulator import Action, Simulation, random_programs

SEEDS = st.integers(0, 2**32)
NUMBERED = settings(max_examples=300, deadline=None)


def numbered(seed: int) -> list[list[Action]]:
    """Programs whose threads share no queue, and whose launches and pieces of work have names of their own."""
    programs, count = [], 0
    for program in random_programs(seed, private=True):
        renamed = []
        for action in program:
            count += 1
            if action[0] == "enter":
                # What is around others has no time of its own, in which it might wait or work: nobody can tell.
                action = (*action[:2], 0)
            place = {"launch": 2, "work": 1}.get(str(action[0]))
            renamed.append(action if place is None else (*action[:place], f"{action[0]} {count}", *action[place + 1 :]))
        programs.append(renamed)
    return programs


def changed(programs: list[list[Action]], name: str, duration: int) -> list[list[Action]]:
    """The same with another duration for the launch or work of that name."""
    out = []
    for program in programs:
        place = {"launch": 3, "work": 2}
        out.append([(*a[: place[str(a[0])]], duration, *a[place[str(a[0])] + 1 :]) if len(a) > 2 and name in a[1:3] else a for a in program])
    return out


def named(programs: list[list[Action]]) -> dict[str, int]:
    """Durations by name."""
    launches = {str(a[2]): int(str(a[3])) for program in programs for a in program if a[0] == "launch"}
    return {**launches, **{str(a[1]): int(str(a[2])) for program in programs for a in program if a[0] == "work"}}


@NUMBERED
@given(SEEDS, st.integers(0, 5), st.booleans(), st.sampled_from([None, 2.0, 0.5]))
def test_what_if_is_what_the_simulator_finds(seed: int, latency: int, markers: bool, factor: float | None) -> None:
    programs = numbered(seed)
    durations = named(programs)
    t = Simulation(programs, latency=latency, markers=markers).timeline()
    deps = graph_of(t)
    for name in [name for name in t.strings if name in durations][:3]:
        duration = 0 if factor is None else 2 * round(durations[name] / factor / 2)
        even = changed(programs, name, 2 * round(durations[name] / 2))
        before = Simulation(even, latency=latency, markers=markers)
        after = Simulation(changed(programs, name, round(2 * round(durations[name] / 2) / (factor or np.inf))), latency=latency, markers=markers)
        found = what_if(before.timeline(), name, factor)
        assert found.before_s == pytest.approx(before.makespan() * 1e-9, abs=1e-15)
        assert found.after_s == pytest.approx(after.makespan() * 1e-9, abs=1e-15), (name, duration)
    assert makespan(deps, replayed(deps)) == deps.window[1] - deps.window[0]


@NUMBERED
@given(SEEDS, st.integers(0, 5), st.booleans(), st.integers(1, 60))
def test_slack_is_what_can_be_added(seed: int, latency: int, markers: bool, more: int) -> None:
    programs = numbered(seed)
    durations = named(programs)
    simulation = Simulation(programs, latency=latency, markers=markers)
    t = simulation.timeline()
    room = slack(t)
    assert (room >= 0).all()
    chosen = [event for event in range(len(t)) if t.strings[t.name.values[event]] in durations]
    for event in chosen[:4]:
        name = t.strings[t.name.values[event]]
        longer = Simulation(changed(programs, name, durations[name] + more), latency=latency, markers=markers)
        grown, promised = longer.makespan() - simulation.makespan(), max(0, more - int(room[event]))
        # Of host events at one tick without a length nobody knows which came first.
        assert grown == promised or (t.duration_tick.values[event] == 0 and grown <= promised), name


@NUMBERED
@given(SEEDS, st.integers(1, 60))
def test_what_is_off_the_path_can_be_faster_without_a_gain(seed: int, factor: int) -> None:
    programs = numbered(seed)
    t = Simulation(programs).timeline()
    deps = graph_of(t)
    room = slack(t, deps=deps)
    off = [event for event in range(len(t)) if room[event] > 0]
    assume(off)
    chosen = np.zeros(len(t), dtype=bool)
    chosen[off] = True
    assert (room[path_of(deps).event[path_of(deps).own]] == 0).all()
    for event in off[:5]:
        chosen[:] = False
        chosen[event] = True
        if deps.device[event]:
            assert what_if(t, chosen=chosen, factor=float(factor), deps=deps).after_s == critical_path(t, deps=deps).window_s


STREAM = stream(7)
SIMPLE = timeline_of(
    [
        (HOST, "operator", "op", 0, 10),
        (HOST, "runtime", "launch", 2, 4),
        (HOST, "wait", "sync", 12, 40),
        (STREAM, "compute", "kernel", 8, 38),
        (HOST, "operator", "after", 40, 50),
    ],
    [(1, 3, "launch"), (3, 2, "wait")],
)


def test_a_kernel_twice_as_fast_saves_half_of_its_time() -> None:
    found = what_if(SIMPLE, "kernel", 2)
    assert (found.before_s, found.after_s) == pytest.approx((50e-9, 35e-9))


def test_the_own_time_of_an_operator_is_faster_and_what_is_nested_in_it_only_where_that_is_asked() -> None:
    # 2 of the operator before the launch; with what is nested in it 2 of the launch as well; never the work that it starts.
    assert what_if(SIMPLE, "op", None).after_s == pytest.approx(48e-9)
    assert what_if(SIMPLE, "op", None, nested=True).after_s == pytest.approx(46e-9)


def test_twice_as_fast_saves_no_more_than_half_of_the_time_on_the_path() -> None:
    # A frame that calls another one: nearly all of it is the inner one's time.
    t = timeline_of([(HOST, "python", "outer", 0, 100), (HOST, "python", "inner", 4, 98)])
    on_path = critical_path(t).by_name
    assert on_path == pytest.approx({"inner": 94e-9, "outer": 6e-9})
    for name, seconds in on_path.items():
        found = what_if(t, name, 2)
        assert found.before_s - found.after_s == pytest.approx(seconds / 2)


def test_a_free_wait_waits_for_nothing_at_best() -> None:
    found = what_if(SIMPLE, "sync")
    # The thread goes on at 12 and ends at 22; the kernel still ends at 38.
    assert (found.after_s, found.high_s) == pytest.approx((38e-9, 50e-9))


def test_kinds_stand_for_names() -> None:
    assert what_if(SIMPLE, kinds=["compute"], factor=3).after_s == pytest.approx(30e-9)


def test_an_assumed_order_gives_a_range() -> None:
    other = stream(8)
    events = [
        (HOST, "runtime", "launch a", 0, 1),
        (HOST, "runtime", "launch b", 1, 2),
        (STREAM, "compute", "a", 3, 100),
        (other, "compute", "b", 100, 200),
    ]
    found = what_if(timeline_of(events, [(0, 2, "launch"), (1, 3, "launch")]), "a", None)
    assert found.low_s == pytest.approx(104e-9)
    assert found.high_s == pytest.approx(200e-9)


def test_a_named_range_is_what_runs_in_it_on_its_thread() -> None:
    events = [
        (HOST, "operator", "before", 0, 10),
        (HOST, "annotation", "step", 10, 60),
        (HOST, "operator", "inner", 20, 30),
        (HOST, "operator", "inner", 30, 50),
        (HOST, "operator", "after", 60, 70),
    ]
    t = timeline_of(events)
    found = what_if(t, "step", None, nested=True)
    # What the thread does in the range goes, what nobody recorded in it stays.
    assert (found.before_s, found.after_s) == pytest.approx((70e-9, 40e-9))
    assert what_if(t, "step", 2, nested=True).after_s == pytest.approx(55e-9)
    with pytest.raises(UsageError, match="a time of their own"):
        what_if(t, "step", None)


@pytest.mark.parametrize("factor", [0, -1, 1e-300, float("nan"), float("inf")])
def test_factors_that_mean_nothing_are_refused(factor: float) -> None:
    with pytest.raises(UsageError):
        what_if(SIMPLE, "op", factor)


def test_an_empty_timeline_has_an_empty_answer() -> None:
    empty = timeline_of([])
    assert slack(empty).tolist() == []
    assert what_if(empty, "x").after_s == 0
    assert critical_path(empty).length_s == 0


def test_named_ranges_alone_are_one_unexplained_piece() -> None:
    t = timeline_of([(HOST, "annotation", "step", 5, 25)])
    found = critical_path(t)
    assert [(piece.label, piece.duration_s) for piece in found.pieces] == [("unexplained", pytest.approx(20e-9))]
    assert found.covered_share == 0
    assert slack(t).tolist() == [-1]
