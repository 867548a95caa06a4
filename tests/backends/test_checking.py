"""What is a right result: shape, dtype, numbers, tolerance, and the first thing that is wrong in one line."""

from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ridgeline.backends import Argument, Check, Job
from ridgeline.backends.checking import _clearly_close, what_is_wrong
from ridgeline.core import ReadError

NAN, INF = float("nan"), float("inf")
RIGHT = np.array([[1.0, -4.0], [0.5, 2.0]], np.float32)


def job_of(dtype="float32", shape=(2, 2), **check):
    arguments = (Argument(name="a", shape=(2,)), Argument(name="c", dtype=dtype, shape=shape, output=True))
    return Job(runner="fake", arguments=arguments, check=Check(**check))


@pytest.fixture
def reference(tmp_path):
    path = tmp_path / "right.npz"
    np.savez(path, c=RIGHT)
    return str(path)


def changed(value, at=(1, 0)):
    array = RIGHT.copy()
    array[at] = value
    return array


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (RIGHT, ""),
        (changed(0.5 + 3.9e-4), ""),
        (changed(0.5 + 4.2e-4), "[1, 0]"),
        (changed(0.7), "0.7 at [1, 0] instead of 0.5, 5.0e-02 of its largest value; 1 of 4 values"),
        (changed(NAN), "nan at [1, 0] instead of 0.5"),
        (changed(INF), "inf at [1, 0]"),
        (np.zeros((2, 2), np.float32), "4 of 4"),
        (RIGHT.ravel(), "shape (4,) instead of (2, 2)"),
        (RIGHT.astype(np.float64), "float64 instead of float32"),
    ],
)
def test_against_a_reference(reference, found, words):
    said = what_is_wrong(job_of(reference=reference), {"c": found})
    assert words in said
    assert bool(said) is bool(words)
    assert "\n" not in said


def test_what_the_reference_has_may_be_there_and_nothing_else(tmp_path):
    right = np.array([NAN, INF, -INF, 1.0], np.float32)
    np.savez(tmp_path / "odd.npz", c=right)
    job = job_of(shape=(4,), reference=str(tmp_path / "odd.npz"))
    assert what_is_wrong(job, {"c": right}) == ""
    assert what_is_wrong(job, {"c": np.array([NAN, INF, -INF, 1.00001], np.float32)}) == ""
    for wrong in ([1, INF, -INF, 1], [NAN, -INF, -INF, 1], [NAN, 1, -INF, 1], [NAN, INF, -INF, NAN], [INF, INF, -INF, 1]):
        assert what_is_wrong(job, {"c": np.array(wrong, np.float32)}), wrong


@pytest.mark.parametrize("value", [NAN, INF, -INF])
def test_without_a_reference_values_must_be_numbers(value):
    assert what_is_wrong(job_of(), {"c": RIGHT}) == ""
    assert "at [1, 0], 1 of 4" in what_is_wrong(job_of(), {"c": changed(value)})


def test_whole_numbers_and_zeros(tmp_path):
    np.savez(tmp_path / "w.npz", c=np.array([0, 0], np.int32))
    job = job_of("int32", (2,), reference=str(tmp_path / "w.npz"))
    assert what_is_wrong(job, {"c": np.array([0, 0], np.int32)}) == ""
    assert "1 of 2 values are others" in what_is_wrong(job, {"c": np.array([0, 1], np.int32)})
    assert what_is_wrong(job_of("int32", (2,)), {"c": np.array([5, 6], np.int32)}) == ""
    np.savez(tmp_path / "z.npz", c=np.zeros(2, np.float32))
    assert "where all is zero" in what_is_wrong(job_of("float32", (2,), reference=str(tmp_path / "z.npz")), {"c": np.array([0, 1], np.float32)})


@pytest.mark.parametrize(
    ("dtype", "right", "found", "said"),
    [
        ("int64", [4096, 7], [4096, 8], "8 at [1] instead of 7; 1 of 2 values are others"),
        ("int32", [100_000, 7], [100_001, 7], "100001 at [0] instead of 100000"),
        ("uint8", [255, 3], [254, 3], "254 at [0] instead of 255"),
        # Neither is a number with a point of 64 bits.
        ("int64", [2**62, 0], [2**62 + 1, 0], "4611686018427387905 at [0] instead of 4611686018427387904"),
        ("uint64", [2**63, 0], [2**63, 0], ""),
        ("bool", [True, False], [True, True], "True at [1] instead of False"),
    ],
)
def test_whole_numbers_are_the_same_or_wrong_unless_a_tolerance_of_theirs_is_given(tmp_path, dtype, right, found, said):
    """The index of a largest element that is off by less than the tolerance of numbers with a point is another index."""
    path = str(tmp_path / "w.npz")
    np.savez(path, c=np.array(right, dtype))
    job = job_of(dtype, (2,), reference=path, relative=0.05)
    answer = what_is_wrong(job, {"c": np.array(found, dtype)})
    assert said in answer
    assert bool(answer) is bool(said)
    assert what_is_wrong(msgspec.structs.replace(job, check=msgspec.structs.replace(job.check, whole=1.0)), {"c": np.array(found, dtype)}) == ""


