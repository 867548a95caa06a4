"""Collectives of several ranks: the path goes to the rank that came last, and nothing is said of what does not end together."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

from ridgeline.core import Timeline, Track
from ridgeline.timeline.critical_path import critical_path, path_of
from ridgeline.timeline.dependencies import graph_of
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
