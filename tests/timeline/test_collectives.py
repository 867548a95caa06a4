"""Collectives of several ranks: the path goes to the rank that came last, and nothing is said of what does not end together."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ridgeline.core import Timeline, Track
from ridgeline.timeline.critical_path import critical_path, path_of
from ridgeline.timeline.dependencies import graph_of
from ridgeline.timeline.edges import EDGE_KINDS
from ridgeline.timeline.ranks import rank_uses
from ridgeline.timeline.replay import replayed, slack, what_if

from .building import stream, timeline_of


def rank(number: int, lane: Track) -> Track:
    return msgspec.structs.replace(
        lane, name=f"rank {number}: {lane.name}", device=f"rank {number} {lane.device}" if lane.device else "", rank=number
    )


def two_ranks(*, late: int = 50, more: int = 0) -> Timeline:
    """Rank 0 computes 20 and rank 1 `late` longer; all-reduce takes 10 from when both are there (and `more` on rank 0); rank 0 goes on for 30."""
    host = Track(name="thread", role="thread", process="1")
    rows, links = [], []
    both = 5 + 20 + late
    for number, took in enumerate((20, 20 + late)):
        thread, queue = rank(number, host), rank(number, stream(7))
        end = both + 10 + (more if number == 0 else 0)
        links += [(len(rows), len(rows) + 2, "launch"), (len(rows) + 1, len(rows) + 3, "launch")]
        rows += [
            (thread, "runtime", "launch", 0, 4),
            (thread, "runtime", "launch", 4, 5),
            (queue, "compute", "gemm" if number == 0 else "slow", 5, 5 + took),
            (queue, "communication", "allreduce", 5 + took, end),
        ]
    links.append((0, len(rows), "launch"))
    rows.append((rank(0, stream(7)), "compute", "after", both + 10 + more, both + 40 + more))
    return timeline_of(rows, links, tick_s=1e-6)


def test_the_path_goes_to_the_rank_that_came_last() -> None:
    t = two_ranks()
    deps = graph_of(t)
    path = path_of(deps)
    assert [(t.strings[t.name.values[event]], t.tracks[track].rank) for event, track in zip(path.event, path.track, strict=True)][-3:] == [
        ("slow", 1), ("allreduce", 1), ("after", 0),
    ]  # fmt: skip
    assert critical_path(t, deps=deps, path=path).by_name["allreduce"] == pytest.approx(10e-6)
    assert (replayed(deps) == deps.tick).all()
    room = slack(t, deps=deps)
    assert room[[t.strings.index("gemm") == name for name in t.name.values]].tolist() == [50]


def test_a_faster_straggler_shortens_the_run_and_a_faster_early_rank_does_not() -> None:
    t = two_ranks()
    faster = what_if(t, "slow", 2)
    assert faster.after_s == pytest.approx(faster.before_s - 35e-6)
    assert what_if(t, "gemm", None).after_s == pytest.approx(faster.before_s)
    # Twice as fast is the collective itself, not the time that one rank waited in it.
    assert what_if(t, "allreduce", 2).after_s == pytest.approx(faster.before_s - 5e-6)
    # A rank that was early holds the others up once it is the last to come.
    assert what_if(t, "gemm", 0.2).after_s == pytest.approx(faster.before_s + 30e-6)
    # Who waited for whom is inferred: without it rank 1 holds up nobody.
    assert faster.high_s == pytest.approx(faster.before_s)


def test_what_does_not_end_together_is_no_collective() -> None:
    t = two_ranks(more=300)
    assert not graph_of(t).assumed.any()
    assert critical_path(t).by_name["allreduce"] == pytest.approx(360e-6)


@pytest.mark.parametrize("late", [0, 1, 7])
def test_pieces_tile_the_window_whoever_comes_last(late: int) -> None:
    deps = graph_of(two_ranks(late=late))
    path = path_of(deps)
    assert (path.start[0], path.end[-1]) == deps.window
    assert np.array_equal(path.start[1:], path.end[:-1])


# ---- collectives of the host -----------------------------------------------------------------------------------------------------------

SLEEPS = 30


def gloo_ranks(*, calls: bool, late: int = SLEEPS, steps: int = 4, asynchronous: bool = False, pause: int = 0) -> Timeline:
    """Two ranks that compute 10, of which rank 1 then sleeps for `late`; both put an all-reduce into a queue (2), which takes 3 from when both are
    there, and wait for it: in a call of Python, or, without `calls`, with nothing recorded. Rank 0 then pauses for `pause`.
    """
    rows: list[tuple[Track, str, str, int, int]] = []
    at = [0, 0]
    for _ in range(steps):
        puts = [at[0] + 10, at[1] + 10 + late]
        done = max(puts) + 1 + 3
        for number, begin in enumerate(at):
            thread = rank(number, Track(name="main", role="thread", process="1"))
            worker = rank(number, Track(name="gloo", role="thread", process="1"))
            rows.append((thread, "operator", "mm", begin, begin + 10))
            if number and late:
                rows.append((thread, "python", "<built-in function sleep>", begin + 10, puts[1]))
            put = puts[number]
            rows.append((thread, "operator", "c10d::allreduce_", put, put + 2))
            if asynchronous and number == 0:
                rows.append((thread, "operator", "busy", put + 2, done + 1))
            elif calls:
                rows.append((thread, "python", "<built-in method wait of Work object at 0x1>", put + 2, done + 1))
            rows.append((worker, "annotation", "gloo:all_reduce", put + 1, done))
            at[number] = done + 1 + (pause if number == 0 else 0)
    rows += [(rank(number, Track(name="main", role="thread", process="1")), "operator", "after", begin, begin + 1) for number, begin in enumerate(at)]
    return timeline_of(rows, tick_s=1e-3)


@pytest.mark.parametrize("calls", [False, True])
def test_what_a_rank_that_sleeps_costs_is_what_the_others_wait_for_it(calls: bool) -> None:
    t = gloo_ranks(calls=calls)
    deps = graph_of(t)
    assert (replayed(deps) == deps.tick).all()
    first, second = rank_uses(t)
    assert first.waited_s == second.awaited_s == pytest.approx(4 * SLEEPS * 1e-3)
    found = what_if(t, "<built-in function sleep>", None)
    assert found.before_s - found.after_s == pytest.approx(second.awaited_s)
    assert critical_path(t).by_name["<built-in function sleep>"] == pytest.approx(4 * SLEEPS * 1e-3)
    # The rank that waits has that much time, in every step, and at the most what the operator takes that puts the collective into the queue.
    room, names = slack(t, deps=deps), t.name.values
    mine = [t.tracks[track].rank for track in t.track.values]
    computes = [int(one) for one, name, of in zip(room, names, mine, strict=True) if t.strings[name] == "mm" and of == 0]
    assert all(SLEEPS <= one <= SLEEPS + 2 for one in computes)
    assert len(computes) == 4
    # Who waited for whom is inferred: without it nothing that rank 0 does comes sooner.
    assert found.high_s == pytest.approx(found.before_s)


def test_a_thread_that_computes_while_a_collective_runs_does_not_wait_for_it() -> None:
    t = gloo_ranks(calls=True, asynchronous=True)
    found = what_if(t, "<built-in function sleep>", None)
    # Rank 0 was busy for all of that time, and would be.
    assert found.after_s == pytest.approx(found.before_s)
    assert what_if(t, "busy", None).after_s == pytest.approx(found.before_s)


def test_a_thread_that_goes_on_much_later_did_not_wait() -> None:
    # The piece is done 33 after rank 0 has put it into the queue, and rank 0 goes on 1 later or 101 later: a pause that nothing explains.
    t = gloo_ranks(calls=False, pause=2000)
    deps = graph_of(t)
    assert (replayed(deps) == deps.tick).all()
    waits = deps.kind == EDGE_KINDS.index("wait")
    ranks = np.array([track.rank for track in t.tracks])[deps.track]
    assert not (waits & (ranks[deps.target] == 0) & (ranks[deps.source] == 1)).any()


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 60), st.integers(1, 6), st.booleans(), st.booleans(), st.integers(0, 40))
def test_pieces_tile_the_window_and_replay_as_they_were(late: int, steps: int, calls: bool, asynchronous: bool, pause: int) -> None:
    deps = graph_of(gloo_ranks(calls=calls, late=late, steps=steps, asynchronous=asynchronous, pause=pause))
    assert (replayed(deps) == deps.tick).all()
    path = path_of(deps)
    assert (path.start[0], path.end[-1]) == deps.window
    assert np.array_equal(path.start[1:], path.end[:-1])
