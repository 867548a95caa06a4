"""Outputs: what counts as the same, what as different, and what cannot be told."""

from __future__ import annotations

import collections
import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from ridgeline.measurement.outputs import compare, leaves, load, store


def check(before, after, tolerance=0.0):
    return compare([leaves(before)], [leaves(after)], tolerance)


@dataclasses.dataclass
class Boxes:
    corners: np.ndarray
    label: str


@pytest.mark.parametrize(
    "value",
    [
        1,
        2.5,
        "text",
        b"raw",
        True,
        (1, [2, {"a": np.arange(3)}]),
        {"x": np.array([np.nan, np.inf])},
        {3, 1, 2},
        Boxes(np.eye(2), "cat"),
        np.float32(2),
    ],
)
def test_a_value_equals_itself(value):
    found = check(value, value)
    assert (found.state, found.difference) == ("equal", 0.0)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (1, 2),
        ("a", "b"),
        ([1, 2], [1, 2, 3]),
        ({"a": 1}, {"b": 1}),
        (np.arange(3), np.arange(4)),
        (np.array([1, 2]), np.array([1, 3])),
        (np.array([1.0, np.nan]), np.array([np.nan, 1.0])),
        (np.array([1.0, np.inf]), np.array([1.0, -np.inf])),
        (np.zeros(2), np.full(2, 1e-30)),
        (Boxes(np.eye(2), "cat"), Boxes(np.eye(2), "dog")),
        (np.array(["a"]), np.array(["b"])),
    ],
)
def test_what_differs_is_said_with_a_reason(before, after):
    found = check(before, after, 0.5)
    assert found.state == "differs"
    assert found.reason


@pytest.mark.parametrize("value", [None, [], object(), (None, None), np.array([object()]), np.array([])])
def test_what_says_nothing_is_never_equal(value):
    found = check(value, value)
    assert found.state == "unknown"
    assert found.reason


def test_the_difference_is_relative_to_the_largest_value_of_the_array():
    found = check(np.array([1e-9, 4.0]), np.array([1e-3, 4.0]), 1e-3)
    assert (found.state, found.difference) == ("equal", pytest.approx(2.5e-4, rel=1e-5))
    assert check(np.array([1e-9, 4.0]), np.array([1e-2, 4.0]), 1e-3).state == "differs"


def test_class_numbers_must_not_flip_however_wide_the_tolerance():
    assert check([np.array([0.5]), np.array([3])], [np.array([0.5001]), np.array([4])], 0.1).state == "differs"


def test_results_that_change_from_call_to_call_cannot_be_compared():
    first, second, third = (leaves(np.full(3, value)) for value in (1.0, 2.0, 3.0))
    assert compare([first, second], [second, third], 1e-3).state == "unknown"
    # Two processes that go through the same states are equal all the same.
    assert compare([first, second], [first, second], 0.0).state == "equal"
    assert compare([first, first], [second, second], 1e-3).state == "differs"


def test_tensors_count_by_their_values():
    import torch

    plain = torch.arange(4.0)
    assert check(plain, plain.clone()).state == "equal"
    assert compare([leaves(plain)], [leaves(plain.to(torch.bfloat16))], 1e-2, any_float=True).state == "equal"
    assert check(plain, plain + 1, 1e-2).state == "differs"
    assert check(plain.requires_grad_(), plain.detach()).state == "equal"
    assert check(torch.eye(3).to_sparse(), torch.eye(3).to_sparse()).state == "equal"


def test_a_buffer_that_is_written_over_does_not_change_what_was_kept():
    buffer = np.ones(3)
    kept = leaves(buffer)
    buffer[:] = 2.0
    assert compare([kept], [leaves(np.ones(3))], 0.0).state == "equal"


def test_a_file_brings_back_what_was_stored(tmp_path):
    results = [leaves({"a": np.arange(6.0).reshape(2, 3), "b": ("x", None)})]
    store(tmp_path / "kept", results)
    assert load(tmp_path / "kept") == results


