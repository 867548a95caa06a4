"""From hand-made events to seconds of nodes: closed forms, and what must hold of every run."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ridgeline.core import BackendUnavailable
from ridgeline.measurement.operators.tflite.cut import Cut, Piece
from ridgeline.measurement.operators.tflite.litert import DELEGATE_EVENT, NODE_EVENT, Event, ProfiledRun
from ridgeline.measurement.operators.tflite.times import NodeTimes, invoke_us

CONV, ADD = "Convolution (NHWC, F32) IGEMM", "Add (ND)"
KINDS = ["CONV_2D", "GATHER", "ADD", "CONV_2D"]
SEEN = Cut(pieces=(Piece(nodes=(0,), delegated=True), Piece(nodes=(1,), delegated=False), Piece(nodes=(2, 3), delegated=True)))


def event(tag: str, kind: int, elapsed_us: int, index: int = 0, subgraph: int = 0) -> Event:
    return Event(tag=tag, kind=kind, start_us=0, elapsed_us=elapsed_us, index=index, subgraph=subgraph)


def run(invoke: int, *, times: tuple[int, int, int, int] = (30, 10, 0, 40), node: int = 1) -> ProfiledRun:
    events = (
        event("Invoke", 1, invoke),
        event(CONV, DELEGATE_EVENT, times[0]),
        event("GATHER", NODE_EVENT, times[1], node),
        event(ADD, DELEGATE_EVENT, times[2]),
        event(CONV, DELEGATE_EVENT, times[3], 1),
    )
    return ProfiledRun(events=events, wall_s=1.0)


def test_half_a_tick_is_added_where_there_is_room() -> None:
    found = NodeTimes(SEEN, KINDS, clean_s=1.0).of(run(100))
    # 100 µs of Invoke hold 80 of operators: room for half a microsecond each
    assert found.node_s == pytest.approx({0: 30.5e-6, 1: 10.5e-6, 2: 0.5e-6, 3: 40.5e-6})
    assert found.kernels == {0: (CONV,), 2: (ADD,), 3: (CONV,)}


def test_no_more_is_added_than_invoke_or_a_clean_run_leaves() -> None:
    by_invoke = NodeTimes(SEEN, KINDS, clean_s=1.0).of(run(81))
    assert sum(by_invoke.node_s.values()) == pytest.approx(81e-6)
    by_clean = NodeTimes(SEEN, KINDS, clean_s=80.4e-6).of(run(100))
    assert sum(by_clean.node_s.values()) == pytest.approx(80.4e-6)
    # A clean run that was shorter takes nothing away from what was seen.
    assert sum(NodeTimes(SEEN, KINDS, clean_s=10e-6).of(run(100)).node_s.values()) == pytest.approx(80e-6)


@given(times=st.tuples(*[st.integers(0, 1000)] * 4), rest=st.integers(0, 50), clean_us=st.floats(0.1, 5000))
def test_operators_never_exceed_their_invoke(times, rest, clean_us) -> None:
    invoke = sum(times) + rest
    found = NodeTimes(SEEN, KINDS, clean_us * 1e-6).of(run(invoke, times=times))
    total = sum(found.node_s.values())
    assert sum(times) * 1e-6 <= total * (1 + 1e-9)
    assert total <= invoke * 1e-6 * (1 + 1e-9)
    assert set(found.node_s) == {0, 1, 2, 3}


def test_what_runs_in_subgraphs_is_inside_the_node_that_runs_them() -> None:
    """A loop of two turns: its condition (1) three times, its body (2) twice; a branch of it (3) once. None of their operators is a node's."""
    condition = (event("Invoke", 1, 2, subgraph=1), event("LESS", NODE_EVENT, 1, subgraph=1))
    body = (event("Invoke", 1, 9, subgraph=2), event(ADD, DELEGATE_EVENT, 5, subgraph=2), event("IF", NODE_EVENT, 3, 1, subgraph=2))
    branch = (event("Invoke", 1, 3, subgraph=3), event(CONV, DELEGATE_EVENT, 2, subgraph=3))
    plain = run(100).events
    looped = ProfiledRun(events=(*plain[:3], *condition, *body, *branch, *condition, *body, *condition, *plain[3:]), wall_s=1.0)
    found = NodeTimes(SEEN, ["CONV_2D", "WHILE", "ADD", "CONV_2D"], clean_s=1.0).of(looped)
    assert found.node_s == NodeTimes(SEEN, KINDS, clean_s=1.0).of(run(100)).node_s
    assert found.inner == {1: {1: 3, 2: 2, 3: 1}}
    assert invoke_us(looped) == 100


def test_a_profile_of_another_cut_is_refused() -> None:
    one = Cut(pieces=(Piece(nodes=(0, 1, 2, 3), delegated=True),))
    two = Cut(pieces=(Piece(nodes=(0,), delegated=True), Piece(nodes=(1, 2), delegated=False), Piece(nodes=(3,), delegated=True)))
    merged = Cut(pieces=(Piece(nodes=(0, 2, 3), delegated=True), Piece(nodes=(1,), delegated=False)))
    for seen, words in ((one, "on its own"), (two, "inside the delegate"), (merged, "2 delegated partitions for 1")):
        with pytest.raises(BackendUnavailable, match=words):
            NodeTimes(seen, KINDS, clean_s=1.0).of(run(100))


def test_a_run_without_its_invoke() -> None:
    with pytest.raises(BackendUnavailable, match="one Invoke"):
        invoke_us(ProfiledRun(events=(), wall_s=1.0))
