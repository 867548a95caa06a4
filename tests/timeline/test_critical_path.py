"""The critical path: known schedules, the path itself where there is only one, and the laws of a tiling."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ridgeline.timeline.critical_path import LABELS, Path, critical_path, path_of, path_ticks
from ridgeline.timeline.dependencies import Dependencies, graph_of
from ridgeline.timeline.replay import replayed, slack

from .simulator import Action, Simulation, joined, random_programs

TICKS = st.integers(0, 9)
NAMES = st.sampled_from("abcdef")
QUEUES = st.integers(0, 2)
KEYS = st.sampled_from(["e1", "e2"])
ACTIONS: st.SearchStrategy[Action] = st.one_of(
    st.tuples(st.just("work"), NAMES, TICKS),
    st.tuples(st.just("enter"), NAMES, TICKS),
    st.just(("leave",)),
    st.tuples(st.just("launch"), QUEUES, NAMES, st.integers(0, 40), TICKS),
    st.tuples(st.just("launch"), QUEUES, NAMES, st.integers(1, 40), TICKS, KEYS, st.sampled_from(["compute", "communication", "copy"])),
    st.tuples(st.just("record"), QUEUES, KEYS, TICKS),
    st.tuples(st.just("synchronise"), QUEUES, TICKS),
    st.tuples(st.just("await_event"), KEYS, TICKS),
    st.tuples(st.just("post"), KEYS, TICKS),
    st.tuples(st.just("receive"), KEYS),
)
PROGRAMS = st.lists(st.lists(ACTIONS, max_size=14), min_size=1, max_size=3)
DEPTHS = st.sampled_from([1, 2, 3, 10**6])


def pieces(deps: Dependencies, path: Path) -> list[tuple[int, int, str, str]]:
    t = deps.t
    names = [t.strings[deps.events.name[event]] if event >= 0 else "" for event in path.event]
    lanes = [t.tracks[track].name if track >= 0 else "" for track in path.track]
    return joined(list(zip(path.start.tolist(), path.end.tolist(), lanes, names, strict=True)))


def assert_tiles(deps: Dependencies, path: Path) -> None:
    start, end = deps.window
    assert (path.end > path.start).all()
    if end > start:
        assert (path.start[0], path.end[-1]) == (start, end)
        assert (path.start[1:] == path.end[:-1]).all()


def check(simulation: Simulation) -> None:
    t = simulation.timeline()
    deps = graph_of(t)
    path = path_of(deps)
    assert_tiles(deps, path)
    known, unique = simulation.path()
    if unique:
        assert pieces(deps, path) == known
        assert not (path.label == LABELS.index("unexplained")).any()
    found = critical_path(t, deps=deps, path=path)
    assert found.length_s == pytest.approx(simulation.makespan() * 1e-9, abs=1e-15)
    assert sum(found.by_label.values()) == pytest.approx(found.length_s, abs=1e-15)
    assert (replayed(deps) == deps.tick).all()
    assert (slack(t, deps=deps)[path.event[path.own]] == 0).all()
    mine, own = path_ticks(deps, path), np.zeros(len(t), dtype=np.int64)
    np.add.at(own, path.event[path.own], (path.end - path.start)[path.own])
    # Neither less than its own pieces nor more than it lasts: what lies before an event is not its time.
    assert ((own <= mine) & (mine <= t.duration_tick.values)).all()


@settings(max_examples=1000, deadline=None)
@given(st.integers(0, 2**32), st.integers(0, 5), DEPTHS, st.booleans())
@example(140800617, 0, 1, False)  # a call that waits for a place in the queue, and then launches work of no length
def test_the_path_of_a_thousand_schedules_is_the_one_that_the_simulator_knows(seed: int, latency: int, depth: int, markers: bool) -> None:
    check(Simulation(random_programs(seed), latency=latency, depth=depth, markers=markers))


@settings(max_examples=200, deadline=None)
@given(PROGRAMS, st.integers(0, 5), DEPTHS, st.booleans())
def test_small_schedules_too(programs: list[list[Action]], latency: int, depth: int, markers: bool) -> None:
    check(Simulation(programs, latency=latency, depth=depth, markers=markers))


def test_most_schedules_have_one_path_only_and_it_crosses_lanes() -> None:
    simulations = [Simulation(random_programs(seed, most=30), depth=3) for seed in range(100)]
    paths = [path for path, unique in (simulation.path() for simulation in simulations) if unique]
    assert len(paths) > 70
    assert sum(len({lane for _, _, lane, _ in path}) > 2 for path in paths) > 15