def test_no_tolerance_is_bit_for_bit_and_lets_the_reference_have_no_numbers(tmp_path):
    np.savez(tmp_path / "odd.npz", c=np.array([NAN, INF, 1.0], np.float32))
    job = job_of(shape=(3,), reference=str(tmp_path / "odd.npz"), relative=0.0)
    assert what_is_wrong(job, {"c": np.array([NAN, INF, 1.0], np.float32)}) == ""
    for wrong in ([NAN, INF, 1.0000001], [NAN, NAN, 1], [1, INF, 1]):
        assert what_is_wrong(job, {"c": np.array(wrong, np.float32)}), wrong


def test_an_output_that_is_not_there(reference):
    assert "no output c" in what_is_wrong(job_of(reference=reference), {})
    assert what_is_wrong(Job(runner="fake"), {}) == ""


def test_a_reference_that_cannot_be_used_is_an_error_of_the_user(tmp_path, reference):
    for name, data in (("absent.npz", None), ("torn.npz", Path(reference).read_bytes()[:50]), ("text.npz", b"text"), ("empty.npz", b"")):
        if data is not None:
            (tmp_path / name).write_bytes(data)
        with pytest.raises(ReadError, match=name):
            what_is_wrong(job_of(reference=str(tmp_path / name)), {"c": RIGHT})
    np.save(tmp_path / "one.npy", RIGHT)
    with pytest.raises(ReadError):
        what_is_wrong(job_of(reference=str(tmp_path / "one.npy")), {"c": RIGHT})
    np.savez(tmp_path / "others.npz", d=RIGHT)
    with pytest.raises(ReadError, match="'c'"):
        what_is_wrong(job_of(reference=str(tmp_path / "others.npz")), {"c": RIGHT})
    np.savez(tmp_path / "objects.npz", c=np.array([{}], object))
    with pytest.raises(ReadError):
        what_is_wrong(job_of(reference=str(tmp_path / "objects.npz")), {"c": RIGHT})


def test_a_reference_that_was_written_anew_is_read_anew(tmp_path):
    path = tmp_path / "right.npz"
    np.savez(path, c=RIGHT)
    assert what_is_wrong(job_of(reference=str(path)), {"c": RIGHT}) == ""
    np.savez_compressed(path, c=RIGHT + 1)
    assert what_is_wrong(job_of(reference=str(path)), {"c": RIGHT})


def test_a_reference_of_another_shape_is_said(tmp_path):
    np.savez(tmp_path / "flat.npz", c=RIGHT.ravel())
    assert "of the reference" in what_is_wrong(job_of(reference=str(tmp_path / "flat.npz")), {"c": RIGHT})


def test_a_scalar_output(tmp_path):
    np.savez(tmp_path / "s.npz", c=np.float64(2))
    job = msgspec.structs.replace(job_of("float64", None), check=Check(reference=str(tmp_path / "s.npz")))
    assert what_is_wrong(job, {"c": np.array(2.0)}) == ""
    assert what_is_wrong(job, {"c": np.array(2.1)})


@given(st.lists(st.floats(-1e6, 1e6, width=32), min_size=1, max_size=20), st.floats(1e-6, 0.5), st.data())
@settings(max_examples=60, deadline=None)
def test_the_tolerance_is_one_of_the_largest_value(tmp_path_factory, values, relative, data):
    right = np.array(values, np.float64)
    path = tmp_path_factory.mktemp("r") / "r.npz"
    np.savez(path, c=right)
    job = job_of("float64", (len(values),), reference=str(path), relative=relative)
    index, part = data.draw(st.integers(0, len(values) - 1)), data.draw(st.floats(0.0, 2.0).filter(lambda part: abs(part - 1) > 1e-3))
    found = right.copy()
    found[index] += part * relative * np.abs(right).max()
    moved = np.abs(found - right).max() > relative * np.abs(right).max()
    assert bool(what_is_wrong(job, {"c": found})) is bool(moved)


@given(st.sampled_from(["float16", "float32", "float64"]), st.integers(0, 2**32 - 1), st.floats(-9.0, 0.0), st.sampled_from([0.0, NAN, INF, -INF]))
@settings(max_examples=200, deadline=None)
def test_what_is_clearly_close_is_close(dtype, seed, exponent, odd):
    """And what is near enough is clearly close, so that nothing has to be widened for it."""
    generator, relative = np.random.default_rng(seed), 1e-3
    right = generator.standard_normal(20).astype(dtype)
    found = (right + 10.0**exponent * generator.standard_normal(20)).astype(dtype)
    wide = np.abs(found.astype(np.float64) - right.astype(np.float64)).max() / np.abs(right.astype(np.float64)).max()
    assert not _clearly_close(found, right, relative) or wide <= relative
    assert _clearly_close(found, right, relative) or wide > 0.49 * relative
    if odd:
        for x, y in ((changed_at(found, odd), right), (found, changed_at(right, odd)), (changed_at(found, odd), changed_at(right, odd))):
            assert not _clearly_close(x, y, relative)


def changed_at(array, value):
    made = array.copy()
    made[3] = value
    return made


def test_whole_numbers_are_never_clearly_close():
    assert not _clearly_close(np.array([2**31 - 1], np.int32), np.array([-(2**31)], np.int32), 1.0)
