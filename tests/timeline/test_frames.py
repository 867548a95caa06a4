"""Functions of stacks: sums by hand, recursion counted once, and two ways of the same sum over random forests."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ridgeline.core import Column, Frame, Stacks, UsageError
from ridgeline.timeline.frames import frame_uses, joined, weight_of
from ridgeline.timeline.trees import depths, inclusive, preorder

from .building import stacks_of


def test_recursion_counts_once_in_a_total() -> None:
    uses = {use.function: use for use in frame_uses(stacks_of({"a": 1, "a;b": 2, "a;b;a": 4, "a;b;a;b": 8, "b": 16}))}
    assert (uses["a"].own, uses["a"].total) == (5, 15)
    assert (uses["b"].own, uses["b"].total) == (26, 30)
    assert uses["b"].own_share == pytest.approx(26 / 31)


def test_a_process_is_in_the_whole_and_not_in_the_list() -> None:
    stacks = stacks_of({"!app": 3, "!app;main": 1})
    (main,) = frame_uses(stacks)
    assert weight_of(stacks) == 4
    assert (main.function, main.own_share, main.total_share) == ("main", 0.25, 0.25)


def test_most_own_weight_comes_first_and_lines_of_one_function_are_one() -> None:
    stacks = stacks_of({"x;y": 1, "x;z": 1, "x": 3})
    frames = (Frame(function="x"), Frame(function="f", file="f.c", line=3), Frame(function="f", file="f.c", line=4))
    merged = frame_uses(Stacks(measure="m", unit="count", frames=frames, parent=stacks.parent, frame=stacks.frame, own=stacks.own))
    assert [(use.function, use.own, use.total, use.line) for use in merged] == [("x", 3, 5, None), ("f", 2, 2, None)]
    assert len(frame_uses(stacks, most=1)) == 1


def test_lanes_join_below_their_names() -> None:
    both = joined([stacks_of({"a;b": 1}, lane="one", samples=1), stacks_of({"a": 2, "c": 4}, lane="two", samples=2)])
    assert weight_of(both) == 7
    assert both.samples == 3
    assert {use.function: (use.own, use.total) for use in frame_uses(both)} == {"c": (4, 4), "a": (2, 3), "b": (1, 1)}
    assert frame_uses([stacks_of({"a": 1}), stacks_of({"a": 2})])[0].own == 3
    with pytest.raises(UsageError):
        joined([])


def test_nothing_is_nothing() -> None:
    empty = Stacks(
        measure="m", unit="s", frames=(), parent=Column([], "count", "int64"), frame=Column([], "count", "int64"), own=Column([], "s", "float64")
    )
    assert frame_uses(empty) == ()
    assert weight_of(empty) == 0


@settings(deadline=None)
@given(st.data())
def test_sums_agree_with_walking_up_every_path(data: st.DataObject) -> None:
    size = data.draw(st.integers(1, 40))
    parent = np.array([data.draw(st.integers(-1, node - 1)) for node in range(size)])
    frame = np.array([data.draw(st.integers(0, 4)) for _ in range(size)])
    own = np.array([data.draw(st.integers(0, 1000)) for _ in range(size)])
    stacks = Stacks(
        measure="m", unit="count", frames=tuple(Frame(function=str(index)) for index in range(5)), parent=Column(parent, "count", "int64"),
        frame=Column(frame, "count", "int64"), own=Column(own, "count", "float64"),
    )  # fmt: skip
    chains = [list(itertools.takewhile(lambda up: up >= 0, _up(parent, node))) for node in range(size)]
    totals = {name: sum(int(own[node]) for node in range(size) if any(frame[up] == name for up in chains[node])) for name in range(5)}
    assert {int(use.function): use.total for use in frame_uses(stacks)} == totals
    assert depths(parent).tolist() == [len(chain) - 1 for chain in chains]
    assert inclusive(parent, own).tolist() == [sum(int(own[node]) for node in range(size) if top in chains[node]) for top in range(size)]
    place, count = preorder(parent)
    assert sorted(place) == list(range(size))
    for low, high in itertools.product(range(size), repeat=2):
        assert (place[high] <= place[low] < place[high] + count[high]) == (high in chains[low])


def _up(parent: np.ndarray, node: int) -> Iterator[int]:
    while node >= 0:
        yield node
        node = int(parent[node])
