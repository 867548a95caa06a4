"""Joining a profile to a record: synthetic profiles, a conservation law, and what happens where the two disagree."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ridgeline.measurement.operators.torch.alignment import account, align
from ridgeline.measurement.operators.torch.events import Event, Forest, is_operator


def tree(spec, start=0):
    """Events of nested (name, own nanoseconds, *children): own time before the children, none between them."""
    events, time = [], start
    for name, own, *children in spec:
        below = tree(children, time + own)
        end = max([time + own, *(event.end_ns for event in below)])
        events += [Event(name, time, end, 1), *below]
        time = end
    return events


LINEAR = ("aten::linear", 5, ("aten::t", 1, ("aten::transpose", 1)), ("aten::addmm", 100, ("aten::expand", 2), ("aten::copy_", 3)))


def never(event):
    return False


def test_the_forest_knows_parents_and_ends():
    forest = Forest(tree([LINEAR, ("aten::relu", 7)]))
    assert [event.name.removeprefix("aten::") for event in forest.events] == ["linear", "t", "transpose", "addmm", "expand", "copy_", "relu"]
    assert forest.parent == [-1, 0, 1, 0, 3, 3, -1]
    assert forest.end == [6, 3, 3, 6, 5, 6, 7]
    assert forest.self_ns() == [5, 1, 1, 100, 2, 3, 7]
    assert [event.name for event in forest.roots()] == ["aten::linear", "aten::relu"]


def test_wrappers_are_transparent():
    wrapped = [Event("autograd::engine::evaluate_function: MulBackward0", 0, 100, 1), Event("MulBackward0", 5, 95, 1), Event("aten::mul", 10, 90, 1)]
    forest = Forest(wrapped)
    assert [event.name for event in forest.events] == ["aten::mul"]
    assert forest.parent == [-1]
    assert not is_operator("Torch-Compiled Region: 0/0")
    assert not is_operator("torch::autograd::AccumulateGrad")
    assert is_operator("quantized::linear")


def test_a_compositions_own_time_goes_to_its_longest_part():
    found = account(Forest(tree([LINEAR, ("aten::relu", 7)])), ["aten::t", "aten::addmm", "aten::relu"], never)
    assert found.recorded_ns == {0: 2, 1: 110, 2: 7}
    assert found.left_ns == []


def test_what_nothing_recorded_is_left_over_with_its_place():
    forest = Forest(tree([("aten::relu", 7), ("aten::mystery", 9, ("aten::add", 4)), ("aten::exp", 3)]))
    found = account(forest, ["aten::relu", "aten::exp"], never)
    assert found.recorded_ns == {0: 7, 1: 3}
    assert [(reached, event.name, time) for reached, event, time in found.left_ns] == [(1, "aten::mystery", 13)]


def test_an_idle_part_of_a_composition_goes_with_it():
    forest = Forest(tree([("aten::mha", 1, ("aten::dropout", 2), ("aten::bmm", 50))]))
    found = account(forest, ["aten::bmm"], lambda event: event.name == "aten::dropout")
    assert found.recorded_ns == {0: 53}
    assert account(forest, ["aten::bmm"], never).left_ns[0][1].name == "aten::dropout"


def test_operators_that_only_the_record_has_are_skipped():
    forest = Forest(tree([("aten::relu", 1), ("aten::t", 1), ("aten::mm", 1), *[("aten::exp", 1)] * 40, ("aten::detach", 1)]))
    recorded = ["aten::relu", "aten::detach", "aten::t", "aten::mm", *["aten::exp"] * 40, "aten::detach"]
    matched = align(forest, recorded)
    assert [recorded[index] for index in matched.values()] == [event.name for event in forest.events]


def test_in_place_and_out_of_place_forms_match():
    assert align(Forest(tree([("aten::add_", 1)])), ["aten::add"]) == {0: 0}
    assert align(Forest(tree([("aten::__iand__", 1)])), ["aten::__iand_"]) == {}


def test_a_compiled_graph_keeps_its_own_time():
    forest = Forest(tree([("## Call CompiledFxGraph abc ##", 70, ("aten::mm", 20)), ("aten::relu", 1)]))
    found = account(forest, ["aten::mul", "aten::add", "aten::mm", "aten::relu"], never)
    assert found.recorded_ns == {2: 20, 3: 1}
    assert [(event.name[:20], time) for _, event, time in found.left_ns] == [("## Call CompiledFxGr", 70)]


NAMES = st.sampled_from(["aten::a", "aten::b", "aten::c", "aten::d_", "wrapper"])
TREES = st.recursive(
    st.tuples(NAMES, st.integers(0, 50)),
    lambda inner: st.tuples(NAMES, st.integers(0, 50), inner) | st.tuples(NAMES, st.integers(0, 50), inner, inner),
    max_leaves=12,
)


@given(st.lists(TREES, max_size=5), st.lists(st.sampled_from(["aten::a", "aten::b", "aten::c", "aten::d"]), max_size=12), st.booleans())
def test_every_nanosecond_of_the_top_level_is_accounted_for_once(spec, recorded, idle):
    forest = Forest(tree(spec))
    found = account(forest, recorded, lambda event: idle)
    total = sum(found.recorded_ns.values()) + sum(time for _, _, time in found.left_ns)
    assert total == sum(event.duration_ns for event in forest.roots())


@given(st.lists(TREES, max_size=5), st.lists(st.sampled_from(["aten::a", "aten::b", "aten::c", "aten::d"]), max_size=12))
def test_matches_are_in_order_on_both_sides_and_never_nested(spec, recorded):
    forest = Forest(tree(spec))
    pairs = list(align(forest, recorded).items())
    assert pairs == sorted(pairs)
    assert len({wanted for _, wanted in pairs}) == len(pairs)
    assert all(second[0] >= forest.end[first[0]] for first, second in pairwise(pairs))


@given(st.lists(st.sampled_from(["aten::a", "aten::b"]), max_size=30))
def test_equal_sequences_match_completely(names):
    forest = Forest(tree([(name, 1) for name in names]))
    assert align(forest, names) == {index: index for index in range(len(names))}


@pytest.mark.parametrize("missing", range(8))
def test_one_missing_operator_costs_one_match(missing):
    names = [f"aten::k{index}" for index in range(8)]
    forest = Forest(tree([(name, 1) for name in names if name != names[missing]]))
    assert len(align(forest, names)) == 7