@settings(deadline=None)
@given(arrays(np.float64, 5, elements=st.floats(-1e6, 1e6)), st.floats(1e-6, 0.5))
def test_a_change_below_the_tolerance_is_equal_and_one_above_it_is_not(values, tolerance):
    at = int(np.abs(values).argmax())
    largest = abs(values[at])
    if largest < 1e-3:
        return
    moved = values.copy()
    moved[at] += 0.5 * tolerance * largest
    assert check(values, moved, tolerance).state == "equal"
    moved[at] = values[at] + 2 * tolerance * largest
    assert check(values, moved, tolerance).state == "differs"


Point = collections.namedtuple("Point", "x y")


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        (np.arange(3.0), np.arange(3.0, dtype="f4"), "float32 instead of an array of float64"),
        (np.arange(3), np.arange(3, dtype="i4"), "int32"),
        (np.array([True, False]), np.array([1, 0]), "instead of an array of bool"),
        (np.ones((1, 3)), np.ones(3), "shape"),
        (2.5, np.float64(2.5), "instead of a float"),
        ([1, 2], (1, 2), "a tuple instead of a list"),
        (Point(1, 2), (1, 2), "instead of a Point"),
        ({"a": {}, "b": 1}, {"a": [], "b": 1}, "a list instead of a dict"),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, "another order"),
        (np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[3.0, 4.0], [1.0, 2.0]]), "differs by"),
        (np.ma.array([1.0, 2.0], mask=[0, 1]), np.ma.array([1.0, 2.0], mask=[1, 0]), "result"),
        (np.ma.array([1.0, 1.0], mask=[0, 1]), np.ma.array([1.0, 0.0], mask=[0, 0]), "mask"),
        (np.array([1.0, np.nan, 2.0]), np.array([1.0, 5.0, 2.0]), "not a number in other places"),
    ],
)
def test_no_change_of_type_order_or_place_passes_for_the_same(before, after, words):
    found = check(before, after, 1e-4)
    assert found.state == "differs"
    assert words in found.reason


def test_a_change_of_library_is_a_difference_and_another_float_is_one_unless_allowed():
    import torch

    plain = torch.arange(4.0)
    assert check(plain, plain.numpy(), 1e-4).state == "differs"
    assert check(torch.eye(3).to_sparse(), torch.eye(3), 1e-4).state == "differs"
    narrow = [leaves(plain.to(torch.bfloat16))]
    assert compare([leaves(plain)], narrow, 1e-2).state == "differs"
    allowed = compare([leaves(plain)], narrow, 1e-2, any_float=True)
    assert (allowed.state, allowed.reason) == ("equal", "result is a Tensor of bfloat16 instead of a Tensor of float32")
    assert compare([leaves(plain)], [leaves(plain.int())], 1e-2, any_float=True).state == "differs"
    assert compare([leaves(plain)], [leaves(plain.numpy())], 1e-2, any_float=True).state == "differs"


def test_small_values_do_not_change_in_the_shade_of_large_ones():
    boxes = np.array([[320.0, 200.0, 50.0, 80.0, 0.7, 3.0], [640.0, 200.0, 50.0, 80.0, 0.5, 3.0]])
    other = boxes.copy()
    other[:, 4] += 0.05
    assert np.abs(other - boxes).max() / boxes.max() < 1e-4
    found = check(boxes, other, 1e-4)
    assert (found.state, "2 of 12 values" in found.reason) == ("differs", True)
    masked = np.concatenate([[-1e9], np.ones(99)])
    assert check(masked, np.concatenate([[-1e9], np.full(99, 2.0)]), 1e-4).state == "differs"
    # Arithmetic in another order moves values beside zero by more than themselves, a few of many.
    values = np.random.default_rng(0).normal(size=100_000)
    assert check(values, values + 1e-5 * np.random.default_rng(1).normal(size=100_000), 1e-4).state == "equal"
    # Where digits may be lost, small values may lose all of theirs.
    assert check(boxes, other, 5e-3).state == "equal"


@pytest.mark.parametrize("make", [lambda: (i for i in range(3)), lambda: iter([1]), lambda: map(abs, [1]), lambda: Labelled(), lambda: {1: object()}])
def test_what_cannot_be_looked_into_is_never_equal(make):
    assert check(make(), make()).state == "unknown"


class Labelled:
    """An array with labels, which its values do not show."""

    dtype, shape = np.dtype(float), (2,)

    def __array__(self, dtype=None, copy=None):
        return np.ones(2)
